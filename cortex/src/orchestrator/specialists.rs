//! The agents that are here and offer a capability, the preferred one first.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use agenthub_proto::a2a::AgentCard;
use agenthub_sdk::{
    hub::DirectoryEntry,
    internal::{contracts, task_type},
    runs::plan::Offer,
};
use serde_json::Value;

use super::kept::{Away, Offered};
use crate::brief::Taken;

/// The most offers that are looked at.
const MAX_OFFERS: usize = 256;

/// The longest schema that is taken from a card, in bytes of JSON. A longer one counts as none.
const MAX_SCHEMA: usize = 8 * 1024;

/// The longest description, in characters.
const MAX_DESCRIPTION: usize = 600;

/// Advantage that somebody's work must have to wait for them, for each task that they have in hand.
const TASK_WEIGHT: f64 = 0.02;

/// Scores of an agent's earlier work.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Record {
    /// The sum of the scores of what it made.
    pub(crate) sum: f64,
    /// Their number.
    pub(crate) count: u32,
}

impl Record {
    fn mean(self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / f64::from(self.count))
    }

    /// For comparing: few scores say little, so each agent begins with one of a half.
    fn expected(self) -> f64 {
        (self.sum + 0.5) / f64::from(self.count + 1)
    }
}

/// Every skill of these agents. Among several agents with the same capability those come first whose work was scored best, less what each task
/// that they have in hand weighs.
pub(crate) fn offers(
    cards: &[impl AsRef<AgentCard>],
    open_tasks: &HashMap<String, u32>,
    records: &BTreeMap<String, Record>,
) -> Vec<Offered> {
    let mut offers: Vec<Offered> = Vec::new();
    for card in cards.iter().map(AsRef::as_ref) {
        let contracts = contracts(card);
        for skill in &card.skills {
            let contract = contracts.get(&skill.id);
            let schema = |schema: Option<&Value>| {
                schema
                    .filter(|s| s.to_string().len() <= MAX_SCHEMA)
                    .cloned()
            };
            offers.push(Offered {
                offer: Offer {
                    agent: card.name.clone(),
                    capability: task_type(card, skill).to_owned(),
                    input: schema(contract.and_then(|c| c.input.as_ref())),
                    output: schema(contract.and_then(|c| c.output.as_ref())),
                    phase: contract
                        .map(|c| c.phase.as_str())
                        .unwrap_or("analysis")
                        .to_owned(),
                },
                description: skill.description.chars().take(MAX_DESCRIPTION).collect(),
                open_tasks: open_tasks.get(&card.name).copied().unwrap_or(0),
                score: records.get(&card.name).and_then(|record| record.mean()),
            });
        }
    }
    let worth = |offered: &Offered| {
        let record = records
            .get(&offered.offer.agent)
            .copied()
            .unwrap_or_default();
        record.expected() - TASK_WEIGHT * f64::from(offered.open_tasks)
    };
    offers.sort_by(|a, b| {
        let by_capability = a.offer.capability.cmp(&b.offer.capability);
        by_capability
            .then(worth(b).total_cmp(&worth(a)))
            .then_with(|| a.offer.agent.cmp(&b.offer.agent))
    });
    offers.truncate(MAX_OFFERS);
    offers
}

/// The most offers of agents that are away.
const MAX_AWAY: usize = 64;

/// Every skill of those of these agents that are away.
pub(crate) fn away(known: &[DirectoryEntry]) -> Vec<Away> {
    let known = known.iter().filter(|entry| !entry.online);
    let offers = known.flat_map(|entry| {
        let (card, contracts) = (&entry.card, contracts(&entry.card));
        card.skills.iter().map(move |skill| Away {
            agent: card.name.clone(),
            capability: task_type(card, skill).to_owned(),
            phase: contracts
                .get(&skill.id)
                .map_or("analysis", |contract| contract.phase.as_str())
                .to_owned(),
        })
    });
    offers.take(MAX_AWAY).collect()
}

/// The inputs of the skills of these agents.
pub(crate) fn inputs(cards: &[impl AsRef<AgentCard>]) -> Vec<Taken> {
    let cards = cards.iter().map(AsRef::as_ref);
    let inputs = cards.flat_map(|card| {
        let contracts = contracts(card).into_values();
        let schemas = contracts.filter_map(|contract| contract.input);
        schemas.map(|schema| Taken {
            agent: card.name.clone(),
            schema,
        })
    });
    inputs.collect()
}

/// The capabilities that these agents offer, by name.
pub(crate) fn capabilities(cards: &[impl AsRef<AgentCard>]) -> BTreeSet<String> {
    let cards = cards.iter().map(AsRef::as_ref);
    let skills = cards.flat_map(|card| card.skills.iter().map(move |skill| (card, skill)));
    skills
        .map(|(card, skill)| task_type(card, skill).to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use agenthub_sdk::{Card, Skill};

    fn writers(open: &[(&str, u32)], scores: &[(&str, f64, u32)]) -> Vec<String> {
        let card = |name: &str| {
            let skill = Skill::new("write", "Write", "Writes");
            Arc::new(AgentCard::from(Card::new(name, "A writer").skill(skill)))
        };
        let open = open
            .iter()
            .map(|(agent, open)| ((*agent).to_owned(), *open))
            .collect();
        let records = scores.iter().map(|(agent, mean, count)| {
            let record = Record {
                sum: mean * f64::from(*count),
                count: *count,
            };
            ((*agent).to_owned(), record)
        });
        let offers = offers(
            &[card("ann"), card("bob"), card("eve")],
            &open,
            &records.collect(),
        );
        offers.into_iter().map(|o| o.offer.agent).collect()
    }

    /// spec: ORC-12.1
    #[test]
    fn the_best_comes_first_and_among_equals_the_least_busy() {
        assert_eq!(writers(&[], &[]), ["ann", "bob", "eve"]);
        assert_eq!(
            writers(&[("ann", 3), ("bob", 1)], &[]),
            ["eve", "bob", "ann"]
        );
        assert_eq!(
            writers(&[("eve", 2)], &[("eve", 0.9, 8), ("ann", 0.6, 8)]),
            ["eve", "ann", "bob"]
        );
        assert_eq!(
            writers(&[("eve", 2)], &[("eve", 0.81, 8), ("ann", 0.80, 8)]),
            ["ann", "eve", "bob"]
        );
        // One good score is no reason to prefer somebody to one with many.
        assert_eq!(
            writers(&[], &[("bob", 0.95, 1), ("eve", 0.85, 20)])[0],
            "eve"
        );
    }
}
