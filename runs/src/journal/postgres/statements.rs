//! The calls of a journal, in SQL. Each is one statement, so that all of it happens or nothing. Times are the server's, of the moment
//! and not of the transaction, which may have waited for another one.

/// Makes a run, in the hands of who asks, unless it exists. Run, owner, driver, lease in seconds, first event, strategy, conversation, when it
/// began, summary.
pub(super) const MAKE: &str = "
WITH made AS (
    INSERT INTO agenthub_runs (run, owner, driver, epoch, until, last, strategy, thread, started_ms, summary)
    VALUES ($1, $2, $3, 1, clock_timestamp() + make_interval(secs => $4), 1, $6, $7, $8, $9)
    ON CONFLICT (run) DO NOTHING
    RETURNING id
)
INSERT INTO agenthub_run_events (run, seq, event) SELECT id, 1, $5 FROM made";

/// Adds a run that nobody drives, unless it exists. Run, owner, strategy, conversation, when it began, events, how many, the state in which they
/// end it, which of them are progress, how many those are and their bytes, summary.
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

/// Takes a run in hand if it is free. Run, driver, lease in seconds.
pub(super) const TAKE: &str = "
UPDATE agenthub_runs
SET driver = $2, epoch = epoch + 1, until = clock_timestamp() + make_interval(secs => $3)
WHERE run = $1 AND (driver = $2 OR until <= clock_timestamp())
RETURNING id, epoch, last, progressed, progress_bytes";

/// Who has a run, and for how many more seconds. Run.
pub(super) const HOLDER: &str = "
SELECT driver, extract(epoch FROM until - clock_timestamp())::float8 FROM agenthub_runs WHERE run = $1";

/// The summary of a run to which events may be added. Run, epoch, place of the last event.
pub(super) const SUMMARY: &str =
    "SELECT summary FROM agenthub_runs WHERE run = $1 AND epoch = $2 AND last = $3";

/// Adds events. Run, epoch, place of the last event, events, how many, the state in which they end the run, which of them are progress, how
/// many those are and their bytes, summary.
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

/// The place of a run's last event, and its summary. Run.
pub(super) const LAST: &str = "SELECT last, summary FROM agenthub_runs WHERE run = $1";

/// Ends a run that is free and not over, and lets it go. Run, driver, the event, the state in which it ends the run, the place of the last event,
/// summary.
pub(super) const CLOSE: &str = "
WITH held AS (
    UPDATE agenthub_runs
    SET driver = $2, epoch = epoch + 1, until = clock_timestamp(), last = last + 1, ended_at = clock_timestamp(),
        state = coalesce($4, state), summary = $6
    WHERE run = $1 AND last = $5 AND ended_at IS NULL AND (driver = $2 OR until <= clock_timestamp())
    RETURNING id, last
)
INSERT INTO agenthub_run_events (run, seq, event) SELECT id, last, $3 FROM held";

/// Finds a run that is over. Run.
pub(super) const ENDED: &str =
    "SELECT 1 FROM agenthub_runs WHERE run = $1 AND ended_at IS NOT NULL";

/// Renews a lease. Run, epoch, seconds.
pub(super) const RENEW: &str = "
UPDATE agenthub_runs SET until = clock_timestamp() + make_interval(secs => $3) WHERE run = $1 AND epoch = $2";

/// Ends a lease. Run, epoch.
pub(super) const RELEASE: &str =
    "UPDATE agenthub_runs SET until = clock_timestamp() WHERE run = $1 AND epoch = $2";

/// The number of a run. Run.
pub(super) const ID: &str = "SELECT id FROM agenthub_runs WHERE run = $1";

/// Events, progress among them, in order. Number of the run, after, how many.
pub(super) const EVENTS: &str = "
SELECT seq, event FROM agenthub_run_events WHERE run = $1 AND seq > $2
UNION ALL
SELECT seq, event FROM agenthub_run_progress WHERE run = $1 AND seq > $2
ORDER BY seq LIMIT $3";

/// Events without progress, which is not looked at, in order. Number of the run.
pub(super) const STEPS: &str =
    "SELECT seq, event FROM agenthub_run_events WHERE run = $1 ORDER BY seq";

/// The places of events and progress, in order. Number of the run.
pub(super) const PLACES: &str = "
SELECT seq FROM agenthub_run_events WHERE run = $1
UNION ALL
SELECT seq FROM agenthub_run_progress WHERE run = $1
ORDER BY seq";

/// Runs that a driver could take in hand. Owner, driver, how many.
pub(super) const ADOPTABLE: &str = "
SELECT run FROM agenthub_runs
WHERE owner = $1 AND ended_at IS NULL AND (driver = $2 OR until <= clock_timestamp())
ORDER BY id LIMIT $3";

/// The runs that are wanted, latest first. Owner, conversation, strategies, states, before which number, how many.
pub(super) const LIST: &str = "
SELECT id, run, owner, strategy, thread, state, started_ms, floor(extract(epoch FROM ended_at) * 1000)::bigint,
    last, summary
FROM agenthub_runs
WHERE ($1::text IS NULL OR owner = $1) AND ($2::text IS NULL OR thread = $2)
    AND (cardinality($3::text[]) = 0 OR strategy = ANY ($3)) AND (cardinality($4::text[]) = 0 OR state = ANY ($4))
    AND ($5::bigint IS NULL OR id < $5)
ORDER BY id DESC LIMIT $6";

/// Condenses runs that ended long ago. Seconds, how many, owner.
pub(super) const CONDENSE: &str = "
WITH old AS (
    SELECT id, last FROM agenthub_runs
    WHERE ended_at <= clock_timestamp() - make_interval(secs => $1) AND owner = $3 AND last > 2 LIMIT $2 FOR UPDATE
), shown AS (
    DELETE FROM agenthub_run_progress p USING old WHERE p.run = old.id AND p.seq > 1 AND p.seq < old.last
), happened AS (
    DELETE FROM agenthub_run_events e USING old WHERE e.run = old.id AND e.seq > 2 AND e.seq < old.last
), ended AS (
    DELETE FROM agenthub_run_events e USING old WHERE e.run = old.id AND e.seq = old.last RETURNING e.run, e.event
), moved AS (
    INSERT INTO agenthub_run_events (run, seq, event) SELECT run, 2, event FROM ended
    ON CONFLICT (run, seq) DO UPDATE SET event = EXCLUDED.event
)
UPDATE agenthub_runs r SET last = 2, progressed = 0, progress_bytes = 0 FROM old WHERE r.id = old.id";

/// Forgets runs that ended long ago. Seconds, how many, owner.
pub(super) const FORGET: &str = "
DELETE FROM agenthub_runs WHERE id IN (
    SELECT id FROM agenthub_runs WHERE ended_at <= clock_timestamp() - make_interval(secs => $1) AND owner = $3 LIMIT $2
)";
