//! From the hub's log to the store: what happens to tasks with configurations, once and in order.
//!
//! The gateway watches the tasks of the hub like any agent, after the position that the store has reached, as long as there are
//! configurations. Where the log no longer reaches back to it, each configuration gets its task as it is.

use std::{collections::HashSet, future::pending, sync::Arc, time::Duration};

use agenthub_sdk::{
    Error as HubError,
    hub::EventStream,
    proto::{
        a2a::TaskState,
        agenthub::{AgentEvent, SubscribeToTasksRequest, agent_event::Payload},
    },
};
use futures_util::future::join_all;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, sleep_until};

use super::{
    Open, now_ms,
    store::{StoreError, in_ms},
};
use crate::story::{LAST_WORDS, Story, are_repeated, words_of};

/// Interval of tidying up, after which the position is noted too: at most that much of the log is read again after a crash.
const TIDYING: Duration = Duration::from_secs(30);

/// Time for which the configurations of a task that has ended can be looked at, if nothing waits for them.
const KEPT: Duration = Duration::from_secs(10 * 60);

/// Pause before the hub, or the store, is asked again.
const PAUSE: Duration = Duration::from_secs(1);

impl Open {
    /// Records events until the gateway closes.
    pub(super) async fn take_in(self: Arc<Self>) {
        let mut wanted = self.wanted.subscribe();
        while matches!(
            self.closing
                .run_until_cancelled(wanted.wait_for(|is_wanted| *is_wanted))
                .await,
            Some(Ok(_))
        ) {
            let Some(mut events) = self.watch().await else {
                return;
            };
            self.watching.send_replace(true);
            let is_over = self.follow(&mut events).await;
            self.watching.send_replace(false);
            if is_over {
                return;
            }
        }
    }

    /// Subscribes where the store is; `None` once the gateway closes.
    async fn watch(&self) -> Option<EventStream> {
        let mut after = loop {
            match self.store.position().await {
                Ok(position) => break position,
                Err(error) => self.again("the position cannot be read", &error).await?,
            }
        };
        loop {
            let request = SubscribeToTasksRequest {
                agent_id: self.client.agent_id().to_owned(),
                observe: true,
                after: after.clone(),
                ..Default::default()
            };
            match self.client.task_events(request).await {
                Ok(events) => {
                    if after.is_empty() {
                        self.record_position(events.position()).await?;
                    }
                    return Some(events);
                }
                Err(HubError::Invalid(why)) if !after.is_empty() => {
                    self.record_gap(&why).await?;
                    after.clear();
                }
                Err(error) => self.again("tasks cannot be watched", &error).await?,
            }
        }
    }

    /// Records what comes. `true` once the gateway closes; else the events have to be asked for again, if they are wanted.
    ///
    /// Words of an agent wait for the next event, which may have them as well, or for [`LAST_WORDS`]. Until they are recorded, or left out,
    /// no later position is.
    async fn follow(&self, events: &mut EventStream) -> bool {
        let mut tidying = interval(TIDYING);
        tidying.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut words: Option<(AgentEvent, Instant)> = None;
        loop {
            let next = tokio::select! {
                next = events.next() => next,
                () = until(words.as_ref().map(|(_, until)| *until)) => {
                    match self.record_words(&mut words).await {
                        Some(()) => continue,
                        None => return true,
                    }
                }
                _ = tidying.tick(), if words.is_none() => {
                    match self.tidy(events.position()).await {
                        Some(true) => continue,
                        Some(false) => return false,
                        None => return true,
                    }
                }
                () = self.closing.cancelled() => {
                    if words.is_none() {
                        // It only spares reading them again.
                        let _ = self.store.reached(events.position()).await;
                    }
                    return true;
                }
            };
            if let (Some((event, _)), Some(Ok(next))) = (&words, &next)
                && are_repeated(event, next)
            {
                words = None;
            }
            if self.record_words(&mut words).await.is_none() {
                return true;
            }
            let recorded = match next {
                Some(Ok(event)) if words_of(&event).is_some() => {
                    words = Some((event, Instant::now() + LAST_WORDS));
                    Some(())
                }
                Some(Ok(event)) => self.record(event).await,
                Some(Err(HubError::Missed(why))) => self.record_gap(&why).await,
                Some(Err(error)) => {
                    self.watching.send_replace(false);
                    return self
                        .again("the stream of tasks failed", &error)
                        .await
                        .is_none();
                }
                None => {
                    let error = HubError::Closed("the stream is over".to_owned());
                    self.watching.send_replace(false);
                    return self
                        .again("the stream of tasks ended", &error)
                        .await
                        .is_none();
                }
            };
            if recorded.is_none() {
                return true;
            }
        }
    }

    /// Records words that were held back, if there are some; `None` once the gateway closes.
    async fn record_words(&self, words: &mut Option<(AgentEvent, Instant)>) -> Option<()> {
        match words.take() {
            Some((event, _)) => self.record(event).await,
            None => Some(()),
        }
    }

    /// Records an event, as often as it takes; `None` once the gateway closes.
    async fn record(&self, event: AgentEvent) -> Option<()> {
        let Some(payload) = event.payload else {
            return Some(());
        };
        let task = match &payload {
            Payload::Task(task) => &task.id,
            Payload::StatusUpdate(update) => &update.task_id,
            Payload::ArtifactUpdate(update) => &update.task_id,
            Payload::Message(_) | Payload::AgentCard(_) => return Some(()),
        };
        let _gate = self.gate.lock().await;
        if !self.tasks().contains(task) {
            return Some(());
        }
        let task = task.clone();
        let payload = Arc::new(payload);
        let keys = loop {
            let payload = Arc::clone(&payload);
            let show = move |state: Option<i32>| {
                let mut story =
                    Story::resumed(state.and_then(|state| TaskState::try_from(state).ok()));
                let shown = story.take((*payload).clone());
                (
                    shown,
                    story.state().map(|state| state as i32),
                    story.is_over(),
                )
            };
            match self
                .store
                .record(&task, &event.position, now_ms(), show)
                .await
            {
                Ok(keys) => break keys,
                Err(error) => self.again("an event cannot be recorded", &error).await?,
            }
        };
        keys.into_iter().for_each(|key| self.wake(key));
        Some(())
    }

    async fn record_gap(&self, why: &str) -> Option<()> {
        tracing::warn!(
            why,
            "events are missing: receivers of push notifications get the tasks as they are"
        );
        let keys = loop {
            match self.store.record_gap(now_ms()).await {
                Ok(keys) => break keys,
                Err(error) => self.again("a gap cannot be recorded", &error).await?,
            }
        };
        keys.into_iter().for_each(|key| self.wake(key));
        Some(())
    }

    async fn record_position(&self, position: &str) -> Option<()> {
        while let Err(error) = self.store.reached(position).await {
            self.again("the position cannot be recorded", &error)
                .await?;
        }
        Some(())
    }

    /// Waits before something is tried again; `None` once the gateway closes.
    async fn again(&self, what: &str, error: &(dyn std::error::Error + Sync)) -> Option<()> {
        tracing::warn!(%error, "push notifications: {what}, and will be tried again");
        self.closing.run_until_cancelled(sleep(PAUSE)).await
    }

    /// Configurations that have waited since before this time for a task that the hub does not know: the message that was to make it was
    /// never published. `None` once the gateway closes.
    async fn unpublished(&self, before_ms: u64) -> Option<Result<Vec<i64>, StoreError>> {
        let unbegun = match self.store.unbegun(before_ms).await {
            Ok(unbegun) => unbegun,
            Err(error) => return Some(Err(error)),
        };
        let asked = unbegun.into_iter().map(async |(key, task)| {
            let task = self.client.task(&task, -1).await;
            matches!(task, Err(HubError::NotFound(_))).then_some(key)
        });
        let asked = self.closing.run_until_cancelled(join_all(asked)).await?;
        Some(Ok(asked.into_iter().flatten().collect()))
    }

    /// Removes configurations that are done with, and says whether there are others; `None` once the gateway closes.
    async fn tidy(&self, position: &str) -> Option<bool> {
        let before = now_ms().saturating_sub(in_ms(KEPT));
        let unpublished = self.unpublished(before).await?;
        // No configuration is added meanwhile.
        let _gate = self.gate.lock().await;
        let tidied = async {
            self.store.reached(position).await?;
            for key in unpublished? {
                self.store.drop_unbegun(key).await?;
            }
            self.store.sweep(before).await?;
            let tasks: HashSet<String> = self.store.tasks().await?.into_iter().collect();
            let has_any = !tasks.is_empty();
            *self.tasks() = tasks;
            if !has_any {
                // The next one begins with what is then.
                self.store.forget_position().await?;
            }
            Ok::<_, StoreError>(has_any)
        };
        match tidied.await {
            Ok(true) => Some(true),
            Ok(false) => {
                self.wanted.send_replace(false);
                self.watching.send_replace(false);
                Some(false)
            }
            Err(error) => {
                self.again("they cannot be tidied up", &error).await?;
                Some(true)
            }
        }
    }
}

/// Waits until then; forever without a time.
async fn until(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => pending().await,
    }
}
