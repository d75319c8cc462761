//! The log's life over time: when it gets a snapshot, what that is made of, and what goes then. The state is folded from the log
//! itself, apart from the hub's, so that nothing waits for it.

use std::time::SystemTime;

use crate::{
    log::{OpenError, Position, Retention, Unfinished, Upkeep, replay},
    settings::Settings,
    snapshot::{self, Folding, Moment},
};

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Done {
    /// Everything up to here is in the snapshot.
    pub(crate) snapshot: Position,
    /// Records that went.
    pub(crate) removed: u64,
}

/// Whether the log has grown enough since its snapshot for another one.
pub(crate) fn is_due(last: Position, snapshot: Position, every: u64) -> bool {
    last.0.saturating_sub(snapshot.0) >= every.max(1)
}

/// Takes a snapshot and removes what nobody needs any more. Takes seconds for a long log; run it where that harms nobody.
///
/// # Errors
///
/// [`Unfinished`]; the log is as good as before.
pub(crate) fn keep(
    upkeep: &Upkeep,
    settings: &Settings,
    must_stop: &(dyn Fn() -> bool + Sync),
) -> Result<Done, Unfinished> {
    let moment = Moment::now();
    let folded = upkeep.read(|reader| {
        if let Some(head) = reader.snapshot()?.filter(|h| h.position == reader.last) {
            return Ok((reader.last, reader.kept(&head)?, None));
        }
        let mut folding = Folding::new(settings, moment);
        let id = reader.id;
        let position = replay(reader, |found| match must_stop() {
            true => Err("the hub stops".to_owned()),
            false => folding.take(id, found),
        })?;
        let state = folding.finish(reader.id);
        Ok((position, snapshot::kept(&state, moment), Some(state)))
    });
    let (position, kept, state) = match folded {
        Err(_) if must_stop() => return Err(Unfinished::Stopped),
        folded => folded?,
    };
    if let Some(state) = state {
        upkeep.write_snapshot(position, &kept, |each| {
            snapshot::write(&state, moment, &mut |part| match must_stop() {
                true => Err(Unfinished::Stopped),
                false => each(part),
            })
        })?;
    }
    let retention = Retention {
        age: settings.log_age,
        bytes: settings.log_disk_bytes,
    };
    let removed = upkeep.compact(position, &kept, &retention, SystemTime::now())?;
    Ok(Done {
        snapshot: position,
        removed,
    })
}

/// How far the log goes, and where its snapshot is.
///
/// # Errors
///
/// [`OpenError`] if that cannot be read.
pub(crate) fn positions(upkeep: &Upkeep) -> Result<(Position, Position), OpenError> {
    upkeep.read(|reader| Ok((reader.last, reader.snapshot_position()?)))
}

#[cfg(test)]
mod tests;
