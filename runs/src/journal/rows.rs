//! What the tables of a journal hold, as entries.

use super::{Entry, Error, decode};
use crate::id::RunId;

/// The events behind the one at `after`, as they were read; where `last` is known, up to it.
///
/// # Errors
///
/// [`Error::Unreadable`] names the first that is missing or damaged.
pub(super) fn entries<E: AsRef<[u8]>>(
    run: &RunId,
    after: u64,
    last: Option<u64>,
    rows: impl IntoIterator<Item = (i64, Option<E>)>,
) -> Result<Vec<Entry>, Error> {
    let unreadable = |seq, why: String| Error::Unreadable {
        run: run.clone(),
        seq,
        why,
    };
    let mut entries = Vec::new();
    for ((found, event), seq) in rows.into_iter().zip(after.saturating_add(1)..) {
        let event = event.filter(|_| u64::try_from(found) == Ok(seq));
        let event = event.ok_or_else(|| unreadable(seq, "it is missing".to_owned()))?;
        let event = decode(event.as_ref()).map_err(|why| unreadable(seq, why.to_string()))?;
        entries.push(Entry { seq, event });
    }
    let end = after.saturating_add(entries.len() as u64);
    match last {
        Some(last) if last != end => Err(unreadable(
            end.saturating_add(1),
            "it is missing".to_owned(),
        )),
        _ => Ok(entries),
    }
}

/// A number as databases keep it.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A number that a database kept.
pub(super) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
