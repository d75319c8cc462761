//! Members of groups, and what they get.

use std::fmt;

use futures_util::future::BoxFuture;
use tokio::sync::mpsc;

use crate::{BusError, Message};

/// A group of consumers that share the messages of some topics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The group's name.
    pub name: String,
    /// Its topics, the same for all members.
    pub topics: Vec<String>,
    /// Deliveries that one member has out at the same time, at most. Further ones wait for acknowledgements.
    pub in_flight: usize,
    /// Name of the member that joins. One that joins again under its name, such as after a crash, gets at once what it had. No two members have the
    /// same at the same time. Without one, the bus first has to notice that the member that crashed is gone.
    pub member: Option<String>,
}

impl Group {
    /// A group whose members have no names, and at most 64 deliveries out.
    pub fn new<T: Into<String>>(
        name: impl Into<String>,
        topics: impl IntoIterator<Item = T>,
    ) -> Self {
        Self {
            name: name.into(),
            topics: topics.into_iter().map(Into::into).collect(),
            in_flight: 64,
            member: None,
        }
    }
}

/// A member of a group. Dropping it breaks it off: what it has out goes to the others once the bus notices.
pub struct Consumer {
    deliveries: mpsc::Receiver<Result<Delivery, BusError>>,
    leave: BoxFuture<'static, ()>,
}

impl Consumer {
    /// A member that gets what comes in the queue. `leave` is polled to the end when it leaves.
    pub(crate) fn new(
        deliveries: mpsc::Receiver<Result<Delivery, BusError>>,
        leave: impl Future<Output = ()> + Send + 'static,
    ) -> Self {
        Self {
            deliveries,
            leave: Box::pin(leave),
        }
    }

    /// Waits for the next message. Cancel-safe. While [`in_flight`](Group::in_flight) deliveries are out, none comes.
    ///
    /// # Errors
    ///
    /// The bus does not have this member any more; join again.
    pub async fn next(&mut self) -> Result<Delivery, BusError> {
        let over = || Err(BusError::Unavailable("the group was left".to_owned()));
        self.deliveries.recv().await.unwrap_or_else(over)
    }

    /// Leaves the group. What was acknowledged stays so; what is out goes to the others, at once unless this member has a name under which it may
    /// come back. Takes 10 s at most.
    pub async fn leave(self) {
        drop(self.deliveries);
        self.leave.await;
    }
}

impl fmt::Debug for Consumer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer").finish_non_exhaustive()
    }
}

/// A message that a member of a group has out. Dropped without being acknowledged, it comes again once the member has left.
pub struct Delivery {
    /// The topic that it was published on.
    pub topic: String,
    /// The message.
    pub message: Message,
    acknowledge: Box<dyn FnOnce() + Send>,
}

impl Delivery {
    pub(crate) fn new(
        topic: String,
        message: Message,
        acknowledge: impl FnOnce() + Send + 'static,
    ) -> Self {
        Self {
            topic,
            message,
            acknowledge: Box::new(acknowledge),
        }
    }

    /// Says that what follows from the message is durable, so that it is not delivered again. The bus learns of it a moment later; after
    /// a crash in between it is delivered once more.
    pub fn acknowledge(self) {
        (self.acknowledge)();
    }
}

impl fmt::Debug for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Delivery")
            .field("topic", &self.topic)
            .field("message", &self.message)
            .finish_non_exhaustive()
    }
}
