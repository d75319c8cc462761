//! Packs hexadecimal digits into half their bytes: ids and traces are random, so that a general compressor cannot
//! shorten them.

/// Marker before the 16 bytes of a UUID in its usual form.
const UUID: u8 = 0xff;
/// Marker before a number of bytes, and these: each is two digits.
const DIGITS: u8 = 0xfe;
/// Marker before a literal byte that equals a marker.
const SELF: u8 = 0xfd;

/// Minimum digits to pack.
const FEW: usize = 8;
/// Maximum digits of a run.
const MANY: usize = 2 * u8::MAX as usize;

/// Lengths of the groups of digits in a UUID.
const GROUPS: [usize; 5] = [8, 4, 4, 4, 12];
const UUID_LEN: usize = 36;

/// Packs the digits in these bytes.
pub(super) fn shorten(bytes: &[u8], to: &mut Vec<u8>) {
    let mut rest = bytes;
    while let Some(&byte) = rest.first() {
        let digits = rest.iter().take(MANY).take_while(|b| digit(**b).is_some());
        let run = digits.count();
        let taken = if run == GROUPS[0] && is_uuid(rest) {
            to.push(UUID);
            let mut at = 0;
            for group in GROUPS {
                push_pairs(&rest[at..at + group], to);
                at += group + 1;
            }
            UUID_LEN
        } else if run >= FEW {
            let pairs = run / 2;
            to.extend([DIGITS, u8::try_from(pairs).unwrap_or(u8::MAX)]);
            push_pairs(&rest[..2 * pairs], to);
            2 * pairs
        } else if run > 0 {
            to.extend_from_slice(&rest[..run]);
            run
        } else {
            if byte >= SELF {
                to.push(SELF);
            }
            to.push(byte);
            1
        };
        rest = &rest[taken..];
    }
}

/// The reverse of [`shorten`]; `None` for other input.
pub(super) fn restore(short: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(2 * short.len());
    let mut rest = short;
    while let Some((&byte, behind)) = rest.split_first() {
        rest = behind;
        match byte {
            UUID => {
                let (mut digits, behind) = rest.split_at_checked(16)?;
                for (n, group) in GROUPS.into_iter().enumerate() {
                    if n > 0 {
                        bytes.push(b'-');
                    }
                    let (group, others) = digits.split_at(group / 2);
                    push_digits(group, &mut bytes);
                    digits = others;
                }
                rest = behind;
            }
            DIGITS => {
                let (&pairs, behind) = rest.split_first()?;
                let (digits, behind) = behind.split_at_checked(pairs.into())?;
                push_digits(digits, &mut bytes);
                rest = behind;
            }
            SELF => {
                let (&byte, behind) = rest.split_first()?;
                bytes.push(byte);
                rest = behind;
            }
            byte => bytes.push(byte),
        }
    }
    Some(bytes)
}

fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    }
}

fn is_uuid(bytes: &[u8]) -> bool {
    let Some(text) = bytes.get(..UUID_LEN) else {
        return false;
    };
    let mut groups = text.split(|b| *b == b'-');
    let fits =
        |group: &[u8], length| group.len() == length && group.iter().all(|b| digit(*b).is_some());
    GROUPS
        .iter()
        .all(|length| groups.next().is_some_and(|group| fits(group, *length)))
}

fn push_pairs(digits: &[u8], to: &mut Vec<u8>) {
    let value = |byte| digit(byte).unwrap_or_default();
    let (pairs, _) = digits.as_chunks::<2>();
    to.extend(
        pairs
            .iter()
            .map(|[high, low]| value(*high) << 4 | value(*low)),
    );
}

fn push_digits(pairs: &[u8], to: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for pair in pairs {
        to.extend([
            DIGITS[usize::from(pair >> 4)],
            DIGITS[usize::from(pair & 15)],
        ]);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(bytes: &[u8]) -> usize {
        let mut short = Vec::new();
        shorten(bytes, &mut short);
        assert_eq!(restore(&short).as_deref(), Some(bytes));
        short.len()
    }

    #[test]
    fn ids_take_half_their_bytes() {
        for (text, expected) in [
            ("01a20860-b0c4-70ac-96c3-cabedb9c201a", 17),
            (
                "client-01a20860-b0c4-70ac-96c3-cabedb9c201a2700",
                7 + 17 + 4,
            ),
            (
                "00-9f15b82fecf74f7e8869297a5835f094-8869297a5835f094-01",
                3 + 18 + 1 + 10 + 3,
            ),
            ("01A20860-B0C4-70AC-96C3-CABEDB9C201A", 36),
            (
                "01a20860-b0c4-70ac-96c3-cabedb9c201",
                2 + 4 + 1 + 4 + 1 + 4 + 1 + 4 + 1 + 2 + 5 + 1,
            ),
            ("deadbee", 7),
            ("deadbeef5", 2 + 4 + 1),
            ("", 0),
        ] {
            assert_eq!(check(text.as_bytes()), expected, "{text}");
        }
        assert_eq!(check(&[UUID, DIGITS, SELF]), 6);
        assert_eq!(check(&[b'a'; 2 * MANY + 3]), 2 * (2 + MANY / 2) + 3);
    }

    #[test]
    fn what_was_cut_off_is_found() {
        for short in [&[UUID, 1][..], &[DIGITS], &[DIGITS, 2, 1], &[SELF]] {
            assert_eq!(restore(short), None, "{short:?}");
        }
    }

    proptest! {
        #[test]
        fn all_bytes_come_back(
            pieces in prop::collection::vec(
                prop_oneof![
                    prop::collection::vec(any::<u8>(), 0..40),
                    "[0-9a-f]{0,40}-?".prop_map(String::into_bytes),
                    any::<u128>().prop_map(|n| uuid::Uuid::from_u128(n).to_string().into_bytes()),
                ],
                0..10,
            )
        ) {
            check(&pieces.concat());
        }
    }
}
