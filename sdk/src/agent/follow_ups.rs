//! Messages of a task that come while a handler is at work on it.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use agenthub_proto::{a2a::Message, agenthub::agent_event::Payload};
use tokio::sync::Notify;

use crate::{TaskContext, connection::Delivered};

/// The messages behind the one that a handler works on. The handler may take them; those that are left are handled after it.
#[derive(Debug, Default)]
pub(crate) struct FollowUps {
    queue: Mutex<VecDeque<Delivered>>,
    came: Notify,
}

impl FollowUps {
    pub(super) fn push(&self, delivered: Delivered) {
        self.lock().push_back(delivered);
        self.came.notify_one();
    }

    pub(super) fn extend(&self, rest: VecDeque<Delivered>) {
        self.lock().extend(rest);
        self.came.notify_one();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// Everything that no handler has taken.
    pub(super) fn take_all(&self) -> VecDeque<Delivered> {
        std::mem::take(&mut *self.lock())
    }

    fn put_back(&self, delivered: Delivered) {
        self.lock().push_front(delivered);
        self.came.notify_one();
    }

    async fn next(&self) -> Delivered {
        loop {
            if let Some(delivered) = self.lock().pop_front() {
                return delivered;
            }
            self.came.notified().await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Delivered>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A message that came while a handler was at work on its task. Dropped before it is [done](Self::done), it waits again.
#[derive(Debug)]
pub struct FollowUp {
    task: TaskContext,
    delivered: Option<Delivered>,
}

/// The next message of the task, in the order in which they come. Answers to questions of the handler are none. Cancel-safe.
pub async fn follow_up(task: &TaskContext) -> FollowUp {
    FollowUp {
        task: task.clone(),
        delivered: Some(task.inner.follow_ups.next().await),
    }
}

impl FollowUp {
    /// The message; `None` for an event that is none.
    pub fn message(&self) -> Option<&Message> {
        match &self.delivered.as_ref()?.event.payload {
            Some(Payload::Message(message)) => Some(message),
            _ => None,
        }
    }

    /// 1 on the first delivery.
    pub fn attempt(&self) -> u32 {
        self.delivered.as_ref().map_or(1, |d| d.attempt)
    }

    /// Acknowledges the message: it is not handled any more. Dropped before that, the message waits again.
    pub async fn done(mut self) {
        let Some(delivered) = &self.delivered else {
            return;
        };
        if let Some(lease) = delivered.lease.clone() {
            // An error says that the connection is closed: it will be delivered again.
            let _ = self.task.client().link().ack(lease).await;
        }
        self.delivered = None;
        self.task.inner.slots.free().await;
    }
}

impl Drop for FollowUp {
    fn drop(&mut self) {
        if let Some(delivered) = self.delivered.take() {
            self.task.inner.follow_ups.put_back(delivered);
        }
    }
}
