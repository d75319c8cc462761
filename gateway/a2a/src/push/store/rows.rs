//! The SQL of the store's calls.

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Row, params};
use uuid::Uuid;

use super::{PER_TASK, TOTAL, WAITING, WAITING_BYTES};
use crate::{feed::is_seen, json::to_json, push::config::Config, v1::StreamResponse};

type Result<T> = rusqlite::Result<T>;

/// The place in a task from which a configuration is told of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StartPoint {
    /// Position of the last event that it is not told of; empty for a task that is yet to come.
    pub(crate) after: String,
    /// State of the task there; `None` if it is yet to come.
    pub(crate) state: Option<i32>,
    /// The task has ended.
    pub(crate) is_over: bool,
    /// Its receiver speaks A2A 0.3.
    pub(crate) is_old: bool,
}

/// Outcome of adding a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::push) enum Added {
    /// A new configuration.
    New(i64),
    /// A changed configuration.
    Changed(i64),
    /// The task, or all tasks together, have as many as there may be.
    Full,
}

/// Configurations of a task, and the key after which there are more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) configs: Vec<Config>,
    pub(crate) next: Option<i64>,
}

/// The first notification that waits for a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::push) struct NextNotification {
    pub(in crate::push) config: Config,
    pub(in crate::push) task: String,
    pub(in crate::push) is_old: bool,
    /// No event of the task was recorded.
    pub(in crate::push) is_to_come: bool,
    pub(in crate::push) due_ms: u64,
    /// Failures of the receiver in a row.
    pub(in crate::push) failures: u32,
    pub(in crate::push) seq: i64,
    pub(in crate::push) id: String,
    /// `None` for the task as it is then.
    pub(in crate::push) body: Option<String>,
    pub(in crate::push) made_ms: u64,
    /// Attempts so far.
    pub(in crate::push) tries: u32,
}

/// Outcome of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::push) enum Settled {
    /// Delivered: the receiver is well.
    Delivered,
    /// Given up: the receiver was not well.
    GivenUp { due_ms: u64 },
    /// Due again.
    Again { due_ms: u64 },
}

pub(super) fn add(
    sql: &Connection,
    task: &str,
    config: &Config,
    begin: &StartPoint,
    now_ms: u64,
) -> Result<Added> {
    let changed: Option<i64> = sql
        .prepare_cached(
            "UPDATE configs SET url = ?3, token = ?4, scheme = ?5, credentials = ?6, is_old = ?7, owner = ?8, failures = 0, due_ms = 0
             WHERE task = ?1 AND id = ?2 RETURNING key",
        )?
        .query_row(
            params![
                task,
                config.id,
                config.url,
                config.token,
                config.scheme,
                config.credentials,
                begin.is_old,
                config.owner
            ],
            |row| row.get(0),
        )
        .optional()?;
    if let Some(key) = changed {
        return Ok(Added::Changed(key));
    }
    let of_task: i64 = sql
        .prepare_cached("SELECT count(*) FROM configs WHERE task = ?1")?
        .query_row([task], |row| row.get(0))?;
    let of_all: i64 = sql
        .prepare_cached("SELECT count(*) FROM configs")?
        .query_row([], |row| row.get(0))?;
    if of_task >= PER_TASK || of_all >= TOTAL {
        return Ok(Added::Full);
    }
    sql.prepare_cached(
        "INSERT INTO configs (task, id, url, token, scheme, credentials, is_old, after, state, added_ms, ended_ms, owner)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
    )?
    .execute(params![
        task,
        config.id,
        config.url,
        config.token,
        config.scheme,
        config.credentials,
        begin.is_old,
        begin.after,
        begin.state,
        signed(now_ms),
        begin.is_over.then_some(signed(now_ms)),
        config.owner
    ])?;
    Ok(Added::New(sql.last_insert_rowid()))
}

fn config(row: &Row<'_>) -> Result<Config> {
    Ok(Config {
        id: row.get("id")?,
        url: row.get("url")?,
        token: row.get("token")?,
        scheme: row.get("scheme")?,
        credentials: row.get("credentials")?,
        owner: row.get("owner")?,
    })
}

pub(super) fn get(sql: &Connection, task: &str, id: &str) -> Result<Option<Config>> {
    sql.prepare_cached(
        "SELECT id, url, token, scheme, credentials, owner FROM configs WHERE task = ?1 AND (id = ?2 OR ?2 = '') ORDER BY key LIMIT 1",
    )?
    .query_row([task, id], config)
    .optional()
}

pub(super) fn list(sql: &Connection, task: &str, after: i64, limit: u32) -> Result<Page> {
    let mut found: Vec<(i64, Config)> = sql
        .prepare_cached(
            "SELECT key, id, url, token, scheme, credentials, owner FROM configs WHERE task = ?1 AND key > ?2 ORDER BY key LIMIT ?3",
        )?
        .query_map(params![task, after, limit + 1], |row| Ok((row.get("key")?, config(row)?)))?
        .collect::<Result<_>>()?;
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let has_more = found.len() > limit;
    found.truncate(limit);
    let next = found.last().map(|(key, _)| *key).filter(|_| has_more);
    Ok(Page {
        configs: found.into_iter().map(|(_, config)| config).collect(),
        next,
    })
}

pub(super) fn remove(sql: &Connection, task: &str, id: &str) -> Result<Option<i64>> {
    sql.prepare_cached("DELETE FROM configs WHERE task = ?1 AND id = ?2 RETURNING key")?
        .query_row([task, id], |row| row.get(0))
        .optional()
}

pub(super) fn drop_config(sql: &Connection, key: i64) -> Result<()> {
    sql.prepare_cached("DELETE FROM configs WHERE key = ?1")?
        .execute([key])?;
    Ok(())
}

/// A configuration for which an event may be.
struct ConfigProgress {
    key: i64,
    after: String,
    state: Option<i32>,
    is_old: bool,
}

pub(super) fn record(
    sql: &Connection,
    task: &str,
    position: &str,
    now_ms: u64,
    show: &dyn Fn(Option<i32>) -> (Option<StreamResponse>, Option<i32>, bool),
) -> Result<Vec<i64>> {
    let configs: Vec<ConfigProgress> = sql
        .prepare_cached(
            "SELECT key, after, state, is_old FROM configs WHERE task = ?1 AND ended_ms IS NULL",
        )?
        .query_map([task], |row| {
            Ok(ConfigProgress {
                key: row.get(0)?,
                after: row.get(1)?,
                state: row.get(2)?,
                is_old: row.get(3)?,
            })
        })?
        .collect::<Result<_>>()?;
    let mut with_mail = Vec::new();
    for config in configs {
        if is_seen(&config.after, position) {
            continue;
        }
        let (shown, state, is_over) = show(config.state);
        if let Some(shown) = shown {
            // Receivers of 0.3 get the task itself.
            let body = (!config.is_old).then(|| to_json(&shown).to_string());
            add_notification(sql, config.key, position, body.as_deref(), now_ms)?;
            with_mail.push(config.key);
        }
        sql.prepare_cached(
            "UPDATE configs SET state = ?2, ended_ms = ?3, after = iif(?4 = '', after, ?4) WHERE key = ?1",
        )?
        .execute(params![config.key, state, is_over.then_some(signed(now_ms)), position])?;
    }
    reached(sql, position)?;
    Ok(with_mail)
}

pub(super) fn record_gap(sql: &Connection, now_ms: u64) -> Result<Vec<i64>> {
    let configs: Vec<i64> = sql
        .prepare_cached("SELECT key FROM configs WHERE ended_ms IS NULL")?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_>>()?;
    for key in &configs {
        add_notification(sql, *key, "", None, now_ms)?;
    }
    // Positions of another log say nothing here.
    sql.execute("UPDATE configs SET after = ''", [])?;
    Ok(configs)
}

/// Adds a notification behind those that wait. The first one may be on its way and stays as it is.
fn add_notification(
    sql: &Connection,
    key: i64,
    position: &str,
    body: Option<&str>,
    now_ms: u64,
) -> Result<()> {
    let (waiting, bytes): (i64, i64) = sql
        .prepare_cached("SELECT waiting, waiting_bytes FROM configs WHERE key = ?1")?
        .query_row([key], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut body = body;
    let more = body.map_or(0, |body| i64::try_from(body.len()).unwrap_or(i64::MAX));
    if waiting >= WAITING || waiting > 0 && bytes.saturating_add(more) > WAITING_BYTES {
        let behind = "DELETE FROM notifications WHERE config = ?1 AND seq > (SELECT min(seq) FROM notifications WHERE config = ?1)";
        sql.prepare_cached(behind)?.execute([key])?;
        body = None;
    }
    if body.is_none() {
        // The task as it is once this is sent has it all.
        let last: Option<(i64, i64, bool)> = sql
            .prepare_cached(
                "SELECT max(seq), (SELECT min(seq) FROM notifications WHERE config = ?1), body IS NULL FROM notifications WHERE config = ?1 HAVING count(*) > 0",
            )?
            .query_row([key], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            .optional()?;
        if last.is_some_and(|(last, first, is_task)| is_task && last != first) {
            return Ok(());
        }
    }
    sql.prepare_cached(
        "INSERT INTO notifications (config, id, position, body, made_ms) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?
    .execute(params![key, Uuid::now_v7().to_string(), position, body, signed(now_ms)])?;
    Ok(())
}

pub(super) fn reached(sql: &Connection, position: &str) -> Result<()> {
    if !position.is_empty() {
        sql.prepare_cached("INSERT OR REPLACE INTO reached (one, position) VALUES (1, ?1)")?
            .execute([position])?;
    }
    Ok(())
}

pub(super) fn position(sql: &Connection) -> Result<String> {
    let found = sql
        .prepare_cached("SELECT position FROM reached")?
        .query_row([], |row| row.get(0))
        .optional()?;
    Ok(found.unwrap_or_default())
}

pub(super) fn front(sql: &Connection, key: i64) -> Result<Option<NextNotification>> {
    sql.prepare_cached(
        "SELECT c.id, c.url, c.token, c.scheme, c.credentials, c.owner, c.task, c.is_old, c.due_ms, c.failures, c.state IS NULL AS is_to_come,
             n.seq, n.id AS notification, n.body, n.made_ms, n.tries
         FROM configs c JOIN notifications n ON n.config = c.key WHERE c.key = ?1 ORDER BY n.seq LIMIT 1",
    )?
    .query_row([key], |row| {
        Ok(NextNotification {
            config: config(row)?,
            task: row.get("task")?,
            is_old: row.get("is_old")?,
            is_to_come: row.get("is_to_come")?,
            due_ms: unsigned(row.get("due_ms")?),
            failures: row.get("failures")?,
            seq: row.get("seq")?,
            id: row.get("notification")?,
            body: row.get("body")?,
            made_ms: unsigned(row.get("made_ms")?),
            tries: row.get("tries")?,
        })
    })
    .optional()
}

pub(super) fn settle(
    sql: &Connection,
    key: i64,
    seq: i64,
    settled: Settled,
    ended_ms: Option<u64>,
) -> Result<()> {
    let (is_done, failures, due_ms) = match settled {
        Settled::Delivered => (true, "0", 0),
        Settled::GivenUp { due_ms } => (true, "failures + 1", due_ms),
        Settled::Again { due_ms } => (false, "failures + 1", due_ms),
    };
    let done = match is_done {
        true => "DELETE FROM notifications WHERE seq = ?1",
        false => "UPDATE notifications SET tries = tries + 1 WHERE seq = ?1",
    };
    sql.prepare_cached(done)?.execute([seq])?;
    sql.prepare_cached(&format!(
        "UPDATE configs SET failures = {failures}, due_ms = ?2, ended_ms = coalesce(ended_ms, ?3) WHERE key = ?1"
    ))?
    .execute(params![key, signed(due_ms), ended_ms.map(signed)])?;
    Ok(())
}

pub(super) fn with_mail(sql: &Connection) -> Result<Vec<i64>> {
    sql.prepare_cached("SELECT key FROM configs WHERE waiting > 0 ORDER BY key")?
        .query_map([], |row| row.get(0))?
        .collect()
}

pub(super) fn tasks(sql: &Connection) -> Result<Vec<String>> {
    sql.prepare_cached("SELECT DISTINCT task FROM configs")?
        .query_map([], |row| row.get(0))?
        .collect()
}

pub(super) fn sweep(sql: &Connection, before_ms: u64) -> Result<()> {
    sql.prepare_cached("DELETE FROM configs WHERE ended_ms < ?1 AND waiting = 0")?
        .execute([signed(before_ms)])?;
    Ok(())
}

pub(super) fn drop_unbegun(sql: &Connection, key: i64) -> Result<()> {
    sql.prepare_cached("DELETE FROM configs WHERE key = ?1 AND state IS NULL")?
        .execute([key])?;
    Ok(())
}

pub(super) fn unbegun(sql: &Connection, before_ms: u64) -> Result<Vec<(i64, String)>> {
    sql.prepare_cached(
        "SELECT key, task FROM configs WHERE state IS NULL AND added_ms < ?1 ORDER BY added_ms LIMIT 16",
    )?
    .query_map([signed(before_ms)], |row| Ok((row.get(0)?, row.get(1)?)))?
    .collect()
}

fn signed(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

fn unsigned(n: i64) -> u64 {
    u64::try_from(n).unwrap_or(0)
}

/// Milliseconds of a pause.
pub(in crate::push) fn in_ms(pause: Duration) -> u64 {
    u64::try_from(pause.as_millis()).unwrap_or(u64::MAX)
}
