//! Agents that one process keeps at work, and notice of those that the hub sends away.

use std::{collections::BTreeMap, future::pending, time::Duration};

use futures_util::future::join_all;
use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};
use tokio_util::task::AbortOnDropHandle;

use crate::{Client, RunningAgent};

/// Interval of looks whether an agent has gone.
const LOOK: Duration = Duration::from_millis(250);

/// Time for an agent that was removed to be away: longer than the lease of a connection that broke.
const FORGET: Duration = Duration::from_secs(12);

/// Has the hub forget an agent that has stopped, so that what waits for it fails. An agent that is at work elsewhere after `patience` stays: the hub
/// counts on one whose connection broke at its goodbye for as long as its lease lasts.
pub async fn forget(client: &Client, id: &str, why: &str, patience: Duration) {
    let until = Instant::now() + patience;
    while !forgotten(client, id, why).await && Instant::now() < until {
        sleep(LOOK).await;
    }
}

/// One try of [`forget`]. False if the agent is at work elsewhere, or the hub does not answer at present.
async fn forgotten(client: &Client, id: &str, why: &str) -> bool {
    match client.agent(id).await {
        Ok(entry) if entry.instances.is_empty() => {}
        Ok(_) => return false,
        Err(error) => return !error.is_retryable(),
    }
    if let Err(error) = client.operator().unregister(id, why).await {
        tracing::debug!(%error, agent = id, "the hub goes on knowing it");
    }
    true
}

/// Agents at work by their ids, each with what its keeper knows of it. Dropping it stops them without waiting for anything.
#[derive(Debug)]
pub struct AgentsAtWork<T> {
    agents: BTreeMap<String, AtWork<T>>,
    /// Agents so far.
    count: u64,
    watched: JoinSet<Gone>,
    /// Agents that were removed and that the hub is to forget.
    forgetting: BTreeMap<String, AbortOnDropHandle<()>>,
}

#[derive(Debug)]
struct AtWork<T> {
    of: T,
    agent: RunningAgent,
    /// Tells it from another one of the same id.
    number: u64,
}

/// An agent whose connection is closed.
#[derive(Debug)]
struct Gone {
    id: String,
    number: u64,
    reason: String,
}

/// An agent that the hub has sent away.
#[derive(Debug)]
pub struct SentAway<T> {
    /// Knowledge of its keeper.
    pub of: T,
    /// Reason that the hub gave.
    pub reason: String,
}

impl<T> Default for AgentsAtWork<T> {
    fn default() -> Self {
        Self {
            agents: BTreeMap::new(),
            count: 0,
            watched: JoinSet::new(),
            forgetting: BTreeMap::new(),
        }
    }
}

impl<T> AgentsAtWork<T> {
    /// Takes an agent on. One of the same id that is there leaves its place, and stops.
    pub fn insert(&mut self, id: String, of: T, agent: RunningAgent) {
        self.forgetting.remove(&id);
        self.count += 1;
        let number = self.count;
        let (gone, closed) = (id.clone(), agent.client().closed());
        self.watched.spawn(async move {
            Gone {
                id: gone,
                number,
                reason: closed.await,
            }
        });
        self.agents.insert(id, AtWork { of, agent, number });
    }

    /// True if none is at work.
    pub fn is_empty(&self) -> bool {
        self.agents.is_empty()
    }

    /// All that is known of them, by their ids.
    pub fn iter(&self) -> impl Iterator<Item = (&String, &T)> {
        self.agents.iter().map(|(id, at_work)| (id, &at_work.of))
    }

    /// The same without the ids.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.agents.values().map(|at_work| &at_work.of)
    }

    /// The agent of this id, if it is at work.
    pub fn agent(&self, id: &str) -> Option<&RunningAgent> {
        self.agents.get(id).map(|at_work| &at_work.agent)
    }

    /// Knowledge of an agent at work.
    pub fn get_mut(&mut self, id: &str) -> Option<&mut T> {
        self.agents.get_mut(id).map(|at_work| &mut at_work.of)
    }

    /// Hands an agent over to who stops it.
    pub fn remove(&mut self, id: &str) -> Option<(T, RunningAgent)> {
        let at_work = self.agents.remove(id)?;
        Some((at_work.of, at_work.agent))
    }

    /// Has the hub forget agents that were removed and have stopped. Those that are at work elsewhere are waited for in the background, for 12 s at most,
    /// unless one of the same id is inserted before.
    pub async fn forget(&mut self, client: &Client, ids: Vec<String>, why: &'static str) {
        let tries: Vec<_> = ids.iter().map(|id| forgotten(client, id, why)).collect();
        let tries = join_all(tries).await;
        self.forgetting.retain(|_, handle| !handle.is_finished());
        for (id, is_forgotten) in ids.into_iter().zip(tries) {
            if is_forgotten {
                continue;
            }
            let (client, agent) = (client.clone(), id.clone());
            let forgetting = async move { forget(&client, &agent, why, FORGET).await };
            let handle = AbortOnDropHandle::new(tokio::spawn(forgetting));
            self.forgetting.insert(id, handle);
        }
    }

    /// Hands all of them over.
    pub fn take_all(&mut self) -> Vec<(T, RunningAgent)> {
        let all = std::mem::take(&mut self.agents).into_values();
        all.map(|at_work| (at_work.of, at_work.agent)).collect()
    }

    /// Waits until the hub sends one of them away, which is then no longer among them. Cancel-safe.
    pub async fn sent_away(&mut self) -> SentAway<T> {
        loop {
            match self.watched.join_next().await {
                Some(Ok(gone)) => {
                    if let Some(sent_away) = self.lose(gone) {
                        return sent_away;
                    }
                }
                Some(Err(error)) => tracing::warn!(%error, "an agent is not watched any more"),
                None => pending().await,
            }
        }
    }

    /// Takes out an agent whose connection is closed. One that was removed, or has another in its place, has closed it by itself.
    fn lose(&mut self, gone: Gone) -> Option<SentAway<T>> {
        self.agents
            .get(&gone.id)
            .filter(|at_work| at_work.number == gone.number)?;
        let at_work = self.agents.remove(&gone.id)?;
        Some(SentAway {
            of: at_work.of,
            reason: gone.reason,
        })
    }
}
