//! The first plan.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::{
    Board, Offer,
    connecting::{StepOutput, may_be_text, properties, required, source},
};
use crate::relevance::{self, Card, Skill};

/// The phases in the order of work.
const PHASES: [&str; 3] = ["analysis", "generation", "qa"];

/// A step that can be done.
struct Planned<'a> {
    name: String,
    offer: &'a Offer,
    payload: Map<String, Value>,
}

/// Operations that make the first plan; nothing if nobody can do anything about the objective.
pub(super) fn first(board: &Board<'_>) -> Option<Value> {
    let planned = reachable(board);
    let goal = goal(&planned);
    let kept: Vec<&Planned<'_>> = match goal {
        Some(goal) => {
            let needed = needed(&planned, goal);
            planned
                .iter()
                .filter(|step| needed.contains(&step.name))
                .collect()
        }
        None => return by_words(board),
    };
    let mut patch: Vec<Value> = kept
        .iter()
        .map(|step| {
            let value = json!({"capability": step.offer.capability, "payload": step.payload});
            json!({"op": "add", "path": format!("/steps/{}", step.name), "value": value})
        })
        .collect();
    let mut result = Map::new();
    for step in kept.iter().filter(|step| step.offer.phase != "qa") {
        let schema = step.offer.output_schema.as_ref().unwrap_or(&Value::Null);
        for property in required(schema) {
            result.insert(
                property.to_owned(),
                format!("${{{}.output.{property}}}", step.name).into(),
            );
        }
    }
    patch.push(json!({"op": "replace", "path": "/result", "value": result}));
    Some(patch.into())
}

/// Every capability whose needs can be met, in an order in which they can be done.
fn reachable<'a>(board: &'a Board<'_>) -> Vec<Planned<'a>> {
    let mut planned: Vec<Planned<'a>> = Vec::new();
    for phase in PHASES {
        loop {
            let is_new = |offer: &&Offer| {
                offer.phase == phase
                    && !planned
                        .iter()
                        .any(|step| step.offer.capability == offer.capability)
            };
            let with_contract = board
                .offers
                .iter()
                .filter(|o| o.input_schema.is_some() && o.output_schema.is_some());
            let next = with_contract
                .filter(is_new)
                .find_map(|offer| Some((offer, payload(board, &planned, offer)?)));
            let Some((offer, payload)) = next else { break };
            let name = name(&offer.capability, &planned);
            planned.push(Planned {
                name,
                offer,
                payload,
            });
        }
    }
    planned
}

/// Input of the capability; nothing if it needs something that there is not.
fn payload(
    board: &Board<'_>,
    planned: &[Planned<'_>],
    offer: &Offer,
) -> Option<Map<String, Value>> {
    let schema = offer.input_schema.as_ref()?;
    let earlier: Vec<StepOutput<'_>> = planned
        .iter()
        .filter_map(|step| {
            Some(StepOutput {
                step: &step.name,
                schema: step.offer.output_schema.as_ref()?,
            })
        })
        .collect();
    let required: BTreeSet<&str> = required(schema).collect();
    let mut payload = Map::new();
    for (property, form) in properties(schema) {
        let found = source(property, form, &earlier, &board.input);
        let is_required = required.contains(property.as_str());
        let said = || (is_required && may_be_text(form)).then(|| "${objective}".to_owned());
        match found.or_else(said) {
            Some(reference) => {
                payload.insert(property.clone(), reference.into());
            }
            None if is_required => return None,
            None => {}
        }
    }
    Some(payload)
}

/// The goal: a review of something that is made, else the last thing that is made.
fn goal<'p, 'a>(planned: &'p [Planned<'a>]) -> Option<&'p Planned<'a>> {
    let is_made = |name: &str| {
        planned
            .iter()
            .any(|step| step.name == name && step.offer.phase == "generation")
    };
    let reviews = planned.iter().rev().filter(|step| step.offer.phase == "qa");
    let review = reviews
        .into_iter()
        .find(|step| references(&step.payload).any(|step| is_made(&step)));
    review.or_else(|| {
        planned
            .iter()
            .rev()
            .find(|step| step.offer.phase == "generation")
    })
}

/// The steps that lead to it, itself among them.
fn needed(planned: &[Planned<'_>], goal: &Planned<'_>) -> BTreeSet<String> {
    let mut needed = BTreeSet::from([goal.name.clone()]);
    for step in planned.iter().rev() {
        if needed.contains(&step.name) {
            needed.extend(references(&step.payload));
        }
    }
    needed
}

/// The steps that a payload refers to.
fn references(payload: &Map<String, Value>) -> impl Iterator<Item = String> + '_ {
    let texts = payload.values().filter_map(Value::as_str);
    texts.filter_map(|text| {
        let (step, _) = text.strip_prefix("${")?.split_once(".output")?;
        Some(step.to_owned())
    })
}

/// Without contracts: the agent whose card shares most words with the objective.
fn by_words(board: &Board<'_>) -> Option<Value> {
    let cards: Vec<Card<'_>> = board
        .offers
        .iter()
        .map(|offer| Card {
            id: &offer.agent,
            name: &offer.agent,
            description: &offer.description,
            skills: vec![Skill {
                id: &offer.capability,
                name: &offer.capability,
                description: &offer.description,
                tags: Vec::new(),
                examples: Vec::new(),
            }],
        })
        .collect();
    let named = relevance::named(board.objective, &cards).into_iter().next();
    let ranked = || {
        let best = relevance::rank(board.objective, &cards).into_iter().next();
        best.filter(|&(_, score)| score >= relevance::LIKELY)
            .map(|(index, _)| index)
    };
    let offer = &board.offers[named.or_else(ranked)?];
    let needs_more = offer
        .input_schema
        .as_ref()
        .is_some_and(|schema| required(schema).next().is_some());
    if needs_more {
        return None;
    }
    let name = name(&offer.capability, &[]);
    Some(json!([
        {"op": "add", "path": format!("/steps/{name}"), "value": {"capability": offer.capability, "agent": offer.agent, "payload": {}}},
        {"op": "replace", "path": "/result", "value": {"answer": format!("${{{name}.output}}")}},
    ]))
}

/// The capability as a name of a step that no other has.
fn name(capability: &str, planned: &[Planned<'_>]) -> String {
    let letters = capability.chars().map(|c| match c.to_ascii_lowercase() {
        c @ ('a'..='z' | '0'..='9' | '_' | '-') => c,
        _ => '-',
    });
    let name: String = letters
        .skip_while(|c| !c.is_ascii_lowercase())
        .take(48)
        .collect();
    let name = match &*name {
        "" | "objective" | "input" | "thread" => format!("step-{name}"),
        _ => name,
    };
    let is_taken = |name: &str| planned.iter().any(|step| step.name == name);
    match is_taken(&name) {
        false => name,
        true => {
            let free = (2..)
                .map(|n| format!("{name}-x{n}"))
                .find(|name| !is_taken(name));
            free.expect("there are more numbers than steps")
        }
    }
}
