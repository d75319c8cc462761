//! Workers and supervisors that think with a model: what is told of their work.

use agenthub_sdk::{Agent, AgentBuilder, Card, proto::json as wire};
use serde_json::{Value, json};

use crate::harness::{ask, calls, failing, hub, says, script, sum, url, user};

/// The statuses of a task without what differs from task to task, and without the type. A supervisor's model reads of more tools, so
/// that the tokens are only known to be told.
async fn told(builder: AgentBuilder, words: &str) -> Vec<Value> {
    let hub = hub().await;
    let model = script([
        calls([("sum", json!({"numbers": [1, 2]}))]),
        calls([("look_up", json!({"key": 7}))]),
        says("It is 3."),
    ]);
    let agent = builder
        .model(model)
        .instructions("Be short.")
        .tool(sum())
        .tool(failing("look_up", "refused"));
    let _agent = agent.start(url(&hub)).await.expect("it starts");
    let watched = ask(&user(&hub).await, "thinker", words).await;
    let statuses = watched.statuses.iter().map(|update| {
        let status = update.status.clone().unwrap_or_default();
        assert!(status.timestamp.is_some());
        let metadata = update.metadata.as_ref().map(wire::from_struct);
        let mut metadata = metadata.unwrap_or_default();
        let kind = metadata.as_object_mut().and_then(|m| m.remove("agentType"));
        assert!(kind.is_some(), "{metadata}");
        let is_told = metadata["usage"]["tokens"].is_u64();
        assert_eq!(is_told, update.r#final, "{metadata}");
        if is_told {
            metadata["usage"]["tokens"] = Value::Null;
        }
        json!({
            "state": status.state().label(),
            "text": status.text(),
            "metadata": metadata,
            "final": update.r#final,
        })
    });
    statuses.collect()
}

/// spec: AGT-8.3, AGT-8.4
#[tokio::test]
async fn nothing_but_its_type_tells_a_supervisor_with_a_model_from_a_worker() {
    let card = || Card::new("thinker", "Thinks");
    let worker = told(Agent::worker(card()), "What is 1 + 2?").await;
    let supervisor = told(Agent::supervisor(card()), "What is 1 + 2?").await;
    assert!(worker.len() >= 5, "{worker:#?}");
    assert_eq!(worker, supervisor);
}
