//! The event log: all events in order. All other state of the hub is a fold of it.
//!
//! A port with adapters `memory`, `sqlite` and, for simulations, `retained`, under one contract (`contract.rs`).

pub(crate) mod codec;
mod commits;
#[cfg(test)]
mod contract;
#[cfg(test)]
mod disk;
#[cfg(feature = "ack-before-commit")]
mod early;
mod error;
mod export;
mod history;
mod memory;
mod retained;
mod retention;
mod sqlite;
mod window;

use std::{fmt, sync::Arc, thread::JoinHandle, time::SystemTime};

use agenthub_proto::{a2a::AgentCard, agenthub::Concern};

use crate::{
    Error,
    dead_letters::GivenUp,
    dedupe::Known,
    filter::Filter,
    id::{AgentId, InstanceId, OrderKey, TaskId, Version},
    routing::Route,
    sealed::Sealed,
    tasks::Spent,
};

#[cfg(test)]
pub(crate) use commits::Committer;
pub(crate) use commits::{Commit, Commits, Failed, Wait};
#[cfg(feature = "ack-before-commit")]
pub(crate) use early::Early;
pub use error::OpenError;
pub(crate) use export::to_json;
pub(crate) use history::{History, Page};
pub(crate) use memory::MemoryLog;
pub use retained::RetainedLog;
pub(crate) use retention::Retention;
pub use sqlite::Torn;
pub(crate) use sqlite::{
    Beside, FILE, Keeping, LogPart, Options, Pages, QUEUE_BYTES, Reader, Replayed, SeenSegment,
    Segment, SqliteLog, Unfinished, Upkeep, beside, copy, is_in_use, replay, replay_changes, torn,
};
use uuid::Uuid;

/// A position in the log, ascending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Position(pub(crate) u64);

/// Id of a log, so that a position of another log is recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogId(u32);

impl LogId {
    pub(crate) fn random() -> Self {
        Self(Uuid::new_v4().as_fields().0)
    }

    pub(crate) const fn from_number(number: u32) -> Self {
        Self(number)
    }

    pub(crate) fn number(self) -> u32 {
        self.0
    }

    /// Wire form of a position.
    pub(crate) fn token(self, position: Position) -> String {
        format!("{self}-{}", position.0)
    }

    /// Parses a client's position.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if it is malformed, [`Error::OutOfRange`] if it belongs to another log.
    pub(crate) fn position(self, token: &str) -> Result<Position, Error> {
        let parsed = token
            .split_once('-')
            .and_then(|(log, n)| Some((u32::from_str_radix(log, 16).ok()?, n.parse().ok()?)));
        match parsed {
            None => Err(Error::InvalidArgument(format!(
                "\"{token}\" is no position; use one that came with an event"
            ))),
            Some((log, _)) if log != self.0 => Err(Error::OutOfRange(format!(
                "position \"{token}\" belongs to a log that this hub no longer has; subscribe without it"
            ))),
            Some((_, n)) => Ok(Position(n)),
        }
    }
}

impl fmt::Display for LogId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", self.0)
    }
}

/// Storage of records. Appending and committing never wait for a disk: committed records become durable later, as
/// reported by [`commits`](Self::commits).
pub(crate) trait EventLog: fmt::Debug + Send {
    fn id(&self) -> LogId;

    /// Position of the next record.
    fn next_position(&self) -> Position;

    /// Checks that new work can be accepted.
    ///
    /// # Errors
    ///
    /// [`Error::ResourceExhausted`] while the disk is full or the log has a backlog, [`Error::Unavailable`] once it has
    /// failed.
    fn admit(&self) -> Result<(), Error>;

    /// Checks that accepted work can continue, such as the end of a task. A full disk has a reserve for that.
    ///
    /// # Errors
    ///
    /// [`Error::ResourceExhausted`] while the log has a backlog, [`Error::Unavailable`] once it has failed.
    fn admit_accepted(&self) -> Result<(), Error>;

    /// Adds a record at [`next_position`](Self::next_position).
    fn append(&mut self, record: Record);

    /// Ends a group: the records since the last commit become durable atomically.
    fn commit(&mut self);

    /// Abandons the records since the last commit: they must not become durable. Nothing is appended after that.
    fn abandon(&mut self);

    /// Progress of durability. Durable records stay durable, in the order in which they were appended.
    fn commits(&self) -> Commits;

    /// Accepts no more records. Returns the thread that still writes, if any: it ends once everything is durable, or
    /// once it is clear that the disk is full.
    fn close(&mut self) -> Option<JoinHandle<()>> {
        None
    }

    /// Bytes of records that wait to be durable, as far as that is counted.
    fn queued_bytes(&self) -> usize {
        0
    }

    /// Access for rereading durable records.
    fn history(&self) -> Arc<dyn History>;
}

/// A record of the log.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Record {
    pub(crate) position: Position,
    pub(crate) time: SystemTime,
    pub(crate) namespace: String,
    pub(crate) principal: String,
    pub(crate) order: OrderKey,
    pub(crate) entry: Entry,
}

/// Content of a record.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant)]
pub(crate) enum Entry {
    Published(Published),
    Registered(Registration),
    Unregistered {
        agent: AgentId,
    },
    /// Presence of an agent, recorded once a day.
    Present {
        agent: AgentId,
    },
    /// A durable subscription was declared, or its filter changed.
    Subscribed {
        agent: AgentId,
        name: String,
        filter: Filter,
        /// Claimed mail that waited for the agent.
        claims: Vec<Position>,
        /// True if each delivery of a context waits for the acknowledgement of the previous one.
        ordered: bool,
    },
    /// A durable subscription ended.
    Unsubscribed {
        agent: AgentId,
        name: String,
    },
    /// Deliveries of a durable subscription were acknowledged, or purged.
    Acknowledged {
        agent: AgentId,
        name: String,
        positions: Vec<Position>,
    },
    /// Mail was given up: it is a dead letter from now on.
    GivenUp(GivenUp),
    /// A dead letter was dropped, or returned to its mailbox.
    Settled {
        letter: Position,
        again: bool,
    },
    /// Events returned to a durable mailbox, on an operator's request.
    Reread {
        agent: AgentId,
        name: String,
        mail: Vec<Again>,
    },
    /// Delivery attempts of a durable subscription.
    Tried {
        agent: AgentId,
        name: String,
        tries: Vec<Try>,
    },
    /// All instances of an agent that have lost a task to another one.
    Superseded {
        agent: AgentId,
        task: TaskId,
        instances: Vec<InstanceId>,
    },
    /// Models were used on behalf of a principal, without a task that counts it.
    Charged {
        principal: String,
        spent: Spent,
    },
}

/// Delivery attempts of an event that is still in its mailbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Try {
    pub(crate) position: Position,
    /// Deliveries so far.
    pub(crate) attempts: u32,
    /// The last holder.
    pub(crate) instance: InstanceId,
    /// True if it still has the lease.
    pub(crate) is_out: bool,
}

/// An event that returns to a mailbox.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Again {
    pub(crate) event: Arc<Sealed>,
    pub(crate) position: Position,
    pub(crate) concern: Concern,
    pub(crate) version: Option<Version>,
    pub(crate) is_directed: bool,
}

impl Entry {
    /// Its order key.
    pub(crate) fn order(&self) -> OrderKey {
        match self {
            Self::Published(published) => OrderKey::of(
                published.event.context_id(),
                published.event.task_id(),
                published.event.sender(),
            ),
            Self::Registered(registration) => OrderKey::of("", "", &registration.card.name),
            Self::Unregistered { agent }
            | Self::Present { agent }
            | Self::Subscribed { agent, .. }
            | Self::Unsubscribed { agent, .. }
            | Self::Acknowledged { agent, .. }
            | Self::GivenUp(GivenUp { agent, .. })
            | Self::Reread { agent, .. }
            | Self::Tried { agent, .. }
            | Self::Superseded { agent, .. } => OrderKey::of("", "", agent),
            Self::Settled { .. } | Self::Charged { .. } => OrderKey::of("", "", ""),
        }
    }
}

/// A published event with its route.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Published {
    pub(crate) event: Arc<Sealed>,
    pub(crate) route: Route,
    /// The new assignee of the task, if this event decided that.
    pub(crate) assignee: Option<AgentId>,
    /// True for a third agent's message, which is not part of the task.
    pub(crate) passes_by: bool,
    /// Deduplication key, with a digest of body and recipient.
    pub(crate) key: Option<Known>,
}

/// An agent's card and subscriptions.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Registration {
    pub(crate) card: AgentCard,
    pub(crate) topics: Vec<String>,
    pub(crate) health_check_url: String,
}
