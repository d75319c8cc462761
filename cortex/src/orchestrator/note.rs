//! Notes of an app run for those who watch: each is a frame as it is.

use agenthub_sdk::runs::{
    plan::{Offer, Plan},
    share,
};
use serde_json::{Value, json};

use super::{
    kept::{Review, WorkState},
    proposal::Refusal,
};
use crate::origin::CORTEX;

pub(super) const PLANNING: &str = "planning";
pub(super) const FINALIZATION: &str = "finalization";

/// The phases, and what is told of them.
const PHASES: [(&str, &str); 5] = [
    (PLANNING, "deciding what is to be done"),
    ("analysis", "finding out what is needed"),
    ("generation", "making it"),
    ("qa", "checking what was made"),
    (FINALIZATION, "putting the result together"),
];

/// The phase that a capability's card names; `analysis` for one that it does not know.
pub(super) fn phase_name(phase: &str) -> &'static str {
    let known = PHASES.iter().find(|(name, _)| *name == phase);
    known.map_or("analysis", |(name, _)| name)
}

pub(super) fn phase(phase: &str) -> Value {
    let text = PHASES.iter().find(|(name, _)| *name == phase);
    json!({"type": "phase", "message": text.map_or("", |(_, text)| text), "phase": phase})
}

pub(super) fn plan_update(why: &str, patch: &Value, plan: &Plan, version: u64) -> Value {
    json!({"type": "plan_update", "message": why, "data": {"patch": patch, "plan": plan, "version": version}})
}

/// A handoff. Lists of runs know the round by it.
pub(super) fn requested(step: &str, offer: &Offer, round: u32) -> Value {
    let data = json!({
        "from": CORTEX,
        "to": offer.agent,
        "capability": offer.capability,
        "step": step,
        "round": round,
    });
    json!({"type": "handoff", "message": "requested", "data": data})
}

pub(super) fn step_failed(step: &str, why: &str, state: WorkState) -> Value {
    let data = json!({"step": step, "state": state, "reason": why});
    json!({"type": "warning", "message": format!("step {step} came to nothing: {why}"), "data": data})
}

pub(super) fn refused(refusal: &Refusal) -> Value {
    let reason = refusal.reason();
    let message = format!("the orchestrator has to answer again: {reason}");
    let data = json!({"reason": reason, "advice": refusal.advice()});
    json!({"type": "warning", "message": message, "data": data})
}

/// A warning that something expected of a run did not happen.
pub(super) fn absent(phase: &str) -> Value {
    let message = match phase {
        "qa" => "nothing was reviewed",
        _ => "no specialist made anything",
    };
    json!({"type": "warning", "message": message, "data": {"missing": phase}})
}

pub(super) fn review(review: &Review, threshold: f64) -> Value {
    let score = match review.score {
        Some(score) => format!(
            "{} gives {}, wanted {}",
            review.agent,
            share::score(score, threshold),
            share::exact(threshold)
        ),
        None => format!("{} gives no score", review.agent),
    };
    let message = match review.issues.as_slice() {
        _ if review.pass => score,
        _ if review.is_open() => format!("{score}, and could not check what was asked for"),
        [] => format!("{score}, and does not let it pass"),
        [issue] => format!("{score}, and does not let it pass: {issue}"),
        [first, others @ ..] => format!(
            "{score}, and does not let it pass: {first} (and {} more)",
            others.len()
        ),
    };
    json!({"type": "message", "message": message, "data": {"review": review}})
}
