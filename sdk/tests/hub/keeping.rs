//! Agents that one process keeps at work.

use agenthub_sdk::{Agent, Reply, RunningAgent, TaskContext, internal::AgentsAtWork};
use futures_util::FutureExt;

use crate::harness::{Hub, card, soon};

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
