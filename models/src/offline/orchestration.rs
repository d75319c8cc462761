//! Proposals of an orchestrator: a plan from what agents say that they take and give, its steps one after the other, another round where a
//! review asks for one, and the end.
//!
//! All facts are in the data of the request: `registry`, `input`, `plan`, `outputs`, `reviews`, `limits` and `rejected`. The first plan is
//! found by schemas alone: what a capability needs is looked for, by name, among what others give and what the person gave.

mod connecting;
mod planning;
mod revising;

use agenthub_runs::share;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

use super::how_to_configure;
use crate::Request;

/// The reason with which a run ends that cannot begin.
const NOBODY: &str = "no agent here offers what that needs";

/// A capability, as the registry has it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Offer {
    agent: String,
    capability: String,
    phase: String,
    description: String,
    input_schema: Option<Value>,
    output_schema: Option<Value>,
}

/// A review, as it is told.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Review {
    step: String,
    of: Vec<String>,
    score: Option<f64>,
    pass: bool,
}

/// Limits of what may still be done.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Limits {
    another_round_allowed: bool,
    turns_left: u32,
}

/// Everything that a proposal is made from.
struct Board<'a> {
    objective: &'a str,
    offers: Vec<Offer>,
    input: Value,
    steps: Map<String, Value>,
    result: Value,
    states: Map<String, Value>,
    reviews: Vec<Review>,
    threshold: f64,
    limits: Limits,
    /// The reason why the answer before was refused.
    rejected: Option<String>,
}

impl<'a> Board<'a> {
    fn of(request: &Request, objective: &'a str) -> Self {
        let data = |label: &str| request.data(label).cloned().unwrap_or_default();
        let plan = data("plan");
        let fields = |value: &Value| value.as_object().cloned().unwrap_or_default();
        Self {
            objective,
            offers: list(&data("registry")),
            input: data("input"),
            steps: fields(&plan["plan"]["steps"]),
            result: plan["plan"]["result"].clone(),
            states: fields(&plan["states"]),
            reviews: list(&data("reviews")),
            threshold: data("constraints")["qualityThreshold"]
                .as_f64()
                .unwrap_or(0.0),
            limits: Limits::deserialize(&data("limits")).unwrap_or_default(),
            rejected: {
                let rejected = data("rejected");
                let told = ["told", "reason"].iter();
                let mut told = told.filter_map(|field| rejected[*field].as_str());
                told.next().map(str::to_owned)
            },
        }
    }

    /// The first agent that offers it: the one to be preferred.
    fn offer(&self, capability: &str) -> Option<&Offer> {
        self.offers
            .iter()
            .find(|offer| offer.capability == capability)
    }

    fn capability(&self, step: &str) -> &str {
        self.steps
            .get(step)
            .and_then(|s| s["capability"].as_str())
            .unwrap_or_default()
    }

    fn state(&self, step: &str) -> &str {
        let state = self.states.get(step);
        state
            .and_then(|s| s.as_str().or_else(|| s["state"].as_str()))
            .unwrap_or_default()
    }

    fn in_state(&self, state: &str) -> impl Iterator<Item = &str> {
        self.steps
            .keys()
            .map(String::as_str)
            .filter(move |step| self.state(step) == state)
    }

    /// The last review, if it asks for more.
    fn unmet(&self) -> Option<&Review> {
        let last = self.reviews.last()?;
        let is_enough = last.score.is_some_and(|score| score >= self.threshold);
        (!last.pass || !is_enough).then_some(last)
    }
}

/// The proposal as JSON.
pub(super) fn propose(request: &Request, objective: &str) -> Value {
    let board = Board::of(request, objective);
    // What was refused would be refused again.
    if let Some(why) = &board.rejected {
        let nobody = board.steps.is_empty() && planning::first(&board).is_none();
        return end(&board, Some(if nobody { NOBODY } else { why }));
    }
    if board.steps.is_empty() {
        return match planning::first(&board) {
            Some(patch) => update(
                patch,
                "what leads to the result, by what the agents take and give",
            ),
            None => end(&board, Some(NOBODY)),
        };
    }
    if let Some(step) = board.in_state("ready").next() {
        return hand_over(&board, step);
    }
    let another = board.limits.another_round_allowed && board.limits.turns_left > 3;
    if let Some(review) = board.unmet().filter(|_| another)
        && let Some(patch) = revising::again(&board, review)
    {
        return update(patch, "the review asks for another round");
    }
    end(&board, None)
}

fn update(patch: Value, note: &str) -> Value {
    json!({"action": "plan_update", "planPatch": patch, "note": note})
}

fn hand_over(board: &Board<'_>, step: &str) -> Value {
    let capability = board.capability(step);
    let named = board.steps[step]["agent"].as_str();
    let to = named.or_else(|| board.offer(capability).map(|offer| &*offer.agent));
    json!({
        "action": "handoff",
        "to": to.unwrap_or_default(),
        "capabilityId": capability,
        "stepId": step,
        "payload": {},
    })
}

fn end(board: &Board<'_>, why: Option<&str>) -> Value {
    let failed: Vec<&str> = board.in_state("failed").collect();
    let done = board.in_state("completed").count();
    let mut sentences = vec![match done {
        0 => "Nothing was done.".to_owned(),
        1 => "One step has ended.".to_owned(),
        done => format!("{done} steps have ended."),
    }];
    if let Some(best) = revising::best(board) {
        let score = best
            .score
            .map(|score| format!("a score of {}", share::score(score, board.threshold)))
            .unwrap_or("no score".to_owned());
        let wanted = share::exact(board.threshold);
        sentences.push(format!(
            "The review gives {score} for what it judged; wanted is {wanted}."
        ));
    }
    if !failed.is_empty() {
        sentences.push(format!("These came to nothing: {}.", failed.join(", ")));
    }
    if let Some(why) = why {
        sentences.push(format!("Why it ends here: {why}."));
    }
    // Only what words and schemas could not tell is for want of a model.
    if why == Some(NOBODY) && !board.offers.is_empty() && failed.is_empty() {
        sentences.push(how_to_configure());
    }
    json!({
        "action": "final",
        "bundle": { "artifacts": revising::artifacts(board), "summary": sentences.join(" ") },
    })
}

/// The elements of a JSON array that can be read.
fn list<T: DeserializeOwned>(value: &Value) -> Vec<T> {
    let items = value.as_array().into_iter().flatten();
    items.filter_map(|item| T::deserialize(item).ok()).collect()
}

#[cfg(test)]
mod tests;
