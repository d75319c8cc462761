//! News to the hub of the end of a task elsewhere that no handler follows.

use std::time::SystemTime;

use agenthub_sdk::{
    Client, Error, Message,
    proto::{
        a2a::{Task, TaskStatus},
        agenthub::{AgentEventMetadata, TaskArtifactUpdateEvent, TaskStatusUpdateEvent},
    },
};

use super::outcome::said;
use crate::{convert::artifact_to_hub, v1};

/// Tells the hub of the end of a task elsewhere, as the agent of the hub's task that it was for.
///
/// # Errors
///
/// The hub does not take it.
pub(super) async fn tell(hub: &Client, task: &Task, there: v1::Task) -> Result<(), Error> {
    for artifact in there.artifacts {
        let update = TaskArtifactUpdateEvent {
            task_id: task.id.clone(),
            context_id: task.context_id.clone(),
            artifact: Some(artifact_to_hub(artifact)),
            ..Default::default()
        };
        hub.publish_artifact(update, AgentEventMetadata::default())
            .await?;
    }
    let status = there.status.unwrap_or_default();
    let has_come_to_good = status.state() == v1::TaskState::Completed;
    let words = status.message.map(|words| Message {
        task_id: task.id.clone(),
        context_id: task.context_id.clone(),
        ..said(words)
    });
    if let Some(reply) = words.clone().filter(|_| has_come_to_good) {
        let routing = AgentEventMetadata {
            to_agent_id: task.requester().to_owned(),
            ..Default::default()
        };
        hub.publish(reply, routing).await?;
    }
    let update = TaskStatusUpdateEvent {
        task_id: task.id.clone(),
        context_id: task.context_id.clone(),
        status: Some(TaskStatus {
            // The states of both have the same numbers.
            state: status.state,
            update: words,
            timestamp: Some(SystemTime::now().into()),
        }),
        r#final: true,
        ..Default::default()
    };
    hub.publish_status(update, AgentEventMetadata::default())
        .await
        .map(drop)
}
