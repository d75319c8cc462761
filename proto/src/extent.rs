//! Extent of a result: how much of what was asked for it is, as its own data say it.
//!
//! Data with `"partial": true` are a part, or nothing where `"undone"` is `"all"`. The bundle of a run that plans says it in `quality`: nothing was
//! made where `made` is false, and a part is one that does not meet all that it is held to.

use serde_json::Value;

use crate::{
    a2a::{Part, Task, TaskState, part::Part as Content},
    agenthub::TaskExtent,
};

/// Verdict of a criterion that is met.
const PASS: &str = "pass";

/// Lists in the quality of a bundle that are empty where all rules are kept.
const SHORTCOMINGS: [&str; 6] = [
    "notKept",
    "unchecked",
    "notHandedOn",
    "replaced",
    "leftAside",
    "notTaken",
];

impl TaskExtent {
    /// Extent of a result.
    pub fn of_result(result: &Value) -> Self {
        let quality = &result["quality"];
        if quality.is_null() {
            return match (result["partial"] == true, result["undone"] == "all") {
                (false, _) => Self::Whole,
                (true, true) => Self::Nothing,
                (true, false) => Self::Part,
            };
        }
        match (quality["made"] == false, is_met(result)) {
            (true, _) => Self::Nothing,
            (_, true) => Self::Whole,
            (_, false) => Self::Part,
        }
    }

    /// Extent that data of an answer tell: whole unless they are a bundle, or marked.
    pub fn of_data(data: &Value) -> Self {
        let is_bundle = data["quality"].get("made").is_some();
        match is_bundle || data["partial"] == true {
            true => Self::of_result(data),
            false => Self::Whole,
        }
    }

    /// Extent of a completed task: the least that the data of its answer and its artifacts tell. Unspecified of any other.
    pub fn of_task(task: &Task) -> Self {
        if task.state() != TaskState::Completed {
            return Self::Unspecified;
        }
        let status = task.status.as_ref();
        let update = status.and_then(|status| status.update.as_ref());
        let content = update.into_iter().flat_map(|update| &update.content);
        let artifacts = task.artifacts.iter().flat_map(|artifact| &artifact.parts);
        let told = content.chain(artifacts).filter(|part| may_tell(part));
        let told = told.filter_map(|part| Some(Self::of_data(&part.as_data()?)));
        told.max().unwrap_or(Self::Whole)
    }
}

/// True if a part may tell an extent. Most data do not, and need not be read.
fn may_tell(part: &Part) -> bool {
    match &part.part {
        Some(Content::Data(data)) => data.data.as_ref().is_some_and(|data| {
            let has = |name: &str| data.fields.contains_key(name);
            has("partial") || has("quality")
        }),
        _ => false,
    }
}

/// True if a bundle meets all that it is held to, and is held to anything.
fn is_met(bundle: &Value) -> bool {
    let quality = &bundle["quality"];
    let is_none = |name: &str| quality[name].as_array().is_none_or(Vec::is_empty);
    quality["met"] == true
        && is_held_to_anything(bundle)
        && criteria(bundle).iter().all(|line| line["verdict"] == PASS)
        && SHORTCOMINGS.into_iter().all(is_none)
}

/// True if the request of a bundle set anything that a result can keep to or not: a criterion, or a rule that a reviewer knew.
pub fn is_held_to_anything(bundle: &Value) -> bool {
    let reviews = bundle["quality"]["reviews"].as_array();
    let reviews = reviews.into_iter().flatten();
    let mut checks = reviews.flat_map(|r| r["checks"].as_array().into_iter().flatten());
    // A reviewer that does not tell rules from what it always checks calls its rules hard.
    let is_rule = |check: &Value| check["rule"].as_bool().unwrap_or(check["hard"] == true);
    !criteria(bundle).is_empty() || checks.any(is_rule)
}

fn criteria(bundle: &Value) -> &[Value] {
    let criteria = bundle["acceptance-report"].as_array();
    criteria.map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::a2a::{Artifact, Message, Role, TaskStatus};

    /// spec: ORC-4, SOP-8.7
    #[test]
    fn an_extent_is_what_the_data_say() {
        let rule = json!({"checks": [{"rule": true}]});
        let bundle = |quality: Value| json!({"quality": quality});
        for (data, expected) in [
            (json!({"message": "hi"}), TaskExtent::Whole),
            (json!({"partial": false}), TaskExtent::Whole),
            (json!({"partial": true, "results": []}), TaskExtent::Part),
            (json!({"partial": true, "undone": "part"}), TaskExtent::Part),
            (
                json!({"partial": true, "undone": "all"}),
                TaskExtent::Nothing,
            ),
            (json!({"quality": "high"}), TaskExtent::Whole),
            (bundle(json!({"made": false})), TaskExtent::Nothing),
            (bundle(json!({"made": true, "met": true})), TaskExtent::Part),
            (
                bundle(json!({"made": true, "met": true, "reviews": [rule]})),
                TaskExtent::Whole,
            ),
            (
                bundle(json!({"made": true, "met": false, "reviews": [rule]})),
                TaskExtent::Part,
            ),
            (
                bundle(json!({"made": true, "met": true, "reviews": [rule], "notTaken": ["a"]})),
                TaskExtent::Part,
            ),
        ] {
            assert_eq!(TaskExtent::of_data(&data), expected, "{data}");
        }
        let judged = |verdict: &str| json!({"quality": {"made": true, "met": true}, "acceptance-report": [{"verdict": verdict}]});
        assert_eq!(TaskExtent::of_data(&judged("pass")), TaskExtent::Whole);
        assert_eq!(TaskExtent::of_data(&judged("fail")), TaskExtent::Part);
    }

    #[test]
    fn a_task_gave_the_least_that_its_parts_tell() {
        let part = |data: Value| Part::data(&data);
        let mut update = Message::new(Role::Agent, "done");
        update.content.push(part(json!({"partial": true})));
        let task = |state: TaskState, more: Value| Task {
            status: Some(TaskStatus {
                state: state.into(),
                update: Some(update.clone()),
                timestamp: None,
            }),
            artifacts: vec![Artifact {
                parts: vec![part(more)],
                ..Artifact::default()
            }],
            ..Task::default()
        };
        let nothing = json!({"partial": true, "undone": "all"});
        for (state, more, expected) in [
            (TaskState::Completed, json!({"a": 1}), TaskExtent::Part),
            (TaskState::Completed, nothing.clone(), TaskExtent::Nothing),
            (TaskState::Failed, nothing, TaskExtent::Unspecified),
        ] {
            assert_eq!(TaskExtent::of_task(&task(state, more)), expected);
        }
        let plain = Task {
            status: Some(TaskStatus {
                state: TaskState::Completed.into(),
                ..TaskStatus::default()
            }),
            ..Task::default()
        };
        assert_eq!(TaskExtent::of_task(&plain), TaskExtent::Whole);
    }
}
