//! Periodic work of the hub: leases, deadlines, presence and probes.

use std::{sync::Arc, time::Duration};

use agenthub_proto::a2a::TaskState;
use futures_util::{StreamExt, stream};
use reqwest::redirect::Policy;
use tokio_util::sync::CancellationToken;

use super::{
    Hub,
    core::{Core, Now},
    giving_up::AT_ONCE,
    probes::Page,
};
use crate::id::AgentId;

/// Interval of ticks.
const TICK: Duration = Duration::from_millis(50);
/// Timeout of a probe.
const PROBE_TIMEOUT: Duration = Duration::from_secs(3);
/// Maximum concurrent probes.
const PROBES_AT_ONCE: usize = 16;
/// Tasks ended per acquisition of the lock because their deadline has passed, and as many because nobody confirmed
/// their cancellation, or their agent leaves.
pub(super) const TASKS_AT_ONCE: usize = 64;
/// Instances with an expired lease removed per acquisition of the lock.
const INSTANCES_AT_ONCE: usize = 32;

impl Core {
    /// Does due work, within the limits of one acquisition of the lock. Returns whether some is left.
    pub(crate) fn tick(&mut self, now: Now) -> bool {
        self.go_on_giving_up(|| now);
        let is_behind = self.giving_up.is_behind();
        if !is_behind {
            let undelivered = self.state.mailboxes.tick(AT_ONCE, now.instant);
            self.give_up(undelivered, now);
        }
        for task in self.state.tasks.overdue(TASKS_AT_ONCE, now.time) {
            let state = self.state.tasks.get(&task).map(|known| known.state());
            let why = match state {
                Some(TaskState::Submitted) => "its deadline has passed, and no agent began it",
                _ => "its deadline has passed",
            };
            self.end_task(&task, TaskState::Failed, why, now);
        }
        for (agent, instance) in self.presence.overdue(INSTANCES_AT_ONCE, now.instant) {
            self.forget_instance(&agent, &instance, now);
        }
        self.end_unconfirmed(TASKS_AT_ONCE, now);
        self.call_back_orphans(TASKS_AT_ONCE, now);
        self.forget_superseded(now);
        self.state.tasks.tidy(now.time);
        self.tell_tries_if_due(now);
        let puts_back = self.go_on_putting_back(now);
        self.close_unused_if_due(now);
        self.remove_away_if_due(now);
        self.state.dedupe.forget_some(now.instant);
        puts_back
            || self.giving_up.is_under_way()
            || (!is_behind && self.state.mailboxes.has_due(now.instant))
            || self.presence.is_overdue(now.instant)
            || self.state.tasks.is_overdue(now.time)
            || self.cancelling.is_overdue(now.instant)
            || !self.orphans.is_empty()
    }
}

/// Runs the ticks of a hub until cancelled.
pub(crate) async fn keep_time(hub: Hub, cancelled: CancellationToken) {
    let mut tick = tokio::time::interval(TICK);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    while cancelled.run_until_cancelled(tick.tick()).await.is_some() {
        while tick_once(&hub) && !cancelled.is_cancelled() {
            // Lets other tasks take the lock.
            tokio::task::yield_now().await;
        }
    }
}

/// Runs one tick. Returns whether work is left.
fn tick_once(hub: &Hub) -> bool {
    let mut core = hub.core();
    let is_left = core.tick(Now::read());
    let undelivered = core.giving_up.take_summary();
    let remains = core.state.mailboxes.remains.take();
    drop(core);
    drop(remains);
    if let Some(undelivered) = undelivered {
        undelivered.warn();
    }
    is_left
}

/// Probes agents with a `health_check_url` and no stream, until cancelled.
pub(crate) async fn probe(hub: Hub, cancelled: CancellationToken) {
    choose_tls();
    // Created on the first probe: it reads this machine's certificates.
    let mut client = None;
    let pause = hub.settings().probe_interval.min(Duration::from_secs(1));
    let mut tick = tokio::time::interval(pause);
    let mut due = tokio::time::Instant::now();
    while cancelled.run_until_cancelled(tick.tick()).await.is_some() {
        let is_round = tokio::time::Instant::now() >= due;
        if is_round {
            due += hub.settings().probe_interval;
        }
        let mut after = None;
        loop {
            let Page { targets, next } = match is_round {
                true => hub.core().to_probe(after.as_ref()),
                false => hub.core().take_unprobed(),
            };
            if !targets.is_empty() {
                let client = match client.get_or_insert_with(prober) {
                    Ok(client) => &*client,
                    Err(error) => {
                        tracing::error!(%error, "agents cannot be probed");
                        return;
                    }
                };
                let mut probes = stream::iter(targets)
                    .map(|(agent, url)| probe_one(hub.clone(), client.clone(), agent, url))
                    .buffer_unordered(PROBES_AT_ONCE);
                let all_done = async { while probes.next().await.is_some() {} };
                cancelled.run_until_cancelled(all_done).await;
            }
            after = next;
            if after.is_none() || cancelled.is_cancelled() {
                break;
            }
        }
    }
}

/// Uses ring for TLS, unless this process has chosen another provider.
fn choose_tls() {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // Another thread may have been faster; either way there is one.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
}

fn prober() -> reqwest::Result<reqwest::Client> {
    reqwest::Client::builder()
        .timeout(PROBE_TIMEOUT)
        // Redirects are not followed: only the agent's own address is probed.
        .redirect(Policy::none())
        .build()
}

async fn probe_one(hub: Hub, client: reqwest::Client, agent: AgentId, url: Arc<str>) {
    let answer = client.get(&*url).send().await;
    let is_healthy = answer.is_ok_and(|a| a.status().is_success());
    hub.core().probed(&agent, is_healthy, Now::read());
}
