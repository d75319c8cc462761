//! The hub's numbers.

use std::{path::PathBuf, time::Duration};

use crate::log::KeptLog;

/// Where the hub keeps its log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Storage {
    /// In memory: gone with the process.
    Memory,
    /// In SQLite, in this folder, which is made where it is missing. One hub at a time.
    Folder(PathBuf),
    /// In memory that outlives the hub: gone with the process. One hub at a time.
    Kept(KeptLog),
}

/// How long and how much. The defaults are those of the documentation; tests shorten the times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Where the log is.
    pub storage: Storage,
    /// How long an instance counts as present after its stream broke, and a `Connect` stream may be silent.
    pub presence_lease: Duration,
    /// How often a peer of `Connect` is asked to send something.
    pub heartbeat_interval: Duration,
    /// How long a delivery stays with an instance that neither acknowledges nor extends it.
    pub ack_deadline: Duration,
    /// How often a delivery is tried before its task fails.
    pub max_attempts: u32,
    /// How long an agent at work has to confirm that it stopped a cancelled task.
    pub cancel_grace: Duration,
    /// How long an agent may be away before work that it has is called back by those who asked for it, which they learn with their
    /// welcome. Longer than an agent takes to start again.
    pub away_grace: Duration,
    /// How long late artifacts and messages of the assignee are taken after a terminal state.
    pub late_artifacts: Duration,
    /// How long publishes are known for deduplication.
    pub dedupe_window: Duration,
    /// Publishes of one sender that are known; more within the window are refused.
    pub dedupe_per_sender: usize,
    /// The same for all senders together. Each takes about 70 bytes.
    pub dedupe_total: usize,
    /// How long mail waits for an agent that was never seen.
    pub unknown_recipient: Duration,
    /// How long a `Connect` peer with credit may take nothing before it is cut off.
    pub connect_stall: Duration,
    /// The same for the server streams of older clients.
    pub stream_stall: Duration,
    /// How long a drain may take.
    pub drain: Duration,
    /// How often an agent without a stream is probed at its `health_check_url`.
    pub probe_interval: Duration,
    /// Publishes that a `Connect` peer may have unanswered.
    pub publish_credit: u32,
    /// Events and bytes that one mailbox holds.
    pub mailbox_events: usize,
    /// See [`mailbox_events`](Self::mailbox_events).
    pub mailbox_bytes: usize,
    /// Bytes of events in mailboxes that are in memory, all together, where the log is in a folder. Beyond that, mailboxes hold positions, and
    /// the events are read from the log when they are delivered.
    pub bodies_bytes: usize,
    /// How long mail waits in a mailbox before it is given up.
    pub mailbox_age: Duration,
    /// Dead letters that are kept, and their bytes: the oldest leave.
    pub dead_letters: usize,
    /// See [`dead_letters`](Self::dead_letters).
    pub dead_letters_bytes: usize,
    /// Events and bytes that the log in memory keeps for rereading.
    pub log_events: usize,
    /// See [`log_events`](Self::log_events).
    pub log_bytes: usize,
    /// Records after which the log on disk gets another snapshot, from which a hub starts; up to five times as many where they come
    /// within five seconds.
    pub log_snapshot: u64,
    /// How long records stay in the log on disk that no mailbox needs.
    pub log_age: Duration,
    /// Bytes that the log on disk takes before the oldest of those go.
    pub log_disk_bytes: u64,
    /// Tasks that have not ended; more are refused.
    pub open_tasks: usize,
    /// Tasks that have ended and are still known. The oldest are forgotten, as with the bounds that follow.
    pub ended_tasks: usize,
    /// How long they are known.
    pub ended_tasks_age: Duration,
    /// Bytes of their contents, in memory or on disk.
    pub ended_tasks_bytes: u64,
    /// Bytes of all tasks in memory: the oldest that have ended go first, then what would add to them is refused.
    pub tasks_bytes: usize,
    /// Bytes of one task's history and artifacts. With a status of [`MESSAGE_BYTES`](crate::limits::MESSAGE_BYTES) on top, it
    /// fits into the 4 MiB that a gRPC client takes by default.
    pub task_bytes: usize,
    /// Agents in the directory.
    pub agents: usize,
    /// Absence after which an agent leaves the directory, to within a day.
    pub away_agents: Duration,
    /// Streams that are open at one time.
    pub streams: usize,
    /// Subscriptions at one time, those of agents that are away included.
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
    /// The bound of bodies in memory. Only a log in a folder keeps the records of all mail that waits.
    pub(crate) fn bodies(&self) -> usize {
        match self.storage {
            Storage::Folder(_) => self.bodies_bytes,
            Storage::Memory | Storage::Kept(_) => usize::MAX,
        }
    }
}
