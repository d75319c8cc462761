//! Steps of a run, and where two runs part.

use agenthub_proto::{
    cortex::{Run, RunEvent, RunPlan, StepAttempt},
    json,
    wkt::Timestamp,
};
use serde_json::{Value, json};

use crate::{
    diff::{Difference, RunDifferences, RunRecord, StepRecord},
    listing::{refusal::Refusal, state},
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
            state::step(step),
            who(step).to_owned(),
            step.begun_at.map(|at| at.to_string()).unwrap_or_default(),
            took(step),
            cut(&plain(&why(step)), MAX_VALUE),
        ]
    });
    table(
        [
            "STEP", "ATTEMPT", "STATE", "AGENT", "STARTED", "TOOK", "ERROR",
        ],
        rows,
    )
}

/// The events of a run's journal as a table.
pub fn events(events: &[RunEvent]) -> String {
    let rows = events.iter().map(|event| {
        [
            event.number.to_string(),
            event.at.map(|at| at.to_string()).unwrap_or_default(),
            event.kind.clone(),
            plain(&event.step).into_owned(),
            event.state.clone(),
            match event.reused {
                true => "reused".to_owned(),
                false => String::new(),
            },
        ]
    });
    table(["EVENT", "TIME", "KIND", "STEP", "STATE", ""], rows)
}

/// Reason of a failure or of a refusal.
fn why(step: &StepAttempt) -> String {
    match Refusal::of(step) {
        Some(refusal) => refusal.in_words(),
        None => step.error.clone(),
    }
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

/// A run with its steps and its plan, as far as two runs are compared.
pub fn record(run: &Run, steps: &[StepAttempt], plan: Option<&RunPlan>) -> RunRecord {
    let plan = plan.and_then(|plan| plan.plan.as_ref());
    RunRecord {
        objective: run.objective.clone(),
        input: plan.map_or(Value::Null, |plan| json::from_struct(plan)["input"].clone()),
        steps: step_records(steps),
        state: run.state.clone(),
        undone: run.undone.clone(),
        result: run.result.as_ref().map_or(Value::Null, result),
        error: run.error.clone(),
    }
}

/// The result of a run; of a message that is JSON its content.
fn result(result: &agenthub_proto::wkt::Struct) -> Value {
    let mut result = json::from_struct(result);
    let message = result["message"].as_str();
    if let Some(content) = message.and_then(|message| serde_json::from_str(message).ok()) {
        result["message"] = content;
    }
    result
}

fn step_records(steps: &[StepAttempt]) -> Vec<StepRecord> {
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

/// Differences of two runs, a line each.
pub fn difference(differences: &RunDifferences) -> String {
    let RunDifferences {
        asked,
        steps,
        outcome,
    } = differences;
    if differences.is_empty() {
        return "the runs are the same".to_owned();
    }
    let headline = match steps.first() {
        Some(first) => format!("the runs part at the step {}", first.step),
        None => "the steps of the runs are the same, the runs are not".to_owned(),
    };
    let of_run = |difference: &Difference| format!("  the run: {difference}");
    let lines = [headline]
        .into_iter()
        .chain(asked.iter().map(of_run))
        .chain(steps.iter().map(|step| format!("  {step}")))
        .chain(outcome.iter().map(of_run));
    plain(&lines.collect::<Vec<_>>().join("\n")).into_owned()
}

/// The same as one JSON object.
pub fn difference_json(differences: &RunDifferences) -> Value {
    let RunDifferences {
        asked,
        steps,
        outcome,
    } = differences;
    let lines =
        |all: &[Difference]| -> Vec<String> { all.iter().map(ToString::to_string).collect() };
    let told: Vec<Value> = steps
        .iter()
        .map(|step| json!({ "step": step.step, "difference": step.to_string() }))
        .collect();
    json!({
        "same": differences.is_empty(),
        "asked": lines(asked),
        "parts": steps.first().map(|step| &step.step),
        "steps": told,
        "outcome": lines(outcome),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_done_in_part_and_decisions_are_told() {
        let attempt = |name: &str, agent: &str, result: Value| StepAttempt {
            step: name.to_owned(),
            attempt: 1,
            kind: "decision".to_owned(),
            agent: agent.to_owned(),
            state: "completed".to_owned(),
            result: Some(json::to_value(&result)),
            ..StepAttempt::default()
        };
        let lacks = json!({"partial": true, "undone": "part", "results": []});
        let whole = json!({"text": "hi", "data": []});
        let shown = steps(&[
            attempt("whole", "x", whole),
            attempt("part", "x", json!({"text": "hi", "data": [lacks]})),
            attempt("way", "", json!({"decision": false})),
            StepAttempt {
                state: "skipped".to_owned(),
                ..attempt("left", "", Value::Null)
            },
        ]);
        let rows = shown.lines().map(|row| row.split_whitespace().collect());
        let rows: Vec<Vec<&str>> = rows.collect();
        assert_eq!(rows[1][..3], ["whole", "1", "completed"]);
        assert_eq!(rows[2][..5], ["part", "1", "completed,", "in", "part"]);
        assert_eq!(rows[3][..4], ["way", "1", "no", "decision"]);
        assert_eq!(rows[4][..3], ["left", "1", "skipped"]);
    }
}
