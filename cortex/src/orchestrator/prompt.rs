//! Prompt of the orchestrator's model.

use std::collections::BTreeSet;

use agenthub_sdk::model::{PromptMessage, Request};
use serde_json::{Map, Value, json};

use super::{
    handoff::Instructions,
    kept::{Offered, Reached, WorkState},
    proposal::{self, Refusal},
    verdicts::{Standing, Verdicts},
};
use crate::brief::Constraints;

/// The rules that every orchestrator has.
pub(super) const RULES: &str = include_str!("../../prompts/orchestrator.md");

/// The most offers that one prompt shows.
const MAX_OFFERS: usize = 64;

/// Bounds on what one prompt shows of a value: characters of a text, items of a list, levels, and bytes of the whole.
const MAX_TEXT: usize = 600;
const MAX_ITEMS: usize = 16;
const MAX_LEVELS: usize = 6;
const MAX_BYTES: usize = 4_000;

/// An answer that was refused.
#[derive(Clone, Debug)]
pub(super) struct Rejected {
    /// Its words, shortened.
    pub(super) answer: String,
    pub(super) refusal: Refusal,
}

/// Everything that a proposal is made from.
pub(super) struct Prompt<'a> {
    pub(super) told: &'a Instructions,
    pub(super) objective: &'a str,
    pub(super) history: &'a [PromptMessage],
    pub(super) offers: &'a [Offered],
    pub(super) input: &'a Value,
    pub(super) thread: &'a Value,
    pub(super) constraints: &'a Constraints,
    pub(super) reached: &'a Reached,
    /// The steps that can go out.
    pub(super) ready: BTreeSet<String>,
    /// True if something may be made once more.
    pub(super) may_revise: bool,
    /// Proposals that are left, this one included.
    pub(super) turns_left: u32,
    pub(super) rejected: Option<&'a Rejected>,
}

impl Prompt<'_> {
    /// The request that asks for a proposal.
    pub(super) fn request(&self) -> Request {
        let mut messages = vec![PromptMessage::system(self.told.for_the_model())];
        messages.push(PromptMessage::data("registry", self.registry()));
        messages.extend_from_slice(self.history);
        messages.push(PromptMessage::user(self.objective));
        messages.push(PromptMessage::data("constraints", self.constraints()));
        messages.push(PromptMessage::data("input", shown(self.input)));
        if self
            .thread
            .as_object()
            .is_some_and(|thread| !thread.is_empty())
        {
            messages.push(PromptMessage::data("thread", shown(self.thread)));
        }
        messages.push(PromptMessage::data("plan", self.plan()));
        if !self.reached.outputs.is_empty() {
            let outputs = self.reached.outputs.iter();
            let outputs: Map<String, Value> = outputs
                .map(|(step, output)| (step.clone(), shown(output)))
                .collect();
            messages.push(PromptMessage::data("outputs", outputs.into()));
        }
        if !self.reached.reviews.is_empty() {
            let reviews = self.reached.reviews.iter().map(|review| {
                let mut told = review.told();
                let standing = Verdicts::alone(Some(review)).standing(self.constraints);
                told["pass"] = (!matches!(standing, Standing::Unmet(_))).into();
                shown(&told)
            });
            messages.push(PromptMessage::data("reviews", reviews.collect()));
        }
        messages.push(PromptMessage::data("limits", self.limits()));
        if let Some(rejected) = self.rejected {
            let Rejected { answer, refusal } = rejected;
            // What people may be told of it is apart from what the model can do.
            let value =
                json!({"answer": answer, "reason": refusal.to_string(), "told": refusal.reason()});
            messages.push(PromptMessage::data("rejected", value));
        }
        Request::new(messages).json(proposal::NAME, proposal::SCHEMA.clone())
    }

    fn registry(&self) -> Value {
        let offers = self.offers.iter().take(MAX_OFFERS).map(|offered| {
            let offer = &offered.offer;
            let mut value = json!({
                "agent": offer.agent,
                "capability": offer.capability,
                "phase": offer.phase,
                "description": offered.description,
                "openTasks": offered.open_tasks,
            });
            for (key, schema) in [
                ("inputSchema", &offer.input),
                ("outputSchema", &offer.output),
            ] {
                if let Some(schema) = schema {
                    value[key] = schema.clone();
                }
            }
            if let Some(score) = offered.score {
                value["score"] = rounded(score).into();
            }
            value
        });
        offers.collect()
    }

    fn constraints(&self) -> Value {
        json!({
            "qualityThreshold": self.constraints.quality_threshold(),
            "executionDepth": self.constraints.execution_depth(),
            "acceptanceCriteria": self.constraints.acceptance_criteria,
        })
    }

    fn plan(&self) -> Value {
        let mut plan = serde_json::to_value(&self.reached.plan).unwrap_or_default();
        let steps = plan["steps"].as_object_mut().into_iter().flatten();
        let mut states = Map::new();
        for (name, _) in steps {
            states.insert(name.clone(), self.state(name));
        }
        json!({ "version": self.reached.version, "plan": plan, "states": states })
    }

    fn state(&self, step: &str) -> Value {
        match self.reached.steps.get(step) {
            None if self.ready.contains(step) => "ready".into(),
            None => "waiting".into(),
            Some(work) => match work.state {
                WorkState::Failed | WorkState::Skipped => {
                    json!({"state": work.state, "agent": work.agent, "error": cut(&work.error, MAX_TEXT)})
                }
                state => json!({"state": state, "agent": work.agent}),
            },
        }
    }

    fn limits(&self) -> Value {
        json!({
            "depth": self.reached.depth,
            "anotherRoundAllowed": self.may_revise,
            "turnsLeft": self.turns_left,
        })
    }
}

/// Two digits are as much as a mean of a few scores tells.
fn rounded(score: f64) -> f64 {
    (score * 100.0).round() / 100.0
}

/// A value, or what there is room for.
fn shown(value: &Value) -> Value {
    let bounded = bounded(value, 0);
    match bounded.to_string().len() > MAX_BYTES {
        true => json!({"shortened": cut(&bounded.to_string(), MAX_BYTES)}),
        false => bounded,
    }
}

fn bounded(value: &Value, level: usize) -> Value {
    match value {
        Value::String(text) => cut(text, MAX_TEXT).into(),
        Value::Array(_) | Value::Object(_) if level >= MAX_LEVELS => "…".into(),
        Value::Array(items) => {
            let mut shown: Vec<Value> = items
                .iter()
                .take(MAX_ITEMS)
                .map(|item| bounded(item, level + 1))
                .collect();
            if items.len() > MAX_ITEMS {
                shown.push(format!("… and {} more", items.len() - MAX_ITEMS).into());
            }
            shown.into()
        }
        Value::Object(fields) => {
            let fields = fields.iter().take(MAX_ITEMS);
            fields
                .map(|(name, value)| (cut(name, MAX_TEXT), bounded(value, level + 1)))
                .collect()
        }
        other => other.clone(),
    }
}

/// The text, or its first characters and an ellipsis.
fn cut(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
