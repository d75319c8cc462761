//! All that filters look at in an event. Events with equal traits pass the same filters, so that those with one route may share a batch.

use agenthub_proto::{
    a2a::TaskState,
    agenthub::{AgentEvent, EventKind, Priority, agent_event::Payload},
};

/// See the module's description. Filters see nothing else of an event, and two events are alike only if all of this is equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Traits<'a> {
    pub(crate) kind: EventKind,
    pub(crate) context: &'a str,
    /// Empty of an event that belongs to no task.
    pub(crate) task: &'a str,
    /// The type of its task, or of itself where it has no task.
    pub(crate) task_type: &'a str,
    /// The type in its envelope.
    pub(crate) event_type: Option<&'a str>,
    /// The change of the directory that it reports.
    pub(crate) card_change: Option<&'a str>,
    pub(crate) sender: &'a str,
    pub(crate) priority: Priority,
    /// The state of the task that it reports.
    pub(crate) state: Option<TaskState>,
}

impl<'a> Traits<'a> {
    /// The traits of an event by itself: its task type is the one that it carries.
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

    /// The same of an event whose task has this type.
    pub(crate) fn with_task_type(self, task_type: &'a str) -> Self {
        Self { task_type, ..self }
    }
}

/// The task type that an event itself carries.
fn own_type(event: &AgentEvent) -> &str {
    match &event.payload {
        Some(Payload::Message(m)) => m.task_type(),
        Some(Payload::Task(t)) => t.task_type(),
        _ => "",
    }
}
