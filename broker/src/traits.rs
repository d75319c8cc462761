//! Traits: all properties of an event that filters test. Events with equal traits pass the same filters, so that those
//! with one route may share a batch.

use agenthub_proto::{
    a2a::TaskState,
    agenthub::{AgentEvent, EventKind, Priority, agent_event::Payload},
};

/// The traits. Filters see nothing else of an event, and two events are alike only if all traits are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Traits<'a> {
    pub(crate) kind: EventKind,
    pub(crate) context: &'a str,
    /// Empty for an event without a task.
    pub(crate) task: &'a str,
    /// Type of its task, or its own without a task.
    pub(crate) task_type: &'a str,
    /// Event type of its envelope.
    pub(crate) event_type: Option<&'a str>,
    /// Reported change of the directory.
    pub(crate) card_change: Option<&'a str>,
    pub(crate) sender: &'a str,
    pub(crate) priority: Priority,
    /// Reported state of the task.
    pub(crate) state: Option<TaskState>,
}

impl<'a> Traits<'a> {
    /// Traits of an event by itself, with its own task type.
    pub(crate) fn of(event: &'a AgentEvent) -> Self {
        Self {
            kind: event.kind(),
            context: event.context_id(),
            task: event.task_id(),
            task_type: own_type(event),
            event_type: event.routing.as_ref().map(|r| r.event_type.as_str()),
            card_change: match &event.payload {
                Some(Payload::AgentCard(card)) => Some(&card.event_type),
                _ => None,
            },
            sender: event.sender(),
            priority: event.priority(),
            state: event.task_state(),
        }
    }

    /// The same with the type of its task.
    pub(crate) fn with_task_type(self, task_type: &'a str) -> Self {
        Self { task_type, ..self }
    }
}

/// The task type of the event itself.
fn own_type(event: &AgentEvent) -> &str {
    match &event.payload {
        Some(Payload::Message(m)) => m.task_type(),
        Some(Payload::Task(t)) => t.task_type(),
        _ => "",
    }
}
