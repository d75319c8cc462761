//! Order in which the steps of a plan are read.

use std::collections::BTreeSet;

use agenthub_sdk::runs::plan::references;
use serde_json::Value;

/// A step of a plan, as it is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    pub name: String,
    pub capability: String,
    /// The agent that the plan names; mostly none.
    pub agent: String,
    /// The steps that it waits for.
    pub after: BTreeSet<String>,
    /// Parts of it that are out, such as items of a loop.
    pub open: usize,
    /// Parts of it that have completed.
    pub done: usize,
    /// The latest attempt, from 1; 0 where none is known.
    pub attempt: u64,
    /// Duration of its last attempt, or of all its parts together, in milliseconds.
    pub took_ms: Option<u64>,
    /// Time of its beginning, in milliseconds since 1970.
    pub begun_ms: Option<u64>,
    /// Time at which its next attempt begins, in milliseconds since 1970.
    pub retried_ms: Option<u64>,
    /// Result of a decision.
    pub decision: Option<bool>,
    /// `waiting`, `ready`, `awaiting-approval`, `working`, `retrying`, `completed`, `in-part`, `failed`, `refused`, `cancelled`, `skipped` or `not-reached`.
    pub state: String,
}

impl Step {
    /// Its state as one character.
    pub fn mark(&self) -> char {
        match self.state.as_str() {
            "completed" => '✓',
            "failed" | "refused" | "cancelled" => '✗',
            "in-part" => '◐',
            "retrying" => '↻',
            "skipped" => '-',
            "working" => '▸',
            "awaiting-approval" => '?',
            _ => '·',
        }
    }
}

/// The steps of a plan as JSON, each behind those that it waits for, otherwise by name. All wait.
pub fn of(plan: &Value) -> Vec<Step> {
    let fields = plan["steps"].as_object().into_iter().flatten();
    let mut waiting: Vec<Step> = fields.map(|(name, step)| read(name, step)).collect();
    waiting.sort_by(|a, b| a.name.cmp(&b.name));
    let names: BTreeSet<String> = waiting.iter().map(|step| step.name.clone()).collect();
    let mut ordered: Vec<Step> = Vec::new();
    while !waiting.is_empty() {
        let is_next = |step: &Step| {
            let open = step.after.intersection(&names);
            open.clone()
                .all(|name| ordered.iter().any(|done| done.name == *name))
        };
        // A plan that was admitted has no circle; any other is shown all the same.
        let next = waiting.iter().position(is_next).unwrap_or(0);
        ordered.push(waiting.remove(next));
    }
    ordered
}

fn read(name: &str, step: &Value) -> Step {
    let text = |field: &str| step[field].as_str().unwrap_or_default().to_owned();
    let named = step["dependsOn"].as_array().into_iter().flatten();
    let named = named.filter_map(Value::as_str).map(str::to_owned);
    let referred =
        references(&step["payload"]).filter_map(|r| r.step().map(|step| step.to_string()));
    Step {
        name: name.to_owned(),
        capability: text("capability"),
        agent: text("agent"),
        after: named.chain(referred).collect(),
        state: "waiting".to_owned(),
        ..Step::default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn order(plan: &Value) -> String {
        let steps = of(plan);
        let names: Vec<&str> = steps.iter().map(|step| step.name.as_str()).collect();
        names.join(" ")
    }

    #[test]
    fn a_step_is_behind_those_that_it_waits_for() {
        let plan = json!({"steps": {
            "draft": {"capability": "write", "payload": {"brief": "${strategy.output.text}"}},
            "aside": {"capability": "look", "payload": {"x": "${input.x}"}},
            "review": {"capability": "check", "payload": {"d": {"text": "See ${draft.output.text}!"}}},
            "strategy": {"capability": "plan", "dependsOn": ["aside"], "payload": {}},
        }});
        assert_eq!(order(&plan), "aside strategy draft review");
    }

    #[test]
    fn what_is_no_plan_is_no_trouble() {
        assert_eq!(order(&Value::Null), "");
        let circle =
            json!({"steps": {"a": {"dependsOn": ["b"]}, "b": {"dependsOn": ["a", "gone"]}}});
        assert_eq!(order(&circle), "a b");
    }
}
