//! Delegated tasks whose outcome is awaited.

mod fold;
mod table;
pub(crate) mod watch;

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use agenthub_proto::{
    a2a::Message,
    agenthub::{TaskArtifactUpdateEvent, TaskStatusUpdateEvent},
};
use tokio::sync::{mpsc, oneshot};
use tokio_stream::Stream;

pub(crate) use table::{Before, Table};

use crate::{Client, Error, Outcome, TaskContext};

/// A task that was handed to an agent.
///
/// Dropping it ends the watching, not the task; [`cancel`](Self::cancel) ends the task.
#[derive(Debug)]
pub struct Pending {
    pub(crate) task_id: String,
    pub(crate) client: Client,
    pub(crate) updates: Option<mpsc::Receiver<Box<Update>>>,
    pub(crate) outcome: oneshot::Receiver<Result<Outcome, Error>>,
    pub(crate) _entry: Entry,
    /// The task on whose behalf it was handed on.
    pub(crate) parent: Option<TaskContext>,
}

/// Something that an agent shows while it works.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Update {
    /// Another state, or more to say about it. The last one is the outcome's.
    Status(TaskStatusUpdateEvent),
    /// An artifact, or a chunk of one. One that may be lost is shown here, but is no part of the outcome.
    Artifact(TaskArtifactUpdateEvent),
    /// A message of the task.
    Message(Message),
    /// Number of updates that were left out because the reader was too slow. The outcome is whole nevertheless.
    Missed(u64),
}

impl Pending {
    /// The updates that wait for a slow reader; further ones are left out, and counted in [`Update::Missed`].
    pub const MAX_UPDATES: usize = 1024;

    /// The task's id.
    pub fn task_id(&self) -> &str {
        &self.task_id
    }

    /// Updates of the agent, in order and from the start; the stream ends with the outcome. Only the first call gets it:
    /// what a later one returns is empty.
    pub fn updates(&mut self) -> Updates {
        Updates {
            receiver: self.updates.take(),
        }
    }

    /// Waits for the outcome: the first terminal state of the task, or the first in which it waits for its requester. Of an agent
    /// that reports no states it is its first answer. Dropping the future ends the watching, not the task.
    ///
    /// # Errors
    ///
    /// [`Error::Lost`] if the hub restarted without its memory, [`Error::DeadlineExceeded`] if there is no outcome although the
    /// deadline has passed (the task is cancelled then), [`Error::Closed`] if the client was closed.
    pub async fn outcome(mut self) -> Result<Outcome, Error> {
        // Nobody reads them any more, so they need not be kept.
        self.updates = None;
        let parent = self.parent.take();
        let _lent = match &parent {
            Some(parent) => parent.lend_slot().await,
            None => None,
        };
        let parent_ends = async {
            match &parent {
                Some(parent) => parent.cancelled().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            outcome = &mut self.outcome => outcome
                .unwrap_or_else(|_| Err(Error::Closed("the client was closed".to_owned()))),
            () = parent_ends => {
                let client = self.client.clone();
                let task_id = self.task_id.clone();
                self.client.spawn(async move {
                    let reason = "the task that asked for it has ended";
                    if let Err(error) = client.cancel_task(&task_id, reason).await {
                        tracing::debug!(task_id, %error, "not cancelled");
                    }
                });
                let why = parent.map_or(Ok(()), |parent| parent.may_publish());
                Err(why.err().unwrap_or_else(|| Error::Cancelled("the task has ended".to_owned())))
            }
        }
    }

    /// Cancels the task; the agent at work is told. Also fine if it has ended: then its state stays.
    ///
    /// # Errors
    ///
    /// Those of [`Client::cancel_task`], but for the task having ended.
    pub async fn cancel(&self, reason: &str) -> Result<(), Error> {
        match self.client.cancel_task(&self.task_id, reason).await {
            Ok(_) | Err(Error::Conflict(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// The updates of one [`Pending`].
#[derive(Debug)]
pub struct Updates {
    pub(crate) receiver: Option<mpsc::Receiver<Box<Update>>>,
}

impl Updates {
    /// The next one; `None` after the outcome. Cancel-safe.
    pub async fn next(&mut self) -> Option<Update> {
        self.receiver.as_mut()?.recv().await.map(|update| *update)
    }
}

impl Stream for Updates {
    type Item = Update;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Update>> {
        match &mut self.receiver {
            Some(receiver) => receiver.poll_recv(cx).map(|u| u.map(|update| *update)),
            None => Poll::Ready(None),
        }
    }
}

/// A place in the table, given up when dropped.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) table: Arc<Table>,
    pub(crate) task_id: String,
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.table.remove(&self.task_id);
    }
}
