//! One subscription to the tasks of the hub, for all streams: each event comes once, and goes to those who listen to its task.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use agenthub_sdk::{
    Client, Error,
    hub::EventStream,
    proto::agenthub::{AgentEvent, SubscribeToTasksRequest, agent_event::Payload},
};
use tokio::{
    sync::{self, mpsc},
    time::{Instant, MissedTickBehavior, interval_at},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// Events that wait for one stream; a stream that is slower goes on by itself.
const WAITING: usize = 1024;

/// Time without listeners after which the subscription ends.
const LINGERING: Duration = Duration::from_secs(5);

/// An event of a task.
#[derive(Debug)]
pub(crate) struct TaskEvent {
    pub(crate) position: String,
    pub(crate) payload: Payload,
}

/// The subscription, as long as somebody listens.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    state: Mutex<State>,
    /// Held while the subscription is opened.
    opening: sync::Mutex<()>,
    closing: CancellationToken,
    work: TaskTracker,
}

/// Way to a listener, with its number.
type Numbered = (u64, mpsc::Sender<Arc<TaskEvent>>);

#[derive(Debug, Default)]
struct State {
    is_open: bool,
    /// Position of the last event.
    position: String,
    listeners: HashMap<String, Vec<Numbered>>,
    /// Listeners so far.
    count: u64,
}

/// Listener to one task. Dropping it ends that.
#[derive(Debug)]
pub(crate) struct Listener {
    shared: Arc<Shared>,
    task_id: String,
    number: u64,
    begins_after: String,
    events: mpsc::Receiver<Arc<TaskEvent>>,
}

impl Shared {
    /// Listens to a task from here on.
    ///
    /// # Errors
    ///
    /// Those of [`Client::task_events`].
    pub(crate) async fn listen(
        self: &Arc<Self>,
        client: &Client,
        task_id: &str,
    ) -> Result<Listener, Error> {
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

    fn join(self: &Arc<Self>, task_id: &str) -> Option<Listener> {
        let mut state = self.state();
        if !state.is_open {
            return None;
        }
        let (sender, events) = mpsc::channel(WAITING);
        state.count += 1;
        let number = state.count;
        let listeners = state.listeners.entry(task_id.to_owned()).or_default();
        listeners.push((number, sender));
        Some(Listener {
            shared: Arc::clone(self),
            task_id: task_id.to_owned(),
            number,
            begins_after: state.position.clone(),
            events,
        })
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
        let Some(listeners) = self.listeners.get_mut(task_id) else {
            return;
        };
        let task_id = task_id.clone();
        let event = Arc::new(TaskEvent {
            position: event.position,
            payload,
        });
        // Whoever is too slow is let go, and goes on by itself.
        listeners.retain(|(_, sender)| sender.try_send(Arc::clone(&event)).is_ok());
        if listeners.is_empty() {
            self.listeners.remove(&task_id);
        }
    }
}

impl Listener {
    /// The position of the last event before its first one.
    pub(crate) fn begins_after(&self) -> &str {
        &self.begins_after
    }

    /// The next event; `None` once it was let go. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Option<Arc<TaskEvent>> {
        self.events.recv().await
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        if let Entry::Occupied(mut entry) = state.listeners.entry(std::mem::take(&mut self.task_id))
        {
            entry.get_mut().retain(|(number, _)| *number != self.number);
            if entry.get().is_empty() {
                entry.remove();
            }
        }
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
        let mut one = shared.join("a").expect("it is open");
        let mut other = shared.join("b").expect("it is open");
        assert_eq!(one.begins_after(), "l-1");
        shared.state().hand_on(event("a", 2));
        shared.state().hand_on(event("b", 3));
        let position = |event: Option<Arc<TaskEvent>>| event.expect("one").position.clone();
        assert_eq!(position(one.next().await), "l-2");
        assert_eq!(position(other.next().await), "l-3");
        drop((one, other));
        assert!(
            shared.state().listeners.is_empty(),
            "nothing is left of them"
        );
    }

    #[tokio::test]
    async fn a_listener_that_is_too_slow_is_let_go_and_the_others_are_not() {
        let shared = open();
        let mut slow = shared.join("a").expect("it is open");
        let mut quick = shared.join("a").expect("it is open");
        for n in 0..=WAITING {
            shared.state().hand_on(event("a", n));
            quick.next().await.expect("it gets it");
        }
        for _ in 0..WAITING {
            slow.next().await.expect("it waited");
        }
        assert!(slow.next().await.is_none());
        shared.end();
        assert!(quick.next().await.is_none());
        assert!(shared.join("a").is_none());
    }
}
