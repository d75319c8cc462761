//! Order of an agent's tasks by the time of their status, latest first, as listings of A2A have them (A2A 1.0.1 §3.1.4).
//! A change that is no status (a message, an artifact) moves no task.

use std::{
    collections::{BTreeMap, HashMap},
    ops::Bound::{Excluded, Unbounded},
};

use agenthub_proto::{
    a2a::{TaskState, TaskStatus},
    wkt::Timestamp,
};

use super::{
    latest::latest,
    states::{chosen, index},
};
use crate::{id::AgentId, metrics::STATES};

/// Place of a task in the order. It is the same after a restart, so that tokens of pages stay valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    /// Time of its status.
    pub(crate) at: Nanos,
    /// Decides between tasks of the same time.
    tie: u64,
}

/// A time, in nanoseconds since 1970. Times before 1677 and after 2262 are at the ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Nanos(pub(crate) i64);

impl Nanos {
    pub(crate) fn of(time: Timestamp) -> Self {
        let seconds = time.seconds.saturating_mul(1_000_000_000);
        Self(seconds.saturating_add(time.nanos.into()))
    }

    /// Time of a status; the earliest of all without one.
    pub(crate) fn of_status(status: Option<&TaskStatus>) -> Self {
        let time = status.and_then(|status| status.timestamp);
        time.map_or(Self(i64::MIN), Self::of)
    }
}

impl Place {
    pub(super) fn new(at: Nanos, task: &str) -> Self {
        Self { at, tie: fnv(task) }
    }

    /// The place as a page token.
    pub(crate) fn token(self) -> String {
        format!("s{:016x}{:016x}", self.at.0, self.tie)
    }

    /// The place of a token; `None` if it is none.
    pub(crate) fn of_token(token: &str) -> Option<Self> {
        let digits = token.strip_prefix('s')?;
        let is_hex = digits.len() == 32 && digits.bytes().all(|b| b.is_ascii_hexdigit());
        let (at, tie) = is_hex.then(|| digits.split_at(16))?;
        Some(Self {
            at: Nanos(u64::from_str_radix(at, 16).ok()?.cast_signed()),
            tie: u64::from_str_radix(tie, 16).ok()?,
        })
    }
}

/// FNV-1a: the same in every process.
fn fnv(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Tasks of each assignee in each state, in the order, with what finds them.
#[derive(Debug)]
pub(super) struct StatusOrder<T> {
    agents: HashMap<AgentId, States<T>>,
}

type States<T> = [BTreeMap<Place, T>; STATES];

impl<T> Default for StatusOrder<T> {
    fn default() -> Self {
        Self {
            agents: HashMap::new(),
        }
    }
}

impl<T> StatusOrder<T> {
    pub(super) fn insert(&mut self, agent: &AgentId, place: Place, state: TaskState, found: T) {
        if !self.agents.contains_key(agent) {
            self.agents.insert(agent.clone(), States::default());
        }
        if let Some(states) = self.agents.get_mut(agent) {
            states[index(state)].insert(place, found);
        }
    }

    pub(super) fn remove(&mut self, agent: &AgentId, place: Place, state: TaskState) {
        let Some(states) = self.agents.get_mut(agent) else {
            return;
        };
        states[index(state)].remove(&place);
        if states.iter().all(BTreeMap::is_empty) {
            self.agents.remove(agent);
        }
    }

    /// Tasks of an agent in these states, or in any if there are none, before a place, latest first.
    pub(super) fn before<'a>(
        &'a self,
        agent: &AgentId,
        states: &[TaskState],
        place: Option<Place>,
    ) -> impl Iterator<Item = (Place, &'a T)> + use<'a, T> {
        let upto = (Unbounded, place.map_or(Unbounded, Excluded));
        let of_agent = self.agents.get(agent);
        let walks = chosen(states).filter_map(move |n| {
            let walk = of_agent?[n].range(upto).rev();
            Some(walk.map(|(place, found)| (*place, found)))
        });
        latest(walks)
    }

    /// Number of an agent's tasks in these states; in all if there are none.
    pub(super) fn count(&self, agent: &AgentId, states: &[TaskState]) -> usize {
        let of_agent = self.agents.get(agent);
        let count = |tasks: &States<T>| chosen(states).map(|n| tasks[n].len()).sum();
        of_agent.map_or(0, count)
    }
}
