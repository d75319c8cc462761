//! One subscription to the tasks of the hub, for all streams: each event comes once, and goes to those who listen to its task.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use agenthub_sdk::{
    Client, Error,
    hub::EventStream,
    proto::agenthub::{AgentEvent, SubscribeToTasksRequest, agent_event::Payload},
};
use tokio::{
    sync,
    time::{Instant, MissedTickBehavior, interval_at},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::listeners::{Listener, Listeners, TaskEvent};

/// Time without listeners after which the subscription ends.
const LINGERING: Duration = Duration::from_secs(5);

/// The subscription, as long as somebody listens.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    state: Mutex<State>,
    /// Held while the subscription is opened.
    opening: sync::Mutex<()>,
    closing: CancellationToken,
    work: TaskTracker,
}

#[derive(Debug, Default)]
struct State {
    is_open: bool,
    /// Position of the last event.
    position: String,
    listeners: Arc<Listeners>,
}

impl Shared {
    /// Listens to a task, after the position that is returned as well.
    ///
    /// # Errors
    ///
    /// Those of [`Client::task_events`].
    pub(crate) async fn listen(
        self: &Arc<Self>,
        client: &Client,
        task_id: &str,
    ) -> Result<(Listener, String), Error> {
        if let Some(listener) = self.join(task_id) {
            return Ok(listener);
        }
        let _opening = self.opening.lock().await;
        loop {
            if self.closing.is_cancelled() {
                return Err(Error::Closed("the gateway closes".to_owned()));
            }
            if let Some(listener) = self.join(task_id) {
                return Ok(listener);
            }
            let request = SubscribeToTasksRequest {
                agent_id: client.agent_id().to_owned(),
                observe: true,
                ..Default::default()
            };
            let events = client.task_events(request).await?;
            {
                let mut state = self.state();
                state.is_open = true;
                events.position().clone_into(&mut state.position);
            }
            let shared = Arc::clone(self);
            self.work.spawn(async move {
                let closing = shared.closing.clone();
                closing.run_until_cancelled(shared.hand_on(events)).await;
                shared.end();
            });
        }
    }

    /// Ends the subscription, and waits for that.
    pub(crate) async fn close(&self) {
        self.closing.cancel();
        self.work.close();
        self.work.wait().await;
    }

    fn join(&self, task_id: &str) -> Option<(Listener, String)> {
        let state = self.state();
        let is_open = state.is_open;
        is_open.then(|| (state.listeners.listen(task_id), state.position.clone()))
    }

    /// Hands on what comes, until nobody has listened for a while, or there is a gap.
    async fn hand_on(&self, mut events: EventStream) {
        let mut looking = interval_at(Instant::now() + LINGERING, LINGERING);
        looking.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut was_needed = true;
        loop {
            tokio::select! {
                event = events.next() => match event {
                    Some(Ok(event)) => self.state().hand_on(event),
                    Some(Err(error)) => {
                        tracing::debug!(%error, "streams go on by themselves");
                        return;
                    }
                    None => return,
                },
                _ = looking.tick() => {
                    let is_needed = !self.state().listeners.is_empty();
                    if !is_needed && !was_needed {
                        return;
                    }
                    was_needed = is_needed;
                }
            }
        }
    }

    /// Ends the subscription. Those who still listen go on by themselves.
    fn end(&self) {
        let mut state = self.state();
        state.is_open = false;
        state.listeners.clear();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn hand_on(&mut self, event: AgentEvent) {
        if !event.position.is_empty() {
            self.position.clone_from(&event.position);
        }
        let Some(payload) = event.payload else {
            return;
        };
        let task_id = match &payload {
            Payload::Task(task) => &task.id,
            Payload::StatusUpdate(update) => &update.task_id,
            Payload::ArtifactUpdate(update) => &update.task_id,
            Payload::Message(_) | Payload::AgentCard(_) => return,
        };
        let task_id = task_id.clone();
        let position = event.position;
        let event_of_task = TaskEvent { position, payload };
        self.listeners.hand_on(&task_id, event_of_task);
    }
}

#[cfg(test)]
mod tests {
    use agenthub_sdk::proto::agenthub::TaskStatusUpdateEvent;

    use super::*;

    fn event(task_id: &str, number: usize) -> AgentEvent {
        AgentEvent {
            position: format!("l-{number}"),
            payload: Some(Payload::StatusUpdate(TaskStatusUpdateEvent {
                task_id: task_id.into(),
                ..Default::default()
            })),
            ..Default::default()
        }
    }

    fn open() -> Arc<Shared> {
        let shared = Arc::new(Shared::default());
        shared.state().is_open = true;
        shared
    }

    #[tokio::test]
    async fn each_listener_gets_the_events_of_its_task_from_its_place_on() {
        let shared = open();
        shared.state().hand_on(event("a", 1));
        let (mut one, begins_after) = shared.join("a").expect("it is open");
        let (mut other, _) = shared.join("b").expect("it is open");
        assert_eq!(begins_after, "l-1");
        shared.state().hand_on(event("a", 2));
        shared.state().hand_on(event("b", 3));
        let position = |event: Option<Arc<TaskEvent>>| event.expect("one").position.clone();
        assert_eq!(position(one.next().await), "l-2");
        assert_eq!(position(other.next().await), "l-3");
        shared.end();
        assert!(one.next().await.is_none());
        assert!(shared.join("a").is_none());
    }
}
