//! An event as a row of the list.

use agenthub_proto::{
    a2a::Part,
    agenthub::{AgentEvent, agent_event::Payload},
    json,
};
use agenthub_terminal::listing::state::{status, task};
use maud::{Markup, html};

use crate::{
    elements::{agent, data, id_link, line, state},
    words,
};

/// Characters of the words of an event.
const SAID: usize = 120;

/// All of an event but its time.
pub(super) fn drawn(event: &AgentEvent) -> Markup {
    html! {
        b { (kind(event)) } " "
        (agent(who(event)))
        @if let Some(to) = event.routing.as_ref().map(|r| &r.to_agent_id).filter(|to| !to.is_empty()) { " → " (agent(to)) }
        @if let Some(topic) = topic(event) { " on " code { (line(topic, 60)) } }
        @if !event.task_id().is_empty() { " " (id_link("/ui/tasks/", event.task_id())) }
        @if let Some(words) = state_words(event) { " " (state(&words)) }
        @let words = said(event);
        @if !words.is_empty() { " “" (line(&words, SAID)) "”" }
        details id={ "content-" (event.event_id) } { summary { "Content" } (data(&json::of(event))) }
    }
}

/// State of its task that an event tells, with what the result lacks.
fn state_words(event: &AgentEvent) -> Option<String> {
    match &event.payload {
        Some(Payload::StatusUpdate(update)) => Some(status(update.status.as_ref()?, &[])),
        Some(Payload::Task(of)) => Some(task(of)),
        _ => event.task_state().map(|state| state.label().to_owned()),
    }
}

/// The topic of an event: the type that its sender gave it, if that says more than its kind.
pub(super) fn topic(event: &AgentEvent) -> Option<&str> {
    let topic = event.routing.as_ref()?.event_type.as_str();
    let is_kind = words::EVENTS.iter().any(|(name, _)| *name == topic);
    (!topic.is_empty() && !is_kind).then_some(topic)
}

/// The agent that an event is about, or its sender.
fn who(event: &AgentEvent) -> &str {
    match &event.payload {
        Some(Payload::AgentCard(change)) if event.sender().is_empty() => &change.agent_id,
        _ => event.sender(),
    }
}

/// Words of an event.
fn said(event: &AgentEvent) -> String {
    match &event.payload {
        Some(Payload::Message(message)) if message.text().is_empty() => {
            let data = message.content.iter().find_map(Part::as_data);
            data.map_or_else(String::new, |data| data.to_string())
        }
        Some(Payload::Message(message)) => message.text(),
        Some(Payload::StatusUpdate(update)) => update
            .status
            .as_ref()
            .map(|status| status.text())
            .unwrap_or_default(),
        Some(Payload::Task(task)) => task
            .history
            .first()
            .map(|message| message.text())
            .unwrap_or_default(),
        Some(Payload::ArtifactUpdate(update)) => update
            .artifact
            .as_ref()
            .map(|artifact| artifact.text())
            .unwrap_or_default(),
        _ => String::new(),
    }
}

/// The kind of an event, in a word.
fn kind(event: &AgentEvent) -> &str {
    match &event.payload {
        None => "event",
        Some(Payload::Message(_)) => "message",
        Some(Payload::Task(_)) => "new task",
        Some(Payload::StatusUpdate(_)) => "task",
        Some(Payload::ArtifactUpdate(_)) => "artifact",
        Some(Payload::AgentCard(change)) => &change.event_type,
    }
}

#[cfg(test)]
mod tests {
    use agenthub_proto::{
        a2a::{Message, Role, TaskState, TaskStatus},
        agenthub::TaskStatusUpdateEvent,
    };
    use serde_json::json;

    use super::*;

    /// Issue 26, events: what is done in part is called so here as well.
    #[test]
    fn an_event_says_the_state_of_its_task_as_other_pages_do() {
        let mut update = Message::new(Role::Agent, "so far");
        update.content.push(Part::data(&json!({"partial": true})));
        let event = AgentEvent {
            payload: Some(Payload::StatusUpdate(TaskStatusUpdateEvent {
                task_id: "t".into(),
                status: Some(TaskStatus {
                    state: TaskState::Completed.into(),
                    update: Some(update),
                    timestamp: None,
                }),
                ..TaskStatusUpdateEvent::default()
            })),
            ..AgentEvent::default()
        };
        let shown = drawn(&event).into_string();
        assert!(
            shown.contains("state warn\">completed, in part<"),
            "{shown}"
        );
    }
}
