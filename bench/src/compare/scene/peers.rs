//! Peers of scenes, and their messages.

use agenthub_sdk::proto::{
    a2a::{AgentCapabilities, AgentCard, AgentSkill, Message, Part, Role},
    agenthub::{
        AgentEventMetadata, Durability, EventKind, Filter, Hello, Lifetime, Publish, Subscription,
        publish::Payload,
    },
};

/// Bytes of a message's text.
const TEXT_BYTES: usize = 256;

/// Credit of a subscriber.
pub(super) const CREDIT: u32 = 32_768;

/// Id of the publisher.
const PUBLISHER: &str = "publisher";

/// A client that takes all messages for these topics.
pub(super) fn subscriber(name: &str, topics: Vec<String>) -> Hello {
    Hello {
        protocol_version: 1,
        agent_id: name.to_owned(),
        instance_id: name.to_owned(),
        subscription: vec![messages()],
        topics,
        ..Hello::default()
    }
}

/// The hello of an agent with a card.
pub(super) fn agent(number: usize) -> Hello {
    Hello {
        agent_card: Some(card(number)),
        topics: vec![format!("work-{number}")],
        agent_id: String::new(),
        ..subscriber(&name(number), Vec::new())
    }
}

/// The hello of the publisher.
pub(super) fn publisher() -> Hello {
    Hello {
        subscription: Vec::new(),
        ..subscriber(PUBLISHER, Vec::new())
    }
}

/// The card of the agent with this number.
pub(super) fn card(number: usize) -> AgentCard {
    AgentCard {
        protocol_version: "0.2.9".to_owned(),
        name: name(number),
        description: "Reads what it is sent, thinks about it, and writes a short answer".to_owned(),
        version: "1.0.0".to_owned(),
        capabilities: Some(AgentCapabilities {
            streaming: true,
            ..AgentCapabilities::default()
        }),
        skills: vec![AgentSkill {
            id: format!("skill-{number}"),
            name: "Short answers".to_owned(),
            description: "Answers a question in one paragraph".to_owned(),
            tags: vec!["text".to_owned(), "answers".to_owned()],
            input_modes: vec!["text/plain".to_owned()],
            output_modes: vec!["text/plain".to_owned()],
            ..AgentSkill::default()
        }],
        ..AgentCard::default()
    }
}

fn name(number: usize) -> String {
    format!("agent-{number}")
}

fn messages() -> Subscription {
    Subscription {
        name: "bench".to_owned(),
        lifetime: Lifetime::Instance.into(),
        filter: Some(Filter {
            kinds: vec![EventKind::Message.into()],
            ..Filter::default()
        }),
        credit: CREDIT,
        ..Subscription::default()
    }
}

/// A message for all subscribers of this topic, with this beginning of its text.
pub(super) fn publish(number: u64, topic: &str, beginning: &str) -> Publish {
    let rest = "x".repeat(TEXT_BYTES.saturating_sub(beginning.len()));
    Publish {
        sequence: number + 1,
        payload: Some(Payload::Message(Message {
            message_id: format!("number-{number:012}"),
            role: Role::User.into(),
            content: vec![Part::text(format!("{beginning}{rest}"))],
            ..Message::default()
        })),
        routing: Some(AgentEventMetadata {
            from_agent_id: PUBLISHER.to_owned(),
            event_type: topic.to_owned(),
            subscriptions: vec![topic.to_owned()],
            durability: Durability::Memory.into(),
            ..AgentEventMetadata::default()
        }),
        ..Publish::default()
    }
}
