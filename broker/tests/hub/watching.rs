//! Streams of who looks at the hub: the latest events, then those that come, of all agents or of one.

use agenthub_proto::agenthub::{
    SubscribeToAgentEventsRequest, UnregisterAgentRequest, agent_event::Payload,
};

use super::harness::*;

fn watched(recent: u32) -> SubscribeToAgentEventsRequest {
    SubscribeToAgentEventsRequest {
        agent_id: "watcher".into(),
        observe: true,
        recent,
        ..Default::default()
    }
}

/// Issue 26, events: who opens them sees the latest, at a cost that does not grow with the log or the directory.
#[tokio::test]
async fn a_watcher_begins_with_the_latest_events_and_is_listed_no_agents() {
    let hub = TestHub::start().await;
    for name in ["echo", "other"] {
        hub.register(card(name), &[]).await;
    }
    for text in ["one", "two", "three"] {
        hub.publish(user(text), routing("asker", "echo")).await;
    }
    let messages = |recent| SubscribeToAgentEventsRequest {
        event_types: vec!["message".into()],
        ..watched(recent)
    };
    let mut latest = hub.agent_events_with(messages(2)).await;
    assert_eq!(latest.word().await, "message two");
    let three = latest.next().await;
    assert_eq!(word(&three), "message three");
    hub.publish(user("four"), routing("asker", "echo")).await;
    assert_eq!(latest.word().await, "message four");
    for (after, recent, first) in [
        (three.position, 3, "message four"),
        (String::new(), 3, "message two"),
        // Of a log that the hub had before.
        ("00000001-9".to_owned(), 1, "message four"),
    ] {
        let request = SubscribeToAgentEventsRequest {
            after,
            ..messages(recent)
        };
        assert_eq!(hub.agent_events_with(request).await.word().await, first);
    }
}

/// Issue 26, events: who looks for agents that come and go sees the latest, however long ago and though no log has them.
#[tokio::test]
async fn a_watcher_begins_with_the_latest_changes_of_the_directory() {
    let hub = TestHub::start().await;
    for name in ["echo", "other"] {
        hub.register(card(name), &[]).await;
    }
    for text in ["one", "two", "three"] {
        hub.publish(user(text), routing("asker", "echo")).await;
    }
    hub.register(card("late"), &[]).await;
    // The last record is that of the registration.
    let of = |observed: &str, kinds: &[&str]| SubscribeToAgentEventsRequest {
        observed_agent_id: observed.into(),
        event_types: kinds.iter().map(|kind| (*kind).to_owned()).collect(),
        ..watched(2)
    };
    let mut all = hub.agent_events_with(of("", &[])).await;
    for expected in [
        "registered echo",
        "registered other",
        "message three",
        "registered late",
    ] {
        let event = all.next().await;
        let told = match &event.payload {
            Some(Payload::AgentCard(card)) => format!("{} {}", card.event_type, card.agent_id),
            _ => word(&event),
        };
        assert_eq!(told, expected);
    }
    let mut of_late = hub.agent_events_with(of("late", &["agent_card"])).await;
    hub.register(card("another"), &[]).await;
    let request = UnregisterAgentRequest {
        agent_id: "late".into(),
        ..Default::default()
    };
    within(hub.client.clone().unregister_agent(request))
        .await
        .expect("removed");
    for expected in ["registered", "unregistered"] {
        let Some(Payload::AgentCard(card)) = of_late.next().await.payload else {
            panic!("it is a change of the directory");
        };
        assert_eq!((&*card.event_type, &*card.agent_id), (expected, "late"));
    }
}

/// Watching an agent's events takes none of its mail, and does not stand for it.
#[tokio::test]
async fn a_watcher_of_one_agent_sees_what_is_from_or_to_it_and_takes_nothing() {
    let hub = TestHub::start().await;
    hub.register(card("echo"), &[]).await;
    let of_echo = SubscribeToAgentEventsRequest {
        observed_agent_id: "echo".into(),
        event_types: vec!["message".into()],
        ..watched(100)
    };
    let mut live = hub.agent_events_with(of_echo.clone()).await;
    for (text, from, to) in [
        ("to it", "asker", "echo"),
        ("past it", "asker", "other"),
        ("from it", "echo", "asker"),
    ] {
        hub.publish(user(text), routing(from, to)).await;
    }
    let mut later = hub.agent_events_with(of_echo).await;
    for stream in [&mut live, &mut later] {
        assert_eq!(stream.text().await, "to it");
        assert_eq!(stream.text().await, "from it");
    }
    let mut echo = hub.messages("echo").await;
    assert_eq!(hub.texts_so_far("echo", &mut echo).await, ["to it"]);
}
