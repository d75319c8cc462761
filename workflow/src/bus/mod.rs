//! The bus: topics for those who watch workflows from outside.

#[cfg(test)]
mod contract;
mod hub;
#[cfg(test)]
pub(crate) mod memory;

use std::fmt;

use async_trait::async_trait;
use serde_json::Value;

pub(crate) use hub::HubBus;

/// A message on a topic.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Message {
    /// Id, the same when the message is published again.
    pub(crate) id: String,
    /// Messages with the same key keep their order.
    pub(crate) key: String,
    /// The content: a JSON object.
    pub(crate) body: Value,
}

/// Errors of a bus.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BusError {
    /// The bus cannot be reached, or has no room. The same call may succeed later.
    #[error("the bus does not take it at present: {0}")]
    Unavailable(String),
    /// The bus does not take these messages.
    #[error("the bus does not take it: {0}")]
    Refused(String),
}

/// Topics on which messages are published. Once [`publish`](Self::publish) returns `Ok`, every subscriber that the topic had gets each
/// message at least once, and the messages of a key in the order in which they were first published. After an error some of
/// them may have been published; publish all of them again. Who does not subscribe to a topic gets nothing of it.
#[async_trait]
pub(crate) trait Bus: Send + Sync + fmt::Debug {
    /// Publishes messages, in order.
    ///
    /// # Errors
    ///
    /// [`BusError`].
    async fn publish(&self, topic: &str, messages: &[Message]) -> Result<(), BusError>;
}
