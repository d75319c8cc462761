//! Fingerprints: 16-byte names of publishes.

use std::hash::Hasher;

use siphasher::sip128::{Hasher128, SipHasher13};

use crate::table;

/// A keyed hash of sender, order key and id. Collisions happen only by chance: nobody can construct one without the
/// [`Secret`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fingerprint(u64, u64);

/// Key of the hash. Leaves the hub only in its own snapshots.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Secret([u8; 16]);

/// Fingerprints of one sender in one order.
#[derive(Clone, Debug)]
pub(crate) struct Fingerprints(SipHasher13);

/// Separator of texts: never part of UTF-8.
const END: u8 = 0xff;

impl Secret {
    pub(super) fn random() -> Self {
        let [one, other] = [(); 2].map(|()| table::random().to_le_bytes());
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&one);
        bytes[8..].copy_from_slice(&other);
        Self(bytes)
    }

    pub(crate) fn fingerprints(self, sender: &str, order: &str) -> Fingerprints {
        let mut hasher = SipHasher13::new_with_key(&self.0);
        for text in [sender, order] {
            hasher.write(text.as_bytes());
            hasher.write_u8(END);
        }
        Fingerprints(hasher)
    }

    pub(crate) fn bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl From<[u8; 16]> for Secret {
    fn from(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

impl Fingerprints {
    pub(crate) fn of(&self, id: &str) -> Fingerprint {
        let mut hasher = self.0;
        hasher.write(id.as_bytes());
        let (one, other) = hasher.finish128().as_u64();
        Fingerprint(one, other)
    }
}

impl Fingerprint {
    /// One of 256 shards, evenly distributed.
    pub(super) fn shard(self) -> usize {
        usize::from(self.0.to_le_bytes()[0])
    }

    /// Bits that [`shard`](Self::shard) does not use.
    pub(super) fn tag(self) -> u32 {
        let [.., a, b, c, d] = self.1.to_le_bytes();
        u32::from_le_bytes([a, b, c, d])
    }

    pub(crate) fn halves(self) -> [u64; 2] {
        [self.0, self.1]
    }
}

impl From<[u64; 2]> for Fingerprint {
    fn from([one, other]: [u64; 2]) -> Self {
        Self(one, other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_apart_by_each_of_their_parts() {
        let secret = Secret::random();
        let of = |sender, order, id| secret.fingerprints(sender, order).of(id);
        let all = [
            of("a", "b", "c"),
            of("ab", "", "c"),
            of("a", "bc", ""),
            of("", "ab", "c"),
            of("a", "b", "d"),
            Secret::random().fingerprints("a", "b").of("c"),
        ];
        for (n, one) in all.iter().enumerate() {
            assert!(!all[n + 1..].contains(one), "{n}");
            assert_eq!(Fingerprint::from(one.halves()), *one);
        }
        assert_eq!(of("a", "b", "c"), all[0]);
    }
}
