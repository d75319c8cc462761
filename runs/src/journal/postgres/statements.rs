//! The calls of a journal, in SQL. Each is one statement, so that all of it happens or nothing. Times are the server's, of the moment
//! and not of the transaction, which may have waited for another one.

/// Makes a run, in the hands of who asks, unless it exists. Run, owner, driver, lease in seconds, first event, strategy, conversation, when it
/// began.
pub(super) const MAKE: &str = "
WITH made AS (
    INSERT INTO agenthub_runs (run, owner, driver, epoch, until, last, strategy, thread, started_ms)
    VALUES ($1, $2, $3, 1, clock_timestamp() + make_interval(secs => $4), 1, $6, $7, $8)
    ON CONFLICT (run) DO NOTHING
    RETURNING id
)
INSERT INTO agenthub_run_events (run, seq, event) SELECT id, 1, $5 FROM made";

/// Adds a run that nobody drives, unless it exists. Run, owner, strategy, conversation, when it began, events, how many, the state in which they
/// end it.
pub(super) const ADD: &str = "
WITH made AS (
    INSERT INTO agenthub_runs (run, owner, driver, epoch, until, last, strategy, thread, started_ms, ended_at, state)
    VALUES ($1, $2, '', 0, clock_timestamp(), $7, $3, $4, $5,
        CASE WHEN $8::text IS NULL THEN NULL ELSE clock_timestamp() END, coalesce($8, 'working'))
    ON CONFLICT (run) DO NOTHING
    RETURNING id
)
INSERT INTO agenthub_run_events (run, seq, event)
SELECT made.id, new.number, new.event FROM made, unnest($6::text[]) WITH ORDINALITY AS new (event, number)";

/// Takes a run in hand if it is free. Run, driver, lease in seconds.
pub(super) const TAKE: &str = "
UPDATE agenthub_runs
SET driver = $2, epoch = epoch + 1, until = clock_timestamp() + make_interval(secs => $3)
WHERE run = $1 AND (driver = $2 OR until <= clock_timestamp())
RETURNING id, epoch, last";

/// Who has a run, and for how many more seconds. Run.
pub(super) const HOLDER: &str = "
SELECT driver, extract(epoch FROM until - clock_timestamp())::float8 FROM agenthub_runs WHERE run = $1";

/// Adds events. Run, epoch, place of the last event, events, how many, the state in which they end the run.
pub(super) const APPEND: &str = "
WITH held AS (
    UPDATE agenthub_runs
    SET last = last + $5,
        ended_at = CASE WHEN $6::text IS NULL THEN ended_at ELSE coalesce(ended_at, clock_timestamp()) END,
        state = CASE WHEN ended_at IS NULL THEN coalesce($6, state) ELSE state END
    WHERE run = $1 AND epoch = $2 AND last = $3
    RETURNING id
), added AS (
    INSERT INTO agenthub_run_events (run, seq, event)
    SELECT held.id, $3 + new.number, new.event
    FROM held, unnest($4::text[]) WITH ORDINALITY AS new (event, number)
)
SELECT count(*) FROM held";

/// Ends a run that is free and not over, and lets it go. Run, driver, the event, the state in which it ends the run.
pub(super) const CLOSE: &str = "
WITH held AS (
    UPDATE agenthub_runs
    SET driver = $2, epoch = epoch + 1, until = clock_timestamp(), last = last + 1, ended_at = clock_timestamp(),
        state = coalesce($4, state)
    WHERE run = $1 AND ended_at IS NULL AND (driver = $2 OR until <= clock_timestamp())
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

/// Events, in order. Number of the run, after, up to, how many.
pub(super) const EVENTS: &str = "
SELECT seq, event FROM agenthub_run_events WHERE run = $1 AND seq > $2 AND seq <= $3 ORDER BY seq LIMIT $4";

/// Runs that a driver could take in hand. Owner, driver, how many.
pub(super) const ADOPTABLE: &str = "
SELECT run FROM agenthub_runs
WHERE owner = $1 AND ended_at IS NULL AND (driver = $2 OR until <= clock_timestamp())
ORDER BY id LIMIT $3";

/// The runs that are wanted, latest first. Owner, conversation, strategies, states, before which number, how many.
pub(super) const LIST: &str = "
SELECT id, run, owner, strategy, thread, state, started_ms, floor(extract(epoch FROM ended_at) * 1000)::bigint
FROM agenthub_runs
WHERE ($1::text IS NULL OR owner = $1) AND ($2::text IS NULL OR thread = $2)
    AND (cardinality($3::text[]) = 0 OR strategy = ANY ($3)) AND (cardinality($4::text[]) = 0 OR state = ANY ($4))
    AND ($5::bigint IS NULL OR id < $5)
ORDER BY id DESC LIMIT $6";

/// Forgets runs that ended long ago. Seconds, how many, owner.
pub(super) const FORGET: &str = "
DELETE FROM agenthub_runs WHERE id IN (
    SELECT id FROM agenthub_runs WHERE ended_at <= clock_timestamp() - make_interval(secs => $1) AND owner = $3 LIMIT $2
)";
