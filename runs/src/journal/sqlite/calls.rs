//! The SQL of the journal's writing calls.

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, params};

use super::{
    reads::{self, Rows},
    worker::Done,
};
use crate::{
    id::RunId,
    journal::{
        JournalError, ProgressSize, State,
        listing::Heading,
        rows::{self, Encoded, signed, unsigned},
    },
};

/// Maximum bytes of an event stored in the main table.
const SMALL: usize = 64 * 1024;

/// A claim to a run, owned.
pub(super) struct OwnedClaim {
    pub(super) run: RunId,
    pub(super) driver: String,
    pub(super) lease: Duration,
}

/// A run to lease, and its first events if it may be created.
pub(super) struct OpenRequest {
    pub(super) owner: String,
    pub(super) claimed: OwnedClaim,
    pub(super) first: Option<(Vec<Encoded>, Heading)>,
}

/// A leased run.
pub(super) struct OpenedRows {
    pub(super) epoch: u64,
    pub(super) is_new: bool,
    /// Sequence number of the last event.
    pub(super) last: u64,
    pub(super) progress: ProgressSize,
    /// Events without progress.
    pub(super) rows: Rows,
    /// The first missing sequence number.
    pub(super) missing: Option<u64>,
}

pub(super) fn open(sql: &Connection, wanted: &OpenRequest, now_ms: u64) -> Done<OpenedRows> {
    let claimed = &wanted.claimed;
    let name = claimed.run.as_str();
    let mut is_new = false;
    if let Some((first, heading)) = &wanted.first {
        let made = make(sql, name, &wanted.owner, &claimed.driver, heading)?;
        is_new = made.is_some();
        if let Some(id) = made {
            add(sql, id, 0, first, now_ms)?;
        }
    }
    let row = match take(sql, claimed, now_ms)? {
        Ok(row) => row,
        Err(error) => return Ok(Err(error)),
    };
    let found = reads::without_progress(sql, row.id)?;
    let last = unsigned(row.last);
    // The full check for gaps runs only if the counts disagree.
    let until = found.last().map(|(seq, _)| *seq);
    let is_whole = rows::are_all(found.len(), until, row.progress, last);
    Ok(Ok(OpenedRows {
        epoch: unsigned(row.epoch),
        is_new,
        last,
        progress: row.progress,
        missing: if is_whole {
            None
        } else {
            reads::gap(sql, row.id, last)?
        },
        rows: found,
    }))
}

/// Creates a run's row; `None` if the run exists.
fn make(
    sql: &Connection,
    run: &str,
    owner: &str,
    driver: &str,
    heading: &Heading,
) -> Result<Option<i64>, rusqlite::Error> {
    let made = sql
        .prepare_cached(
            "INSERT INTO runs (run, owner, driver, epoch, until_ms, last, strategy, thread, started_ms)
             VALUES (?1, ?2, ?3, 0, 0, 0, ?4, ?5, ?6) ON CONFLICT (run) DO NOTHING",
        )?
        .execute(params![
            run,
            owner,
            driver,
            heading.strategy,
            heading.thread,
            signed(heading.started_ms)
        ])?;
    Ok((made == 1).then(|| sql.last_insert_rowid()))
}

pub(super) fn add_whole(
    sql: &Connection,
    run: &RunId,
    owner: &str,
    heading: &Heading,
    events: &[Encoded],
    now_ms: u64,
) -> Done<()> {
    if let Some(id) = make(sql, run.as_str(), owner, "", heading)? {
        add(sql, id, 0, events, now_ms)?;
    }
    Ok(Ok(()))
}

/// The row of a leased run.
struct LeasedRow {
    id: i64,
    epoch: i64,
    /// Sequence number of the last event.
    last: i64,
    progress: ProgressSize,
    is_over: bool,
}

fn take(sql: &Connection, claimed: &OwnedClaim, now_ms: u64) -> Done<LeasedRow> {
    let found = sql
        .prepare_cached(
            "SELECT id, epoch, last, ended_ms IS NOT NULL, driver, until_ms, progressed, progress_bytes
             FROM runs WHERE run = ?1",
        )?
        .query_row([claimed.run.as_str()], |row| {
            let taken = LeasedRow {
                id: row.get(0)?,
                epoch: row.get::<_, i64>(1)? + 1,
                last: row.get(2)?,
                is_over: row.get(3)?,
                progress: ProgressSize {
                    pieces: unsigned(row.get(6)?),
                    bytes: unsigned(row.get(7)?),
                },
            };
            let (driver, until_ms): (String, i64) = (row.get(4)?, row.get(5)?);
            Ok((taken, driver, unsigned(until_ms)))
        })
        .optional()?;
    let Some((taken, driver, until_ms)) = found else {
        return Ok(Err(JournalError::NotFound(claimed.run.clone())));
    };
    if driver != claimed.driver && until_ms > now_ms {
        return Ok(Err(JournalError::Leased {
            run: claimed.run.clone(),
            driver,
            // In whole milliseconds of the present one, which has begun.
            left: Duration::from_millis(until_ms - now_ms - 1),
        }));
    }
    sql.prepare_cached("UPDATE runs SET driver = ?2, epoch = ?3, until_ms = ?4 WHERE id = ?1")?
        .execute(params![
            taken.id,
            claimed.driver,
            taken.epoch,
            end(now_ms, claimed.lease)
        ])?;
    Ok(Ok(taken))
}

pub(super) fn close(sql: &Connection, claimed: &OwnedClaim, end: Encoded, now_ms: u64) -> Done<()> {
    let row = match take(sql, claimed, now_ms)? {
        Ok(row) => row,
        Err(error) => return Ok(Err(error)),
    };
    if !row.is_over {
        add(sql, row.id, row.last, &[end], now_ms)?;
    }
    release(sql, &claimed.run, unsigned(row.epoch), now_ms)
}

pub(super) fn append(
    sql: &Connection,
    run: &RunId,
    epoch: u64,
    after: u64,
    events: &[Encoded],
    now_ms: u64,
) -> Done<()> {
    let (id, last) = match leased_row(sql, run, epoch)? {
        Ok(held) => held,
        Err(error) => return Ok(Err(error)),
    };
    if last != signed(after) {
        return Ok(Err(JournalError::Fenced(run.clone())));
    }
    add(sql, id, last, events, now_ms).map(Ok)
}

pub(super) fn renew(
    sql: &Connection,
    run: &RunId,
    epoch: u64,
    lease: Duration,
    now_ms: u64,
) -> Done<()> {
    let (id, _) = match leased_row(sql, run, epoch)? {
        Ok(held) => held,
        Err(error) => return Ok(Err(error)),
    };
    sql.prepare_cached("UPDATE runs SET until_ms = ?2 WHERE id = ?1")?
        .execute(params![id, end(now_ms, lease)])?;
    Ok(Ok(()))
}

pub(super) fn release(sql: &Connection, run: &RunId, epoch: u64, now_ms: u64) -> Done<()> {
    sql.prepare_cached("UPDATE runs SET until_ms = ?3 WHERE run = ?1 AND epoch = ?2")?
        .execute(params![run.as_str(), signed(epoch), signed(now_ms)])?;
    Ok(Ok(()))
}

/// Takes a result in. False for a run that is missing or has ended.
pub(super) fn take_in(sql: &Connection, run: &RunId, task: &str, result: &str) -> Done<bool> {
    let id: Option<i64> = sql
        .prepare_cached("SELECT id FROM runs WHERE run = ?1 AND ended_ms IS NULL")?
        .query_row([run.as_str()], |row| row.get(0))
        .optional()?;
    let Some(id) = id else {
        return Ok(Ok(false));
    };
    sql.prepare_cached(
        "INSERT INTO results (run, task, result) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
    )?
    .execute(params![id, task, result])?;
    Ok(Ok(true))
}

/// Compacts at most `limit` runs of an owner.
pub(super) fn condense(
    sql: &Connection,
    owner: &str,
    age: Duration,
    limit: u32,
    now_ms: u64,
) -> Done<u64> {
    let Some(before) = now_ms.checked_sub(in_ms(age)) else {
        return Ok(Ok(0));
    };
    let old: Vec<(i64, i64)> = sql
        .prepare_cached(
            "SELECT id, last FROM runs WHERE ended_ms <= ?1 AND owner = ?3 AND last > 2 LIMIT ?2",
        )?
        .query_map(params![signed(before), limit, owner], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?
        .collect::<Result<_, _>>()?;
    for (id, last) in &old {
        for table in ["large_events", "events", "progress"] {
            sql.prepare_cached(&format!(
                "DELETE FROM {table} WHERE run = ?1 AND seq > 1 AND seq < ?2"
            ))?
            .execute([id, last])?;
            sql.prepare_cached(&format!(
                "UPDATE {table} SET seq = 2 WHERE run = ?1 AND seq = ?2"
            ))?
            .execute([id, last])?;
        }
        sql.prepare_cached("DELETE FROM results WHERE run = ?1")?
            .execute([id])?;
        sql.prepare_cached(
            "UPDATE runs SET last = 2, progressed = 0, progress_bytes = 0 WHERE id = ?1",
        )?
        .execute([id])?;
    }
    Ok(Ok(old.len() as u64))
}

/// Deletes at most `limit` runs of an owner.
pub(super) fn forget(
    sql: &Connection,
    owner: &str,
    age: Duration,
    limit: u32,
    now_ms: u64,
) -> Done<u64> {
    let Some(before) = now_ms.checked_sub(in_ms(age)) else {
        return Ok(Ok(0));
    };
    let old: Vec<i64> = sql
        .prepare_cached("SELECT id FROM runs WHERE ended_ms <= ?1 AND owner = ?3 LIMIT ?2")?
        .query_map(params![signed(before), limit, owner], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for id in &old {
        sql.prepare_cached("DELETE FROM large_events WHERE run = ?1")?
            .execute([id])?;
        sql.prepare_cached("DELETE FROM events WHERE run = ?1")?
            .execute([id])?;
        sql.prepare_cached("DELETE FROM progress WHERE run = ?1")?
            .execute([id])?;
        sql.prepare_cached("DELETE FROM results WHERE run = ?1")?
            .execute([id])?;
        sql.prepare_cached("DELETE FROM runs WHERE id = ?1")?
            .execute([id])?;
    }
    Ok(Ok(old.len() as u64))
}

/// The run's row id and last sequence number, if the epoch is the latest.
fn leased_row(sql: &Connection, run: &RunId, epoch: u64) -> Done<(i64, i64)> {
    let found = sql
        .prepare_cached("SELECT id, epoch, last FROM runs WHERE run = ?1")?
        .query_row([run.as_str()], |row| {
            let found: (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
            Ok(found)
        })
        .optional()?;
    Ok(match found {
        None => Err(JournalError::NotFound(run.clone())),
        Some((_, current, _)) if current != signed(epoch) => Err(JournalError::Fenced(run.clone())),
        Some((id, _, last)) => Ok((id, last)),
    })
}

fn add(
    sql: &Connection,
    id: i64,
    last: i64,
    events: &[Encoded],
    now_ms: u64,
) -> Result<(), rusqlite::Error> {
    let mut seq = last;
    let mut state = None;
    for event in events {
        seq += 1;
        if event.progress.is_some() {
            sql.prepare_cached("INSERT INTO progress (run, seq, event) VALUES (?1, ?2, ?3)")?
                .execute(params![id, seq, event.text()])?;
            continue;
        }
        let small = Some(event.text()).filter(|text| text.len() <= SMALL);
        sql.prepare_cached("INSERT INTO events (run, seq, event) VALUES (?1, ?2, ?3)")?
            .execute(params![id, seq, small])?;
        if small.is_none() {
            sql.prepare_cached("INSERT INTO large_events (run, seq, event) VALUES (?1, ?2, ?3)")?
                .execute(params![id, seq, event.event])?;
        }
        state = state.or(event.end);
    }
    let progress = rows::progress_of(events);
    let summary: Option<String> = sql
        .prepare_cached("SELECT summary FROM runs WHERE id = ?1")?
        .query_row([id], |row| row.get(0))?;
    let summary = rows::summary(summary.as_deref(), unsigned(last), events);
    sql.prepare_cached(
        "UPDATE runs SET last = ?2, ended_ms = coalesce(ended_ms, ?3),
             state = CASE WHEN ended_ms IS NULL THEN coalesce(?4, state) ELSE state END,
             progressed = progressed + ?5, progress_bytes = progress_bytes + ?6, summary = ?7
         WHERE id = ?1",
    )?
    .execute(params![
        id,
        seq,
        state.map(|_| signed(now_ms)),
        state.map(State::as_str),
        signed(progress.pieces),
        signed(progress.bytes),
        summary
    ])?;
    Ok(())
}

/// The end of a lease. The present is cut to whole milliseconds, and a lease lasts its whole time all the same.
fn end(now_ms: u64, lease: Duration) -> i64 {
    signed(now_ms.saturating_add(in_ms(lease)).saturating_add(1))
}

fn in_ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
