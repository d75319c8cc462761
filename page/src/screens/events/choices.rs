//! Kinds, topics and agents of the latest events, with how many there are of each, to choose from.

use std::collections::BTreeMap;

use agenthub_proto::agenthub::{AgentEvent, agent_event::Payload};
use maud::{Markup, html};

use super::row;
use crate::{
    clients::Client,
    elements::{segment, visible},
    words,
};

/// The most topics, and the most agents, that are offered. A field takes any other.
const OFFERED: usize = 12;

/// The most names that are counted. Later ones are not.
const MAX_NAMES: usize = 500;

/// The latest events in numbers.
#[derive(Debug, Default)]
pub(super) struct Choices {
    all: u32,
    kinds: BTreeMap<&'static str, u32>,
    topics: BTreeMap<String, u32>,
    agents: BTreeMap<String, u32>,
}

impl Choices {
    /// Counts an event.
    pub(super) fn count(&mut self, event: &AgentEvent) {
        self.all += 1;
        if let Some(kind) = event.payload.as_ref().map(kind) {
            *self.kinds.entry(kind).or_default() += 1;
        }
        let routing = event.routing.clone().unwrap_or_default();
        count(&mut self.topics, row::topic(event).unwrap_or_default());
        count(&mut self.agents, event.sender());
        if routing.to_agent_id != event.sender() {
            count(&mut self.agents, &routing.to_agent_id);
        }
    }

    /// The choices, of which one kind or topic and one agent are chosen.
    pub(super) fn drawn(&self, kind: &str, agent: &str) -> Markup {
        let count = |name: &str| self.kinds.get(name).copied().unwrap_or_default();
        let kinds = words::EVENTS.map(|(name, words)| (name, words.to_owned(), count(name)));
        let topics = most(&self.topics);
        let topics = topics.map(|(name, count)| (name, visible(name), count));
        let agents: Vec<_> = most(&self.agents)
            .map(|(id, count)| (id, called(id), count))
            .collect();
        html! {
            nav.choices aria-label="Kinds of events" {
                span.about { "What" }
                (link("everything", &self.all.to_string(), ("", agent), kind.is_empty()))
                @for (name, words, count) in kinds.into_iter().chain(topics) {
                    (link(&words, &count.to_string(), (name, agent), name == kind))
                }
            }
            @if !agents.is_empty() {
                nav.choices aria-label="Agents" {
                    span.about { "From or to" }
                    (link("everybody", &self.all.to_string(), (kind, ""), agent.is_empty()))
                    @for (id, words, count) in agents { (link(&words, &count.to_string(), (kind, id), id == agent)) }
                }
            }
            p.about { "The numbers are those of the latest " (self.all) " events when this page was opened." }
        }
    }
}

fn link(words: &str, count: &str, (kind, agent): (&str, &str), is_chosen: bool) -> Markup {
    let filters = [("kind", kind), ("agent", agent)];
    let given: Vec<String> = filters
        .iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| format!("{name}={}", segment(value)))
        .collect();
    let to = match given.is_empty() {
        true => "/ui/events".to_owned(),
        false => format!("/ui/events?{}", given.join("&")),
    };
    html! { a href=(to) aria-current=[is_chosen.then_some("true")] { (words) " (" (count) ")" } }
}

/// Name of an agent, or of who it is that is none: with the id, as somebody chooses by it.
fn called(id: &str) -> String {
    match Client::of(id) {
        None => visible(id),
        Some(client) => format!("{}, {}", visible(client.who()), visible(id)),
    }
}

fn count(names: &mut BTreeMap<String, u32>, name: &str) {
    if name.is_empty() || names.len() == MAX_NAMES && !names.contains_key(name) {
        return;
    }
    *names.entry(name.to_owned()).or_default() += 1;
}

/// The names with the most events, the most first.
fn most(names: &BTreeMap<String, u32>) -> impl Iterator<Item = (&str, u32)> {
    let mut all: Vec<(&str, u32)> = names.iter().map(|(name, n)| (&**name, *n)).collect();
    all.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    all.truncate(OFFERED);
    all.into_iter()
}

/// The kind of an event, as it is filtered by.
fn kind(payload: &Payload) -> &'static str {
    match payload {
        Payload::Message(_) => "message",
        Payload::Task(_) => "task",
        Payload::StatusUpdate(_) => "status_update",
        Payload::ArtifactUpdate(_) => "artifact",
        Payload::AgentCard(_) => "agent_card",
    }
}

#[cfg(test)]
mod tests {
    use agenthub_proto::{
        a2a::{Message, Role, Task},
        agenthub::AgentEventMetadata,
    };

    use super::*;

    fn event(payload: Payload, topic: &str, from: &str, to: &str) -> AgentEvent {
        AgentEvent {
            payload: Some(payload),
            routing: Some(AgentEventMetadata {
                event_type: topic.into(),
                from_agent_id: from.into(),
                to_agent_id: to.into(),
                ..AgentEventMetadata::default()
            }),
            ..AgentEvent::default()
        }
    }

    fn message() -> Payload {
        Payload::Message(Message::new(Role::User, "x"))
    }

    /// Issue 26, events: what there is can be chosen, with how much of it there is.
    #[test]
    fn kinds_topics_and_agents_are_offered_with_their_numbers() {
        let mut choices = Choices::default();
        choices.count(&event(message(), "orders", "shop", "writer"));
        choices.count(&event(message(), "message", "shop", "shop"));
        choices.count(&event(Payload::Task(Task::default()), "", "page", "<w>"));
        let shown = choices.drawn("orders", "shop").into_string();
        for link in [
            "<a href=\"/ui/events?agent=shop\">everything (3)</a>",
            "<a href=\"/ui/events?kind=message&amp;agent=shop\">messages (2)</a>",
            "<a href=\"/ui/events?kind=task&amp;agent=shop\">new tasks (1)</a>",
            "<a href=\"/ui/events?kind=artifact&amp;agent=shop\">artifacts (0)</a>",
            "<a href=\"/ui/events?kind=orders&amp;agent=shop\" aria-current=\"true\">orders (1)</a>",
            "<a href=\"/ui/events?kind=orders&amp;agent=shop\" aria-current=\"true\">shop (2)</a>",
            "<a href=\"/ui/events?kind=orders\">everybody (3)</a>",
            "agent=%3Cw%3E\">&lt;w&gt; (1)</a>",
            ">a person, page (1)</a>",
        ] {
            assert!(shown.contains(link), "{link}: {shown}");
        }
    }

    /// Issue 26, cost: names that others choose take bounded room.
    #[test]
    fn of_many_names_those_with_the_most_events_are_offered() {
        let mut choices = Choices::default();
        for n in 0..2 * MAX_NAMES {
            choices.count(&event(message(), "", &format!("agent-{n}"), ""));
        }
        choices.count(&event(message(), "", "agent-7", ""));
        assert_eq!(choices.agents.len(), MAX_NAMES);
        let shown: Vec<_> = most(&choices.agents).collect();
        assert_eq!((shown[0], shown.len()), (("agent-7", 2), OFFERED));
    }
}
