//! How much of a log is kept.

use std::time::Duration;

use super::Position;

/// How long and how much. What a mailbox needs is kept whatever its age.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Retention {
    /// Records older than this go.
    pub(crate) age: Duration,
    /// The oldest go while the log takes more.
    pub(crate) bytes: u64,
}

/// How large a log is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) first: Position,
    pub(crate) last: Position,
    pub(crate) bytes: u64,
}

/// The last position that goes; the one before the first if nothing does. `young` is the first that is young enough to stay, and
/// nothing goes that the snapshot does not stand for.
pub(crate) fn horizon(
    extent: &Extent,
    snapshot: Position,
    young: Position,
    bytes: u64,
) -> Position {
    let before = extent.first.0 - 1;
    let by_age = young.0.saturating_sub(1);
    let records = extent.last.0 - before;
    let surplus = extent.bytes.saturating_sub(bytes);
    // As if all were of one size: what remains too much goes the next time.
    let by_size = match u128::from(records) * u128::from(surplus) {
        0 => 0,
        product => product.div_ceil(u128::from(extent.bytes)),
    };
    let by_size = before + u64::try_from(by_size).unwrap_or(records);
    Position(by_age.max(by_size).min(snapshot.0).max(before))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: Extent = Extent {
        first: Position(101),
        last: Position(200),
        bytes: 1000,
    };

    fn goes(snapshot: u64, young: u64, bytes: u64) -> u64 {
        horizon(&LOG, Position(snapshot), Position(young), bytes).0
    }

    #[test]
    fn what_is_old_or_too_much_goes() {
        assert_eq!(goes(200, 101, 1000), 100, "nothing");
        assert_eq!(goes(200, 151, 1000), 150, "what is old");
        assert_eq!(goes(200, 101, 900), 110, "a tenth");
        assert_eq!(goes(200, 111, 500), 150, "whichever is more");
        assert_eq!(goes(200, 201, 0), 200, "all");
    }

    #[test]
    fn nothing_goes_without_a_snapshot_that_has_it() {
        assert_eq!(goes(0, 201, 0), 100);
        assert_eq!(goes(120, 201, 0), 120);
    }
}
