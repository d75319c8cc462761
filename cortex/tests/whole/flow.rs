//! From the user to Cortex to an agent and back.

use std::sync::Arc;

use agenthub_agents::echo;
use agenthub_cortex::CHAT_RESPONSE;
use agenthub_sdk::{
    Card, Skill, TaskContext, TraceContext,
    model::{Offline, Scripted},
    proto::{
        a2a::{Message, Role, TaskState},
        agenthub::{
            AgentEventMetadata, PublishMessageRequest, RegisterAgentRequest,
            SubscribeToAgentEventsRequest, SubscribeToMessagesRequest, agent_event::Payload,
            agent_hub_client::AgentHubClient,
        },
    },
};
use serde_json::json;
use tokio::sync::{Barrier, mpsc};

use crate::harness::*;

/// spec: HUB-7, HUB-6.4
#[tokio::test]
async fn what_a_user_says_goes_to_an_agent_and_its_answer_comes_back() {
    let world = World::new(Offline).await;
    let _echo = world.agent(echo::agent("agent_echo")).await;
    let ann = world.user("ann").await;

    let outcome = ann.ask("c1", "echo hello there").await;
    assert_eq!(outcome.state, TaskState::Completed);
    let answer = outcome.message.expect("an answer");
    assert!(
        answer.text().contains("Echo: echo hello there"),
        "{}",
        answer.text()
    );
    assert_eq!(answer.role(), Role::Agent);
    assert_eq!(answer.context_id, "c1");
    assert_eq!(answer.task_type(), CHAT_RESPONSE);
    assert_eq!(answer.metadata_str("from_agent"), "cortex");
    assert!(!answer.metadata_str("original_message_id").is_empty());
    world.end().await;
}

/// spec: HUB-7
#[tokio::test]
async fn a_message_without_a_task_is_answered_with_a_message() {
    let world = World::new(Offline).await;
    let _echo = world.agent(echo::agent("agent_echo")).await;
    let ann = world.user("ann").await;
    let mut messages = ann.messages().await;

    for to in ["cortex", ""] {
        let question = message("c1", Role::User, "Echo this!");
        let id = question.message_id.clone();
        ann.publish(to, question).await;
        let answer = messages.from("cortex").await;
        assert!(
            answer.text().contains("Echo: Echo this!"),
            "{}",
            answer.text()
        );
        assert_eq!(answer.context_id, "c1");
        assert_eq!(answer.role(), Role::Agent);
        assert_eq!(answer.metadata_str("original_message_id"), id);
        assert_eq!(answer.metadata_str("task_type"), CHAT_RESPONSE);
    }
    world.end().await;
}

/// spec: HUB-3, HUB-7
#[tokio::test]
async fn a_delegated_message_has_the_words_the_payload_and_its_envelope() {
    let world = World::new(Scripted::from_fn(delegating)).await;
    let (seen, mut tasks) = mpsc::channel::<TaskContext>(1);
    let agent = worker("agent_a", move |task| {
        let seen = seen.clone();
        async move {
            seen.send(task).await?;
            Ok("done".to_owned())
        }
    });
    let _agent = world.agent(agent).await;
    let ann = world.user("ann").await;
    let pending = ann.send("c1", "have agent_a work").await;
    let own = pending.task_id().to_owned();

    let task = within(tasks.recv()).await.expect("the agent is asked");
    assert_eq!(task.text(), "have agent_a work");
    assert_eq!(task.data(), Some(json!({"for": "agent_a"})));
    assert_eq!(task.task_type(), "work");
    assert_eq!(task.context_id(), "c1");
    assert_eq!(task.sender(), "cortex");
    assert!(task.deadline().is_some());
    assert_eq!(task.routing().parent_task_id, own);
    assert_eq!(task.routing().hops, 1);
    assert!(!task.task_id().is_empty() && task.task_id() != own);
    within(pending.outcome()).await.expect("an outcome");
    world.end().await;
}

#[tokio::test]
async fn one_trace_goes_from_the_user_to_the_agent_and_back() {
    let world = World::new(Scripted::from_fn(delegating)).await;
    let (seen, mut traces) = mpsc::channel(1);
    let agent = worker("agent_a", move |task| {
        let seen = seen.clone();
        async move {
            seen.send(task.trace().trace_id()).await?;
            Ok("done".to_owned())
        }
    });
    let _agent = world.agent(agent).await;
    let trace = TraceContext::start();
    let ann = world.user("ann").await;
    let all = SubscribeToAgentEventsRequest {
        agent_id: "ann".to_owned(),
        event_types: ["message", "status_update", "artifact"]
            .map(str::to_owned)
            .into(),
        ..Default::default()
    };
    let mut events = ann.client.agent_events(all).await.expect("the hub runs");
    let delegation = agenthub_sdk::Delegation::to("cortex")
        .capability("chat_request")
        .text("agent_a")
        .trace(trace);
    let pending = ann
        .client
        .delegate(delegation)
        .await
        .expect("the hub takes it");
    within(pending.outcome()).await.expect("an outcome");
    assert_eq!(traces.recv().await, Some(trace.trace_id()));

    // The frames, the answer as it grows, and the answer.
    let (mut frames, mut pieces, mut answers) = (0, 0, 0);
    let mut has_ended = false;
    // Pieces wait for nobody, so one may come after the end.
    while !has_ended || pieces == 0 {
        let event = within(events.next()).await.expect("the hub runs");
        let event = event.expect("events");
        if let Some(Payload::AgentCard(_)) = event.payload {
            continue;
        }
        let state = event.task_state();
        assert_eq!(event.trace_id, trace.trace_id(), "{event:?}");
        let routing = event.routing.unwrap_or_default();
        assert_eq!(routing.from_agent_id, "cortex");
        assert_eq!(
            TraceContext::parse_or_start(&routing.traceparent).trace_id(),
            trace.trace_id()
        );
        match event.payload.expect("there is one") {
            Payload::Message(_) => answers += 1,
            Payload::ArtifactUpdate(_) => pieces += 1,
            _ => frames += 1,
        }
        has_ended |= state.is_some_and(|state| state.is_terminal());
    }
    assert!(frames > 5, "{frames}");
    assert_eq!(answers, 1);
    world.end().await;
}

/// spec: HUB-4
#[tokio::test]
async fn agents_that_are_asked_together_work_at_the_same_time() {
    let world = World::new(Scripted::from_fn(delegating)).await;
    let both = Arc::new(Barrier::new(2));
    let mut running = Vec::new();
    for name in ["agent_a", "agent_b"] {
        let both = both.clone();
        let agent = worker(name, move |_| {
            let both = both.clone();
            async move {
                both.wait().await;
                Ok(format!("{name} met the other"))
            }
        });
        running.push(world.agent(agent).await);
    }
    let answer = world.user("ann").await.answer("c", "agent_a agent_b").await;
    assert_eq!(answer, "agent_a met the other + agent_b met the other");
    world.end().await;
}

/// spec: HUB-4
#[tokio::test]
async fn what_is_said_before_the_results_reaches_the_user_first() {
    let first = json!({"actions": [
        {"type": "chat.response", "text": "One moment."},
        {"type": "task.request", "targetAgent": "agent_echo", "taskType": "echo"},
    ]});
    let model = Scripted::texts([first.to_string(), respond("Here it is.")]);
    let world = World::new(model.clone()).await;
    let _echo = world.agent(echo::agent("agent_echo")).await;
    let ann = world.user("ann").await;
    let mut messages = ann.messages().await;
    ann.publish("cortex", message("c", Role::User, "hi")).await;
    assert_eq!(messages.from("cortex").await.text(), "One moment.");
    assert_eq!(messages.from("cortex").await.text(), "Here it is.");
    let second = &model.requests()[1];
    let said = second
        .messages
        .iter()
        .filter_map(agenthub_sdk::model::PromptMessage::text);
    assert!(said.into_iter().any(|text| text == "One moment."));
    world.end().await;
}

#[tokio::test]
async fn what_is_not_for_cortex_is_not_answered() {
    let model = Scripted::from_fn(|request| Ok(respond(&words(request))));
    let world = World::new(model.clone()).await;
    let ann = world.user("ann").await;
    let mut messages = ann.messages().await;
    for to in ["", "cortex"] {
        ann.publish(to, message("c", Role::Agent, "an answer"))
            .await;
    }
    let other = message("c", Role::User, "another's").with_metadata("task_type", "echo_request");
    ann.publish("", other).await;
    ann.publish("cortex", message("c", Role::User, "mine"))
        .await;
    assert_eq!(messages.from("cortex").await.text(), "mine");
    assert_eq!(model.requests().len(), 1);
    world.end().await;
}

#[tokio::test]
async fn an_empty_message_is_answered_with_what_is_missing() {
    let world = World::new(Scripted::from_fn(delegating)).await;
    let outcome = world.user("ann").await.ask("c", " ").await;
    assert_eq!(outcome.state, TaskState::Failed);
    assert!(
        outcome.error.contains("the message is empty"),
        "{}",
        outcome.error
    );
    world.end().await;
}

/// spec: HUB-7, HUB-5.3
#[tokio::test]
async fn an_older_agent_that_only_answers_messages_takes_part() {
    let world = World::new(Scripted::from_fn(delegating)).await;
    let channel = tonic::transport::Endpoint::from_shared(url(&world.hub)).expect("an address");
    let mut hub = AgentHubClient::new(channel.connect().await.expect("the hub runs"));
    let card = Card::new("agent_old", "An older agent").skill(Skill::new("work", "Work", ""));
    let register = RegisterAgentRequest {
        agent_card: Some(card.into()),
        ..Default::default()
    };
    hub.register_agent(register).await.expect("it registers");
    let subscribe = SubscribeToMessagesRequest {
        agent_id: "agent_old".to_owned(),
        ..Default::default()
    };
    let messages = hub.subscribe_to_messages(subscribe).await;
    let mut messages = messages.expect("it subscribes").into_inner();
    knows(&world.cortex, "agent_old").await;

    let ann = world.user("ann").await;
    let pending = ann.send("c", "agent_old hello").await;
    let question = loop {
        let event = within(messages.message())
            .await
            .expect("events")
            .expect("the hub runs");
        if let Some(Payload::Message(message)) = event.payload
            && message.task_type() == "Work"
        {
            break message;
        }
    };
    let answer = Message {
        context_id: question.context_id.clone(),
        task_id: question.task_id.clone(),
        ..Message::new(Role::Agent, format!("Old: {}", question.text()))
    };
    let publish = PublishMessageRequest {
        message: Some(answer),
        routing: Some(AgentEventMetadata {
            from_agent_id: "agent_old".to_owned(),
            ..Default::default()
        }),
        ..Default::default()
    };
    hub.publish_message(publish)
        .await
        .expect("the hub takes it");
    let outcome = within(pending.outcome()).await.expect("an outcome");
    assert_eq!(said(&outcome), "Old: agent_old hello");
    world.end().await;
}
