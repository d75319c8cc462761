//! Current card of an agent: the card in the directory while several instances are present, and the permission to
//! change it.
//!
//! | registration | other instances | result |
//! |---|---|---|
//! | another card of a version | one is connected with that version | refused |
//! | an older version | one is present with a newer one | known beside the current card |
//! | anything else | | becomes the current card |
//!
//! Versions are compared as semantic versions, if both are; missing numbers count as 0. Other versions are only
//! compared for equality.

use std::{cmp::Ordering, time::SystemTime};

use semver::Version;

/// Another present instance of the agent, and its version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Holder<'a> {
    pub(crate) instance: &'a str,
    pub(crate) version: &'a str,
    /// True if it has an open stream, not only a presence lease.
    pub(crate) is_connected: bool,
    pub(crate) since: SystemTime,
}

/// Place of a registered card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Becomes or is the current card.
    Current,
    /// Its version can be addressed; the current card stays.
    Beside,
}

/// Decides the place of a registered card. `is_known` is true if the directory has this exact card of the version.
///
/// # Errors
///
/// The instance that is connected with another card of the version.
pub(crate) fn place<'a>(
    version: &str,
    is_known: bool,
    others: impl Iterator<Item = Holder<'a>>,
) -> Result<Place, Holder<'a>> {
    let mut place = Place::Current;
    for other in others {
        if !is_known && other.is_connected && other.version == version {
            return Err(other);
        }
        if compare(other.version, version) == Some(Ordering::Greater) {
            place = Place::Beside;
        }
    }
    Ok(place)
}

/// The instance whose card becomes current after the instance with the current card has left: the one with the newest
/// version, and of several the one that connected last.
pub(crate) fn successor<'a>(others: impl Iterator<Item = Holder<'a>>) -> Option<Holder<'a>> {
    others.reduce(|best, other| {
        let order = compare(other.version, best.version).unwrap_or(Ordering::Equal);
        match order.then(other.since.cmp(&best.since)) {
            Ordering::Greater => other,
            Ordering::Less | Ordering::Equal => best,
        }
    })
}

/// Order of two versions; `None` unless both are semantic versions.
fn compare(one: &str, other: &str) -> Option<Ordering> {
    Some(parse(one)?.cmp_precedence(&parse(other)?))
}

fn parse(version: &str) -> Option<Version> {
    let numbers_end = version.find(['-', '+']).unwrap_or(version.len());
    let (numbers, rest) = version.split_at(numbers_end);
    let missing = match numbers.matches('.').count() {
        0 => ".0.0",
        1 => ".0",
        _ => "",
    };
    Version::parse(&[numbers, missing, rest].concat()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn holder(version: &'static str, is_connected: bool, since: u64) -> Holder<'static> {
        Holder {
            instance: "i",
            version,
            is_connected,
            since: SystemTime::UNIX_EPOCH + Duration::from_secs(since),
        }
    }

    fn check(version: &str, is_known: bool, others: &[Holder<'_>], expected: Option<Place>) {
        let place = place(version, is_known, others.iter().copied()).ok();
        assert_eq!(place, expected, "{version} beside {others:?}");
    }

    /// promise 7
    #[test]
    fn another_card_is_refused_while_its_version_is_connected() {
        let connected = [holder("1.0.0", true, 0)];
        check("1.0.0", false, &connected, None);
        check("1.0.0", true, &connected, Some(Place::Current));
        check(
            "1.0.0",
            false,
            &[holder("1.0.0", false, 0)],
            Some(Place::Current),
        );
        check("1.0.0", false, &[], Some(Place::Current));
        check("nightly", false, &[holder("nightly", true, 0)], None);
    }

    /// promise 7
    #[test]
    fn a_newer_version_becomes_current_and_an_older_one_does_not() {
        for (version, other, expected) in [
            ("2.0.0", "1.0.0", Place::Current),
            ("1.0.0", "2.0.0", Place::Beside),
            ("9.0.0", "10.0.0", Place::Beside),
            ("1.0", "1.0.1", Place::Beside),
            ("2", "1.9", Place::Current),
            ("2.0.0-rc.1", "2.0.0", Place::Beside),
            ("2.0.0+a", "2.0.0+b", Place::Current),
            ("1.0.0", "nightly", Place::Current),
            ("", "2.0.0", Place::Current),
        ] {
            for is_connected in [true, false] {
                check(
                    version,
                    false,
                    &[holder(other, is_connected, 0)],
                    Some(expected),
                );
            }
        }
    }

    #[test]
    fn the_newest_that_is_left_succeeds() {
        let left = [
            holder("1.0.0", true, 9),
            holder("2.0.0", true, 1),
            holder("2.0.0", true, 2),
        ];
        assert_eq!(successor(left.into_iter()), Some(left[2]));
        let texts = [holder("a", true, 2), holder("b", true, 1)];
        assert_eq!(successor(texts.into_iter()), Some(texts[0]));
        assert_eq!(successor([].into_iter()), None);
    }
}
