//! Conversions between the rows of a store and entries.

use super::{Entry, JournalError, ProgressSize, State, Summary, decode, encode, summary::Change};
use crate::{event::RunEvent, id::RunId, progress};

/// A serialized event, with its effects on the run's row.
pub(super) struct Encoded {
    pub(super) event: Vec<u8>,
    /// State of the run after it, if it ends the run.
    pub(super) end: Option<State>,
    /// Its size, if it is progress.
    pub(super) progress: Option<ProgressSize>,
    change: Change,
}

impl Encoded {
    pub(super) fn new(event: &RunEvent) -> Self {
        let bytes = encode(event);
        Self {
            end: State::after(event),
            progress: progress::weight(event, bytes.len()),
            change: Change::of(event),
            event: bytes,
        }
    }

    pub(super) fn all(events: &[RunEvent]) -> Vec<Self> {
        events.iter().map(Self::new).collect()
    }

    pub(super) fn text(&self) -> &str {
        std::str::from_utf8(&self.event).expect("JSON is UTF-8")
    }
}

/// Total progress among these events.
pub(super) fn progress_of(events: &[Encoded]) -> ProgressSize {
    let mut tally = ProgressSize::default();
    for piece in events.iter().filter_map(|event| event.progress) {
        tally += piece;
    }
    tally
}

/// Decodes the rows after sequence number `after`.
///
/// # Errors
///
/// [`JournalError::Unreadable`] names the first that is missing or damaged.
pub(super) fn entries<E: AsRef<[u8]>>(
    run: &RunId,
    after: u64,
    rows: impl IntoIterator<Item = (i64, Option<E>)>,
) -> Result<Vec<Entry>, JournalError> {
    let mut entries = Vec::new();
    for ((found, event), seq) in rows.into_iter().zip(after.saturating_add(1)..) {
        let event = event.filter(|_| u64::try_from(found) == Ok(seq));
        entries.push(entry(run, seq, event)?);
    }
    Ok(entries)
}

/// Decodes the rows of a run without its progress.
///
/// # Errors
///
/// [`JournalError::Unreadable`] names the first that is damaged.
pub(super) fn without_progress<E: AsRef<[u8]>>(
    run: &RunId,
    rows: impl IntoIterator<Item = (i64, Option<E>)>,
) -> Result<Vec<Entry>, JournalError> {
    let rows = rows.into_iter();
    rows.map(|(seq, event)| entry(run, unsigned(seq), event))
        .collect()
}

fn entry<E: AsRef<[u8]>>(run: &RunId, seq: u64, event: Option<E>) -> Result<Entry, JournalError> {
    let event = event.ok_or_else(|| missing(run, seq))?;
    match decode(event.as_ref()) {
        Ok(event) => Ok(Entry { seq, event }),
        Err(why) => Err(JournalError::Unreadable {
            run: run.clone(),
            seq,
            why: why.to_string(),
        }),
    }
}

/// The error for a missing event.
pub(super) fn missing(run: &RunId, seq: u64) -> JournalError {
    JournalError::Unreadable {
        run: run.clone(),
        seq,
        why: "it is missing".to_owned(),
    }
}

/// True if this many events, up to this sequence number, and this much progress add up to the whole run.
pub(super) fn are_all(
    events: usize,
    until: Option<i64>,
    progress: ProgressSize,
    last: u64,
) -> bool {
    let count = (events as u64).saturating_add(progress.pieces);
    count == last && until.is_none_or(|until| unsigned(until) <= last)
}

/// The first sequence number up to `last` that is missing in these, which are in order.
pub(super) fn gap(places: impl IntoIterator<Item = i64>, last: u64) -> Option<u64> {
    let mut next = 1;
    for place in places {
        if unsigned(place) != next {
            break;
        }
        next += 1;
    }
    (next <= last).then_some(next)
}

/// Updates a serialized summary for events appended after `last`. A run whose events cannot be decoded has none, and
/// gets none.
pub(super) fn summary(before: Option<&str>, last: u64, events: &[Encoded]) -> Option<String> {
    let mut summary = match before {
        None if last > 0 => return None,
        None => Summary::default(),
        Some(kept) => summary_of(kept)?,
    };
    for (seq, event) in (last + 1..).zip(events) {
        summary.apply(seq, &event.change);
    }
    Some(json(&summary))
}

/// Decodes a stored summary.
pub(super) fn summary_of(kept: &str) -> Option<Summary> {
    serde_json::from_str(kept).ok()
}

/// Encodes a summary.
pub(super) fn json(summary: &Summary) -> String {
    serde_json::to_string(summary).expect("a summary has only string keys")
}

/// Part of the stored summary of a run that asks, and of no other: within texts and keys, quotes are escaped.
pub(super) const ASKS: &str = r#""asks":"#;

/// Text in the summary of a run to which another task led.
pub(super) const IS_PART: &str = r#""is_part":true"#;

/// A number as databases store it.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A number read from a database.
pub(super) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
