//! Head of an event: all that the hub needs for its decisions, without the content. Represents mail whose body is only
//! in the log.

use agenthub_proto::{
    a2a::{Message, Task, TaskStatus},
    agenthub::{
        AgentCardEvent, AgentEvent, AgentEventMetadata, TaskArtifactUpdateEvent,
        TaskStatusUpdateEvent, agent_event::Payload,
    },
};

/// The head of an event: its traits, order key and times.
pub(crate) fn of(event: &AgentEvent) -> AgentEvent {
    AgentEvent {
        timestamp: event.timestamp,
        payload: event.payload.as_ref().map(payload),
        routing: event.routing.as_ref().map(|routing| AgentEventMetadata {
            from_agent_id: routing.from_agent_id.clone(),
            event_type: routing.event_type.clone(),
            priority: routing.priority,
            deliver_at: routing.deliver_at,
            on_behalf_of: routing.on_behalf_of.clone(),
            ..AgentEventMetadata::default()
        }),
        ..AgentEvent::default()
    }
}

fn payload(payload: &Payload) -> Payload {
    match payload {
        Payload::Message(message) => Payload::Message(Message {
            context_id: message.context_id.clone(),
            task_id: message.task_id.clone(),
            role: message.role,
            ..with_type(message.task_type())
        }),
        Payload::Task(task) => Payload::Task(Task {
            id: task.id.clone(),
            context_id: task.context_id.clone(),
            status: task.status.as_ref().map(status),
            metadata: with_type(task.task_type()).metadata,
            ..Task::default()
        }),
        Payload::StatusUpdate(update) => Payload::StatusUpdate(TaskStatusUpdateEvent {
            task_id: update.task_id.clone(),
            context_id: update.context_id.clone(),
            status: update.status.as_ref().map(status),
            ..TaskStatusUpdateEvent::default()
        }),
        Payload::ArtifactUpdate(update) => Payload::ArtifactUpdate(TaskArtifactUpdateEvent {
            task_id: update.task_id.clone(),
            context_id: update.context_id.clone(),
            ..TaskArtifactUpdateEvent::default()
        }),
        Payload::AgentCard(change) => Payload::AgentCard(AgentCardEvent {
            agent_id: change.agent_id.clone(),
            event_type: change.event_type.clone(),
            ..AgentCardEvent::default()
        }),
    }
}

fn status(status: &TaskStatus) -> TaskStatus {
    TaskStatus {
        state: status.state,
        ..TaskStatus::default()
    }
}

/// A message with the task type, for filters.
fn with_type(task_type: &str) -> Message {
    match task_type {
        "" => Message::default(),
        task_type => Message::default().with_metadata("task_type", task_type),
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use agenthub_proto::{
        a2a::{Artifact, Role},
        agenthub::Priority,
        event::timestamp,
    };
    use prost::Message as _;

    use super::*;
    use crate::{id::OrderKey, traits::Traits};

    fn said() -> Message {
        Message {
            context_id: "c".to_owned(),
            task_id: "t".to_owned(),
            ..Message::new(Role::User, "x".repeat(5000)).with_metadata("task_type", "type")
        }
    }

    fn payloads() -> Vec<Payload> {
        let status = TaskStatus {
            state: 3,
            update: Some(said()),
            ..TaskStatus::default()
        };
        vec![
            Payload::Message(said()),
            Payload::Message(Message::default()),
            Payload::Task(Task {
                id: "t".to_owned(),
                context_id: "c".to_owned(),
                status: Some(status.clone()),
                history: vec![said()],
                metadata: said().metadata,
                ..Task::default()
            }),
            Payload::StatusUpdate(TaskStatusUpdateEvent {
                task_id: "t".to_owned(),
                context_id: "c".to_owned(),
                status: Some(status),
                ..TaskStatusUpdateEvent::default()
            }),
            Payload::ArtifactUpdate(TaskArtifactUpdateEvent {
                task_id: "t".to_owned(),
                context_id: "c".to_owned(),
                artifact: Some(Artifact {
                    description: "x".repeat(5000),
                    ..Artifact::default()
                }),
                ..TaskArtifactUpdateEvent::default()
            }),
            Payload::AgentCard(AgentCardEvent {
                agent_id: "a".to_owned(),
                event_type: "online".to_owned(),
                ..AgentCardEvent::default()
            }),
        ]
    }

    /// Every decision is the same for an event and its head.
    #[test]
    fn a_head_is_like_its_event_and_small() {
        for payload in payloads() {
            let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
            let event = AgentEvent {
                event_id: "e".repeat(100),
                timestamp: Some(timestamp(now)),
                payload: Some(payload),
                routing: Some(AgentEventMetadata {
                    from_agent_id: "asker".to_owned(),
                    to_agent_id: "worker".repeat(50),
                    event_type: "event".to_owned(),
                    priority: Priority::High.into(),
                    deliver_at: Some(timestamp(now + Duration::from_secs(9))),
                    ..AgentEventMetadata::default()
                }),
                ..AgentEvent::default()
            };
            let head = of(&event);
            assert_eq!(Traits::of(&head), Traits::of(&event));
            let order = |e: &AgentEvent| OrderKey::of(e.context_id(), e.task_id(), e.sender());
            assert_eq!(order(&head), order(&event));
            assert_eq!(head.timestamp, event.timestamp);
            let due = |e: &AgentEvent| e.routing.as_ref().and_then(|r| r.deliver_at);
            assert_eq!(due(&head), due(&event));
            assert!(head.encoded_len() < 100, "{}", head.encoded_len());
        }
    }
}
