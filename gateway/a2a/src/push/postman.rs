//! From the store to the receivers: one notification of a configuration at a time, in order, for as long as some wait.
//!
//! Each configuration with mail has a task of its own, so that none waits for another. Requests under way are bounded, for each receiver
//! and in total; a slow receiver has its own few places and no more.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{Arc, Mutex, atomic::Ordering},
    time::Duration,
};

use agenthub_sdk::proto::a2a;
use serde_json::json;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::sleep,
};
use tokio_util::sync::CancellationToken;

use super::{
    Open,
    config::receiver,
    delivery::{Attempt, Next, next, without_task},
    locked, now_ms,
    request::headers,
    store::{NextNotification, Settled, in_ms},
};
use crate::{convert::task_from_hub, json::to_json, old};

/// Requests under way to one receiver, and to all.
const PER_RECEIVER: usize = 8;
const TOTAL: usize = 256;

/// Pause before the hub, or the store, is asked again.
const PAUSE: Duration = Duration::from_secs(1);

/// Limits of requests under way.
#[derive(Debug)]
pub(super) struct DeliveryLimits {
    total: Arc<Semaphore>,
    receivers: Mutex<HashMap<String, Arc<Semaphore>>>,
}

/// A place; dropping it gives it back.
struct Place<'a> {
    limits: &'a DeliveryLimits,
    receiver: String,
    _permits: Option<(OwnedSemaphorePermit, OwnedSemaphorePermit)>,
}

impl Default for DeliveryLimits {
    fn default() -> Self {
        Self {
            total: Arc::new(Semaphore::new(TOTAL)),
            receivers: Mutex::default(),
        }
    }
}

impl DeliveryLimits {
    /// Waits for a place at a receiver. The order of waiting for one receiver and then for all keeps a slow receiver from taking all places.
    async fn take(&self, receiver: String) -> Place<'_> {
        let own = {
            let mut receivers = locked(&self.receivers);
            let new = || Arc::new(Semaphore::new(PER_RECEIVER));
            Arc::clone(receivers.entry(receiver.clone()).or_insert_with(new))
        };
        let mut place = Place {
            limits: self,
            receiver,
            _permits: None,
        };
        if let Ok(own) = own.acquire_owned().await
            && let Ok(total) = Arc::clone(&self.total).acquire_owned().await
        {
            place._permits = Some((total, own));
        }
        place
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self._permits = None;
        let mut receivers = locked(&self.limits.receivers);
        if let Entry::Occupied(entry) = receivers.entry(std::mem::take(&mut self.receiver))
            && Arc::strong_count(entry.get()) == 1
        {
            entry.remove();
        }
    }
}

/// The deliverer of a configuration.
#[derive(Debug)]
pub(super) struct Deliverer {
    /// Tells it from one that was stopped.
    number: u64,
    /// Something came since it has looked last.
    has_more: bool,
    stop: CancellationToken,
}

impl Open {
    /// Delivers what waits for a configuration, if nobody does yet.
    pub(super) fn wake(&self, key: i64) {
        let mut deliverers = locked(&self.deliverers);
        match deliverers.entry(key) {
            Entry::Occupied(mut entry) => entry.get_mut().has_more = true,
            Entry::Vacant(entry) => {
                let stop = self.closing.child_token();
                let number = self.numbers.fetch_add(1, Ordering::Relaxed);
                entry.insert(Deliverer {
                    number,
                    has_more: false,
                    stop: stop.clone(),
                });
                // It is gone only while the gateway closes.
                if let Some(open) = self.this.upgrade() {
                    self.work.spawn(async move {
                        stop.run_until_cancelled(open.deliver(key, number)).await;
                    });
                }
            }
        }
    }

    /// Ends what is under way for a configuration that was removed.
    pub(super) fn stop(&self, key: i64) {
        if let Some(deliverer) = locked(&self.deliverers).remove(&key) {
            deliverer.stop.cancel();
        }
    }

    /// Delivers until nothing waits any more.
    async fn deliver(&self, key: i64, number: u64) {
        loop {
            let front = match self.store.front(key).await {
                Ok(Some(front)) => front,
                Ok(None) if self.is_done(key, number) => return,
                Ok(None) => continue,
                Err(error) => {
                    tracing::warn!(%error, "push notifications wait for their store");
                    sleep(PAUSE).await;
                    continue;
                }
            };
            sleep(Duration::from_millis(front.due_ms.saturating_sub(now_ms()))).await;
            let owners = self.owners.as_ref();
            if owners.is_some_and(|owners| !owners.may_see_tasks(&front.config.owner)) {
                // Its rights may come back, with another token for instance.
                sleep(PAUSE).await;
                continue;
            }
            match self.attempt(&front).await {
                Some((next, is_over)) => self.settle(key, &front, next, is_over).await,
                None => sleep(PAUSE).await,
            }
        }
    }

    /// True if nothing came since the deliverer has looked, so that it ends.
    fn is_done(&self, key: i64, number: u64) -> bool {
        let mut deliverers = locked(&self.deliverers);
        let Entry::Occupied(mut own) = deliverers.entry(key) else {
            return true;
        };
        if own.get().number != number {
            return true;
        }
        match std::mem::take(&mut own.get_mut().has_more) {
            true => false,
            false => {
                own.remove();
                true
            }
        }
    }

    /// Sends a notification, and says whether its task is known to be over; `None` if it waits for the hub.
    async fn attempt(&self, front: &NextNotification) -> Option<(Next, bool)> {
        let (body, is_over) = match &front.body {
            Some(body) => (body.clone(), false),
            None => match self.client.task(&front.task, 0).await {
                Ok(task) => task_itself(task, front.is_old),
                Err(error) => {
                    let next = without_task(&error, front.is_to_come);
                    return next.map(|next| (next, false));
                }
            },
        };
        let uri = match receiver(&front.config.url, &self.allow) {
            Ok(uri) => uri,
            Err(fault) => return Some((Next::End(fault), is_over)),
        };
        let origin = format!(
            "{}://{}",
            uri.scheme_str().unwrap_or_default(),
            uri.authority().map_or("", |a| a.as_str())
        );
        let _place = self.limits.take(origin).await;
        let body = body.into_bytes();
        let headers = headers(front, &body, now_ms() / 1000, self.key.as_ref());
        let posted = self
            .sender
            .post(uri, headers, body, self.retry_policy.deadline);
        let answer = posted.await;
        let attempt = Attempt {
            tries: front.tries.saturating_add(1),
            age: Duration::from_millis(now_ms().saturating_sub(front.made_ms)),
            failures: front.failures,
        };
        let next = next(&answer, attempt, &self.retry_policy, fastrand::f64());
        Some((next, is_over))
    }

    async fn settle(&self, key: i64, front: &NextNotification, next: Next, is_over: bool) {
        let (id, task) = (&front.config.id, &front.task);
        let settled = match next {
            Next::Delivered => Settled::Delivered,
            Next::Retry(pause) => {
                tracing::debug!(
                    config = id,
                    task,
                    ?pause,
                    tries = front.tries + 1,
                    "a push notification is tried again"
                );
                let due_ms = now_ms().saturating_add(in_ms(pause));
                Settled::Again { due_ms }
            }
            Next::GiveUp { why, pause } => {
                tracing::warn!(config = id, task, why, "a push notification is given up");
                let due_ms = now_ms().saturating_add(in_ms(pause));
                Settled::GivenUp { due_ms }
            }
            Next::End(why) => {
                tracing::warn!(
                    config = id,
                    task,
                    why,
                    "a push notification configuration is removed"
                );
                while let Err(error) = self.store.drop_config(key).await {
                    tracing::warn!(%error, "push notifications wait for their store");
                    sleep(PAUSE).await;
                }
                return;
            }
        };
        let ended_ms = is_over.then(now_ms);
        while let Err(error) = self.store.settle(key, front.seq, settled, ended_ms).await {
            tracing::warn!(%error, "push notifications wait for their store");
            sleep(PAUSE).await;
        }
    }
}

/// A task as a notification, and whether it is over.
fn task_itself(task: a2a::Task, is_old: bool) -> (String, bool) {
    let is_over = task.state().is_terminal();
    let task = task_from_hub(task);
    let body = match is_old {
        true => old::task(&task).to_string(),
        false => json!({"task": to_json(&task)}).to_string(),
    };
    (body, is_over)
}
