//! A task as clients see it: parts of its first message are not stored twice.

use agenthub_proto::a2a::{Task, TaskState};

/// Fills in data from the task's history: the sender's metadata, overridden by the hub's, and the last message for a
/// requester if the task has no status yet.
pub(crate) fn shown(mut task: Task) -> Task {
    if let Some(said) = task
        .history
        .first()
        .and_then(|first| first.metadata.as_ref())
    {
        let metadata = task.metadata.get_or_insert_default();
        for (key, value) in &said.fields {
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
