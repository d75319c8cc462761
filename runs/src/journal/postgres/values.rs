//! Conversions between SQL values and the journal's types.

use std::time::Duration;

use tokio_postgres::Row;

use crate::{
    id::RunId,
    journal::{
        ListedRun, State,
        rows::{self, Encoded, signed, unsigned},
    },
};

/// Maximum lease and age, in seconds: a hundred years.
pub(super) const LONGEST: f64 = 100.0 * 365.0 * 86_400.0;

/// Events of one append, as SQL parameters.
pub(super) struct Written<'a> {
    pub(super) texts: Vec<&'a str>,
    /// State of the run after them, if they end it.
    pub(super) end: Option<&'static str>,
    pub(super) are_progress: Vec<bool>,
    pub(super) pieces: i64,
    pub(super) bytes: i64,
}

impl<'a> Written<'a> {
    pub(super) fn of(events: &'a [Encoded]) -> Self {
        let progress = rows::progress_of(events);
        Self {
            texts: events.iter().map(Encoded::text).collect(),
            end: events.iter().find_map(|e| e.end).map(State::as_str),
            are_progress: events.iter().map(|e| e.progress.is_some()).collect(),
            pieces: signed(progress.pieces),
            bytes: signed(progress.bytes),
        }
    }
}

/// Reads a row of a list.
pub(super) fn listed(row: &Row) -> ListedRun {
    ListedRun {
        cursor: row.get::<_, i64>(0).to_string(),
        run: RunId::new(row.get::<_, String>(1)),
        owner: row.get(2),
        strategy: row.get(3),
        thread: row.get(4),
        state: State::named(row.get(5)).unwrap_or(State::Working),
        started_ms: unsigned(row.get(6)),
        ended_ms: row.get::<_, Option<i64>>(7).map(unsigned),
        last: unsigned(row.get(8)),
        summary: row.get::<_, Option<&str>>(9).and_then(rows::summary_of),
    }
}

/// Sequence number and text of a row.
pub(super) fn event(row: &Row) -> (i64, Option<&str>) {
    (row.get(0), Some(row.get(1)))
}

pub(super) fn seconds(duration: Duration) -> f64 {
    duration.as_secs_f64().min(LONGEST)
}
