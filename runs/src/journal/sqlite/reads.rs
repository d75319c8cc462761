//! The SQL of the journal's reading calls.

use rusqlite::{Connection, OptionalExtension, params, params_from_iter, types::Value};
use serde::Serialize;

use super::{schema, worker::Done};
use crate::{
    id::RunId,
    journal::{
        Filter, JournalError, ListedRun, State,
        rows::{self, signed, unsigned},
    },
};

pub(super) type Rows = Vec<(i64, Option<Vec<u8>>)>;

pub(super) fn read(sql: &Connection, run: &RunId, after: u64, limit: usize) -> Done<Rows> {
    let id = sql
        .prepare_cached("SELECT id FROM runs WHERE run = ?1")?
        .query_row([run.as_str()], |row| row.get(0))
        .optional()?;
    let Some(id) = id else {
        return Ok(Err(JournalError::NotFound(run.clone())));
    };
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    Ok(Ok(rows(sql, id, signed(after), limit)?))
}

pub(super) fn taken_in(sql: &Connection, run: &RunId, task: &str) -> Done<Option<String>> {
    let found = sql
        .prepare_cached(
            "SELECT s.result FROM results s JOIN runs r ON r.id = s.run WHERE r.run = ?1 AND s.task = ?2",
        )?
        .query_row([run.as_str(), task], |row| row.get(0))
        .optional()?;
    Ok(Ok(found))
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

pub(super) fn list(sql: &Connection, filter: &Filter, before: Option<u64>) -> Done<Vec<ListedRun>> {
    let asks = match filter.asks {
        true => schema::asks(),
        false => "true".to_owned(),
    };
    let mut query = format!(
        "SELECT id, run, owner, strategy, thread, state, started_ms, ended_ms, last, summary FROM runs WHERE {asks}"
    );
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
    only(
        " AND coalesce(instr(summary, ?), 0) = 0",
        filter.top_only.then(|| rows::IS_PART.to_owned().into()),
    );
    // Between the prefix and what follows all that begin with it, so that the index of ids is used.
    only(" AND run >= ?", text(&filter.prefix));
    only(
        " AND run < ?",
        filter
            .prefix
            .as_ref()
            .map(|prefix| format!("{prefix}\u{10ffff}").into()),
    );
    only(" AND id < ?", before.map(|id| signed(id).into()));
    only(
        " ORDER BY id DESC LIMIT ?",
        Some(signed(filter.limit() as u64).into()),
    );
    let mut listed = sql.prepare_cached(&query)?;
    let listed = listed.query_map(params_from_iter(with), |row| {
        let state: String = row.get(5)?;
        Ok(ListedRun {
            run: RunId::new(row.get::<_, String>(1)?),
            owner: row.get(2)?,
            strategy: row.get(3)?,
            thread: row.get(4)?,
            state: State::named(&state).unwrap_or(State::Working),
            started_ms: unsigned(row.get(6)?),
            ended_ms: row.get::<_, Option<i64>>(7)?.map(unsigned),
            last: unsigned(row.get(8)?),
            summary: row
                .get::<_, Option<String>>(9)?
                .and_then(|kept| rows::summary_of(&kept)),
            cursor: row.get::<_, i64>(0)?.to_string(),
        })
    })?;
    Ok(Ok(listed.collect::<Result<_, _>>()?))
}

/// Names as JSON; `None` if the filter is empty.
fn any<T: Serialize>(names: &[T]) -> Option<Value> {
    let json = serde_json::to_string(names).expect("names are strings");
    (!names.is_empty()).then(|| json.into())
}

/// The events of a run, without reading its progress.
pub(super) fn without_progress(sql: &Connection, id: i64) -> Result<Rows, rusqlite::Error> {
    sql.prepare_cached(
        "SELECT e.seq, coalesce(CAST(e.event AS BLOB), l.event) FROM events e
         LEFT JOIN large_events l ON l.run = e.run AND l.seq = e.seq
         WHERE e.run = ?1 ORDER BY e.seq",
    )?
    .query_map([id], |row| Ok((row.get(0)?, row.get(1)?)))?
    .collect()
}

/// The first sequence number of a run that is neither an event nor progress.
pub(super) fn gap(sql: &Connection, id: i64, last: u64) -> Result<Option<u64>, rusqlite::Error> {
    let mut places = sql.prepare_cached(
        "SELECT seq FROM events WHERE run = ?1 UNION ALL SELECT seq FROM progress WHERE run = ?1 ORDER BY 1",
    )?;
    let places = places.query_map([id], |row| row.get(0))?;
    let places: Vec<i64> = places.collect::<Result<_, _>>()?;
    Ok(rows::gap(places, last))
}

fn rows(sql: &Connection, id: i64, after: i64, limit: i64) -> Result<Rows, rusqlite::Error> {
    sql.prepare_cached(
        "SELECT e.seq, coalesce(CAST(e.event AS BLOB), l.event) FROM events e
         LEFT JOIN large_events l ON l.run = e.run AND l.seq = e.seq
         WHERE e.run = ?1 AND e.seq > ?2
         UNION ALL
         SELECT seq, CAST(event AS BLOB) FROM progress WHERE run = ?1 AND seq > ?2
         ORDER BY 1 LIMIT ?3",
    )?
    .query_map(params![id, after, limit], |row| {
        Ok((row.get(0)?, row.get(1)?))
    })?
    .collect()
}
