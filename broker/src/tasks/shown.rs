//! A task as clients see it: parts of its first message are not stored twice.

use agenthub_proto::a2a::{Task, TaskState};

/// Metadata of a task that the hub alone says: what a sender writes under these names stays in its message.
const OF_THE_HUB: [&str; 6] = [
    "assignee",
    "chain",
    "on_behalf_of",
    "parent_task_id",
    "requester",
    "usage",
];

/// Fills in data from the task's history: the sender's metadata, overridden by the hub's, and the last message for a
/// requester if the task has no status yet.
pub(crate) fn shown(mut task: Task) -> Task {
    if let Some(said) = task
        .history
        .first()
        .and_then(|first| first.metadata.as_ref())
    {
        let metadata = task.metadata.get_or_insert_default();
        let said = said.fields.iter();
        for (key, value) in said.filter(|(key, _)| !OF_THE_HUB.contains(&key.as_str())) {
            let known = metadata.fields.entry(key.clone());
            known.or_insert_with(|| value.clone());
        }
    }
    if task.state() == TaskState::Submitted
        && let Some(status) = &mut task.status
        && status.update.is_none()
    {
        status.update = task.history.last().cloned();
    }
    task
}

#[cfg(test)]
mod tests {
    use agenthub_proto::a2a::{Message, Role};
    use serde_json::json;

    use super::*;

    /// Issue 25, on whose behalf: the hub sets it, whatever a client writes.
    #[test]
    fn what_the_hub_says_of_a_task_is_not_taken_from_its_sender() {
        let message = Message::new(Role::User, "hi")
            .with_metadata("on_behalf_of", json!("alice"))
            .with_metadata("chain", json!(["root"]))
            .with_metadata("usage", json!({"tokens": -1}))
            .with_metadata("parent_task_id", json!("t-alice"))
            .with_metadata("colour", json!("red"));
        let task = shown(Task {
            history: vec![message],
            ..Task::default()
        });
        assert_eq!(task.on_behalf_of(), "");
        assert!(task.chain().is_empty());
        let metadata = task.metadata.expect("the rest is there");
        let names: Vec<&String> = metadata.fields.keys().collect();
        assert_eq!(names, ["colour"]);
    }
}
