//! Dead letters: mail that was given up, for an operator to inspect, redeliver or drop. A bounded view of the log: the
//! oldest leave.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    time::SystemTime,
};

use prost::Message;

use crate::{
    id::AgentId,
    log::{Again, Position},
    steps::step,
};

/// Mail that left a mailbox without being handled.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct GivenUp {
    pub(crate) agent: AgentId,
    /// Name of the mailbox; empty if it was not durable.
    pub(crate) name: String,
    pub(crate) reason: String,
    /// Number of delivery attempts.
    pub(crate) attempts: u32,
    pub(crate) mail: Again,
}

/// A dead letter.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DeadLetter {
    /// Time when it was given up.
    pub(crate) time: SystemTime,
    pub(crate) given_up: GivenUp,
}

/// The dead letters, see the module.
#[derive(Debug)]
pub(crate) struct DeadLetters {
    /// Maximum number and maximum total bytes.
    bounds: (usize, usize),
    /// Keyed by the position of the record that gave the mail up.
    letters: BTreeMap<Position, DeadLetter>,
    /// Letters of each agent.
    agents: HashMap<AgentId, BTreeSet<Position>>,
    bytes: usize,
}

impl DeadLetters {
    /// An empty view with these limits.
    pub(crate) fn new(letters: usize, bytes: usize) -> Self {
        Self {
            bounds: (letters, bytes),
            letters: BTreeMap::new(),
            agents: HashMap::new(),
            bytes: 0,
        }
    }

    /// Adds a letter, and drops the oldest while a limit is exceeded.
    pub(crate) fn add(&mut self, id: Position, letter: DeadLetter) {
        self.bytes += letter.bytes();
        let of_agent = self.agents.entry(letter.given_up.agent.clone());
        of_agent.or_default().insert(id);
        self.letters.insert(id, letter);
        let (letters, bytes) = self.bounds;
        while (self.letters.len() > letters || self.bytes > bytes)
            && let Some((oldest, _)) = self.letters.first_key_value()
        {
            self.remove(*oldest);
        }
    }

    /// Number of letters.
    pub(crate) fn len(&self) -> usize {
        self.letters.len()
    }

    /// Number of an agent's letters.
    pub(crate) fn len_of(&self, agent: &str) -> usize {
        self.agents.get(agent).map_or(0, BTreeSet::len)
    }

    /// The letter with this id.
    pub(crate) fn get(&self, id: Position) -> Option<&DeadLetter> {
        self.letters.get(&id)
    }

    /// Removes a letter.
    pub(crate) fn remove(&mut self, id: Position) -> Option<DeadLetter> {
        let letter = self.letters.remove(&id)?;
        self.bytes -= letter.bytes();
        let agent = &letter.given_up.agent;
        if let Some(of_agent) = self.agents.get_mut(agent) {
            of_agent.remove(&id);
            if of_agent.is_empty() {
                self.agents.remove(agent);
            }
        }
        Some(letter)
    }

    /// All letters, the oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Position, &DeadLetter)> {
        self.letters.iter().map(|(id, l)| (*id, l))
    }

    /// The letters before `before`, the latest first.
    pub(crate) fn before(&self, before: Position) -> impl Iterator<Item = (Position, &DeadLetter)> {
        let letters = self.letters.range(..before).rev();
        letters.map(|(id, l)| (*id, l)).inspect(|_| step())
    }

    /// The same of one agent.
    pub(crate) fn before_of(
        &self,
        agent: &str,
        before: Position,
    ) -> impl Iterator<Item = (Position, &DeadLetter)> {
        let of_agent = self.agents.get(agent).into_iter();
        let ids = of_agent.flat_map(move |ids| ids.range(..before).rev());
        let letters = ids.filter_map(|id| Some((*id, self.letters.get(id)?)));
        letters.inspect(|_| step())
    }
}

impl DeadLetter {
    /// Size of a letter for the limit, in bytes.
    fn bytes(&self) -> usize {
        /// Overhead of ids and indexes.
        const OVERHEAD: usize = 256;
        OVERHEAD + self.given_up.mail.event.encoded_len() + self.given_up.reason.len()
    }
}

#[cfg(test)]
mod tests {
    use agenthub_proto::agenthub::Concern;

    use super::*;
    use crate::steps;

    fn letter(text: usize) -> DeadLetter {
        DeadLetter {
            time: SystemTime::UNIX_EPOCH,
            given_up: GivenUp {
                agent: "a".into(),
                name: "work".into(),
                reason: "x".repeat(text),
                attempts: 5,
                mail: Again {
                    event: Default::default(),
                    position: Position(1),
                    concern: Concern::Work,
                    version: None,
                    is_directed: true,
                },
            },
        }
    }

    fn ids(letters: &DeadLetters) -> Vec<u64> {
        letters
            .before(Position(u64::MAX))
            .map(|(p, _)| p.0)
            .collect()
    }

    /// promise 10
    #[test]
    fn the_oldest_letters_leave() {
        let mut letters = DeadLetters::new(2, 2000);
        for id in 1..=3 {
            letters.add(Position(id), letter(10));
        }
        assert_eq!(ids(&letters), [3, 2]);
        letters.add(Position(4), letter(1500));
        assert_eq!(ids(&letters), [4], "the bytes count too");
        letters.add(Position(5), letter(9000));
        assert_eq!(ids(&letters), [0; 0], "one that is too large cannot stay");
        assert_eq!(letters.bytes, 0);
    }

    /// Issue 26, cost: no page looks at what it does not show.
    #[test]
    fn letters_of_an_agent_are_found_without_the_others() {
        let mut letters = DeadLetters::new(1_000, usize::MAX);
        for id in 1..=1_500 {
            let mut letter = letter(1);
            letter.given_up.agent = if id % 500 == 7 { "b" } else { "a" }.into();
            letters.add(Position(id), letter);
        }
        let (steps, found) = steps::count(|| {
            let found = letters.before_of("b", Position(u64::MAX));
            found.map(|(id, _)| id.0).collect::<Vec<_>>()
        });
        assert_eq!((steps, found), (2, vec![1_007, 507]));
        assert_eq!(letters.len_of("b"), 2, "the first has left");
        assert_eq!(letters.before_of("b", Position(1_007)).count(), 1);
        letters.remove(Position(507));
        letters.remove(Position(1_007));
        assert_eq!(letters.len_of("b"), 0);
        assert_eq!(letters.agents.len(), 1, "nothing is left of it");
    }

    #[test]
    fn a_letter_that_is_taken_out_is_gone() {
        let mut letters = DeadLetters::new(9, 9000);
        letters.add(Position(1), letter(1));
        assert!(letters.remove(Position(1)).is_some());
        assert!(letters.remove(Position(1)).is_none());
        assert!(letters.get(Position(1)).is_none());
        assert_eq!(letters.bytes, 0);
    }
}
