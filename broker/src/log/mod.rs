//! The event log: what happened, in order. Everything else that the hub knows is a fold of it.
//!
//! A port with adapters `memory`, `sqlite` and, for simulations, `kept`, under one contract (`contract.rs`).

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
mod kept;
mod memory;
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
};

#[cfg(test)]
pub(crate) use commits::Committer;
pub(crate) use commits::{Commit, Commits, Failed, Wait};
#[cfg(feature = "ack-before-commit")]
pub(crate) use early::Early;
pub use error::OpenError;
pub(crate) use export::to_json;
pub(crate) use history::{History, Page};
pub use kept::KeptLog;
pub(crate) use memory::MemoryLog;
pub(crate) use retention::Retention;
pub use sqlite::Torn;
pub(crate) use sqlite::{
    Beside, FILE, Found, Keeping, Options, Pages, Reader, Replayed, SeenSegment, Segment,
    SqliteLog, Unfinished, Upkeep, beside, copy, is_in_use, replay, replay_changes, torn,
};
use uuid::Uuid;

/// A place in the log. Later places are greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Position(pub(crate) u64);

/// Names one log, so that a position in another one is not mistaken for one in this.
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

    /// A position as clients see it.
    pub(crate) fn token(self, position: Position) -> String {
        format!("{self}-{}", position.0)
    }

    /// The position that a client names.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if it is no position at all, [`Error::OutOfRange`] if it is one of another log.
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

/// Where records go. Appending and committing never wait for a disk: what is committed becomes safe later, and
/// [`commits`](Self::commits) tells when.
pub(crate) trait EventLog: fmt::Debug + Send {
    fn id(&self) -> LogId;

    /// Where the next record will be.
    fn next_position(&self) -> Position;

    /// Whether new work can be taken in.
    ///
    /// # Errors
    ///
    /// [`Error::ResourceExhausted`] while the disk is full or the log is behind, [`Error::Unavailable`] once it has failed.
    fn admit(&self) -> Result<(), Error>;

    /// Checks that work which was accepted can go on, such as to the end of a task. A full disk has a reserve for that.
    ///
    /// # Errors
    ///
    /// [`Error::ResourceExhausted`] while the log is behind, [`Error::Unavailable`] once it has failed.
    fn admit_accepted(&self) -> Result<(), Error>;

    /// Adds a record at [`next_position`](Self::next_position).
    fn append(&mut self, record: Record);

    /// Ends a group: what was appended since the last one becomes safe together or not at all.
    fn commit(&mut self);

    /// Gives up what was appended since the last group: it is not to become safe, as nothing is appended any more.
    fn abandon(&mut self);

    /// How far the log is safe, at any time. Safe records never become unsafe again, in the order in which they were appended.
    fn commits(&self) -> Commits;

    /// Takes nothing more. Returns the thread that still writes what was appended, if there is one: it ends once everything is safe, or once it
    /// is clear that the disk has no room for it.
    fn close(&mut self) -> Option<JoinHandle<()>> {
        None
    }

    /// For rereading what is safe.
    fn history(&self) -> Arc<dyn History>;
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Record {
    pub(crate) position: Position,
    pub(crate) time: SystemTime,
    pub(crate) namespace: String,
    pub(crate) principal: String,
    pub(crate) order: OrderKey,
    pub(crate) entry: Entry,
}

/// What happened.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant)]
pub(crate) enum Entry {
    Published(Published),
    Registered(Registration),
    Unregistered {
        agent: AgentId,
    },
    /// An agent is there, as the log is told once a day.
    Present {
        agent: AgentId,
    },
    /// A durable subscription was declared, or its filter has changed.
    Subscribed {
        agent: AgentId,
        name: String,
        filter: Filter,
        /// The mail that waited for the agent and goes there.
        claims: Vec<Position>,
        /// Whether each delivery of a context waits for the acknowledgement of the one before.
        ordered: bool,
    },
    /// A durable subscription has ended.
    Unsubscribed {
        agent: AgentId,
        name: String,
    },
    /// Deliveries of a durable subscription were handled, or purged.
    Acknowledged {
        agent: AgentId,
        name: String,
        positions: Vec<Position>,
    },
    /// A delivery was given up: it is a dead letter from here on.
    GivenUp(GivenUp),
    /// A dead letter is none any more: it was dropped, or goes into its mailbox again.
    Settled {
        letter: Position,
        again: bool,
    },
    /// Events go into a durable mailbox again, as an operator wants it.
    Reread {
        agent: AgentId,
        name: String,
        mail: Vec<Again>,
    },
    /// Deliveries of a durable subscription, as they stand.
    Tried {
        agent: AgentId,
        name: String,
        tries: Vec<Try>,
    },
    /// The instances of an agent that have lost a task to another one, all of them.
    Superseded {
        agent: AgentId,
        task: TaskId,
        instances: Vec<InstanceId>,
    },
}

/// What is known of the deliveries of an event that is still in its mailbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Try {
    pub(crate) position: Position,
    /// Deliveries so far.
    pub(crate) attempts: u32,
    /// Who had it last.
    pub(crate) instance: InstanceId,
    /// That one has it still.
    pub(crate) is_out: bool,
}

/// An event that goes into a mailbox again.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Again {
    pub(crate) event: Arc<Sealed>,
    pub(crate) position: Position,
    pub(crate) concern: Concern,
    pub(crate) version: Option<Version>,
    pub(crate) is_directed: bool,
}

impl Entry {
    /// The unit of order that it belongs to.
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
            Self::Settled { .. } => OrderKey::of("", "", ""),
        }
    }
}

/// An event and who got it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Published {
    pub(crate) event: Arc<Sealed>,
    pub(crate) route: Route,
    /// Who works on the task from here on, if that was decided with this event.
    pub(crate) assignee: Option<AgentId>,
    /// It is not the task's: a third agent's message.
    pub(crate) passes_by: bool,
    /// As what it is known when it comes again, with a digest of its body and addressee.
    pub(crate) key: Option<Known>,
}

/// An agent's card and what it registered for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Registration {
    pub(crate) card: AgentCard,
    pub(crate) topics: Vec<String>,
    pub(crate) health_check_url: String,
}
