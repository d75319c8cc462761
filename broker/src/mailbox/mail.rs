//! Pieces of mail, their timing, and results of mailbox operations: deliveries, handed over and given-up mail.

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

/// An event in a mailbox.
#[derive(Clone, Debug)]
pub(crate) struct Mail {
    pub(crate) event: Arc<Sealed>,
    /// The agent that it is for.
    pub(crate) recipient: AgentId,
    /// Position in the log; mail without one may be lost and is not acknowledged.
    pub(crate) position: Option<Position>,
    pub(crate) order: OrderKey,
    /// The agent's side of the task.
    pub(crate) concern: Concern,
    /// Restriction to instances of this version.
    pub(crate) version: Option<Version>,
    /// True if addressed to this agent, false for a broadcast.
    pub(crate) is_directed: bool,
    /// True if it was put in again: the log may no longer have the record of its event.
    pub(crate) is_copy: bool,
    pub(crate) timing: Timing,
}

impl Mail {
    /// Size for the limits, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.event.size()
    }
}

/// Time window of a delivery.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timing {
    /// Time when it came.
    pub(crate) since: Instant,
    /// Earliest time, if the sender set one.
    pub(crate) due: Option<Instant>,
    /// Time when it is given up if it still waits.
    pub(crate) expires: Instant,
}

impl Timing {
    /// Timing of an event of this age that waits at most `longest` once it is due.
    pub(crate) fn of(event: &AgentEvent, age: Duration, longest: Duration, now: Instant) -> Self {
        let sent = event.timestamp.as_ref().and_then(system_time);
        let due = event.routing.as_ref().and_then(|r| r.deliver_at.as_ref());
        let wait = sent
            .zip(due.and_then(system_time))
            .and_then(|(sent, due)| due.duration_since(sent).ok())
            .unwrap_or_default();
        let due = Some(now + wait.saturating_sub(age)).filter(|due| *due > now);
        Self {
            since: now.checked_sub(age).unwrap_or(now),
            due,
            expires: now + (wait + longest).saturating_sub(age),
        }
    }
}

/// A batch for an instance.
#[derive(Clone, Debug)]
pub(crate) struct Delivery {
    pub(crate) batch: Batch,
    /// Time that it has waited.
    pub(crate) waited: Duration,
    /// Mail that another instance had before.
    pub(crate) handed_over: Vec<HandOver>,
}

/// Mail that went from one instance to another.
#[derive(Clone, Debug)]
pub(crate) struct HandOver {
    pub(crate) mail: Mail,
    pub(crate) from: InstanceId,
    pub(crate) to: InstanceId,
}

/// Result of reclaiming for a reconnected instance.
#[derive(Debug, Default)]
pub(crate) struct Reclaimed {
    /// Claimed mail that another instance has or had.
    pub(crate) handed_over: Vec<HandOver>,
    /// Mail given up after too many attempts.
    pub(crate) given_up: Vec<Undelivered>,
}

/// Mail that left without being handled, and the reason.
#[derive(Clone, Debug)]
pub(crate) struct Undelivered {
    pub(crate) mail: Mail,
    /// Number of delivery attempts.
    pub(crate) attempts: u32,
    pub(crate) reason: String,
    /// Its mailbox.
    pub(crate) mailbox: Option<MailboxId>,
}
