//! Several cards for one id: permission to change it, and the current card.

use std::time::Duration;

use agenthub_broker::Settings;
use agenthub_proto::{
    a2a::{
        AgentCapabilities, AgentCard, AgentExtension, AgentInterface, AgentProvider, AgentSkill,
    },
    agenthub::{
        AgentEntry, AgentFrame, GetAgentRequest, Hello, ListAgentsRequest, RegisterAgentRequest,
        UnregisterAgentRequest, agent_event::Payload,
    },
    json,
};
use tonic::{Code, Status};

use crate::{
    harness::{Events, TestHub, card, routing, until, user, within},
    peer::{Peer, durable, hello, try_connect},
};

/// A card of this version with this description.
fn says(version: &str, description: &str) -> AgentCard {
    AgentCard {
        version: version.into(),
        description: description.into(),
        ..card("echo")
    }
}

fn with_card(instance: &str, card: AgentCard) -> Hello {
    Hello {
        agent_card: Some(card),
        ..hello("echo", instance, vec![durable("work", 9)])
    }
}

async fn refused(hub: &TestHub, hello: Hello) -> Status {
    let first = AgentFrame {
        hello: Some(hello),
        ..Default::default()
    };
    match try_connect(&hub.client, first).await {
        Ok(_) => panic!("it was let in"),
        Err(status) => status,
    }
}

/// Registers by a unary call, optionally for an instance. Returns the error.
async fn registered(hub: &TestHub, card: AgentCard, instance: &str) -> Result<(), String> {
    let request = RegisterAgentRequest {
        agent_card: Some(card),
        instance_id: instance.into(),
        ..Default::default()
    };
    let answer = within(hub.client.clone().register_agent(request)).await;
    let answer = answer.expect("an answer").into_inner();
    match answer.success {
        true => Ok(()),
        false => Err(answer.error),
    }
}

async fn entry(hub: &TestHub, id: &str) -> AgentEntry {
    let request = GetAgentRequest {
        agent_id: id.into(),
    };
    let entry = within(hub.client.clone().get_agent(request)).await;
    entry.expect("it is known").into_inner()
}

/// Version and description of the card in the directory.
async fn current(hub: &TestHub) -> (String, String) {
    let card = entry(hub, "echo").await.agent_card.expect("a card");
    (card.version, card.description)
}

fn is(version: &str, description: &str) -> (String, String) {
    (version.into(), description.into())
}

async fn gets(hub: &TestHub, peer: &mut Peer, text: &str) {
    hub.publish(user(text), routing("asker", "echo")).await;
    let (note, _) = peer.delivery().await;
    peer.acknowledge(&note).await;
}

/// promise 7
#[tokio::test]
async fn another_card_of_a_version_that_is_connected_is_refused() {
    let hub = TestHub::start().await;
    let mut first = hub.connect(with_card("a", says("1.0.0", "first"))).await;
    let status = refused(&hub, with_card("b", says("1.0.0", "second"))).await;
    assert_eq!(status.code(), Code::AlreadyExists);
    for part in ["\"a\"", "\"echo\"", "since 20"] {
        assert!(status.message().contains(part), "{}", status.message());
    }
    let by_call = registered(&hub, says("1.0.0", "second"), "").await;
    assert!(by_call.is_err_and(|error| error.contains("another card")));
    assert_eq!(current(&hub).await, is("1.0.0", "first"));
    assert_eq!(entry(&hub, "echo").await.instances.len(), 1);
    gets(&hub, &mut first, "still its own").await;

    first.say_goodbye().await;
    let mut second = hub.connect(with_card("b", says("1.0.0", "second"))).await;
    assert_eq!(current(&hub).await, is("1.0.0", "second"));
    gets(&hub, &mut second, "for the second").await;
}

/// promise 7
#[tokio::test]
async fn an_instance_with_the_same_card_is_one_more() {
    let hub = TestHub::start().await;
    let _first = hub.connect(with_card("a", says("1.0.0", "same"))).await;
    let _second = hub.connect(with_card("b", says("1.0.0", "same"))).await;
    assert_eq!(entry(&hub, "echo").await.instances.len(), 2);
    registered(&hub, says("1.0.0", "same"), "")
        .await
        .expect("it is the same");
}

/// A process that was killed and restarted may have another card: its presence lease does not block it.
#[tokio::test]
async fn an_instance_without_a_stream_holds_no_card() {
    let hub = TestHub::start().await;
    let first = hub.connect(with_card("a", says("1.0.0", "first"))).await;
    drop(first);
    let hello = || with_card("b", says("1.0.0", "second"));
    let first = || AgentFrame {
        hello: Some(hello()),
        ..Default::default()
    };
    // Retried until the hub has noticed the broken stream.
    let _second = until("it is let in", async || {
        try_connect(&hub.client, first()).await.ok()
    })
    .await;
    assert_eq!(current(&hub).await, is("1.0.0", "second"));
}

/// promise 7
#[tokio::test]
async fn a_newer_version_becomes_current_and_an_older_one_does_not() {
    let hub = TestHub::start().await;
    let _nine = hub.connect(with_card("a", says("9.0.0", "nine"))).await;
    let _ten = hub.connect(with_card("b", says("10.0.0", "ten"))).await;
    assert_eq!(current(&hub).await, is("10.0.0", "ten"));
    let _eight = hub.connect(with_card("c", says("8.0.0", "eight"))).await;
    registered(&hub, says("7.0.0", "seven"), "")
        .await
        .expect("it is another version");
    assert_eq!(current(&hub).await, is("10.0.0", "ten"));
    for (id, description) in [("echo@8.0.0", "eight"), ("echo@7.0.0", "seven")] {
        let card = entry(&hub, id).await.agent_card.expect("a card");
        assert_eq!(card.description, description, "it can be addressed");
    }
}

/// promise 7
#[tokio::test]
async fn the_card_of_an_instance_stands_again_when_a_newer_one_has_gone() {
    let hub = TestHub::start().await;
    let mut watcher = hub.agent_events("cortex", &["agent_card"]).await;
    let stays = Hello {
        topics: vec!["one".into()],
        ..with_card("a", says("1.0.0", "one"))
    };
    let _stays = hub.connect(stays).await;
    let goes = hub.connect(with_card("b", says("2.0.0", "two"))).await;
    assert_eq!(current(&hub).await, is("2.0.0", "two"));
    goes.say_goodbye().await;
    until("the first card stands again", async || {
        (current(&hub).await == is("1.0.0", "one")).then_some(())
    })
    .await;
    assert_eq!(entry(&hub, "echo").await.subscriptions, ["one"]);
    for expected in [
        "registered echo online",
        "updated echo online",
        "updated echo online",
    ] {
        assert_eq!(watcher.word().await, expected);
    }
    // Without a present instance of a newer version, an older version becomes current: a rollback.
    let _older = hub.connect(with_card("a", says("0.9.0", "back"))).await;
    assert_eq!(current(&hub).await, is("0.9.0", "back"));
}

/// promise 7
#[tokio::test]
async fn an_instance_changes_its_own_card() {
    let hub = TestHub::start().await;
    let mut peer = hub.connect(with_card("a", says("1.0.0", "before"))).await;
    registered(&hub, says("1.0.0", "by call"), "a")
        .await
        .expect("it is its own");
    assert_eq!(current(&hub).await, is("1.0.0", "by call"));
    gets(&hub, &mut peer, "goes on").await;
    let mut again = hub.connect(with_card("a", says("1.0.0", "by hello"))).await;
    assert_eq!(current(&hub).await, is("1.0.0", "by hello"));
    gets(&hub, &mut again, "goes on again").await;
    registered(&hub, says("0.5.0", "older"), "a")
        .await
        .expect("it is its own");
    assert_eq!(current(&hub).await, is("0.5.0", "older"));
}

/// Older clients register by a call, and then open streams: these hold the card.
#[tokio::test]
async fn the_streams_of_an_older_client_hold_the_card_that_it_registered() {
    let hub = TestHub::start().await;
    registered(&hub, says("1.0.0", "first"), "")
        .await
        .expect("it is free");
    registered(&hub, says("1.0.0", "again"), "")
        .await
        .expect("nobody is connected");
    let messages = hub.messages("echo").await;
    let by_call = registered(&hub, says("1.0.0", "other"), "").await;
    assert!(by_call.is_err_and(|error| error.contains("another card")));
    let status = refused(&hub, with_card("b", says("1.0.0", "other"))).await;
    assert_eq!(status.code(), Code::AlreadyExists);
    drop(messages);
    until("its stream is gone", async || {
        registered(&hub, says("1.0.0", "other"), "").await.ok()
    })
    .await;
    assert_eq!(current(&hub).await, is("1.0.0", "other"));
}

/// A server stream under the id of a connected agent holds no card of it.
#[tokio::test]
async fn a_stream_beside_an_agent_that_connects_holds_nothing() {
    let hub = TestHub::start().await;
    let agent = hub.connect(with_card("a", says("1.0.0", "first"))).await;
    let _listens = hub.messages("echo").await;
    agent.say_goodbye().await;
    let _agent = hub.connect(with_card("b", says("1.0.0", "second"))).await;
    assert_eq!(current(&hub).await, is("1.0.0", "second"));
}

/// The current card is in the log; presence is not.
#[tokio::test]
async fn the_current_card_is_known_after_a_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = || Settings {
        storage: agenthub_broker::Storage::Folder(folder.path().to_owned()),
        presence_lease: Duration::from_secs(10),
        ..Settings::default()
    };
    let hub = TestHub::with(settings()).await;
    let two = hub.connect(with_card("a", says("2.0.0", "two"))).await;
    let one = hub.connect(with_card("b", says("1.0.0", "one"))).await;
    assert_eq!(current(&hub).await, is("2.0.0", "two"));
    drop((one, two));
    hub.server.shutdown().await;
    let hub = TestHub::with(settings()).await;
    assert_eq!(current(&hub).await, is("2.0.0", "two"));
    let _one = hub.connect(with_card("b", says("1.0.0", "one"))).await;
    let _two = hub.connect(with_card("a", says("2.0.0", "two"))).await;
    assert_eq!(
        current(&hub).await,
        is("2.0.0", "two"),
        "once both are back"
    );
    assert_eq!(entry(&hub, "echo").await.instances.len(), 2);
}

/// A card with all fields set: a new field has to be added here.
fn full() -> AgentCard {
    let text = |text: &str| text.to_owned();
    let object = || json::to_struct(&serde_json::json!({"said": ["so"]}));
    AgentCard {
        protocol_version: text("0.2.9"),
        name: text("echo"),
        description: text("Says it again"),
        url: text("http://127.0.0.1:9"),
        preferred_transport: text("GRPC"),
        additional_interfaces: vec![AgentInterface {
            url: text("http://127.0.0.1:8"),
            transport: text("JSONRPC"),
            tenant: text("tenant"),
            protocol_version: text("1.0"),
        }],
        provider: Some(AgentProvider {
            url: text("http://127.0.0.1:7"),
            organization: text("Somebody"),
        }),
        version: text("1.2.3"),
        documentation_url: text("http://127.0.0.1:6"),
        capabilities: Some(AgentCapabilities {
            streaming: true,
            push_notifications: true,
            extensions: vec![AgentExtension {
                uri: text("urn:extension"),
                description: text("More"),
                required: true,
                params: Some(json::to_struct(&serde_json::json!({"a": [1, "b"]}))),
            }],
        }),
        skills: vec![AgentSkill {
            id: text("echo"),
            name: text("Echo"),
            description: text("Says what it is told"),
            tags: vec![text("speech")],
            examples: vec![text("echo hello")],
            input_modes: vec![text("text/plain")],
            output_modes: vec![text("text/plain"), text("application/json")],
            security_requirements: vec![object()],
        }],
        supports_authenticated_extended_card: true,
        icon_url: text("http://127.0.0.1:5"),
        security_schemes: [(text("key"), object())].into(),
        security_requirements: vec![object()],
        default_input_modes: vec![text("text/plain")],
        default_output_modes: vec![text("image/png")],
        signatures: vec![object()],
        supported_interfaces: vec![AgentInterface {
            url: text("http://127.0.0.1:4"),
            transport: text("HTTP+JSON"),
            tenant: text("other"),
            protocol_version: text("1.0"),
        }],
    }
}

/// spec: HUB-2
#[tokio::test]
async fn every_field_of_a_card_is_known_over_every_way() {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = || Settings {
        storage: agenthub_broker::Storage::Folder(folder.path().to_owned()),
        ..Settings::default()
    };
    let told = async |events: &mut Events| match events.next().await.payload {
        Some(Payload::AgentCard(change)) => change.agent_card,
        other => panic!("no card: {other:?}"),
    };
    let listed = async |hub: &TestHub| {
        let request = ListAgentsRequest {
            skill: "echo".into(),
            tag: "speech".into(),
            mode: "application/json".into(),
            capability: "urn:extension".into(),
            ..Default::default()
        };
        let page = within(hub.client.clone().list_agents(request)).await;
        let mut agents = page.expect("a page").into_inner().agents;
        agents.pop().and_then(|entry| entry.agent_card)
    };
    for by_call in [true, false] {
        let hub = TestHub::with(settings()).await;
        let mut early = hub.agent_events("early", &[]).await;
        let _peer = match by_call {
            true => {
                assert_eq!(registered(&hub, full(), "").await, Ok(()));
                None
            }
            false => Some(hub.connect(with_card("a", full())).await),
        };
        assert_eq!(told(&mut early).await, Some(full()), "as it changes");
        let mut late = hub.agent_events("late", &[]).await;
        assert_eq!(told(&mut late).await, Some(full()), "in the snapshot");
        assert_eq!(entry(&hub, "echo").await.agent_card, Some(full()));
        assert_eq!(listed(&hub).await, Some(full()));
        drop((early, late));
        hub.server.shutdown().await;

        let hub = TestHub::with(settings()).await;
        assert_eq!(
            entry(&hub, "echo").await.agent_card,
            Some(full()),
            "from the log"
        );
        let leaving = UnregisterAgentRequest {
            agent_id: "echo".into(),
            ..Default::default()
        };
        let left = within(hub.client.clone().unregister_agent(leaving)).await;
        assert!(left.expect("an answer").into_inner().success);
        hub.server.shutdown().await;
    }
}
