//! A folder's workflows on a hub.

use std::{fs, sync::Arc, time::Duration};

use agenthub_bus::messages::MONITORING;
use agenthub_sdk::{
    Agent, Card, Delegation, Reply, TaskContext, internal::contracts, runs::journal::MemoryJournal,
    testing::TestHub,
};
use serde_json::{Value, json};
use tokio::{sync::mpsc, time::timeout};

use super::*;

const PATIENCE: Duration = Duration::from_secs(30);

const FLOW: &str = "\
name: press
steps:
  pause: { wait: 1ms }
  all: { for_each: [1, 2], wait: 1ms, depends_on: [pause] }
output: { count: '${all.output.total_count}' }
";

/// spec: EXE-8.1, EXE-8.2, EXE-8.4, EXE-8.5
#[tokio::test]
async fn runs_of_served_workflows_tell_the_monitoring_topic_with_and_without_a_journal() {
    let hub = TestHub::start().await;
    let (tell, mut told) = mpsc::channel(64);
    let watcher = Agent::worker(Card::new("watcher", "Watches workflows"))
        .topics([MONITORING])
        .concurrency(1)
        .on_any(move |task: TaskContext| {
            let tell = tell.clone();
            async move {
                tell.send(task.data().unwrap_or_default())
                    .await
                    .expect("it is read");
                Reply::none()
            }
        });
    let watcher = watcher.start(hub.url()).await.expect("a hub");
    let dir = tempfile::tempdir().expect("a folder");
    fs::write(dir.path().join("press.yaml"), FLOW).expect("the folder is ours");
    for has_journal in [false, true] {
        let lasting: Lasting = Arc::new(move |_, agent: AgentBuilder| {
            Box::pin(async move {
                Ok(match has_journal {
                    true => agent.journal(Arc::new(MemoryJournal::default())),
                    false => agent,
                })
            })
        });
        let origin = Origin {
            dir: dir.path().to_owned(),
            lasting,
            tell: Arc::new(|_| ()),
        };
        let serving = Serving::start(&hub.url(), origin).await.expect("it serves");
        let client = hub.client().await;
        let pending = client.delegate(Delegation::to("press").text("go")).await;
        let pending = pending.expect("the hub takes it");
        let outcome = timeout(PATIENCE, pending.outcome()).await.expect("it ends");
        assert!(outcome.expect("an outcome").is_completed());
        let mut lines = Vec::new();
        while lines.last().is_none_or(|line| line != "workflow COMPLETED") {
            let body = timeout(PATIENCE, told.recv()).await;
            let body = body.expect("it is told").expect("it is at work");
            let text = |field: &str| body[field].as_str().unwrap_or_default();
            assert!(
                !text("run_id").is_empty() && text("timestamp").ends_with('Z'),
                "{body}"
            );
            lines.push(format!("{} {}", text("step_name"), text("status")));
        }
        assert_eq!(
            lines,
            [
                "pause RUNNING",
                "pause COMPLETED",
                "all/0 RUNNING",
                "all/0 COMPLETED",
                "all/1 RUNNING",
                "all/1 COMPLETED",
                "workflow COMPLETED",
            ]
        );
        let card = client.agent("press").await.expect("it is there").agent_card;
        let contracts = contracts(&card.expect("a card"));
        let output: Option<Value> = contracts["press"].output.clone();
        let count = json!({ "count": { "type": "integer" } });
        assert_eq!(output.expect("a schema")["properties"], count);
        serving.stop().await;
    }
    watcher.stop().await;
}
