//! Steps of a run, and where two runs part.

use agenthub_proto::{cortex::StepAttempt, json, wkt::Timestamp};
use serde_json::{Value, json};

use crate::{
    diff::{StepDifference, StepRecord},
    output::{cut, plain, table},
};

/// The longest value in a line, in characters.
const MAX_VALUE: usize = 120;

/// The attempts at a run's steps as a table.
pub fn steps(steps: &[StepAttempt]) -> String {
    if steps.is_empty() {
        return "no steps yet".to_owned();
    }
    let rows = steps.iter().map(|step| {
        [
            step.step.clone(),
            step.attempt.to_string(),
            step.state.clone(),
            who(step).to_owned(),
            step.begun_at.map(|at| at.to_string()).unwrap_or_default(),
            took(step),
            cut(&plain(&step.error), MAX_VALUE),
        ]
    });
    table(
        [
            "STEP", "ATTEMPT", "STATE", "AGENT", "STARTED", "TOOK", "ERROR",
        ],
        rows,
    )
}

/// The agent or the tool; else the kind of the step.
fn who(step: &StepAttempt) -> &str {
    match step.agent.as_str() {
        "" => &step.kind,
        agent => agent,
    }
}

fn took(step: &StepAttempt) -> String {
    let millis = |at: &Timestamp| at.seconds * 1_000 + i64::from(at.nanos) / 1_000_000;
    match (&step.begun_at, &step.ended_at) {
        (Some(begun), Some(ended)) => format!("{} ms", millis(ended) - millis(begun)),
        _ => String::new(),
    }
}

/// The steps of a run, as far as two runs are compared.
pub fn records(steps: &[StepAttempt]) -> Vec<StepRecord> {
    let value = |value: &Option<agenthub_proto::wkt::Value>| {
        value.as_ref().map_or(Value::Null, json::from_value)
    };
    let record = |step: &StepAttempt| StepRecord {
        step: step.step.clone(),
        kind: step.kind.clone(),
        agent: step.agent.clone(),
        // A result that stands is one that the run has.
        state: match step.state.as_str() {
            "reused" => "completed".to_owned(),
            state => state.to_owned(),
        },
        request: value(&step.request),
        result: value(&step.result),
        error: step.error.clone(),
    };
    steps.iter().map(record).collect()
}

/// Steps at which two runs part, a line each.
pub fn difference(differences: &[StepDifference]) -> String {
    let Some(first) = differences.first() else {
        return "the runs are the same".to_owned();
    };
    let lines = differences.iter().map(|step| format!("  {step}"));
    let lines: Vec<String> = lines.collect();
    let text = format!(
        "the runs part at the step {}\n{}",
        first.step,
        lines.join("\n")
    );
    plain(&text).into_owned()
}

/// The same as one JSON object.
pub fn difference_json(differences: &[StepDifference]) -> Value {
    let steps: Vec<Value> = differences
        .iter()
        .map(|step| json!({ "step": step.step, "difference": step.to_string() }))
        .collect();
    let parts = differences.first().map(|step| &step.step);
    json!({ "same": steps.is_empty(), "parts": parts, "steps": steps })
}
