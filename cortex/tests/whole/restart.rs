//! Cortex, the hub and agents go away and come back.

use std::time::Duration;

use agenthub_agents::echo;
use agenthub_sdk::{
    Failure,
    model::{Offline, Scripted},
};
use tokio::time::timeout;

use crate::{
    crashes::stage::{Digger, Mind, System, has_nothing_left},
    harness::*,
};

/// A turn that waits for nobody has asked its model by then.
const AT_ONCE: Duration = Duration::from_millis(300);

/// spec: HUB-4, HUB-7
#[tokio::test]
async fn an_agent_that_is_named_may_come_back_after_cortex() {
    let system = System::new().await;
    let (mind, mut told) = Mind::new(|_| true);
    let cortex = system.cortex(mind.model()).await;
    let digger = Digger::start(&system.hub, &cortex).await;
    within(digger.agent.stop()).await;
    is_away(&cortex, "agent_dig").await;
    let ann = User::new(&system.hub, "ann").await;
    let _pending = ann.send("c", "agent_dig deep").await;
    let asked = timeout(AT_ONCE, told.recv()).await;
    assert!(asked.is_err(), "it is asked before the agent is back");

    let _digger = Digger::start(&system.hub, &cortex).await;
    within(told.recv()).await.expect("it is asked");
    let asked = mind.asked.lock().expect("no panic");
    assert_eq!(agents_shown(&asked[0]), ["agent_dig"]);
}

/// spec: HUB-4, HUB-7
#[tokio::test]
async fn an_agent_that_has_done_its_part_may_come_back_after_cortex() {
    let system = System::new().await;
    let (mind, mut told) = Mind::new(|request| results(request).is_some());
    let first = system.cortex(mind.model()).await;
    let mut digger = Digger::start(&system.hub, &first).await;
    let ann = User::new(&system.hub, "ann").await;
    let _pending = ann.send("c", "agent_dig deep").await;
    within(digger.started.recv()).await.expect("it is at work");
    drop(first);
    digger.release.notify_one();
    has_nothing_left(&ann, "agent_dig").await;
    within(digger.agent.stop()).await;

    let second = system.cortex(mind.model()).await;
    let asked = timeout(AT_ONCE, told.recv()).await;
    assert!(asked.is_err(), "it is asked before the agent is back");
    let _digger = Digger::start(&system.hub, &second).await;
    within(told.recv()).await.expect("it is asked");
    let asked = mind.asked.lock().expect("no panic");
    assert_eq!(agents_shown(&asked[1]), ["agent_dig"]);
}

#[tokio::test]
async fn a_restarted_cortex_knows_the_conversation() {
    let hub = hub().await;
    let first = cortex(&hub, Scripted::from_fn(delegating), |_| {}).await;
    let (ann, bob) = (User::new(&hub, "ann").await, User::new(&hub, "bob").await);
    ann.ask("c", "my name is Ann").await;
    bob.ask("c", "my name is Bob").await;
    first.stop().await;

    let model = Scripted::from_fn(delegating);
    let second = cortex(&hub, model.clone(), |_| {}).await;
    ann.ask("c", "what is my name?").await;
    let request = model.requests().remove(0);
    let said: Vec<String> = request.messages[2..]
        .iter()
        .filter_map(|m| m.text())
        .collect();
    assert_eq!(
        said,
        [
            "my name is Ann",
            "you said: my name is Ann",
            "what is my name?"
        ]
    );
    second.stop().await;
}

#[tokio::test]
async fn the_conversation_idle_longest_makes_room_and_is_recalled() {
    let model = Scripted::from_fn(delegating);
    let world = World::with(model.clone(), |s| s.max_conversations = 1).await;
    let ann = world.user("ann").await;
    ann.ask("first", "one").await;
    ann.ask("second", "two").await;
    ann.ask("first", "three").await;
    let last = model.requests().pop().expect("three requests");
    let said: Vec<String> = last.messages[2..].iter().filter_map(|m| m.text()).collect();
    assert_eq!(said, ["one", "you said: one", "three"]);
    world.end().await;
}

/// spec: HUB-4
#[tokio::test]
async fn a_restarted_hub_has_cortex_and_the_agents_back() {
    let first = hub().await;
    let address = first.address();
    let cortex = cortex(&first, Offline, |_| {}).await;
    let _echo = echo::agent("agent_echo")
        .start(url(&first))
        .await
        .expect("the hub runs");
    knows(&cortex, "agent_echo").await;
    let mut connection = cortex.client().connection();
    connection.mark_unchanged();
    within(first.shutdown()).await;

    let second = hub_on(address).await;
    let is_back = |c: &agenthub_sdk::hub::Connection| {
        matches!(c, agenthub_sdk::hub::Connection::Connected { .. })
    };
    within(connection.changed()).await.expect("Cortex runs");
    within(connection.wait_for(is_back))
        .await
        .expect("Cortex runs");
    let ann = User::new(&second, "ann").await;
    within(async {
        while ann.client.agent("agent_echo").await.is_err() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    knows(&cortex, "agent_echo").await;
    let answer = ann.answer("c", "echo hello").await;
    assert!(answer.contains("Echo: echo hello"), "{answer}");
    cortex.stop().await;
    second.shutdown().await;
}

/// spec: HUB-4
#[tokio::test]
async fn a_task_that_is_lost_with_the_hub_is_told_of() {
    let first = hub().await;
    let address = first.address();
    let cortex = cortex(&first, Scripted::from_fn(delegating), |_| {}).await;
    let (at_work, mut started) = tokio::sync::mpsc::channel(8);
    let agent = worker("agent_a", move |_| {
        let at_work = at_work.clone();
        async move {
            at_work.send(()).await?;
            std::future::pending::<Result<String, Failure>>().await
        }
    });
    let agent = agent.start(url(&first)).await.expect("the hub runs");
    knows(&cortex, "agent_a").await;
    let handle = cortex.handle();
    let reading = tokio::spawn(async move { called(&handle, "agent_a").await });
    within(started.recv()).await.expect("it is at work");
    within(first.shutdown()).await;
    let second = hub_on(address).await;

    let frames = within(reading).await.expect("no panic");
    let last = frames.last().expect("frames");
    assert_eq!(last.r#type, "complete");
    let answer = frames.iter().rev().find(|f| f.r#type == "message");
    let answer = &answer.expect("an answer").message;
    let told = ["was lost", "went away"]
        .iter()
        .any(|why| answer.contains(why));
    assert!(told && answer.contains("agent_a"), "{answer}");
    agent.stop().await;
    cortex.stop().await;
    second.shutdown().await;
}
