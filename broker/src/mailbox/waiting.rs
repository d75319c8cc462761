//! Mail with what has happened to it so far.

use agenthub_proto::agenthub::Priority;
use tokio::time::Instant;

use super::{HandOver, Mail, Undelivered, lanes::LaneKey};
use crate::id::InstanceId;

/// Lower goes first. The serial number keeps mail of the same time in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    due_ms: i64,
    pub(super) serial: u64,
}

impl Rank {
    /// Of what came at the same time, so many pieces later.
    pub(super) fn later(self, pieces: u64) -> Self {
        Self {
            serial: self.serial + pieces,
            ..self
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Waiting {
    pub(super) mail: Mail,
    pub(super) rank: Rank,
    /// Deliveries so far.
    pub(super) attempts: u32,
    /// Who had it last.
    pub(super) last: Option<InstanceId>,
    /// The log ended while `last` had it: see [`resume`](super::Mailbox::resume).
    pub(super) was_out: bool,
}

impl Waiting {
    /// Mail that came as the so-manieth to a mailbox of that age.
    pub(super) fn new(mail: Mail, serial: u64, born: Instant, now: Instant) -> Self {
        let due = mail.timing.due.unwrap_or(now).max(now);
        let arrived = due.duration_since(born).as_millis();
        let arrived = i64::try_from(arrived).unwrap_or(i64::MAX);
        let rank = Rank {
            due_ms: arrived - head_start_ms(mail.event.priority()),
            serial,
        };
        Self {
            mail,
            rank,
            attempts: 0,
            last: None,
            was_out: false,
        }
    }

    /// Whether the other one is the same but for its event, its rank, and when it is given up, which mail in no log is not.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let (own, others) = (&self.mail, &other.mail);
        own.position.is_none()
            && others.position.is_none()
            && own.recipient == others.recipient
            && own.order == others.order
            && own.concern == others.concern
            && own.version == others.version
            && own.is_directed == others.is_directed
            && own.is_copy == others.is_copy
            && own.timing.due == others.timing.due
            && self.attempts == other.attempts
            && self.last == other.last
            && self.was_out == other.was_out
    }

    pub(super) fn lane(&self) -> LaneKey {
        (self.mail.order.clone(), self.mail.version.clone())
    }

    /// That it goes from one instance to another; `None` if it stays.
    pub(super) fn hand_over(&self, from: &InstanceId, to: &InstanceId) -> Option<HandOver> {
        (from != to).then(|| HandOver {
            mail: self.mail.clone(),
            from: from.clone(),
            to: to.clone(),
        })
    }

    /// That it goes from whoever had it last to this instance.
    pub(super) fn hand_over_to(&self, to: &InstanceId) -> Option<HandOver> {
        self.hand_over(self.last.as_ref()?, to)
    }

    pub(super) fn give_up(self, reason: String) -> Undelivered {
        Undelivered {
            mail: self.mail,
            attempts: self.attempts,
            reason,
            mailbox: None,
        }
    }
}

/// What a priority is worth, as milliseconds of waiting.
fn head_start_ms(priority: Priority) -> i64 {
    match priority {
        Priority::Critical => 60_000,
        Priority::High => 10_000,
        Priority::Medium | Priority::Unspecified => 0,
        Priority::Low => -10_000,
    }
}
