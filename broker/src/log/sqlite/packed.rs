//! Compression of payloads: a task's event consists mostly of ids, each several times.

mod digits;

use std::borrow::Cow;

use lz4_flex::block::{compress_into, decompress, get_maximum_output_size};

/// First byte of a compressed payload. No other payload begins with it: it is no field's tag.
const COMPRESSED: u8 = 0;
/// Bytes before the block: [`COMPRESSED`], and the uncompressed length.
const HEAD: usize = 1 + 4;
/// Payloads below this size are not compressed, in bytes.
const SHORT: usize = 128;
/// Maximum compression ratio of a block.
const MOST_TIMES: usize = 256;

/// Compressor that reuses its buffers.
#[derive(Debug, Default)]
pub(super) struct Packer {
    short: Vec<u8>,
    packed: Vec<u8>,
}

impl Packer {
    /// Compresses a payload if that makes it smaller.
    pub(super) fn pack<'a>(&'a mut self, payload: &'a [u8]) -> &'a [u8] {
        if payload.len() < SHORT {
            return payload;
        }
        self.short.clear();
        digits::shorten(payload, &mut self.short);
        let Ok(length) = u32::try_from(self.short.len()) else {
            return payload;
        };
        let most = HEAD + get_maximum_output_size(self.short.len());
        self.packed.resize(most, 0);
        let (head, block) = self.packed.split_at_mut(HEAD);
        head[0] = COMPRESSED;
        head[1..].copy_from_slice(&length.to_le_bytes());
        match compress_into(&self.short, block) {
            Ok(written) if HEAD + written < payload.len() => &self.packed[..HEAD + written],
            _ => payload,
        }
    }
}

/// Decompresses a payload.
///
/// # Errors
///
/// It is compressed, and damaged.
pub(super) fn unpack(packed: &[u8]) -> Result<Cow<'_, [u8]>, String> {
    let Some((&[COMPRESSED, a, b, c, d], block)) = packed.split_first_chunk() else {
        return Ok(packed.into());
    };
    let length = u32::from_le_bytes([a, b, c, d]) as usize;
    if length / MOST_TIMES > block.len() {
        return Err(format!("{} bytes cannot expand to {length}", block.len()));
    }
    let short = decompress(block, length).map_err(|e| e.to_string())?;
    if short.len() != length {
        return Err(format!("{} bytes came of {length}", short.len()));
    }
    let payload = digits::restore(&short).ok_or("digits are missing")?;
    Ok(payload.into())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(payload: &[u8]) -> usize {
        let mut packer = Packer::default();
        let packed = packer.pack(payload);
        assert_eq!(unpack(packed).as_deref(), Ok(payload));
        packed.len()
    }

    #[test]
    fn what_repeats_is_written_once() {
        let ids = b"\x08\x0201a20860-b0c4-70ac-96c3-cabedb9c201a".repeat(8);
        assert!(check(&ids) < ids.len() / 4);
    }

    #[test]
    fn what_is_damaged_is_no_payload() {
        let payload = b"\x08\x02text".repeat(100);
        let mut packer = Packer::default();
        let packed = packer.pack(&payload).to_vec();
        assert!(packed.len() < payload.len());
        for cut in 5..packed.len() {
            assert!(unpack(&packed[..cut]).is_err(), "{cut}");
        }
        let mut vast = packed;
        vast[1..5].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(unpack(&vast).is_err());
    }

    proptest! {
        #[test]
        fn every_payload_comes_back(
            piece in prop::collection::vec(any::<u8>(), 0..300),
            times in 1usize..4,
        ) {
            let mut payload = vec![8];
            payload.extend(piece.repeat(times));
            prop_assert!(check(&payload) <= payload.len());
        }
    }
}
