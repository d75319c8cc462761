//! Link between the rest of the crate and the connection.

use std::{sync::Arc, time::Duration};

use agenthub_proto::{a2a::AgentCard, agenthub::Publish};
use tokio::{
    sync::{mpsc, oneshot, watch},
    time::timeout,
};

use super::{Connection, Lease, Published};
use crate::Error;

/// Orders for the connection. Bounded: who orders too much waits.
pub(super) enum Command {
    Publish(Batch),
    /// To be published with the next batch of the task, or a moment later.
    Linger {
        task_id: String,
        batch: Batch,
    },
    Ack(Lease),
    Refuse(Refused),
    /// Allows this many more deliveries of the inbox.
    Credit(u32),
    /// From the next stream on, the agent is this one.
    Introduce(Box<Introduction>),
    /// Flush, give these back, and go.
    Goodbye {
        refuse: Vec<Lease>,
        reason: String,
    },
}

/// A delivery that was not handled, and is to come again.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) lease: Lease,
    pub(super) delay: Duration,
    pub(super) reason: String,
}

/// An agent's description of itself.
#[derive(Debug)]
pub(crate) struct Introduction {
    pub(crate) card: AgentCard,
    /// The task types that it registers for.
    pub(crate) topics: Vec<String>,
    /// The stream says something else of it, and makes room for another.
    pub(crate) is_at_once: bool,
}

/// Publishes that go together, with the delivery that they settle.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) publishes: Vec<Publish>,
    pub(crate) ack: Option<Lease>,
    /// The life of the hub that they are of use in; `None` is any.
    pub(crate) epoch: Option<u64>,
    pub(crate) done: Option<oneshot::Sender<Answer>>,
}

/// The hub's answers to the publishes of a batch, or the reason why it was not asked.
pub(crate) type Answer = Result<Vec<Result<Published, Error>>, Error>;

impl Batch {
    /// One publish whose answer nobody waits for.
    fn posted(publish: Publish, scope: Scope) -> Self {
        Self {
            publishes: vec![publish],
            ack: None,
            epoch: scope.epoch(),
            done: None,
        }
    }

    pub(super) fn answer(self, answer: Answer) {
        match (self.done, answer) {
            // Who no longer waits is not told.
            (Some(done), answer) => _ = done.send(answer),
            (None, Ok(results)) => {
                for error in results.into_iter().filter_map(Result::err) {
                    tracing::warn!(%error, "the hub did not take what was published");
                }
            }
            (None, Err(error)) => tracing::debug!(%error, "not published"),
        }
    }
}

/// Scope of publishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Of use in any life of the hub.
    Any,
    /// Of a task that the hub knows in this life.
    Epoch(u64),
}

/// The ordering end of the connection; cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub(super) commands: mpsc::Sender<Command>,
    pub(super) connection: watch::Receiver<Connection>,
    pub(super) agent_id: Arc<str>,
}

impl Link {
    /// The id that the hub knows this peer by.
    pub(crate) fn agent_id(&self) -> &str {
        &self.agent_id
    }

    /// The state of the connection; what comes from here on is a change.
    pub(crate) fn connection(&self) -> watch::Receiver<Connection> {
        let mut connection = self.connection.clone();
        connection.mark_unchanged();
        connection
    }

    /// Publishes, and waits for what the hub says to each.
    pub(crate) async fn publish(
        &self,
        publishes: Vec<Publish>,
        ack: Option<Lease>,
        scope: Scope,
    ) -> Answer {
        let (done, answer) = oneshot::channel();
        self.order(Command::Publish(Batch {
            publishes,
            ack,
            epoch: scope.epoch(),
            done: Some(done),
        }))
        .await?;
        answer.await.unwrap_or_else(|_| Err(self.closed()))
    }

    /// Changes what the agent is from the next stream on.
    pub(crate) async fn introduce(&self, introduction: Introduction) -> Result<(), Error> {
        self.order(Command::Introduce(Box::new(introduction))).await
    }

    /// Publishes without waiting for the answer; a refusal is logged. Waits only for room.
    pub(crate) async fn post(&self, publish: Publish, scope: Scope) -> Result<(), Error> {
        let batch = Batch::posted(publish, scope);
        self.order(Command::Publish(batch)).await
    }

    /// Does the same, in one frame with the next publish of the task if that comes within a few milliseconds.
    pub(crate) async fn post_lingering(
        &self,
        task_id: &str,
        publish: Publish,
        scope: Scope,
    ) -> Result<(), Error> {
        let batch = Batch::posted(publish, scope);
        let task_id = task_id.to_owned();
        self.order(Command::Linger { task_id, batch }).await
    }

    /// Publishes one thing, within this time.
    pub(crate) async fn publish_one(
        &self,
        publish: Publish,
        scope: Scope,
        within: Duration,
    ) -> Result<Published, Error> {
        let mut results = timeout(within, self.publish(vec![publish], None, scope))
            .await
            .map_err(|_| Error::Timeout(within))??;
        results.pop().unwrap_or_else(|| Err(self.closed()))
    }

    /// Never to be delivered again.
    pub(crate) async fn ack(&self, lease: Lease) -> Result<(), Error> {
        self.order(Command::Ack(lease)).await
    }

    /// Not handled: to be delivered again, to any instance, after this time.
    pub(crate) async fn refuse(
        &self,
        lease: Lease,
        delay: Duration,
        reason: &str,
    ) -> Result<(), Error> {
        let reason = reason.to_owned();
        self.order(Command::Refuse(Refused {
            lease,
            delay,
            reason,
        }))
        .await
    }

    /// As many more deliveries of the inbox may come as `messages` says once there is room for the order. Cancel-safe: `messages` is not called
    /// unless the order is given.
    pub(crate) async fn credit(&self, messages: impl FnOnce() -> u32) -> Result<(), Error> {
        let room = self.commands.reserve().await.map_err(|_| self.closed())?;
        match messages() {
            0 => {}
            messages => room.send(Command::Credit(messages)),
        }
        Ok(())
    }

    /// Flushes, gives these deliveries back for others, and closes the connection.
    pub(crate) async fn goodbye(&self, refuse: Vec<Lease>, reason: &str) -> Result<(), Error> {
        let reason = reason.to_owned();
        self.order(Command::Goodbye { refuse, reason }).await
    }

    async fn order(&self, command: Command) -> Result<(), Error> {
        self.commands.send(command).await.map_err(|_| self.closed())
    }

    fn closed(&self) -> Error {
        Error::Closed(match &*self.connection.borrow() {
            Connection::Closed { reason } => reason.clone(),
            _ => "the client was closed".to_owned(),
        })
    }
}

impl Scope {
    fn epoch(self) -> Option<u64> {
        match self {
            Self::Any => None,
            Self::Epoch(epoch) => Some(epoch),
        }
    }
}
