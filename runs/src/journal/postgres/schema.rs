//! Tables and migrations.

use std::time::Duration;

use deadpool_postgres::Object;

use super::{event, in_time, statements, unavailable, within};
use crate::{
    id::RunId,
    journal::{JournalError, Summary, rows},
};

/// Version of the tables.
const SCHEMA: i32 = 3;

/// Timeout of a migration.
const PATIENCE: Duration = Duration::from_secs(600);

/// Creates missing tables and migrates older ones. Safe if several programs do so at once.
pub(super) async fn prepare(client: &Object) -> Result<(), JournalError> {
    let found = match in_time(version(client)).await? {
        Some(found) if found >= SCHEMA => found,
        _ => within(PATIENCE, change(client)).await?,
    };
    within(PATIENCE, add_missing(client)).await?;
    match found > SCHEMA {
        true => Err(JournalError::Unavailable(format!(
            "its tables were made by a later release (schema {found}, this one knows {SCHEMA}): use that one"
        ))),
        false => Ok(()),
    }
}

/// Migrates in one transaction, and returns the version found.
async fn change(client: &Object) -> Result<i32, JournalError> {
    let run = async |sql: &str| {
        let done = client.batch_execute(sql).await;
        done.map_err(|error| unavailable(&error))
    };
    let changed = async {
        run(TABLES).await?;
        let found = version(client).await?.unwrap_or(1);
        // Another program may have migrated meanwhile, or be a later release.
        if found < SCHEMA {
            if found < 2 {
                run(FROM_1).await?;
            }
            run(FROM_2).await?;
            sum_up(client).await?;
            run(&format!(
                "DELETE FROM agenthub_journal; INSERT INTO agenthub_journal VALUES ({SCHEMA})"
            ))
            .await?;
        }
        run("COMMIT").await?;
        Ok(found.max(SCHEMA))
    };
    let changed = changed.await;
    if changed.is_err() {
        // If this fails too, the connection is gone, and with it the transaction.
        let _ = run("ROLLBACK").await;
    }
    changed
}

/// Adds the index of the runs that ask, and the table of results, if they are missing. They are no part of the schema: tables without
/// them can be read, and earlier releases keep them.
async fn add_missing(client: &Object) -> Result<(), JournalError> {
    let are_there = "SELECT to_regclass('agenthub_runs_that_ask') IS NOT NULL AND to_regclass('agenthub_run_results') IS NOT NULL";
    let row = client.query_one(are_there, &[]).await;
    let row = row.map_err(|error| unavailable(&error))?;
    if row.get::<_, bool>(0) {
        return Ok(());
    }
    let add = format!(
        "BEGIN; SET LOCAL statement_timeout = 0; SELECT pg_advisory_xact_lock(1095258698);
         CREATE INDEX IF NOT EXISTS agenthub_runs_that_ask ON agenthub_runs (id) WHERE {};
         CREATE TABLE IF NOT EXISTS agenthub_run_results (
             run bigint NOT NULL REFERENCES agenthub_runs (id) ON DELETE CASCADE,
             task text NOT NULL,
             result text NOT NULL,
             PRIMARY KEY (run, task)
         );
         COMMIT",
        statements::asks()
    );
    let added = client.batch_execute(&add).await;
    if added.is_err() {
        // If this fails too, the connection is gone, and with it the transaction.
        let _ = client.batch_execute("ROLLBACK").await;
    }
    added.map_err(|error| unavailable(&error))
}

async fn version(client: &Object) -> Result<Option<i32>, JournalError> {
    let unavailable = |error| unavailable(&error);
    let is_there = "SELECT to_regclass('agenthub_journal') IS NOT NULL";
    let row = client.query_one(is_there, &[]).await.map_err(unavailable)?;
    if !row.get::<_, bool>(0) {
        return Ok(None);
    }
    let version = "SELECT max(version) FROM agenthub_journal";
    let row = client.query_one(version, &[]).await.map_err(unavailable)?;
    Ok(row.get(0))
}

/// The tables of schema 1, the base of all migrations. The advisory lock's number is "AHRJ"; a program waits for
/// another one's migration as long as that takes.
pub(super) const TABLES: &str = "
BEGIN;
SET LOCAL statement_timeout = 0;
SELECT pg_advisory_xact_lock(1095258698);
CREATE TABLE IF NOT EXISTS agenthub_journal (version integer NOT NULL);
CREATE TABLE IF NOT EXISTS agenthub_runs (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run text NOT NULL UNIQUE,
    owner text NOT NULL,
    driver text NOT NULL,
    epoch bigint NOT NULL,
    until timestamptz NOT NULL,
    last bigint NOT NULL,
    ended_at timestamptz
);
CREATE INDEX IF NOT EXISTS agenthub_runs_at_work ON agenthub_runs (owner, id) WHERE ended_at IS NULL;
CREATE INDEX IF NOT EXISTS agenthub_runs_over ON agenthub_runs (ended_at) WHERE ended_at IS NOT NULL;
CREATE TABLE IF NOT EXISTS agenthub_run_events (
    run bigint NOT NULL REFERENCES agenthub_runs (id) ON DELETE CASCADE,
    seq bigint NOT NULL,
    event text NOT NULL,
    PRIMARY KEY (run, seq)
);";

/// Moves progress into a table of its own with its sizes, and adds the columns of summaries.
const FROM_2: &str = r#"
SET LOCAL statement_timeout = 0;
CREATE TABLE agenthub_run_progress (
    run bigint NOT NULL REFERENCES agenthub_runs (id) ON DELETE CASCADE,
    seq bigint NOT NULL,
    event text NOT NULL,
    PRIMARY KEY (run, seq)
);
ALTER TABLE agenthub_runs
    ADD COLUMN progressed bigint NOT NULL DEFAULT 0,
    ADD COLUMN progress_bytes bigint NOT NULL DEFAULT 0,
    ADD COLUMN summary text;
WITH moved AS (
    DELETE FROM agenthub_run_events WHERE starts_with(event, '{"v":1,"event":"progressed"') RETURNING run, seq, event
)
INSERT INTO agenthub_run_progress SELECT run, seq, event FROM moved;
UPDATE agenthub_runs r SET progressed = p.pieces, progress_bytes = p.bytes
FROM (SELECT run, count(*) AS pieces, sum(octet_length(event)) AS bytes FROM agenthub_run_progress GROUP BY run) p
WHERE p.run = r.id;"#;

/// Computes missing summaries. Runs whose events cannot be decoded get none.
async fn sum_up(client: &Object) -> Result<(), JournalError> {
    let unavailable = |error| unavailable(&error);
    let runs = "SELECT id, run FROM agenthub_runs WHERE summary IS NULL";
    for row in client.query(runs, &[]).await.map_err(unavailable)? {
        let (id, run): (i64, String) = (row.get(0), row.get(1));
        let found = client.query(statements::STEPS, &[&id]).await;
        let found = found.map_err(unavailable)?;
        if let Ok(entries) = rows::without_progress(&RunId::new(run), found.iter().map(event)) {
            let summary = rows::json(&Summary::of(&entries));
            let kept = "UPDATE agenthub_runs SET summary = $2 WHERE id = $1";
            let kept = client.execute(kept, &[&id, &summary]).await;
            kept.map_err(unavailable)?;
        }
    }
    Ok(())
}

/// Adds the columns of lists, from the first event of each run and the last event of each run that ended.
const FROM_1: &str = "
SET LOCAL statement_timeout = 0;
ALTER TABLE agenthub_runs
    ADD COLUMN strategy text NOT NULL DEFAULT '',
    ADD COLUMN thread text NOT NULL DEFAULT '',
    ADD COLUMN started_ms bigint NOT NULL DEFAULT 0,
    ADD COLUMN state text NOT NULL DEFAULT 'working';
CREATE INDEX agenthub_runs_of_thread ON agenthub_runs (owner, thread, id);
UPDATE agenthub_runs r SET
    strategy = coalesce(e.event::json ->> 'strategy', ''),
    thread = coalesce(e.event::json ->> 'thread', ''),
    started_ms = coalesce((e.event::json ->> 'at_ms')::bigint, 0)
FROM agenthub_run_events e WHERE e.run = r.id AND e.seq = 1;
UPDATE agenthub_runs r SET state = coalesce(e.event::json -> 'outcome' ->> 'state', 'failed')
FROM agenthub_run_events e WHERE e.run = r.id AND e.seq = r.last AND r.ended_at IS NOT NULL;";
