//! Tasks, and what is told of them as they change.

use agenthub_sdk::proto::{a2a, agenthub};

use super::{artifact_from_hub, message_from_hub};
use crate::v1;

/// A task of the hub.
pub fn task_from_hub(task: a2a::Task) -> v1::Task {
    v1::Task {
        id: task.id,
        context_id: task.context_id,
        status: task.status.map(status_from_hub),
        artifacts: task.artifacts.into_iter().map(artifact_from_hub).collect(),
        history: task.history.into_iter().map(message_from_hub).collect(),
        metadata: task.metadata,
    }
}

pub(super) fn status_from_hub(status: a2a::TaskStatus) -> v1::TaskStatus {
    v1::TaskStatus {
        // The states of both have the same numbers.
        state: status.state,
        message: status.update.map(message_from_hub),
        timestamp: status.timestamp,
    }
}

/// A status update of the hub. That it is the last one follows from its state.
pub fn status_update_from_hub(
    update: agenthub::TaskStatusUpdateEvent,
) -> v1::TaskStatusUpdateEvent {
    v1::TaskStatusUpdateEvent {
        task_id: update.task_id,
        context_id: update.context_id,
        status: update.status.map(status_from_hub),
        metadata: update.metadata,
    }
}

/// An artifact, or a chunk of one, that was added to a task of the hub.
pub fn artifact_update_from_hub(
    update: agenthub::TaskArtifactUpdateEvent,
) -> v1::TaskArtifactUpdateEvent {
    v1::TaskArtifactUpdateEvent {
        task_id: update.task_id,
        context_id: update.context_id,
        artifact: update.artifact.map(artifact_from_hub),
        append: update.append,
        last_chunk: update.last_chunk,
        metadata: update.metadata,
    }
}
