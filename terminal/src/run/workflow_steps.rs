//! State of a workflow's steps, folded from what is said of each.

use agenthub_proto::wkt::Timestamp;
use agenthub_sdk::runs::{StepId, workflow_step::is_undo};
use serde_json::Value;

use super::steps::Step;

/// Takes in that a step has begun or ended, and puts that into a line.
pub(super) fn apply(steps: &mut [Step], status: &str, data: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (step, name) = (text(&data["step"]), text(&data["stepName"]));
    let metadata = &data["metadata"];
    let (agent, error) = (text(&metadata["agent"]), text(&metadata["error"]));
    let attempt = metadata["attempt"].as_f64().map_or(1, |n| n as u64);
    let at_ms = millis(&text(&data["timestamp"]));
    let is_undo = is_undo(&StepId::new(name.as_str()));
    if status == "RUNNING" && !is_undo {
        pass(steps, &step);
    }
    let known = steps.iter_mut().find(|known| known.name == step);
    let took = known.and_then(|known| match is_undo {
        true => None,
        false => known.take(status, (&agent, attempt, at_ms)),
    });
    let tried = match attempt {
        1 => String::new(),
        attempt => format!(", attempt {attempt}"),
    };
    let by = match agent.is_empty() {
        true => String::new(),
        false => format!(" ({agent}{tried})"),
    };
    let took = took.map_or(String::new(), |ms| {
        format!(", {:.1} s", ms as f64 / 1_000.0)
    });
    match status {
        "RUNNING" => format!("→ {name}{by}"),
        "COMPLETED" => format!("✓ {name}{by}{took}"),
        "CANCELLED" => format!("✗ {name} was called back"),
        _ => format!("✗ {name}{by} failed{took}: {error}"),
    }
}

/// The workflow is over: nothing more is at work, and what never began was skipped.
pub(super) fn over(steps: &mut [Step]) {
    for step in steps {
        let state = match step.state.as_str() {
            "waiting" => "skipped",
            "working" => "completed",
            _ => continue,
        };
        state.clone_into(&mut step.state);
    }
}

/// Closes the steps that a beginning one waited for.
fn pass(steps: &mut [Step], begun: &str) {
    let step = steps.iter().find(|step| step.name == begun);
    let after = step.map(|step| step.after.clone()).unwrap_or_default();
    for step in steps.iter_mut().filter(|step| after.contains(&step.name)) {
        match (step.state.as_str(), step.open) {
            ("working", 0) => "completed".clone_into(&mut step.state),
            // Decisions and joins are never seen to begin; a branch that was not taken is not either.
            ("waiting", 0) if step.capability == "decision" || step.capability == "join" => {
                "completed".clone_into(&mut step.state);
            }
            ("waiting", 0) => "skipped".clone_into(&mut step.state),
            _ => {}
        }
    }
}

impl Step {
    /// Takes in a part of it that has begun or ended; how long it has taken so far, once it has ended.
    fn take(
        &mut self,
        status: &str,
        (agent, attempt, at_ms): (&str, u64, Option<u64>),
    ) -> Option<u64> {
        if !agent.is_empty() {
            agent.clone_into(&mut self.agent);
        }
        self.attempt = self.attempt.max(attempt);
        if status == "RUNNING" {
            self.open += 1;
            self.begun_ms = self.begun_ms.or(at_ms);
            "working".clone_into(&mut self.state);
            return None;
        }
        self.open = self.open.saturating_sub(1);
        self.took_ms = at_ms
            .zip(self.begun_ms)
            .map(|(at, begun)| at.saturating_sub(begun));
        let is_single =
            !self.capability.starts_with("for each") && !self.capability.ends_with(" steps");
        let state = match status {
            "COMPLETED" => {
                self.done += 1;
                match is_single {
                    true => "completed",
                    false => "working",
                }
            }
            "CANCELLED" => "skipped",
            _ => "failed",
        };
        state.clone_into(&mut self.state);
        self.took_ms
    }
}

fn millis(time: &str) -> Option<u64> {
    let time: Timestamp = time.parse().ok()?;
    let seconds = u64::try_from(time.seconds).ok()?;
    Some(seconds * 1_000 + u64::try_from(time.nanos).ok()? / 1_000_000)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::run::steps::of;

    #[test]
    fn steps_have_their_state_agent_time_and_attempts() {
        let mut steps = of(&json!({"steps": {
            "a": {"agent": "x"},
            "way": {"capability": "decision", "dependsOn": ["a"]},
            "no": {"dependsOn": ["way"]},
            "each": {"capability": "for each post", "dependsOn": ["way", "no"]},
            "end": {"dependsOn": ["each"]},
        }}));
        let mut lines = Vec::new();
        let mut say = |status: &str, step: &str, name: &str, second: u64, metadata: Value| {
            let data = json!({
                "step": step, "stepName": name, "metadata": metadata,
                "timestamp": format!("2027-01-01T00:00:{second:02}Z"),
            });
            lines.push(apply(&mut steps, status, &data));
        };
        say("RUNNING", "a", "a", 1, json!({"agent": "x", "attempt": 1}));
        say(
            "FAILED",
            "a",
            "a",
            2,
            json!({"agent": "x", "attempt": 1, "error": "no"}),
        );
        say("RUNNING", "a", "a", 3, json!({"agent": "x", "attempt": 2}));
        say(
            "COMPLETED",
            "a",
            "a",
            5,
            json!({"agent": "x", "attempt": 2}),
        );
        say("RUNNING", "each", "each/0", 6, json!({"attempt": 1}));
        say("RUNNING", "each", "each/1", 6, json!({"attempt": 1}));
        say("COMPLETED", "each", "each/1", 7, json!({"attempt": 1}));
        assert_eq!(
            lines,
            [
                "→ a (x)",
                "✗ a (x) failed, 1.0 s: no",
                "→ a (x, attempt 2)",
                "✓ a (x, attempt 2), 4.0 s",
                "→ each/0",
                "→ each/1",
                "✓ each/1, 1.0 s",
            ]
        );
        let states = |steps: &[Step]| {
            let states = steps.iter().map(|s| format!("{} {}", s.name, s.state));
            states.collect::<Vec<_>>().join(", ")
        };
        assert_eq!(
            states(&steps),
            "a completed, way completed, no skipped, each working, end waiting"
        );
        assert_eq!((steps[3].open, steps[3].done), (1, 1));
        over(&mut steps);
        assert!(states(&steps).ends_with("each completed, end skipped"));
    }
}
