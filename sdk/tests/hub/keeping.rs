//! Agents that one process keeps at work.

use std::time::Duration;

use agenthub_sdk::{
    Agent, Error, Reply, RunningAgent, TaskContext,
    internal::{AgentsAtWork, forget},
};
use futures_util::FutureExt;

use crate::harness::{Hub, PATIENCE, card, soon};

async fn start(hub: &Hub, id: &str) -> RunningAgent {
    let agent = Agent::worker(card(id)).on_any(async |_: TaskContext| Reply::none());
    agent.start(hub.url()).await.expect("it starts")
}

#[tokio::test]
async fn an_agent_that_is_sent_away_is_told_and_one_that_left_is_not() {
    let hub = Hub::start().await;
    let mut kept = AgentsAtWork::default();
    assert!(kept.sent_away().now_or_never().is_none(), "there is none");
    for id in ["a", "b", "c"] {
        kept.insert(id.to_owned(), id, start(&hub, id).await);
    }
    let (_, left) = kept.remove("a").expect("it is there");
    left.stop().await;
    // Another one has its place, whose own connection is open.
    kept.insert("b".to_owned(), "another b", start(&hub, "b").await);
    let client = hub.client().await;
    let operator = client.operator();
    operator
        .unregister("c", "enough")
        .await
        .expect("it is known");
    let lost = soon(kept.sent_away()).await;
    assert_eq!(lost.of, "c");
    assert!(lost.reason.contains("enough"), "{}", lost.reason);
    let known: Vec<_> = kept.values().copied().collect();
    assert_eq!(known, ["another b"]);
    assert!(kept.sent_away().now_or_never().is_none());
    for (_, agent) in kept.take_all() {
        agent.stop().await;
    }
    assert!(kept.is_empty());
}

#[tokio::test]
async fn an_agent_is_forgotten_once_it_has_gone_and_not_while_it_is_at_work() {
    let hub = Hub::start().await;
    let (agent, client) = (start(&hub, "a").await, hub.client().await);
    forget(&client, "a", "enough", Duration::ZERO).await;
    assert!(client.agent("a").await.is_ok());
    let forgetting = forget(&client, "a", "enough", PATIENCE);
    tokio::join!(forgetting, agent.stop());
    let gone = client.agent("a").await;
    assert!(matches!(gone, Err(Error::NotFound(_))), "{gone:?}");
}
