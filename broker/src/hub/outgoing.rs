//! Output of a stream.

use std::time::Duration;

use agenthub_proto::agenthub::Cancel;

use crate::mailbox::Batch;

/// Reason why the hub ends a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The hub is shutting down: connect again.
    Drain,
    /// Do not repeat unchanged: another stream has taken its place, or the agent was unregistered.
    Superseded(String),
    /// The mail was not taken.
    Overflow,
}

/// Data to send on an open stream.
#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    /// Batches, each with the index of its subscription. Unlogged ones are delivered at most once.
    pub(crate) deliveries: Vec<(usize, Batch)>,
    /// Number of them that are cards of a directory snapshot.
    pub(crate) cards: usize,
    /// True if there is more to take, for which no wake-up will come.
    pub(crate) has_more: bool,
    /// Deliveries that could not be read and went back: index of the subscription, and number of events.
    pub(crate) returned: Vec<(usize, usize)>,
    /// Time to wait before they are taken again.
    pub(crate) pause: Option<Duration>,
    pub(crate) cancels: Vec<Cancel>,
    pub(crate) end: Option<End>,
}

impl Outgoing {
    /// True if some bodies must be read from the log.
    pub(crate) fn is_stored(&self) -> bool {
        self.deliveries.iter().any(|(_, batch)| batch.is_stored())
    }

    /// Number of events to send.
    pub(crate) fn events(&self) -> usize {
        self.deliveries.iter().map(|(_, batch)| batch.len()).sum()
    }
}
