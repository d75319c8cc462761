//! Retention of a log.

use std::time::Duration;

use super::Position;

/// Limits on age and size. Records that a mailbox needs are kept whatever their age.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Retention {
    /// Maximum age of records.
    pub(crate) age: Duration,
    /// Maximum size of the log; the oldest records are removed first.
    pub(crate) bytes: u64,
}

/// Size of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) first: Position,
    pub(crate) last: Position,
    pub(crate) bytes: u64,
}

/// Last position to remove; the one before the first if there is nothing to remove. `young` is the first record that is
/// young enough to keep, and nothing is removed that the snapshot does not cover.
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
    // Assumes equal sizes of records: the rest is removed in the next round.
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
