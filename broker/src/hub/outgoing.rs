//! What a stream has to send.

use std::time::Duration;

use agenthub_proto::agenthub::Cancel;

use crate::mailbox::Batch;

/// Why the hub ends a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The hub is going away: connect again.
    Drain,
    /// Not to be repeated as it is: another stream has taken its place, or the agent was unregistered.
    Superseded(String),
    /// It did not take its mail.
    Overflow,
}

/// What an open stream has to send.
#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    /// Batches, each with the index of its subscription. Of those in no log, whoever gets them has them.
    pub(crate) deliveries: Vec<(usize, Batch)>,
    /// How many of these are cards of a snapshot of the directory.
    pub(crate) cards: usize,
    /// There is more to be taken, and nobody will be woken for that.
    pub(crate) has_more: bool,
    /// Deliveries that could not be read went back, with the index of the subscription of each and the number of its events.
    pub(crate) returned: Vec<(usize, usize)>,
    /// When to take them again.
    pub(crate) pause: Option<Duration>,
    pub(crate) cancels: Vec<Cancel>,
    pub(crate) end: Option<End>,
}

impl Outgoing {
    /// Tells whether only the log has a part of it.
    pub(crate) fn is_stored(&self) -> bool {
        self.deliveries.iter().any(|(_, batch)| batch.is_stored())
    }

    /// How many events it has to send.
    pub(crate) fn events(&self) -> usize {
        self.deliveries.iter().map(|(_, batch)| batch.len()).sum()
    }
}
