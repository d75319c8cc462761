//! The tables.

use deadpool_postgres::Object;

use crate::journal::Error;

/// Changes when the tables do.
const SCHEMA: i32 = 1;

/// Makes the tables where there are none. Several programs may do so at once.
pub(super) async fn prepare(client: &Object) -> Result<(), Error> {
    let found = match version(client).await? {
        Some(found) => found,
        None => {
            let tables = format!(
                "{TABLES} INSERT INTO agenthub_journal SELECT {SCHEMA} WHERE NOT EXISTS (SELECT FROM agenthub_journal); COMMIT"
            );
            let made = client.batch_execute(&tables).await;
            made.map_err(|error| super::unavailable(&error))?;
            version(client).await?.unwrap_or(SCHEMA)
        }
    };
    match found > SCHEMA {
        true => Err(Error::Unavailable(format!(
            "its tables were made by a later release (schema {found}, this one knows {SCHEMA}): use that one"
        ))),
        false => Ok(()),
    }
}

async fn version(client: &Object) -> Result<Option<i32>, Error> {
    let unavailable = |error| super::unavailable(&error);
    let is_there = "SELECT to_regclass('agenthub_journal') IS NOT NULL";
    let row = client.query_one(is_there, &[]).await.map_err(unavailable)?;
    if !row.get::<_, bool>(0) {
        return Ok(None);
    }
    let version = "SELECT max(version) FROM agenthub_journal";
    let row = client.query_one(version, &[]).await.map_err(unavailable)?;
    Ok(row.get(0))
}

/// The lock's number is "AHRJ".
const TABLES: &str = "
BEGIN;
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
