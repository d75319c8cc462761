//! The echo agent on a real hub.

use std::{collections::HashSet, net::Ipv4Addr, time::SystemTime};

use agenthub_agents::echo;
use agenthub_broker::{Server, Settings};
use agenthub_sdk::{
    Client, Delegation, Outcome, RunningAgent,
    proto::{
        a2a::{AgentCard, AgentSkill, Message, Role, TaskState},
        agenthub::{AgentEventMetadata, SubscribeToAgentEventsRequest, agent_event::Payload},
        event::system_time,
        wkt::Timestamp,
    },
};

struct World {
    _hub: Server,
    _echo: RunningAgent,
    client: Client,
}

async fn world(name: &str) -> World {
    let routes = tonic::service::Routes::default();
    let address = (Ipv4Addr::LOCALHOST, 0).into();
    let hub = Server::start(Settings::default(), address, routes).await;
    let hub = hub.expect("a free port");
    let url = format!("http://{}", hub.address());
    let echo = echo::agent(name).start(&*url).await.expect("the hub runs");
    let client = Client::builder(url).agent_id("ann").connect().await;
    World {
        _hub: hub,
        _echo: echo,
        client: client.expect("the hub runs"),
    }
}

async fn ask(world: &World, name: &str, task_type: &str, text: &str) -> Outcome {
    let delegation = Delegation::to(name)
        .capability(task_type)
        .text(text)
        .context_id("c1")
        .message_id(format!("question-{text}"));
    let pending = world.client.delegate(delegation).await;
    let outcome = pending.expect("the hub takes it").outcome().await;
    outcome.expect("an outcome")
}

fn strings(items: &[&str]) -> Vec<String> {
    items.iter().map(|&item| item.to_owned()).collect()
}

/// spec: HUB-5.1
#[tokio::test]
async fn the_card_is_the_one_of_the_specification() {
    let world = world("agent_echo").await;
    let entry = world
        .client
        .agent("agent_echo")
        .await
        .expect("it is registered");
    let card = entry.agent_card.expect("a card");
    let expected = AgentSkill {
        id: "echo".to_owned(),
        name: "Echo Messages".to_owned(),
        description: "Echoes back any text message with an 'Echo: ' prefix".to_owned(),
        tags: strings(&["testing", "echo", "debug"]),
        examples: strings(&[
            "Echo this message",
            "Repeat what I say",
            "Test echo functionality",
        ]),
        input_modes: strings(&["text/plain"]),
        output_modes: strings(&["text/plain"]),
        ..AgentSkill::default()
    };
    let AgentCard {
        protocol_version,
        name,
        description,
        version,
        capabilities,
        skills,
        ..
    } = card;
    assert_eq!((&*protocol_version, &*version), ("0.2.9", "1.0.0"));
    assert_eq!(name, "agent_echo");
    assert_eq!(
        description,
        "A simple echo agent that repeats back messages for testing purposes"
    );
    let capabilities = capabilities.expect("capabilities");
    assert!(!capabilities.streaming && !capabilities.push_notifications);
    assert_eq!(skills, [expected]);
}

/// spec: HUB-5.2
#[tokio::test]
async fn both_task_types_are_echoed_and_others_rejected() {
    let world = world("agent_echo").await;
    for task_type in ["echo_request", "echo"] {
        let outcome = ask(&world, "agent_echo", task_type, task_type).await;
        assert_eq!(outcome.state, TaskState::Completed);
        assert_eq!(outcome.text, format!("Echo: {task_type}"));
    }
    let outcome = ask(&world, "agent_echo", "translation_request", "hi").await;
    assert_eq!(outcome.state, TaskState::Rejected);
}

/// spec: HUB-5.3
#[tokio::test]
async fn the_reply_has_the_form_of_the_specification() {
    let world = world("agent_echo2").await;
    let before = SystemTime::now();
    let outcome = ask(&world, "agent_echo2", "echo_request", "hi").await;
    let reply = outcome.message.expect("a reply");
    assert_eq!(reply.text(), "Echo: hi");
    assert_eq!(reply.role(), Role::Agent);
    assert_eq!(
        (&*reply.context_id, &*reply.task_id),
        ("c1", &*outcome.task_id)
    );
    assert_eq!(reply.task_type(), "echo_result");
    assert_eq!(reply.metadata_str("echo_agent"), "agent_echo2");
    assert_eq!(reply.metadata_str("original_message_id"), "question-hi");
    let created: Timestamp = reply.metadata_str("created_at").parse().expect("RFC 3339");
    let created = system_time(&created).expect("after 1970");
    assert!(before <= created && created <= SystemTime::now());
    let id = reply.message_id.strip_prefix("msg_echo_response_");
    let (seconds, unique) = id.and_then(|id| id.split_once('_')).expect("two parts");
    assert!(seconds.parse::<u64>().is_ok() && !unique.is_empty());
}

/// spec: HUB-5.3
#[tokio::test]
async fn replies_within_a_second_have_ids_of_their_own() {
    let world = world("agent_echo").await;
    let mut ids = HashSet::new();
    for n in 0..50 {
        let outcome = ask(&world, "agent_echo", "echo", &n.to_string()).await;
        ids.insert(outcome.message.expect("a reply").message_id);
    }
    assert_eq!(ids.len(), 50);
}

/// spec: HUB-5.2
#[tokio::test]
async fn a_message_without_a_task_is_echoed_to_its_sender_whatever_its_role() {
    let world = world("agent_echo").await;
    let request = SubscribeToAgentEventsRequest {
        agent_id: "ann".to_owned(),
        event_types: strings(&["message"]),
        ..Default::default()
    };
    let mut events = world
        .client
        .agent_events(request)
        .await
        .expect("the hub runs");
    for role in [Role::User, Role::Agent] {
        let mut message = Message::new(role, "hi").with_metadata("task_type", "echo_request");
        message.context_id = "c2".to_owned();
        let routing = AgentEventMetadata::default();
        world
            .client
            .publish(message, routing)
            .await
            .expect("the hub takes it");
        let reply = loop {
            let event = events.next().await.expect("the hub runs").expect("events");
            if event.sender() == "agent_echo"
                && let Some(Payload::Message(reply)) = event.payload
            {
                break reply;
            }
        };
        assert_eq!((&*reply.text(), &*reply.context_id), ("Echo: hi", "c2"));
    }
}
