//! Agents that become others while they work.

use std::sync::Arc;

use agenthub_sdk::{
    Agent, AgentBuilder, Delegation, Error, TaskContext,
    proto::a2a::{AgentCard, AgentSkill},
};
use tokio::sync::{Notify, mpsc};

use crate::harness::{Hub, Line, card, eventually, soon};

fn version(version: &str) -> AgentCard {
    AgentCard {
        version: version.to_owned(),
        ..card("a")
    }
}

fn says(card: AgentCard, text: &'static str) -> AgentBuilder {
    Agent::worker(card).on_task_type("work", async move |_: TaskContext| Ok(text.to_owned()))
}

#[tokio::test]
async fn what_is_under_way_ends_as_it_began_and_what_comes_is_for_the_other() {
    let hub = Hub::start().await;
    let (told, mut tells) = mpsc::channel(1);
    let go = Arc::new(Notify::new());
    let first = Agent::worker(version("1.0.0")).on_task_type("work", {
        let go = Arc::clone(&go);
        move |_: TaskContext| {
            let (told, go) = (told.clone(), Arc::clone(&go));
            async move {
                told.send(()).await?;
                go.notified().await;
                Ok("as before")
            }
        }
    });
    let agent = first.start(hub.url()).await.expect("it starts");
    let client = hub.client().await;
    let under_way = client
        .delegate(Delegation::to("a").text("go"))
        .await
        .expect("it is taken");
    soon(tells.recv()).await;

    let other = says(version("1.1.0"), "otherwise").build().expect("fine");
    agent
        .replace(other)
        .await
        .expect("it is one of the same id");
    let outcome = soon(client.ask("a", "go")).await.expect("an outcome");
    assert_eq!(outcome.text, "otherwise");
    let known = client.agent("a").await.expect("it is there");
    assert_eq!(
        known.agent_card.map(|c| c.version).as_deref(),
        Some("1.1.0")
    );
    // The instance is one of the other version.
    let outcome = soon(client.ask("a@1.1.0", "go")).await.expect("an outcome");
    assert_eq!(outcome.text, "otherwise");

    go.notify_one();
    let outcome = soon(under_way.outcome()).await.expect("an outcome");
    assert_eq!(outcome.text, "as before");
    agent.stop().await;
}

#[tokio::test]
async fn a_hub_that_was_away_learns_of_the_card_when_it_is_back() {
    let hub = Hub::start().await;
    let line = Line::to(hub.address()).await;
    let agent = says(version("1.0.0"), "one").start(line.url()).await;
    let agent = agent.expect("it starts");
    let client = hub.client().await;
    line.cut().await;
    let mut other = version("1.0.0");
    other.skills.push(AgentSkill {
        id: "more".to_owned(),
        ..Default::default()
    });
    let other = says(other, "two").build().expect("fine");
    agent
        .replace(other)
        .await
        .expect("the hub hears of it later");
    line.mend();
    eventually("the hub knows the skill", || async {
        let known = client.agent("a").await.expect("it is there");
        known.agent_card.is_some_and(|card| card.skills.len() == 2)
    })
    .await;
    let outcome = soon(client.ask("a", "go")).await.expect("an outcome");
    assert_eq!(outcome.text, "two");
}

#[tokio::test]
async fn an_agent_of_another_id_or_with_a_bad_card_changes_nothing() {
    let hub = Hub::start().await;
    let agent = says(card("a"), "one").start(hub.url()).await;
    let agent = agent.expect("it starts");
    let other = says(card("b"), "two").build().expect("fine");
    let refused = agent.replace(other).await;
    assert!(matches!(refused, Err(Error::Invalid(_))), "{refused:?}");
    let mut large = card("a");
    large.description = "x".repeat(100 * 1024);
    let large = says(large, "two").build().expect("fine here");
    let refused = agent.replace(large).await;
    assert!(refused.is_err(), "{refused:?}");
    let client = hub.client().await;
    let outcome = soon(client.ask("a", "go")).await.expect("an outcome");
    assert_eq!(outcome.text, "one");
}
