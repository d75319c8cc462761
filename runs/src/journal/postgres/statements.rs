//! The SQL statements of a journal. Each call is one statement, so that it is atomic. Times are the server's at the
//! moment of execution, not of the transaction's start, which may have waited for another transaction.

use crate::journal::rows;

/// Creates a run, leased to the caller, unless it exists. Parameters: run, owner, driver, lease in seconds, first
/// events, none of them progress, strategy, conversation, start time, summary, their number.
pub(super) const MAKE: &str = "
WITH made AS (
    INSERT INTO agenthub_runs (run, owner, driver, epoch, until, last, strategy, thread, started_ms, summary)
    VALUES ($1, $2, $3, 1, clock_timestamp() + make_interval(secs => $4), $10, $6, $7, $8, $9)
    ON CONFLICT (run) DO NOTHING
    RETURNING id
)
INSERT INTO agenthub_run_events (run, seq, event)
SELECT made.id, number, event FROM made, unnest($5::text[]) WITH ORDINALITY AS new (event, number)";

/// Adds a complete run without a lease, unless it exists. Parameters: run, owner, strategy, conversation, start time,
/// events, their number, state at the end, indexes of the progress, its count and bytes, summary.
pub(super) const ADD: &str = "
WITH made AS (
    INSERT INTO agenthub_runs (run, owner, driver, epoch, until, last, strategy, thread, started_ms, ended_at, state,
        progressed, progress_bytes, summary)
    VALUES ($1, $2, '', 0, clock_timestamp(), $7, $3, $4, $5,
        CASE WHEN $8::text IS NULL THEN NULL ELSE clock_timestamp() END, coalesce($8, 'working'), $10, $11, $12)
    ON CONFLICT (run) DO NOTHING
    RETURNING id
), new AS (
    SELECT made.id, number, event, is_progress
    FROM made, unnest($6::text[], $9::boolean[]) WITH ORDINALITY AS new (event, is_progress, number)
), shown AS (
    INSERT INTO agenthub_run_progress (run, seq, event) SELECT id, number, event FROM new WHERE is_progress
)
INSERT INTO agenthub_run_events (run, seq, event) SELECT id, number, event FROM new WHERE NOT is_progress";

/// Leases a run if it is free. Parameters: run, driver, lease in seconds.
pub(super) const TAKE: &str = "
UPDATE agenthub_runs
SET driver = $2, epoch = epoch + 1, until = clock_timestamp() + make_interval(secs => $3)
WHERE run = $1 AND (driver = $2 OR until <= clock_timestamp())
RETURNING id, epoch, last, progressed, progress_bytes";

/// The lease of a run and its remaining seconds. Parameter: run.
pub(super) const HOLDER: &str = "
SELECT driver, extract(epoch FROM until - clock_timestamp())::float8 FROM agenthub_runs WHERE run = $1";

/// The summary of a run that may be appended to. Parameters: run, epoch, last sequence number.
pub(super) const SUMMARY: &str =
    "SELECT summary FROM agenthub_runs WHERE run = $1 AND epoch = $2 AND last = $3";

/// Appends events. Parameters: run, epoch, last sequence number, events, their number, state at the end, indexes of the
/// progress, its count and bytes, summary.
pub(super) const APPEND: &str = "
WITH held AS (
    UPDATE agenthub_runs
    SET last = last + $5,
        ended_at = CASE WHEN $6::text IS NULL THEN ended_at ELSE coalesce(ended_at, clock_timestamp()) END,
        state = CASE WHEN ended_at IS NULL THEN coalesce($6, state) ELSE state END,
        progressed = progressed + $8, progress_bytes = progress_bytes + $9, summary = $10
    WHERE run = $1 AND epoch = $2 AND last = $3
    RETURNING id
), new AS (
    SELECT held.id, $3 + number AS seq, event, is_progress
    FROM held, unnest($4::text[], $7::boolean[]) WITH ORDINALITY AS new (event, is_progress, number)
), shown AS (
    INSERT INTO agenthub_run_progress (run, seq, event) SELECT id, seq, event FROM new WHERE is_progress
), added AS (
    INSERT INTO agenthub_run_events (run, seq, event) SELECT id, seq, event FROM new WHERE NOT is_progress
)
SELECT count(*) FROM held";

/// The last sequence number of a run, and its summary. Parameter: run.
pub(super) const LAST: &str = "SELECT last, summary FROM agenthub_runs WHERE run = $1";

/// Ends a run that is free and has not ended, and releases it. Parameters: run, driver, the event, state at the end,
/// last sequence number, summary.
pub(super) const CLOSE: &str = "
WITH held AS (
    UPDATE agenthub_runs
    SET driver = $2, epoch = epoch + 1, until = clock_timestamp(), last = last + 1, ended_at = clock_timestamp(),
        state = coalesce($4, state), summary = $6
    WHERE run = $1 AND last = $5 AND ended_at IS NULL AND (driver = $2 OR until <= clock_timestamp())
    RETURNING id, last
)
INSERT INTO agenthub_run_events (run, seq, event) SELECT id, last, $3 FROM held";

/// Finds a run that ended. Parameter: run.
pub(super) const ENDED: &str =
    "SELECT 1 FROM agenthub_runs WHERE run = $1 AND ended_at IS NOT NULL";

/// Renews a lease. Parameters: run, epoch, seconds.
pub(super) const RENEW: &str = "
UPDATE agenthub_runs SET until = clock_timestamp() + make_interval(secs => $3) WHERE run = $1 AND epoch = $2";

/// Ends a lease. Parameters: run, epoch.
pub(super) const RELEASE: &str =
    "UPDATE agenthub_runs SET until = clock_timestamp() WHERE run = $1 AND epoch = $2";

/// Takes a result in, unless there is one; finds the run, if it has not ended. Parameters: run, task, result.
pub(super) const TAKE_IN: &str = "
WITH held AS (
    SELECT id FROM agenthub_runs WHERE run = $1 AND ended_at IS NULL
), added AS (
    INSERT INTO agenthub_run_results (run, task, result) SELECT id, $2, $3 FROM held ON CONFLICT DO NOTHING
)
SELECT id FROM held";

/// A result that was taken in. Parameters: run, task.
pub(super) const TAKEN_IN: &str = "
SELECT s.result FROM agenthub_run_results s JOIN agenthub_runs r ON r.id = s.run WHERE r.run = $1 AND s.task = $2";

/// The number of a run. Parameter: run.
pub(super) const ID: &str = "SELECT id FROM agenthub_runs WHERE run = $1";

/// Events and progress in order. Parameters: number of the run, after, limit.
pub(super) const EVENTS: &str = "
SELECT seq, event FROM agenthub_run_events WHERE run = $1 AND seq > $2
UNION ALL
SELECT seq, event FROM agenthub_run_progress WHERE run = $1 AND seq > $2
ORDER BY seq LIMIT $3";

/// Events in order, without reading progress. Parameter: number of the run.
pub(super) const STEPS: &str =
    "SELECT seq, event FROM agenthub_run_events WHERE run = $1 ORDER BY seq";

/// Sequence numbers of events and progress, in order. Parameter: number of the run.
pub(super) const PLACES: &str = "
SELECT seq FROM agenthub_run_events WHERE run = $1
UNION ALL
SELECT seq FROM agenthub_run_progress WHERE run = $1
ORDER BY seq";

/// Runs that a driver could lease. Parameters: owner, driver, limit.
pub(super) const ADOPTABLE: &str = "
SELECT run FROM agenthub_runs
WHERE owner = $1 AND ended_at IS NULL AND (driver = $2 OR until <= clock_timestamp())
ORDER BY id LIMIT $3";

/// Lists runs, latest first, or only those that ask. Parameters: owner, conversation, strategies, states, before which number, limit, whether parts
/// of others are left out, beginning of the id.
pub(super) fn list(only_those_that_ask: bool) -> String {
    let asks = match only_those_that_ask {
        true => format!("AND {}", asks()),
        false => String::new(),
    };
    format!(
        "
SELECT id, run, owner, strategy, thread, state, started_ms, floor(extract(epoch FROM ended_at) * 1000)::bigint,
    last, summary
FROM agenthub_runs
WHERE ($1::text IS NULL OR owner = $1) AND ($2::text IS NULL OR thread = $2)
    AND (cardinality($3::text[]) = 0 OR strategy = ANY ($3)) AND (cardinality($4::text[]) = 0 OR state = ANY ($4))
    AND ($5::bigint IS NULL OR id < $5) {asks}
    AND (NOT $7::bool OR coalesce(position('{is_part}' IN summary), 0) = 0) AND ($8::text IS NULL OR starts_with(run, $8))
ORDER BY id DESC LIMIT $6",
        is_part = rows::IS_PART,
    )
}

/// Condition of rows of runs that ask, by which PostgreSQL finds their index.
pub(super) fn asks() -> String {
    format!("position('{}' IN summary) > 0", rows::ASKS)
}

/// Compacts runs that ended long ago. Parameters: seconds, limit, owner.
pub(super) const CONDENSE: &str = "
WITH old AS (
    SELECT id, last FROM agenthub_runs
    WHERE ended_at <= clock_timestamp() - make_interval(secs => $1) AND owner = $3 AND last > 2 LIMIT $2 FOR UPDATE
), shown AS (
    DELETE FROM agenthub_run_progress p USING old WHERE p.run = old.id AND p.seq > 1 AND p.seq < old.last
), happened AS (
    DELETE FROM agenthub_run_events e USING old WHERE e.run = old.id AND e.seq > 2 AND e.seq < old.last
), results AS (
    DELETE FROM agenthub_run_results s USING old WHERE s.run = old.id
), ended AS (
    DELETE FROM agenthub_run_events e USING old WHERE e.run = old.id AND e.seq = old.last RETURNING e.run, e.event
), moved AS (
    INSERT INTO agenthub_run_events (run, seq, event) SELECT run, 2, event FROM ended
    ON CONFLICT (run, seq) DO UPDATE SET event = EXCLUDED.event
)
UPDATE agenthub_runs r SET last = 2, progressed = 0, progress_bytes = 0 FROM old WHERE r.id = old.id";

/// Deletes runs that ended long ago. Parameters: seconds, limit, owner.
pub(super) const FORGET: &str = "
DELETE FROM agenthub_runs WHERE id IN (
    SELECT id FROM agenthub_runs WHERE ended_at <= clock_timestamp() - make_interval(secs => $1) AND owner = $3 LIMIT $2
)";
