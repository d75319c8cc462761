//! One piece of mail, when it is due and expires, and what comes out of a mailbox: deliveries, what was handed over, what was given up.

use std::{sync::Arc, time::Duration};

use agenthub_proto::{
    agenthub::{AgentEvent, Concern},
    event::system_time,
};
use tokio::time::Instant;

use super::Batch;
use crate::{
    id::{AgentId, InstanceId, MailboxId, OrderKey, Version},
    log::Position,
    sealed::Sealed,
};

/// One event in a mailbox.
#[derive(Clone, Debug)]
pub(crate) struct Mail {
    pub(crate) event: Arc<Sealed>,
    /// Whose mail it is.
    pub(crate) recipient: AgentId,
    /// Where it stands in the log; what has no position may be lost and is not acknowledged.
    pub(crate) position: Option<Position>,
    pub(crate) order: OrderKey,
    /// On which side of the task it reaches the agent.
    pub(crate) concern: Concern,
    /// Only instances of this version may have it.
    pub(crate) version: Option<Version>,
    /// It is for this agent, rather than for everyone.
    pub(crate) is_directed: bool,
    /// It was put in again: the record of its event need not be in the log any more.
    pub(crate) is_copy: bool,
    pub(crate) timing: Timing,
}

impl Mail {
    /// What it counts for, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.event.size()
    }
}

/// Between which times mail is delivered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timing {
    /// Not before this, if its sender wants it so.
    pub(crate) due: Option<Instant>,
    /// Given up if it still waits then.
    pub(crate) expires: Instant,
}

impl Timing {
    /// Of an event that happened so long ago and waits at most so long once it is due.
    pub(crate) fn of(event: &AgentEvent, age: Duration, longest: Duration, now: Instant) -> Self {
        let sent = event.timestamp.as_ref().and_then(system_time);
        let due = event.routing.as_ref().and_then(|r| r.deliver_at.as_ref());
        let wait = sent
            .zip(due.and_then(system_time))
            .and_then(|(sent, due)| due.duration_since(sent).ok())
            .unwrap_or_default();
        let due = Some(now + wait.saturating_sub(age)).filter(|due| *due > now);
        Self {
            due,
            expires: now + (wait + longest).saturating_sub(age),
        }
    }
}

/// A batch on its way to an instance.
#[derive(Clone, Debug)]
pub(crate) struct Delivery {
    pub(crate) batch: Batch,
    /// Where another instance had it before.
    pub(crate) handed_over: Vec<HandOver>,
}

/// Mail that one instance had and another one has.
#[derive(Clone, Debug)]
pub(crate) struct HandOver {
    pub(crate) mail: Mail,
    pub(crate) from: InstanceId,
    pub(crate) to: InstanceId,
}

/// What became of the deliveries of an instance that is back.
#[derive(Debug, Default)]
pub(crate) struct Reclaimed {
    /// What it claims and another one has by then, or had.
    pub(crate) handed_over: Vec<HandOver>,
    /// What was tried too often.
    pub(crate) given_up: Vec<Undelivered>,
}

/// Why mail left without having been handled.
#[derive(Clone, Debug)]
pub(crate) struct Undelivered {
    pub(crate) mail: Mail,
    /// How often it was delivered.
    pub(crate) attempts: u32,
    pub(crate) reason: String,
    /// Where it was.
    pub(crate) mailbox: Option<MailboxId>,
}
