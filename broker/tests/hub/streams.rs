//! The server streams of older clients.

use agenthub_broker::Settings;
use agenthub_proto::{
    a2a::{Role, TaskState},
    agenthub::{
        AgentEventMetadata, Priority, SubscribeToAgentEventsRequest, SubscribeToMessagesRequest,
        SubscribeToTasksRequest,
    },
};
use std::time::Duration;

use crate::harness::{
    TestHub, artifact, card, in_context, routing, status, user, within, word, work,
};
use agenthub_proto::agenthub::{PublishTaskArtifactRequest, PublishTaskUpdateRequest};

/// spec: HUB-7
#[tokio::test]
async fn a_message_reaches_its_recipient_and_nobody_else() {
    let hub = TestHub::start().await;
    let mut messages = hub.messages("echo").await;
    let mut all = hub.agent_events("echo", &["message"]).await;
    let mut other = hub.messages("other").await;
    hub.publish(user("for echo"), routing("asker", "echo"))
        .await;
    hub.publish(user("for other"), routing("asker", "other"))
        .await;
    assert_eq!(messages.word().await, "message for echo");
    assert_eq!(all.word().await, "message for echo");
    assert_eq!(other.word().await, "message for other");
    assert_eq!(hub.texts_so_far("echo", &mut messages).await, [""; 0]);
}

/// spec: HUB-7
#[tokio::test]
async fn a_broadcast_reaches_all_but_its_sender() {
    let hub = TestHub::start().await;
    let mut a = hub.messages("a").await;
    let mut b = hub.agent_events("b", &["message"]).await;
    let mut c = hub.messages("c").await;
    hub.publish(user("hello"), routing("a", "")).await;
    assert_eq!(b.word().await, "message hello");
    assert_eq!(c.word().await, "message hello");
    assert_eq!(hub.texts_so_far("a", &mut a).await, [""; 0]);
}

/// spec: HUB-3
#[tokio::test]
async fn message_filters_have_effect() {
    let hub = TestHub::start().await;
    let with = |types: &[&str], contexts: &[&str]| SubscribeToMessagesRequest {
        agent_id: "echo".into(),
        message_types: types.iter().map(ToString::to_string).collect(),
        contexts: contexts.iter().map(ToString::to_string).collect(),
        ..Default::default()
    };
    let mut by_type = hub
        .messages_with(with(&["echo_request", "mark"], &[]))
        .await;
    let mut by_event_type = hub.messages_with(with(&["a2a.custom", "mark"], &[])).await;
    let mut by_context = hub.messages_with(with(&[], &["c1", "end"])).await;
    let mut by_both = hub
        .messages_with(with(&["echo_request", "mark"], &["c1", "end"]))
        .await;
    for (context, text, task_type, event_type) in [
        ("c1", "1", "echo_request", ""),
        ("c2", "2", "echo_request", ""),
        ("c1", "3", "other", "a2a.custom"),
        ("c2", "4", "", ""),
        ("end", "5", "mark", ""),
    ] {
        let message = in_context(context, text).with_metadata("task_type", task_type);
        let routing = AgentEventMetadata {
            event_type: event_type.into(),
            ..routing("asker", "echo")
        };
        hub.publish(message, routing).await;
    }
    for (stream, expected) in [
        (&mut by_type, &["1", "2", "5"][..]),
        (&mut by_event_type, &["3", "5"]),
        (&mut by_context, &["1", "3", "5"]),
        (&mut by_both, &["1", "5"]),
    ] {
        let mut got = Vec::new();
        while got.last().is_none_or(|t| t != "5") {
            got.push(stream.text().await);
        }
        got.sort();
        assert_eq!(got, expected);
    }
}

/// spec: HUB-3
#[tokio::test]
async fn task_filters_have_effect() {
    let hub = TestHub::start().await;
    let request = SubscribeToTasksRequest {
        agent_id: "asker".into(),
        ..Default::default()
    };
    let mut completed = hub
        .tasks_with(SubscribeToTasksRequest {
            states: vec![TaskState::Completed.into()],
            ..request.clone()
        })
        .await;
    let mut sums = hub
        .tasks_with(SubscribeToTasksRequest {
            task_types: vec!["sum".into()],
            ..request.clone()
        })
        .await;
    let mut second = hub
        .tasks_with(SubscribeToTasksRequest {
            task_ids: vec!["t2".into()],
            ..request.clone()
        })
        .await;
    let mut observer = hub
        .tasks_with(SubscribeToTasksRequest {
            agent_id: "observer".into(),
            observe: true,
            task_ids: vec!["t1".into()],
            ..Default::default()
        })
        .await;
    for (task, task_type) in [("t1", "echo"), ("t2", "sum")] {
        let message = work(task, "go").with_metadata("task_type", task_type);
        hub.publish(message, routing("asker", "worker")).await;
        hub.report("worker", task, TaskState::Working).await;
        hub.report("worker", task, TaskState::Completed).await;
    }
    assert_eq!(completed.word().await, "status completed t1");
    assert_eq!(completed.word().await, "status completed t2");
    for stream in [&mut sums, &mut second] {
        assert_eq!(stream.word().await, "status working t2");
        assert_eq!(stream.word().await, "status completed t2");
    }
    assert_eq!(observer.word().await, "task submitted t1 1");
    assert_eq!(observer.word().await, "status working t1");
    assert_eq!(observer.word().await, "status completed t1");
}

#[tokio::test]
async fn agent_event_filters_choose_kinds_and_directory_changes() {
    let hub = TestHub::start().await;
    let mut statuses = hub.agent_events("asker", &["status_update"]).await;
    let mut artifacts = hub.agent_events("asker", &["artifact"]).await;
    let mut registered = hub.agent_events("asker", &["registered"]).await;
    let mut unregistered = hub.agent_events("asker", &["unregistered"]).await;
    hub.register(card("worker"), &[]).await;
    hub.publish(work("t", "go"), routing("asker", "worker"))
        .await;
    hub.try_artifact("worker", "t").await.expect("accepted");
    hub.report("worker", "t", TaskState::Completed).await;
    let request = agenthub_proto::agenthub::UnregisterAgentRequest {
        agent_id: "worker".into(),
        ..Default::default()
    };
    within(hub.client.clone().unregister_agent(request))
        .await
        .expect("removed");
    assert_eq!(statuses.word().await, "status completed t");
    assert_eq!(artifacts.word().await, "artifact t");
    assert_eq!(registered.word().await, "registered worker offline");
    assert_eq!(unregistered.word().await, "unregistered worker offline");
}

/// spec: HUB-7
#[tokio::test]
async fn mail_waits_for_an_agent_that_is_away() {
    let hub = TestHub::start().await;
    hub.publish(user("before it was known"), routing("asker", "echo"))
        .await;
    let mut first = hub.messages("echo").await;
    assert_eq!(first.text().await, "before it was known");
    drop(first);
    hub.register(card("echo"), &[]).await;
    hub.publish(user("while it was away"), routing("asker", "echo"))
        .await;
    let mut second = hub.messages("echo").await;
    assert_eq!(second.text().await, "while it was away");
}

/// A message counts as delivered once the transport took it: the next stream does not see it again.
#[tokio::test]
async fn what_one_stream_took_the_next_does_not_get_again() {
    let hub = TestHub::start().await;
    for n in 0..20 {
        hub.publish(user(&n.to_string()), routing("asker", "echo"))
            .await;
    }
    let mut first = hub.messages("echo").await;
    for n in 0..20 {
        assert_eq!(first.text().await, n.to_string());
    }
    drop(first);
    let mut second = hub.messages("echo").await;
    assert_eq!(hub.texts_so_far("echo", &mut second).await, [""; 0]);
}

/// The stream for tasks opens first: a message that arrives in between is not lost.
#[tokio::test]
async fn a_message_waits_for_the_subscription_that_takes_messages() {
    let hub = TestHub::start().await;
    let _tasks = hub.tasks("echo").await;
    hub.publish(user("early"), routing("asker", "echo")).await;
    let mut messages = hub.messages("echo").await;
    assert_eq!(messages.text().await, "early");
}

/// spec: HUB-1
#[tokio::test]
async fn a_registration_is_announced_once_to_each_subscription() {
    let hub = TestHub::start().await;
    let mut early = hub.agent_events("cortex", &[]).await;
    let mut second = hub.agent_events("watcher", &["agent_card"]).await;
    hub.register(card("echo"), &["echo_request"]).await;
    assert_eq!(early.word().await, "registered echo offline");
    assert_eq!(second.word().await, "registered echo offline");
    hub.register(card("echo"), &["echo_request"]).await;
    hub.register(card("echo"), &["echo_request", "echo"]).await;
    assert_eq!(early.word().await, "updated echo offline");
    assert_eq!(second.word().await, "updated echo offline");
}

/// spec: HUB-4
#[tokio::test]
async fn a_late_subscriber_sees_what_an_early_one_saw() {
    let hub = TestHub::start().await;
    hub.register(card("b"), &[]).await;
    hub.register(card("a"), &[]).await;
    let _present = hub.messages("b").await;
    let mut late = hub.agent_events("cortex", &[]).await;
    let event = late.next().await;
    let Some(agenthub_proto::agenthub::agent_event::Payload::AgentCard(change)) = event.payload
    else {
        panic!("not a card: {event:?}");
    };
    assert_eq!(change.agent_card, Some(card("a")));
    assert!(change.is_snapshot() && !change.is_online());
    assert_eq!(late.word().await, "registered b online (snapshot)");
    hub.register(card("c"), &[]).await;
    assert_eq!(late.word().await, "registered c offline");
}

#[tokio::test]
async fn a_subscriber_that_reads_nothing_slows_nobody_and_loses_nothing() {
    const COUNT: usize = 400;
    let hub = TestHub::with(Settings {
        ack_deadline: Duration::from_millis(200),
        ..Settings::default()
    })
    .await;
    let client = hub.another_client().await;
    let request = SubscribeToMessagesRequest {
        agent_id: "slow".into(),
        ..Default::default()
    };
    let mut slow = within(client.clone().subscribe_to_messages(request))
        .await
        .expect("subscribed")
        .into_inner();
    let mut fast = hub.messages("fast").await;
    // More than the transport's windows and buffers hold.
    let padding = "x".repeat(40_000);
    for n in 0..COUNT {
        hub.publish(
            in_context("one", &format!("{n} {padding}")),
            routing("asker", ""),
        )
        .await;
    }
    for n in 0..COUNT {
        assert!(fast.text().await.starts_with(&format!("{n} ")));
    }
    // Longer than the acknowledgement deadline.
    tokio::time::sleep(Duration::from_millis(700)).await;
    hub.publish(in_context("one", "end"), routing("asker", "slow"))
        .await;
    let mut got = Vec::new();
    while got.last().is_none_or(|t| t != "end") {
        let event = within(slow.message()).await.expect("open").expect("open");
        if let Some(agenthub_proto::agenthub::agent_event::Payload::Message(m)) = event.payload {
            let text = m.text();
            got.push(text.split(' ').next().unwrap_or_default().to_owned());
        }
    }
    let mut expected: Vec<String> = (0..COUNT).map(|n| n.to_string()).collect();
    expected.push("end".to_owned());
    assert_eq!(got, expected);
}

#[tokio::test]
async fn priority_chooses_between_contexts_and_order_holds_within_one() {
    let hub = TestHub::start().await;
    for (context, text, priority) in [
        ("calm", "calm 1", Priority::Low),
        ("usual", "usual 1", Priority::Unspecified),
        ("urgent", "urgent 1", Priority::Low),
        ("urgent", "urgent 2", Priority::Critical),
        ("alarm", "alarm 1", Priority::Critical),
        ("calm", "calm 2", Priority::Critical),
    ] {
        let routing = AgentEventMetadata {
            priority: priority.into(),
            ..routing("asker", "echo")
        };
        hub.publish(in_context(context, text), routing).await;
    }
    let mut stream = hub.messages("echo").await;
    let mut got = Vec::new();
    for _ in 0..6 {
        got.push(stream.text().await);
    }
    assert_eq!(got[..2], ["alarm 1", "usual 1"]);
    for context in ["calm", "urgent"] {
        let of_it: Vec<&String> = got.iter().filter(|t| t.starts_with(context)).collect();
        assert_eq!(of_it, [&format!("{context} 1"), &format!("{context} 2")]);
    }
}

/// spec: HUB-7
#[tokio::test]
async fn statuses_and_artifacts_reach_the_requester_as_messages_do() {
    let hub = TestHub::start().await;
    let mut tasks = hub.tasks("asker").await;
    let mut events = hub
        .agent_events("asker", &["task", "status_update", "artifact"])
        .await;
    hub.publish(work("t", "go"), routing("asker", "worker"))
        .await;
    let mut client = hub.client.clone();
    let request = PublishTaskUpdateRequest {
        update: Some(status("t", TaskState::Working)),
        routing: Some(routing("worker", "asker")),
    };
    within(client.publish_task_update(request))
        .await
        .expect("accepted");
    let request = PublishTaskArtifactRequest {
        artifact: Some(artifact("t", "done")),
        routing: Some(routing("worker", "asker")),
    };
    within(client.publish_task_artifact(request))
        .await
        .expect("accepted");
    for stream in [&mut tasks, &mut events] {
        assert_eq!(stream.word().await, "status working t");
        assert_eq!(stream.word().await, "artifact t");
    }
}

/// Every event has a trace, that of its sender if there is one, and an id of the form that older clients know.
#[tokio::test]
async fn events_carry_a_trace_and_an_id() {
    let hub = TestHub::start().await;
    let mut stream = hub.messages("echo").await;
    let message = agenthub_proto::a2a::Message {
        message_id: "m1".into(),
        ..agenthub_proto::a2a::Message::new(Role::User, "hi")
    };
    let traced = AgentEventMetadata {
        traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".into(),
        ..routing("asker", "echo")
    };
    let event_id = hub.publish(message, traced).await;
    hub.publish(user("untraced"), routing("asker", "echo"))
        .await;
    let event = stream.next().await;
    assert_eq!(event.event_id, event_id);
    assert!(event_id.starts_with("evt_m1_"), "{event_id}");
    assert_eq!(event.trace_id, "4bf92f3577b34da6a3ce929d0e0e4736");
    assert_eq!(event.span_id, "00f067aa0ba902b7");
    assert!(event.timestamp.is_some());
    let event = stream.next().await;
    assert_eq!((event.trace_id.len(), event.span_id.len()), (32, 16));
}

/// An event is for those that wait for it, now or later: no agent gets it as work.
#[tokio::test]
async fn an_event_reaches_observers_and_agents_of_its_topic_alone() {
    let hub = TestHub::start().await;
    let mut worker = hub.messages("worker").await;
    let request = SubscribeToAgentEventsRequest {
        agent_id: "waiter".into(),
        event_types: vec!["event.paid".into()],
        observe: true,
        ..Default::default()
    };
    let mut client = hub.client.clone();
    let open =
        async |client: &mut agenthub_proto::agenthub::agent_hub_client::AgentHubClient<_>,
               request| {
            let answer = within(client.subscribe_to_agent_events(request)).await;
            let answer = answer.expect("it is opened");
            let position = answer.metadata().get(agenthub_proto::BEGINS_AFTER);
            let position = position.and_then(|p| p.to_str().ok()).expect("it is said");
            (position.to_owned(), answer.into_inner())
        };
    let (after, mut live) = open(&mut client, request.clone()).await;
    let of_event = |event: &str| AgentEventMetadata {
        from_agent_id: "till".into(),
        ..AgentEventMetadata::of_event(event)
    };
    hub.publish(user("another"), of_event("shipped")).await;
    hub.publish(user("it is paid"), of_event("paid")).await;
    let (_, mut later) = open(
        &mut client,
        SubscribeToAgentEventsRequest { after, ..request },
    )
    .await;
    for stream in [&mut live, &mut later] {
        let event = within(stream.message()).await.expect("the stream goes on");
        assert_eq!(word(&event.expect("an event")), "message it is paid");
    }
    assert_eq!(hub.texts_so_far("worker", &mut worker).await, [""; 0]);
}
