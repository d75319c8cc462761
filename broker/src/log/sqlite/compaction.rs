//! Compaction: choice and removal of old records.

use std::{
    collections::BTreeSet,
    ops::RangeInclusive,
    time::{Duration, SystemTime},
};

use rusqlite::{Connection, params};

use super::read::Reader;
use crate::log::{
    OpenError, Position,
    retention::{self, Extent, Retention},
};

/// Records removed per step.
const STEP: u64 = 5000;

/// Removal plan, in steps.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// Old records, before the log's first, that no mailbox needs any more.
    pub(super) stale: Vec<RangeInclusive<u64>>,
    /// Ranges to remove, and the log's new beginning after each step.
    pub(super) steps: Vec<(Vec<RangeInclusive<u64>>, Position)>,
}

/// Plans the removal.
pub(super) fn plan(
    reader: &Reader<'_>,
    snapshot: Position,
    kept: &BTreeSet<Position>,
    retention: &Retention,
    now: SystemTime,
) -> Result<Plan, OpenError> {
    let extent = Extent {
        first: reader.first,
        last: reader.last,
        bytes: reader.bytes()?,
    };
    let oldest = now.checked_sub(retention.age).unwrap_or(now);
    let young = first_since(reader, oldest)?;
    let horizon = retention::horizon(&extent, snapshot, young, retention.bytes);
    let stale = reader.sparse(Position(0), usize::MAX)?.into_iter();
    let stale = stale
        .filter(|p| !kept.contains(p))
        .map(|p| p.0..=p.0)
        .collect();
    let mut steps = Vec::new();
    let mut from = reader.first.0;
    while from <= horizon.0 {
        let to = horizon.0.min(from + STEP - 1);
        steps.push((gaps(from..=to, kept), Position(to + 1)));
        from = to + 1;
    }
    Ok(Plan { stale, steps })
}

/// Gaps between the kept positions.
fn gaps(range: RangeInclusive<u64>, kept: &BTreeSet<Position>) -> Vec<RangeInclusive<u64>> {
    let (mut from, to) = range.into_inner();
    let mut gaps = Vec::new();
    for position in kept.range(Position(from)..=Position(to)) {
        if from < position.0 {
            gaps.push(from..=position.0 - 1);
        }
        from = position.0 + 1;
    }
    if from <= to {
        gaps.push(from..=to);
    }
    gaps
}

/// Removes a range. Returns the number of removed records.
pub(super) fn remove(
    connection: &Connection,
    range: RangeInclusive<u64>,
) -> Result<u64, rusqlite::Error> {
    let gone = connection
        .prepare_cached("DELETE FROM events WHERE position BETWEEN ? AND ?")?
        .execute(params![
            range.start().cast_signed(),
            range.end().cast_signed()
        ])?;
    Ok(gone as u64)
}

/// The first record at or after a time; the one after the last if all are older. Approximate if the clock was set back.
fn first_since(reader: &Reader<'_>, time: SystemTime) -> Result<Position, OpenError> {
    let (mut low, mut high) = (reader.first.0, reader.last.0 + 1);
    while low < high {
        let middle = low.midpoint(high);
        // Tolerates clock jitter of a second.
        if reader.record(Position(middle))?.time + Duration::from_secs(1) < time {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    Ok(Position(low))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_left_out() {
        let kept = [2, 3, 7, 9].map(Position).into();
        assert_eq!(gaps(1..=10, &kept), [1..=1, 4..=6, 8..=8, 10..=10]);
        assert_eq!(gaps(2..=3, &kept), []);
        assert_eq!(gaps(4..=9, &kept), [4..=6, 8..=8]);
    }
}
