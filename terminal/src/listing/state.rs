//! States of tasks and runs in words: behind `completed`, what the result lacks.

use agenthub_proto::{
    a2a::{Artifact, Task, TaskState, TaskStatus},
    agenthub::TaskExtent,
    cortex::{Run, StepAttempt},
    json,
};
use agenthub_sdk::runs::{Shortfall, model::Undone};
use serde::Deserialize;
use serde_json::Value;

use crate::partial::data;

/// State of a task.
pub fn task(task: &Task) -> String {
    let status = task.status.clone().unwrap_or_default();
    self::status(&status, &task.artifacts)
}

/// State of a task with this status and these artifacts.
pub fn status(status: &TaskStatus, artifacts: &[Artifact]) -> String {
    let label = status.state().label();
    if status.state() != TaskState::Completed {
        return label.to_owned();
    }
    let data = data(status.update.as_ref(), artifacts);
    let worst = data
        .iter()
        .filter_map(lack)
        .max_by_key(|(extent, _)| *extent);
    with(label, worst.map(|(_, lack)| lack))
}

/// State of a run.
pub fn run(run: &Run) -> String {
    let result = run.result.as_ref().map(json::from_struct);
    match (&*run.state, result) {
        ("completed", Some(result)) => with(&run.state, lack(&result).map(|(_, lack)| lack)),
        (state, _) => state.to_owned(),
    }
}

/// State of an attempt at a step, or how it was decided.
pub fn step(step: &StepAttempt) -> String {
    let result = step.result.as_ref().map(json::from_value);
    let result = result.unwrap_or_default();
    let data = result["data"].as_array();
    let shortfall = data.and_then(Shortfall::of);
    match (shortfall, result["decision"].as_bool()) {
        (Some(shortfall), _) if step.state == "completed" => {
            format!("{}, {}", step.state, shortfall.extent().label())
        }
        (_, Some(true)) => "yes".to_owned(),
        (_, Some(false)) => "no".to_owned(),
        _ => step.state.clone(),
    }
}

/// State of a handoff, an edge of a run's graph.
pub fn handoff(edge: &Value) -> String {
    let state = edge["state"].as_str().unwrap_or_default();
    let undone = Undone::deserialize(&edge["undone"]).ok();
    with(state, undone.map(Undone::label))
}

fn with(state: &str, lack: Option<&str>) -> String {
    match lack {
        Some(lack) => format!("{state}, {lack}"),
        None => state.to_owned(),
    }
}

/// The lack of a result: of a bundle that its constraints are not met, of anything else that it is marked.
fn lack(result: &Value) -> Option<(TaskExtent, &'static str)> {
    let extent = TaskExtent::of_data(result);
    let is_bundle = result["quality"].get("made").is_some();
    match (extent, is_bundle) {
        (TaskExtent::Whole | TaskExtent::Unspecified, _) => None,
        (TaskExtent::Part, _) => Some((extent, Undone::Part.label())),
        (TaskExtent::Nothing, true) => Some((extent, "nothing made")),
        (TaskExtent::Nothing, false) => Some((extent, Undone::All.label())),
    }
}

#[cfg(test)]
mod tests {
    use agenthub_proto::a2a::{Message, Part, Role};
    use serde_json::json;

    use super::*;

    fn ended(data: &Value) -> [String; 2] {
        let mut update = Message::new(Role::Agent, "done");
        update.content.push(Part::data(data));
        let task = Task {
            status: Some(TaskStatus {
                state: TaskState::Completed.into(),
                update: Some(update),
                timestamp: None,
            }),
            ..Task::default()
        };
        let run = Run {
            state: "completed".into(),
            result: Some(json::to_struct(data)),
            ..Run::default()
        };
        [super::task(&task), super::run(&run)]
    }

    /// spec: ORC-4, SOP-8.7
    #[test]
    fn what_a_result_lacks_stands_behind_its_state() {
        let bundle = |made: bool| json!({"quality": {"made": made, "met": false}});
        for (data, expected) in [
            (json!({"message": "hi"}), "completed"),
            (
                json!({"partial": true, "results": []}),
                "completed, in part",
            ),
            (
                json!({"partial": true, "undone": "all"}),
                "completed, nothing done",
            ),
            (bundle(true), "completed, in part"),
            (bundle(false), "completed, nothing made"),
            (json!({"quality": "high"}), "completed"),
        ] {
            assert_eq!(ended(&data), [expected, expected], "{data}");
        }
        let edge = json!({"state": "completed", "undone": "all"});
        assert_eq!(handoff(&edge), "completed, nothing done");
        assert_eq!(handoff(&json!({"state": "failed"})), "failed");
    }
}
