//! Cortex and the hub go away and come back.

use agenthub_agents::echo;
use agenthub_sdk::{
    Failure,
    model::{Offline, Scripted},
};

use crate::harness::*;

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
