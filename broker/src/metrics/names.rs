//! The hub's metrics, what they are called and what they mean.

use agenthub_metrics::Descriptor as Metric;

pub(super) static BUILD: Metric =
    Metric::gauge("agenthub_build_info", "Version of the hub; always 1").by(&["version"]);
pub(super) static UP_SINCE: Metric = Metric::gauge(
    "agenthub_start_time_seconds",
    "Time when the hub started, in seconds since 1970",
);

pub(super) static EVENTS: Metric = Metric::counter("agenthub_events_total", "Events published");
pub(super) static REFUSED: Metric = Metric::counter(
    "agenthub_publishes_refused_total",
    "Publishes that were refused",
);
pub(super) static DELIVERIES: Metric =
    Metric::counter("agenthub_deliveries_total", "Events handed to streams");
pub(super) static REDELIVERIES: Metric = Metric::counter(
    "agenthub_redeliveries_total",
    "Events handed to streams that had been handed to one before",
);
pub(super) static ACKNOWLEDGED: Metric = Metric::counter(
    "agenthub_acknowledgements_total",
    "Deliveries acknowledged by agents",
);
pub(super) static RETURNED: Metric =
    Metric::counter("agenthub_returns_total", "Deliveries that agents gave back");
pub(super) static UNDELIVERED: Metric = Metric::counter(
    "agenthub_undelivered_total",
    "Deliveries that were given up; what the log has is a dead letter from then on",
);
pub(super) static CUT_OFF: Metric = Metric::counter(
    "agenthub_streams_cut_off_total",
    "Streams that were ended for not being read",
);
pub(super) static COMMIT_WAIT: Metric = Metric::histogram(
    "agenthub_commit_wait_seconds",
    "Time from the record of an event to its delivery to mailboxes, once it is durable",
);
pub(super) static MAILBOX_WAIT: Metric = Metric::histogram(
    "agenthub_mailbox_wait_seconds",
    "Time that events have waited in a mailbox when they are delivered for the first time",
);

pub(super) static AGENTS: Metric = Metric::gauge("agenthub_agents", "Agents in the directory");
pub(super) static AGENTS_HERE: Metric = Metric::gauge(
    "agenthub_agents_here",
    "Agents with a connection, or with one that was lost a moment ago",
);
pub(super) static STREAMS: Metric = Metric::gauge("agenthub_streams", "Open streams");
pub(super) static LIMIT: Metric = Metric::gauge(
    "agenthub_limit",
    "Bounds of what the hub holds, in things or bytes",
)
.by(&["of"]);
pub(super) static USED: Metric = Metric::gauge(
    "agenthub_used",
    "What the hub holds of what has a bound: compare with agenthub_limit",
)
.by(&["of"]);

pub(super) static TASKS: Metric = Metric::gauge(
    "agenthub_tasks",
    "Tasks known, the ended ones that are remembered included",
);
pub(super) static TASKS_OPEN: Metric =
    Metric::gauge("agenthub_tasks_open", "Tasks that have not ended").by(&["state"]);
pub(super) static TASKS_ENDED: Metric =
    Metric::counter("agenthub_tasks_ended_total", "Tasks that have ended").by(&["state"]);

pub(super) static MAILBOXES: Metric = Metric::gauge("agenthub_mailboxes", "Subscriptions");
pub(super) static MAILBOX_EVENTS: Metric =
    Metric::gauge("agenthub_mailbox_events", "Events in mailboxes").by(&["state"]);
pub(super) static MAILBOX_BYTES: Metric = Metric::gauge(
    "agenthub_mailbox_bytes",
    "Bytes of the events in mailboxes, each as often as mailboxes have it",
);
pub(super) static MAILBOX_OLDEST: Metric = Metric::gauge(
    "agenthub_mailbox_oldest_seconds",
    "Age of the mail that has waited longest of all",
);
pub(super) static MAILBOXES_BY: Metric = Metric::gauge(
    "agenthub_mailboxes_by_waiting",
    "Mailboxes by how many of their events wait",
)
.by(&["waiting"]);
pub(super) static MAILBOX_WAITING: Metric = Metric::gauge(
    "agenthub_mailbox_waiting",
    "Waiting events of the fullest mailboxes: at most ten, each with at least a hundred",
)
.by(&["agent", "mailbox"]);
pub(super) static UNCLAIMED: Metric = Metric::gauge(
    "agenthub_unclaimed_events",
    "Events for agents that have subscribed to nothing that takes them",
);
pub(super) static DEAD_LETTERS: Metric = Metric::gauge("agenthub_dead_letters", "Dead letters");
pub(super) static BODIES: Metric = Metric::gauge(
    "agenthub_bodies_bytes",
    "Bytes of events in mailboxes that are in memory",
);
pub(super) static HELD: Metric =
    Metric::gauge("agenthub_held_events", "Deliveries that wait for the log");
pub(super) static HELD_BYTES: Metric = Metric::gauge(
    "agenthub_held_bytes",
    "Bytes of events that may be lost and wait behind others for the log",
);

pub(super) static FAILED: Metric = Metric::gauge(
    "agenthub_failed",
    "Whether the hub has failed: 1 until its process is started again",
);

pub(super) static LOCK_HOLD: Metric = Metric::histogram(
    "agenthub_lock_hold_seconds",
    "Time for which the lock on the hub's state is held",
);

pub(super) static LOG_ACCEPTS: Metric = Metric::gauge(
    "agenthub_log_accepts",
    "Whether the log takes records: 0 on a full disk, and once it has failed",
);
pub(super) static LOG_RECORDS: Metric = Metric::counter(
    "agenthub_log_records_total",
    "Records of the log since its beginning",
);
pub(super) static LOG_UNSAFE: Metric = Metric::gauge(
    "agenthub_log_unsynced_records",
    "Records that are not durable yet",
);
pub(super) static LOG_COMMIT: Metric = Metric::histogram(
    "agenthub_log_commit_seconds",
    "Time of a transaction of the log on disk, in which it may wait for the sync of the one before",
);
pub(super) static LOG_SYNC: Metric = Metric::histogram(
    "agenthub_log_sync_seconds",
    "Time of a sync of the log to disk",
);
pub(super) static LOG_GROUP: Metric = Metric::histogram(
    "agenthub_log_group_records",
    "Records that became durable together",
);
pub(super) static LOG_BYTES: Metric = Metric::counter(
    "agenthub_log_written_bytes_total",
    "Bytes of records written to disk",
);
pub(super) static LOG_QUEUE: Metric = Metric::gauge(
    "agenthub_log_queue_bytes",
    "Bytes of records that wait for the disk",
);

pub(super) static RPC: Metric = Metric::counter(
    "agenthub_rpc_calls_total",
    "Calls over gRPC that were answered, or ended before; of streams, their beginnings",
)
.by(&["method", "code"]);
pub(super) static RPC_TIME: Metric = Metric::histogram(
    "agenthub_rpc_duration_seconds",
    "Duration of calls over gRPC with one answer",
)
.by(&["method"]);
pub(super) static RPC_NOW: Metric = Metric::gauge(
    "agenthub_rpc_in_flight",
    "Calls over gRPC without an answer so far",
);
pub(super) static HTTP: Metric = Metric::counter(
    "agenthub_http_requests_total",
    "Requests over HTTP that were answered; of streams, their beginnings",
)
.by(&["method", "route", "code"]);
pub(super) static HTTP_TIME: Metric = Metric::histogram(
    "agenthub_http_request_seconds",
    "Time until the answer to a request over HTTP began",
)
.by(&["method", "route"]);

pub(super) static CPU: Metric = Metric::counter(
    "process_cpu_seconds_total",
    "Time of processors that the process has used",
);
pub(super) static MEMORY: Metric =
    Metric::gauge("process_resident_memory_bytes", "Memory of the process");
pub(super) static FILES: Metric = Metric::gauge(
    "process_open_fds",
    "Open files and connections of the process",
);
pub(super) static MAX_FILES: Metric = Metric::gauge(
    "process_max_fds",
    "Open files and connections that the process may have",
);
