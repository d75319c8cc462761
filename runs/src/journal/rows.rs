//! What the tables of a journal hold, as entries.

use super::{Entry, Error, State, Summary, Tally, decode, encode, summary::Change};
use crate::{event::RunEvent, id::RunId, progress};

/// An event as bytes, and what it adds to what is kept beside the events of its run.
pub(super) struct Encoded {
    pub(super) event: Vec<u8>,
    /// In which state it leaves its run, if it ends it.
    pub(super) end: Option<State>,
    /// What it adds to the progress of its run, if it is some.
    pub(super) progress: Option<Tally>,
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

/// The progress among these events.
pub(super) fn progress_of(events: &[Encoded]) -> Tally {
    let mut tally = Tally::default();
    for piece in events.iter().filter_map(|event| event.progress) {
        tally += piece;
    }
    tally
}

/// The events behind the one at `after`, as they were read.
///
/// # Errors
///
/// [`Error::Unreadable`] names the first that is missing or damaged.
pub(super) fn entries<E: AsRef<[u8]>>(
    run: &RunId,
    after: u64,
    rows: impl IntoIterator<Item = (i64, Option<E>)>,
) -> Result<Vec<Entry>, Error> {
    let mut entries = Vec::new();
    for ((found, event), seq) in rows.into_iter().zip(after.saturating_add(1)..) {
        let event = event.filter(|_| u64::try_from(found) == Ok(seq));
        entries.push(entry(run, seq, event)?);
    }
    Ok(entries)
}

/// The events of a run between which its progress is left out.
///
/// # Errors
///
/// [`Error::Unreadable`] names the first that is damaged.
pub(super) fn without_progress<E: AsRef<[u8]>>(
    run: &RunId,
    rows: impl IntoIterator<Item = (i64, Option<E>)>,
) -> Result<Vec<Entry>, Error> {
    let rows = rows.into_iter();
    rows.map(|(seq, event)| entry(run, unsigned(seq), event))
        .collect()
}

fn entry<E: AsRef<[u8]>>(run: &RunId, seq: u64, event: Option<E>) -> Result<Entry, Error> {
    let event = event.ok_or_else(|| missing(run, seq))?;
    match decode(event.as_ref()) {
        Ok(event) => Ok(Entry { seq, event }),
        Err(why) => Err(Error::Unreadable {
            run: run.clone(),
            seq,
            why: why.to_string(),
        }),
    }
}

/// What there is no event at this place for.
pub(super) fn missing(run: &RunId, seq: u64) -> Error {
    Error::Unreadable {
        run: run.clone(),
        seq,
        why: "it is missing".to_owned(),
    }
}

/// Whether so many events, up to this place, and so much progress are all that a run has.
pub(super) fn are_all(events: usize, until: Option<i64>, progress: Tally, last: u64) -> bool {
    let count = (events as u64).saturating_add(progress.pieces);
    count == last && until.is_none_or(|until| unsigned(until) <= last)
}

/// The first place up to `last` that these, which are in order, leave out.
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

/// The summary of a run to which these events are added behind the one at `last`, in the form that is kept. A run whose events cannot be
/// read has none, and gets none.
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

/// The summary that was kept so.
pub(super) fn summary_of(kept: &str) -> Option<Summary> {
    serde_json::from_str(kept).ok()
}

/// A summary in the form that is kept.
pub(super) fn json(summary: &Summary) -> String {
    serde_json::to_string(summary).expect("a summary has only string keys")
}

/// A number as databases keep it.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A number that a database kept.
pub(super) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
