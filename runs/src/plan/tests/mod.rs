//! Tests of plans.

mod admitting;
mod anything;
mod connecting;
mod deadlocks;
mod hostile;
mod ordering;
mod patching;
mod resolving;
mod shapes;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::*;

/// Context of a proposed plan.
struct Context {
    offers: Vec<Offer>,
    input: Value,
    thread: Value,
    begun: BTreeSet<String>,
    failed: BTreeSet<String>,
    outputs: BTreeMap<String, Value>,
    limits: Limits,
}

/// Three agents that hand on drafts: a planner, a writer, a reviewer.
fn three_agents() -> Context {
    let planner = json!({
        "type": "object",
        "properties": {"audience": {"type": "string"}, "objective": {"type": "string"}},
        "required": ["objective"],
    });
    let planned = json!({
        "type": "object",
        "required": ["strategy"],
        "properties": {"strategy": {
            "type": "object",
            "required": ["rationale"],
            "properties": {
                "rationale": {"type": "string"},
                "schedule": {"type": "array", "items": {"type": "object", "properties": {"when": {"type": "string"}}}},
                "knobs": {"type": "object", "additionalProperties": {"type": "number"}},
            },
        }},
    });
    let writer = json!({
        "type": "object",
        "required": ["writerBrief"],
        "additionalProperties": false,
        "properties": {
            "writerBrief": {"type": ["object", "string"]},
            "mustInclude": {"type": "array", "items": {"type": "string"}},
            "language": {"type": "string", "maxLength": 8},
            "knobs": {"type": "object"},
        },
    });
    let written = json!({
        "type": "object",
        "required": ["draft"],
        "properties": {"draft": {"$ref": "#/$defs/draft"}},
        "$defs": {"draft": {"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}}},
    });
    let reviewer = json!({
        "type": "object",
        "required": ["draft"],
        "properties": {"draft": {"anyOf": [{"type": "string"}, {"type": "object", "required": ["text"]}]}, "qualityThreshold": {"type": "number", "maximum": 1}},
    });
    let reviewed = json!({
        "type": "object",
        "properties": {"qa": {"type": "object", "properties": {"pass": {"type": "boolean"}, "issues": {"type": "array", "items": {"type": "string"}}}}},
    });
    Context {
        offers: vec![
            offer("planner", "plan.strategy", planner, planned),
            offer("writer", "content.write", writer, written),
            offer("reviewer", "qa.review", reviewer, reviewed),
        ],
        input: json!({"audience": "sailors", "limit": 5, "must": ["buy now"]}),
        thread: json!({"earlier": {"text": "ahoy"}}),
        begun: BTreeSet::new(),
        failed: BTreeSet::new(),
        outputs: BTreeMap::new(),
        limits: Limits::default(),
    }
}

fn offer(agent: &str, capability: &str, input: Value, output: Value) -> Offer {
    Offer {
        agent: agent.to_owned(),
        capability: capability.to_owned(),
        input: Some(input),
        output: Some(output),
        phase: String::new(),
    }
}

impl Context {
    fn terms(&self) -> Terms<'_> {
        Terms {
            offers: &self.offers,
            input: &self.input,
            thread: &self.thread,
            begun: &self.begun,
            failed: &self.failed,
            outputs: &self.outputs,
            limits: self.limits,
        }
    }

    fn begun(mut self, steps: &[&str]) -> Self {
        self.begun
            .extend(steps.iter().map(|step| (*step).to_owned()));
        self
    }

    fn done(mut self, step: &str, output: Value) -> Self {
        self.outputs.insert(step.to_owned(), output);
        self.begun(&[step])
    }

    fn faults(&self, plan: Value) -> Vec<String> {
        match admit(plan_of(plan), &self.terms()) {
            Ok(_) => Vec::new(),
            Err(faults) => faults.iter().map(Fault::to_string).collect(),
        }
    }

    /// Checks the faults of the plan.
    #[track_caller]
    fn check(&self, plan: Value, faults: &[&str]) {
        assert_eq!(self.faults(plan), faults);
    }
}

fn plan_of(plan: Value) -> Plan {
    serde_json::from_value(plan).expect("it has the form of a plan")
}

/// A plan of these steps, with a null result.
fn steps(steps: Value) -> Value {
    json!({ "steps": steps })
}

/// A plan that drafts, writes and reviews.
fn campaign() -> Value {
    json!({
        "steps": {
            "strategy": {
                "capability": "plan.strategy",
                "payload": {"objective": "${objective}", "audience": "${input.audience}"},
            },
            "draft": {
                "capability": "content.write",
                "agent": "writer",
                "payload": {"writerBrief": "${strategy.output.strategy}", "mustInclude": "${input.must}"},
                "retry": {"attempts": 2, "pauseMs": 1000},
                "timeoutMs": 120000,
                "approval": true,
            },
            "review": {
                "capability": "qa.review",
                "payload": {"draft": "${draft.output.draft}", "qualityThreshold": 0.7},
                "recovery": {"kind": "skip"},
            },
        },
        "result": {"post": "${draft.output.draft.text}", "issues": "${review.output.qa.issues}"},
    })
}
