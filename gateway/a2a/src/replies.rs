//! Ends of tasks that the gateway has requested. The hub sends them to it in any case, as to every requester: a call that waits for nothing else needs
//! no subscription.

use std::sync::Arc;

use agenthub_sdk::{
    hub::Connection,
    proto::{
        a2a::TaskStatus,
        agenthub::{AgentEvent, agent_event::Payload},
    },
};
use tokio::sync::watch;
use tokio_util::task::TaskTracker;

use crate::listeners::{Listener, Listeners, TaskEvent};

/// The calls that wait for the end of a task.
#[derive(Debug, Default)]
pub(crate) struct Replies {
    listeners: Arc<Listeners>,
    work: TaskTracker,
}

/// True if a call that waits for its task is answered now: the task has ended, or waits for its requester.
pub(crate) fn is_end(event: &Payload) -> bool {
    let Payload::StatusUpdate(update) = event else {
        return false;
    };
    let state = update.status.as_ref().map(TaskStatus::state);
    state.is_some_and(|state| state.is_terminal() || state.is_interrupted())
}

impl Replies {
    /// Listens to the ends of a task from here on.
    pub(crate) fn listen(&self, task_id: &str) -> Listener {
        self.listeners.listen(task_id)
    }

    /// Takes what has come back.
    pub(crate) fn take(&self, event: &AgentEvent) {
        let Some(payload) = event.payload.as_ref().filter(|payload| is_end(payload)) else {
            return;
        };
        let task_id = event.task_id();
        if self.listeners.has(task_id) {
            let (position, payload) = (event.position.clone(), payload.clone());
            let event_of_task = TaskEvent { position, payload };
            self.listeners.hand_on(task_id, event_of_task);
        }
    }

    /// Lets all listeners go at each change of the connection, over which events may be lost: they go on by themselves.
    pub(crate) fn watch(&self, mut connection: watch::Receiver<Connection>) {
        let listeners = Arc::clone(&self.listeners);
        self.work.spawn(async move {
            while connection.changed().await.is_ok() {
                listeners.clear();
            }
        });
    }

    /// Waits for the end of the connection, after its client was closed.
    pub(crate) async fn close(&self) {
        self.work.close();
        self.work.wait().await;
    }
}

#[cfg(test)]
mod tests {
    use agenthub_sdk::proto::{a2a::TaskState, agenthub::TaskStatusUpdateEvent};

    use super::*;

    fn status(position: &str, state: TaskState) -> AgentEvent {
        AgentEvent {
            position: position.to_owned(),
            payload: Some(Payload::StatusUpdate(TaskStatusUpdateEvent {
                task_id: "t".to_owned(),
                status: Some(TaskStatus {
                    state: state.into(),
                    ..TaskStatus::default()
                }),
                ..TaskStatusUpdateEvent::default()
            })),
            ..AgentEvent::default()
        }
    }

    /// A call that waits is woken by what answers it alone.
    #[tokio::test]
    async fn a_listener_hears_of_ends_and_questions_alone() {
        let replies = Replies::default();
        let mut listener = replies.listen("t");
        for (position, state) in [
            ("l-1", TaskState::Submitted),
            ("l-2", TaskState::Working),
            ("l-3", TaskState::InputRequired),
            ("l-4", TaskState::Working),
            ("l-5", TaskState::Completed),
        ] {
            replies.take(&status(position, state));
        }
        for position in ["l-3", "l-5"] {
            let event = listener.next().await.expect("an end");
            assert_eq!(event.position, position);
        }
    }

    /// Each listener reads by itself what was lost over a break.
    #[tokio::test]
    async fn a_change_of_the_connection_lets_all_listeners_go() {
        let replies = Replies::default();
        let connected = || Connection::Connected {
            incarnation: "i".to_owned(),
        };
        let (connection, watched) = watch::channel(connected());
        replies.watch(watched);
        let mut listener = replies.listen("t");
        let reason = "it broke".to_owned();
        connection.send_replace(Connection::Reconnecting { reason });
        assert!(listener.next().await.is_none());
        let mut listener = replies.listen("t");
        connection.send_replace(connected());
        assert!(listener.next().await.is_none());
        drop(connection);
        replies.close().await;
    }
}
