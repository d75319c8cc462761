//! Circuit breakers: an agent that has failed often enough in a row is not asked for a while. Then one request is let through; if that
//! fails as well, the agent is left alone again.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

/// Terms of a breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Breaker {
    /// Failures in a row after which the agent is not asked.
    pub failures: u32,
    /// Time for which it is not, in milliseconds.
    pub pause_ms: u64,
}

/// The most agents that are counted for.
const MAX_AGENTS: usize = 10_000;

/// The breakers of all agents that a process asks.
#[derive(Debug, Default)]
pub struct Breakers(Mutex<HashMap<String, Circuit>>);

/// State of one agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Circuit {
    /// Failures in a row.
    failures: u32,
    /// The agent is not asked before this time.
    open_until_ms: u64,
    /// A request is out that was let through to see whether the agent is well.
    is_trying: bool,
}

impl Circuit {
    /// The time until which the agent is not asked, or nothing if a request may go out.
    fn open_until_ms(&self, breaker: Breaker, now_ms: u64) -> Option<u64> {
        let is_tried = self.failures >= breaker.failures;
        let is_open = is_tried && (now_ms < self.open_until_ms || self.is_trying);
        is_open.then(|| self.open_until_ms.max(now_ms))
    }

    /// The same; if one may go out, it does.
    fn admit(&mut self, breaker: Breaker, now_ms: u64) -> Option<u64> {
        let open_until_ms = self.open_until_ms(breaker, now_ms);
        self.is_trying |= open_until_ms.is_none() && self.failures >= breaker.failures;
        open_until_ms
    }

    /// Takes in how a request came back.
    fn returned(&mut self, breaker: Breaker, is_well: bool, now_ms: u64) {
        self.is_trying = false;
        match is_well {
            true => self.failures = 0,
            false => {
                self.failures = self.failures.saturating_add(1);
                self.open_until_ms = now_ms.saturating_add(breaker.pause_ms);
            }
        }
    }
}

impl Breakers {
    /// The time until which the agent is not asked, or nothing if a request may go out; what becomes of it is to be [told](Self::returned).
    pub fn admit(&self, agent: &str, breaker: Breaker, now_ms: u64) -> Option<u64> {
        let mut circuits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if circuits.len() >= MAX_AGENTS && !circuits.contains_key(agent) {
            circuits.clear();
        }
        let circuit = circuits.entry(agent.to_owned()).or_default();
        circuit.admit(breaker, now_ms)
    }

    /// True if no request to the agent may go out at present.
    pub fn is_open(&self, agent: &str, breaker: Breaker, now_ms: u64) -> bool {
        let circuits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let circuit = circuits.get(agent);
        circuit.is_some_and(|circuit| circuit.open_until_ms(breaker, now_ms).is_some())
    }

    /// The agents to which no request may go out at present, of at most 10,000.
    pub fn open(&self, breaker: Breaker, now_ms: u64) -> Vec<String> {
        let circuits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let open = circuits
            .iter()
            .filter(|(_, circuit)| circuit.open_until_ms(breaker, now_ms).is_some());
        open.map(|(agent, _)| agent.clone()).collect()
    }

    /// Takes in how a request came back, or that it was called back (which says nothing of the agent).
    pub fn returned(&self, agent: &str, breaker: Breaker, is_well: Option<bool>, now_ms: u64) {
        let mut circuits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(circuit) = circuits.get_mut(agent) else {
            return;
        };
        match is_well {
            Some(is_well) => circuit.returned(breaker, is_well, now_ms),
            None => circuit.is_trying = false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_that_fails_again_and_again_is_left_alone_for_a_while() {
        let breaker = Breaker {
            failures: 2,
            pause_ms: 1_000,
        };
        let breakers = Breakers::default();
        let fails = |now_ms| {
            assert_eq!(breakers.admit("a", breaker, now_ms), None);
            breakers.returned("a", breaker, Some(false), now_ms);
        };
        fails(0);
        breakers.admit("a", breaker, 5);
        breakers.returned("a", breaker, Some(true), 5);
        fails(10);
        fails(20);
        assert_eq!(
            breakers.admit("a", breaker, 30),
            Some(1_020),
            "twice in a row"
        );
        assert_eq!(breakers.admit("b", breaker, 30), None, "others are asked");
        assert_eq!(
            breakers.admit("a", breaker, 1_020),
            None,
            "one is let through"
        );
        assert!(breakers.admit("a", breaker, 1_021).is_some(), "one alone");
        breakers.returned("a", breaker, Some(false), 1_030);
        assert_eq!(breakers.admit("a", breaker, 1_031), Some(2_030));
        assert_eq!(breakers.admit("a", breaker, 2_030), None);
        breakers.returned("a", breaker, None, 2_031);
        assert_eq!(
            breakers.admit("a", breaker, 2_032),
            None,
            "nothing is known of it"
        );
        breakers.returned("a", breaker, Some(true), 2_040);
        assert_eq!(breakers.admit("a", breaker, 2_041), None);
        assert_eq!(breakers.admit("a", breaker, 2_042), None, "it is well");
    }
}
