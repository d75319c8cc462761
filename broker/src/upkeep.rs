//! Upkeep of the log: when to take a snapshot, its content, and what is removed then. The state is folded from the log
//! itself, apart from the hub's, so that nothing waits for it.

use std::{
    collections::BTreeSet,
    time::{Duration, SystemTime},
};

use crate::{
    log::{Keeping, OpenError, Position, Replayed, Retention, Unfinished, Upkeep, replay_changes},
    settings::Settings,
    snapshot::{self, Folding, Moment},
    state::State,
};

/// Settled tasks of a hub at a position of its log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SettledTasks {
    /// The change up to which ended tasks had settled.
    pub(crate) upto: u64,
    pub(crate) position: Position,
}

/// Result of an upkeep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Done {
    /// The snapshot includes all records up to here.
    pub(crate) snapshot: Position,
    /// Number of removed records.
    pub(crate) removed: u64,
    /// The change up to which ended tasks are in segments; `None` if unchanged.
    pub(crate) ended: Option<u64>,
}

/// Size of a log, and the position of its snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) last: Position,
    pub(crate) snapshot: Position,
    pub(crate) bytes: u64,
}

/// True if an upkeep is due: enough records follow the snapshot, or the log exceeds its size and has grown clearly
/// since the last round.
pub(crate) fn is_due(standing: &Standing, before: &Standing, settings: &Settings) -> bool {
    let is_large = standing.bytes > settings.log_disk_bytes;
    let grown = standing.bytes.saturating_sub(before.bytes);
    has_grown(standing.last, standing.snapshot, settings.log_snapshot)
        || is_large && grown > settings.log_disk_bytes / 16
}

/// True if a hub that ends should take a snapshot: it saves the next start clearly more than a moment.
pub(crate) fn is_worth_it_at_the_end(standing: &Standing, settings: &Settings) -> bool {
    has_grown(standing.last, standing.snapshot, settings.log_snapshot / 10)
}

/// Minimum time between snapshots, and after the start, unless [`MANY`] times the records have arrived.
pub(crate) const SOON: Duration = Duration::from_secs(5);
/// Factor on the number of records between snapshots. With a high rate of records, a start reads a few more, instead of
/// constant folding.
pub(crate) const MANY: u64 = 5;

/// True if enough records follow the snapshot.
fn has_grown(last: Position, snapshot: Position, every: u64) -> bool {
    last >= due_at(snapshot, every)
}

/// The position at which this many records, at least one, follow the snapshot.
pub(crate) fn due_at(snapshot: Position, records: u64) -> Position {
    Position(snapshot.0.saturating_add(records.max(1)))
}

/// Takes a snapshot and removes unneeded records. Takes seconds for a long log; run it on a thread that may block.
/// `settled` is from the hub that uses the log, if any.
///
/// # Errors
///
/// [`Unfinished`]; the log is intact.
pub(crate) fn keep(
    upkeep: &Upkeep,
    settings: &Settings,
    settled: Option<SettledTasks>,
    must_stop: &(dyn Fn() -> bool + Sync),
) -> Result<Done, Unfinished> {
    let moment = Moment::now();
    let (position, kept, ended) = match whole_snapshot(upkeep)? {
        Some((position, kept)) => (position, kept, None),
        None => {
            let mut folding = Folding::new(settings, moment).without_bodies();
            let replayed = replay_changes(&upkeep.beside()?, |found| match must_stop() {
                true => Err("the hub stops".to_owned()),
                false => folding.take(found),
            });
            let Replayed { snapshot, last } = match replayed {
                Err(_) if must_stop() => return Err(Unfinished::Stopped),
                replayed => replayed?,
            };
            let mut state = folding.finish();
            let kept = snapshot::kept(&state, moment);
            settle(&mut state, last, settled, settings, moment);
            write_ended(upkeep, &mut state, must_stop)?;
            let seen = snapshot::seen::segments(&state.dedupe, moment);
            upkeep.write_seen(snapshot, seen, must_stop)?;
            upkeep.write_snapshot(last, &kept, |each| {
                snapshot::write(&state, moment, &mut |part| match must_stop() {
                    true => Err(Unfinished::Stopped),
                    false => each(part),
                })
            })?;
            (last, kept, Some(state.tasks.stored()))
        }
    };
    let retention = Retention {
        age: settings.log_age,
        bytes: settings.log_disk_bytes,
    };
    let now = SystemTime::now();
    let removed = upkeep.compact(position, &kept, &retention, now, must_stop)?;
    let known_since = now.checked_sub(settings.dedupe_window + CERTAIN);
    upkeep.trim_seen(snapshot::micros(known_since.unwrap_or(now)))?;
    upkeep.trim_ended(Keeping {
        tasks: settings.ended_tasks as u64,
        bytes: settings.ended_tasks_bytes,
        since_us: snapshot::micros(now.checked_sub(settings.ended_tasks_age).unwrap_or(now)),
    })?;
    Ok(Done {
        snapshot: position,
        removed,
        ended,
    })
}

/// Margin for clocks that are set back: after it, any time limit has passed.
const CERTAIN: Duration = Duration::from_secs(60);

/// The snapshot, if there are no later records, and the positions that it refers to.
fn whole_snapshot(upkeep: &Upkeep) -> Result<Option<(Position, BTreeSet<Position>)>, Unfinished> {
    Ok(upkeep.read(|reader| {
        if reader.snapshot_position()? != reader.last {
            return Ok(None);
        }
        let head = reader.snapshot()?;
        let kept = head.map(|head| Ok((head.position, reader.kept(&head)?)));
        kept.transpose()
    })?)
}

/// Settles the hub's settled tasks, if the fold has reached the hub's position, and those that ended long ago.
fn settle(
    state: &mut State,
    last: Position,
    settled: Option<SettledTasks>,
    settings: &Settings,
    moment: Moment,
) {
    let tasks = &mut state.tasks;
    if let Some(settled) = settled.filter(|settled| settled.position <= last) {
        tasks.settle_upto(settled.upto);
    }
    let late = settings.late_artifacts + CERTAIN;
    while !tasks.settle(late, moment.time).is_empty() {}
}

/// Writes settled tasks into segments, instead of into this snapshot and all later ones. The state keeps the others.
fn write_ended(
    upkeep: &Upkeep,
    state: &mut State,
    must_stop: &(dyn Fn() -> bool + Sync),
) -> Result<(), Unfinished> {
    let tasks = &mut state.tasks;
    let before = tasks.stored();
    let settled = tasks.take_settled();
    let last = settled.last().map_or(before, |ended| ended.changed);
    tasks.set_stored(last);
    upkeep.write_ended(before, |each| {
        snapshot::ended::write(settled, &mut |segment| match must_stop() {
            true => Err(Unfinished::Stopped),
            false => each(segment),
        })
    })
}

/// State of the log.
///
/// # Errors
///
/// [`OpenError`] if it cannot be read.
pub(crate) fn standing(upkeep: &Upkeep) -> Result<Standing, OpenError> {
    upkeep.read(|reader| {
        Ok(Standing {
            last: reader.last,
            snapshot: reader.snapshot_position()?,
            bytes: reader.bytes()?,
        })
    })
}

#[cfg(test)]
mod tests;
