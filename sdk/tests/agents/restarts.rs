//! Agents with a model that stop in the middle and go on later.

use std::{sync::Arc, time::Duration};

use agenthub_sdk::{
    Agent, Card, Delegation, RunningAgent, Tool, ToolContext, Update, model::Scripted,
    proto::a2a::TaskState,
};
use serde_json::{Value, json};
use tokio::sync::{Semaphore, mpsc};

use crate::{
    harness::{calls, hub, says, script, soon, url, user},
    journals::Kept,
};

/// A tool that tells of its calls and then waits to be let go on.
pub(crate) fn waiting(told: mpsc::Sender<String>, go_on: Arc<Semaphore>) -> Tool {
    let schema = json!({"type": "object"});
    Tool::new(
        "wait",
        "Waits",
        schema,
        move |context: ToolContext, _: Value| {
            let (told, go_on) = (told.clone(), Arc::clone(&go_on));
            async move {
                told.send(context.idempotency_key()).await?;
                go_on.acquire().await?.forget();
                Ok("waited")
            }
        },
    )
}

/// spec: AGT-3.2, AGT-3.3
#[tokio::test]
async fn a_run_that_goes_on_later_asks_and_shows_nothing_twice() {
    let hub = hub().await;
    let journal = Kept::empty();
    let model = script([calls([("wait", json!({}))]), says("done")]);
    let (told, mut tells) = mpsc::channel(4);
    let go_on = Arc::new(Semaphore::new(0));
    let start = async |model: &Scripted| -> RunningAgent {
        let agent = Agent::worker(Card::new("a", ""))
            .instance_id("a-1")
            .drain_timeout(Duration::from_millis(50))
            .journal(journal.clone())
            .model(model.clone())
            .tool(waiting(told.clone(), go_on.clone()));
        agent.start(url(&hub)).await.expect("it starts")
    };
    let first = start(&model).await;
    let client = user(&hub).await;
    let pending = client.delegate(Delegation::to("a").text("go")).await;
    let mut pending = pending.expect("it is taken");
    let mut updates = pending.updates();
    let key = soon(tells.recv()).await.expect("the tool is called");
    first.stop().await;

    let _second = start(&model).await;
    let again = soon(tells.recv()).await.expect("the tool is called again");
    assert_eq!(key, again, "as the same call");
    go_on.add_permits(1);
    let mut lines = Vec::new();
    while let Some(update) = soon(updates.next()).await {
        if let Update::Status(update) = update
            && let Some(status) = update.status.filter(|s| s.state() == TaskState::Working)
        {
            lines.push(status.text());
        }
    }
    lines.retain(|line| !line.is_empty());
    assert_eq!(
        lines,
        ["Invoking tool: wait", "Tool wait completed successfully"]
    );
    assert_eq!(
        soon(pending.outcome()).await.expect("an outcome").text,
        "done"
    );
    assert_eq!(
        model.requests().len(),
        2,
        "what was answered is not asked again"
    );
}
