//! Topics of messages, on the hub and on Kafka.
//!
//! A [`Bus`] takes messages; of those on a topic, each [`Group`] gets every one, and its members share them. The hub ([`HubBus`], [`HubGroups`]) and
//! Kafka (`KafkaBus`, behind the feature `kafka`) keep the same promises, which `contract.rs` tests.

mod group;
mod hub;
#[cfg(feature = "kafka")]
pub mod kafka;
#[cfg(any(test, feature = "testing"))]
mod memory;
mod message;
pub mod messages;
mod record;

#[cfg(test)]
mod contract;

use std::fmt;

use async_trait::async_trait;

pub use group::{Consumer, Delivery, Group};
pub use hub::{HubBus, HubGroups};
#[cfg(feature = "kafka")]
pub use kafka::KafkaBus;
#[cfg(any(test, feature = "testing"))]
pub use memory::MemoryBus;
pub use message::Message;
pub use record::{Header, NewRecord, Partition, Record};

/// Errors of a bus.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BusError {
    /// The bus cannot be reached, or has no room. The same call may succeed later.
    #[error("the bus does not take it at present: {0}")]
    Unavailable(String),
    /// The bus does not take these messages, or does not let this caller in.
    #[error("the bus does not take it: {0}")]
    Refused(String),
}

/// Topics on which messages are published. Once [`publish`](Self::publish) returns `Ok`, every group that the topic had gets each
/// message at least once, and the messages of a key in the order in which they were first published. After an error some of
/// them may have been published; publish all of them again. Who is in no group of a topic gets nothing of it.
#[async_trait]
pub trait Bus: Send + Sync + fmt::Debug {
    /// Publishes messages, in order. Takes 30 s at most. Dropping the future does not take them back.
    ///
    /// # Errors
    ///
    /// [`BusError`].
    async fn publish(&self, topic: &str, messages: &[Message]) -> Result<(), BusError>;
}

/// Groups that share the messages of topics.
///
/// A message goes to one member of each group, and is out until that member [acknowledges](Delivery::acknowledge) it. What a member
/// has not acknowledged when it leaves or dies goes to the others, in the order of its key again. The messages of a key are with one
/// member at a time, as long as no member comes or goes. A group gets what is published after its first member has joined; it may get
/// what is older.
#[async_trait]
pub trait Groups: Send + Sync + fmt::Debug {
    /// Joins a group, as a further member of it.
    ///
    /// # Errors
    ///
    /// [`BusError`].
    async fn join(&self, group: Group) -> Result<Consumer, BusError>;
}
