//! Settings of the hub.

use std::{path::PathBuf, time::Duration};

use crate::log::RetainedLog;

/// Storage of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Storage {
    /// In memory, lost with the process.
    Memory,
    /// In SQLite, in this folder, which is created if missing. One hub at a time.
    Folder(PathBuf),
    /// In memory that outlives the hub, lost with the process. One hub at a time.
    Retained(RetainedLog),
}

/// Durations and limits. The documentation lists the defaults; tests use shorter durations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Storage of the log.
    pub storage: Storage,
    /// Duration of the presence lease after an instance's stream broke; also the maximum silence of a `Connect` stream.
    pub presence_lease: Duration,
    /// Heartbeat interval for peers of `Connect`.
    pub heartbeat_interval: Duration,
    /// Lease of a delivery: redelivered after this time unless acknowledged or extended.
    pub ack_deadline: Duration,
    /// Delivery attempts before the task fails.
    pub max_attempts: u32,
    /// Time for an agent to confirm the cancellation of a task in progress.
    pub cancel_grace: Duration,
    /// Time that an agent may be offline before requesters recall its work; sent to them with the welcome. Longer than
    /// an agent takes to restart.
    pub away_grace: Duration,
    /// Time after a terminal state in which late artifacts and messages of the assignee are accepted.
    pub late_artifacts: Duration,
    /// Deduplication window of publishes.
    pub dedupe_window: Duration,
    /// Maximum remembered publishes of one sender; more within the window are refused.
    pub dedupe_per_sender: usize,
    /// The same for all senders together. Each takes about 70 bytes.
    pub dedupe_total: usize,
    /// Time that mail waits for an agent that was never seen.
    pub unknown_recipient: Duration,
    /// Time that a `Connect` peer with credit may read nothing before it is disconnected.
    pub connect_stall: Duration,
    /// The same for the server streams of older clients.
    pub stream_stall: Duration,
    /// Maximum duration of a drain.
    pub drain: Duration,
    /// Interval of probes at the `health_check_url` of an agent without a stream.
    pub probe_interval: Duration,
    /// Maximum unanswered publishes of a `Connect` peer.
    pub publish_credit: u32,
    /// Maximum events of a mailbox.
    pub mailbox_events: usize,
    /// Maximum bytes of a mailbox.
    pub mailbox_bytes: usize,
    /// Memory limit on all events in mailboxes together, if the log is in a folder. Beyond it, mailboxes store
    /// positions, and the events are read from the log for delivery.
    pub bodies_bytes: usize,
    /// Time that mail waits in a mailbox before it is given up.
    pub mailbox_age: Duration,
    /// Maximum dead letters: the oldest are dropped.
    pub dead_letters: usize,
    /// Maximum bytes of dead letters.
    pub dead_letters_bytes: usize,
    /// Maximum events that the log in memory keeps for rereading.
    pub log_events: usize,
    /// Maximum bytes that the log in memory keeps for rereading.
    pub log_bytes: usize,
    /// Records between two snapshots of the log on disk, from which a hub starts; up to five times as many if they
    /// arrive within five seconds.
    pub log_snapshot: u64,
    /// Retention of records on disk that no mailbox needs.
    pub log_age: Duration,
    /// Maximum bytes of the log on disk before the oldest of those are removed.
    pub log_disk_bytes: u64,
    /// Maximum open tasks; more are refused.
    pub open_tasks: usize,
    /// Maximum remembered ended tasks. The oldest are dropped, also for the limits that follow.
    pub ended_tasks: usize,
    /// Retention of ended tasks.
    pub ended_tasks_age: Duration,
    /// Maximum bytes of their contents, in memory or on disk.
    pub ended_tasks_bytes: u64,
    /// Maximum bytes of all tasks in memory: the oldest ended ones are dropped first, then growth is refused.
    pub tasks_bytes: usize,
    /// Maximum bytes of a task's history and artifacts. With a status of
    /// [`MESSAGE_BYTES`](crate::limits::MESSAGE_BYTES) on top, it fits into the 4 MiB that a gRPC client accepts by
    /// default.
    pub task_bytes: usize,
    /// Maximum agents in the directory.
    pub agents: usize,
    /// Absence after which an agent is removed from the directory, to within a day.
    pub away_agents: Duration,
    /// Maximum open streams.
    pub streams: usize,
    /// Maximum subscriptions, those of offline agents included.
    pub mailboxes: usize,
}

impl Default for Settings {
    fn default() -> Self {
        const MIB: usize = 1024 * 1024;
        Self {
            storage: Storage::Memory,
            presence_lease: Duration::from_secs(10),
            heartbeat_interval: Duration::from_secs(3),
            ack_deadline: Duration::from_secs(30),
            max_attempts: 5,
            cancel_grace: Duration::from_secs(10),
            away_grace: Duration::from_secs(15),
            late_artifacts: Duration::from_secs(5),
            dedupe_window: Duration::from_secs(600),
            dedupe_per_sender: 4_000_000,
            dedupe_total: 8_000_000,
            unknown_recipient: Duration::from_secs(600),
            connect_stall: Duration::from_secs(10),
            stream_stall: Duration::from_secs(60),
            drain: Duration::from_secs(8),
            probe_interval: Duration::from_secs(10),
            publish_credit: 1024,
            mailbox_events: 100_000,
            mailbox_bytes: 256 * MIB,
            bodies_bytes: 256 * MIB,
            mailbox_age: Duration::from_secs(7 * 24 * 3600),
            dead_letters: 10_000,
            dead_letters_bytes: 64 * MIB,
            log_events: 100_000,
            log_bytes: 256 * MIB,
            log_snapshot: 200_000,
            log_age: Duration::from_secs(7 * 24 * 3600),
            log_disk_bytes: 4096 * 1024 * 1024,
            open_tasks: 100_000,
            ended_tasks: 1_000_000,
            ended_tasks_age: Duration::from_secs(30 * 24 * 3600),
            ended_tasks_bytes: 1024 * 1024 * 1024,
            tasks_bytes: 1024 * MIB,
            task_bytes: 5 * MIB / 2,
            agents: 100_000,
            away_agents: Duration::from_secs(30 * 24 * 3600),
            streams: 10_000,
            mailboxes: 50_000,
        }
    }
}

impl Settings {
    /// Memory limit on bodies. Only a log in a folder keeps the records of all waiting mail.
    pub(crate) fn bodies(&self) -> usize {
        match self.storage {
            Storage::Folder(_) => self.bodies_bytes,
            Storage::Memory | Storage::Retained(_) => usize::MAX,
        }
    }
}
