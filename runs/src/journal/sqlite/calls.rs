//! The calls of a journal, in SQL.

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, params, params_from_iter, types::Value};
use serde::Serialize;

use super::worker::Done;
use crate::{
    id::RunId,
    journal::{
        Error, Filter, Listed, State,
        listing::Heading,
        rows::{signed, unsigned},
    },
};

/// An event of at most this many bytes is kept with the others.
const SMALL: usize = 64 * 1024;

/// An event as bytes, and in which state it leaves its run, if it ends it.
pub(super) struct Encoded {
    pub(super) event: Vec<u8>,
    pub(super) end: Option<State>,
}

/// Who wants which run.
pub(super) struct Claimed {
    pub(super) run: RunId,
    pub(super) driver: String,
    pub(super) lease: Duration,
}

/// A run that is wanted, and how it begins if there is none.
pub(super) struct Wanted {
    pub(super) owner: String,
    pub(super) claimed: Claimed,
    pub(super) first: Option<(Encoded, Heading)>,
}

/// A run that was taken in hand.
pub(super) struct Taken {
    pub(super) epoch: u64,
    pub(super) is_new: bool,
    /// The place of the last event.
    pub(super) last: u64,
    pub(super) rows: Rows,
}

pub(super) type Rows = Vec<(i64, Option<Vec<u8>>)>;

pub(super) fn open(sql: &Connection, wanted: &Wanted, now_ms: u64) -> Done<Taken> {
    let claimed = &wanted.claimed;
    let name = claimed.run.as_str();
    let mut is_new = false;
    if let Some((first, heading)) = &wanted.first {
        let made = make(sql, name, &wanted.owner, &claimed.driver, heading)?;
        is_new = made.is_some();
        if let Some(id) = made {
            add(sql, id, 0, std::slice::from_ref(first), now_ms)?;
        }
    }
    let row = match take(sql, claimed, now_ms)? {
        Ok(row) => row,
        Err(error) => return Ok(Err(error)),
    };
    Ok(Ok(Taken {
        epoch: unsigned(row.epoch),
        is_new,
        last: unsigned(row.last),
        rows: rows(sql, row.id, 0, i64::MAX)?,
    }))
}

/// The row of a run that there was not; none if there is such a run.
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

/// The row of a run that was taken in hand.
struct TakenRow {
    id: i64,
    epoch: i64,
    /// The place of the last event.
    last: i64,
    is_over: bool,
}

fn take(sql: &Connection, claimed: &Claimed, now_ms: u64) -> Done<TakenRow> {
    let found = sql
        .prepare_cached(
            "SELECT id, epoch, last, ended_ms IS NOT NULL, driver, until_ms FROM runs WHERE run = ?1",
        )?
        .query_row([claimed.run.as_str()], |row| {
            let taken = TakenRow {
                id: row.get(0)?,
                epoch: row.get::<_, i64>(1)? + 1,
                last: row.get(2)?,
                is_over: row.get(3)?,
            };
            let (driver, until_ms): (String, i64) = (row.get(4)?, row.get(5)?);
            Ok((taken, driver, unsigned(until_ms)))
        })
        .optional()?;
    let Some((taken, driver, until_ms)) = found else {
        return Ok(Err(Error::NotFound(claimed.run.clone())));
    };
    if driver != claimed.driver && until_ms > now_ms {
        return Ok(Err(Error::Held {
            run: claimed.run.clone(),
            driver,
            left: Duration::from_millis(until_ms - now_ms),
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

pub(super) fn close(sql: &Connection, claimed: &Claimed, end: Encoded, now_ms: u64) -> Done<()> {
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
    let (id, last) = match held(sql, run, epoch)? {
        Ok(held) => held,
        Err(error) => return Ok(Err(error)),
    };
    if last != signed(after) {
        return Ok(Err(Error::Fenced(run.clone())));
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
    let (id, _) = match held(sql, run, epoch)? {
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

pub(super) fn read(sql: &Connection, run: &RunId, after: u64, limit: usize) -> Done<Rows> {
    let id = sql
        .prepare_cached("SELECT id FROM runs WHERE run = ?1")?
        .query_row([run.as_str()], |row| row.get(0))
        .optional()?;
    let Some(id) = id else {
        return Ok(Err(Error::NotFound(run.clone())));
    };
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    Ok(Ok(rows(sql, id, signed(after), limit)?))
}

pub(super) fn adoptable(
    sql: &Connection,
    owner: &str,
    driver: &str,
    limit: usize,
    now_ms: u64,
) -> Done<Vec<RunId>> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut free = sql.prepare_cached(
        "SELECT run FROM runs WHERE owner = ?1 AND ended_ms IS NULL AND (driver = ?2 OR until_ms <= ?3)
         ORDER BY id LIMIT ?4",
    )?;
    let runs = free.query_map(params![owner, driver, signed(now_ms), limit], |row| {
        row.get::<_, String>(0).map(RunId::new)
    })?;
    Ok(Ok(runs.collect::<Result<_, _>>()?))
}

pub(super) fn list(sql: &Connection, filter: &Filter, before: Option<u64>) -> Done<Vec<Listed>> {
    let mut query =
        "SELECT id, run, owner, strategy, thread, state, started_ms, ended_ms FROM runs WHERE true"
            .to_owned();
    let mut with: Vec<Value> = Vec::new();
    let mut only = |condition: &str, value: Option<Value>| {
        if let Some(value) = value {
            query.push_str(condition);
            with.push(value);
        }
    };
    let text = |text: &Option<String>| text.clone().map(Value::from);
    let states: Vec<&str> = filter.states.iter().map(|s| s.as_str()).collect();
    only(" AND owner = ?", text(&filter.owner));
    only(" AND thread = ?", text(&filter.thread));
    only(
        " AND strategy IN (SELECT value FROM json_each(?))",
        any(&filter.strategies),
    );
    only(
        " AND state IN (SELECT value FROM json_each(?))",
        any(&states),
    );
    only(" AND id < ?", before.map(|id| signed(id).into()));
    only(
        " ORDER BY id DESC LIMIT ?",
        Some(signed(filter.limit() as u64).into()),
    );
    let mut listed = sql.prepare_cached(&query)?;
    let listed = listed.query_map(params_from_iter(with), |row| {
        let state: String = row.get(5)?;
        Ok(Listed {
            run: RunId::new(row.get::<_, String>(1)?),
            owner: row.get(2)?,
            strategy: row.get(3)?,
            thread: row.get(4)?,
            state: State::named(&state).unwrap_or(State::Working),
            started_ms: unsigned(row.get(6)?),
            ended_ms: row.get::<_, Option<i64>>(7)?.map(unsigned),
            cursor: row.get::<_, i64>(0)?.to_string(),
        })
    })?;
    Ok(Ok(listed.collect::<Result<_, _>>()?))
}

/// Names as JSON; nothing where any will do.
fn any<T: Serialize>(names: &[T]) -> Option<Value> {
    let json = serde_json::to_string(names).expect("names are strings");
    (!names.is_empty()).then(|| json.into())
}

/// Forgets at most `limit` runs of an owner.
pub(super) fn forget(
    sql: &Connection,
    owner: &str,
    age: Duration,
    limit: u32,
    now_ms: u64,
) -> Done<u64> {
    let age_ms = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
    let Some(before) = now_ms.checked_sub(age_ms) else {
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
        sql.prepare_cached("DELETE FROM runs WHERE id = ?1")?
            .execute([id])?;
    }
    Ok(Ok(old.len() as u64))
}

/// The run's row and the place of its last event, if the lease is the latest.
fn held(sql: &Connection, run: &RunId, epoch: u64) -> Done<(i64, i64)> {
    let found = sql
        .prepare_cached("SELECT id, epoch, last FROM runs WHERE run = ?1")?
        .query_row([run.as_str()], |row| {
            let found: (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
            Ok(found)
        })
        .optional()?;
    Ok(match found {
        None => Err(Error::NotFound(run.clone())),
        Some((_, current, _)) if current != signed(epoch) => Err(Error::Fenced(run.clone())),
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
    for Encoded { event, end } in events {
        seq += 1;
        let small = Some(event)
            .filter(|e| e.len() <= SMALL)
            .map(|e| String::from_utf8_lossy(e));
        sql.prepare_cached("INSERT INTO events (run, seq, event) VALUES (?1, ?2, ?3)")?
            .execute(params![id, seq, small])?;
        if small.is_none() {
            sql.prepare_cached("INSERT INTO large_events (run, seq, event) VALUES (?1, ?2, ?3)")?
                .execute(params![id, seq, event])?;
        }
        state = state.or(*end);
    }
    sql.prepare_cached(
        "UPDATE runs SET last = ?2, ended_ms = coalesce(ended_ms, ?3),
             state = CASE WHEN ended_ms IS NULL THEN coalesce(?4, state) ELSE state END
         WHERE id = ?1",
    )?
    .execute(params![
        id,
        seq,
        state.map(|_| signed(now_ms)),
        state.map(State::as_str)
    ])?;
    Ok(())
}

fn rows(sql: &Connection, id: i64, after: i64, limit: i64) -> Result<Rows, rusqlite::Error> {
    sql.prepare_cached(
        "SELECT e.seq, coalesce(CAST(e.event AS BLOB), l.event) FROM events e
         LEFT JOIN large_events l ON l.run = e.run AND l.seq = e.seq
         WHERE e.run = ?1 AND e.seq > ?2 ORDER BY e.seq LIMIT ?3",
    )?
    .query_map(params![id, after, limit], |row| {
        Ok((row.get(0)?, row.get(1)?))
    })?
    .collect()
}

fn end(now_ms: u64, lease: Duration) -> i64 {
    let lease_ms = u64::try_from(lease.as_millis()).unwrap_or(u64::MAX);
    signed(now_ms.saturating_add(lease_ms))
}
