//! Runs whose watchers cannot be reached.

use std::sync::Arc;

use agenthub_sdk::{
    Agent, Delegation, Tool, ToolContext,
    model::{Completion, DeltaSink, LanguageModel, ModelError, Request, ToolCall},
    runs::{
        Journal, RunEvent,
        journal::{Filter, MemoryJournal},
    },
};
use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::harness::{Hub, Line, card, eventually, soon};

/// A model that calls a tool and then answers, and shows much of both.
#[derive(Debug)]
struct Talking {
    asked: Arc<Semaphore>,
    go_on: Arc<Semaphore>,
}

#[async_trait]
impl LanguageModel for Talking {
    fn name(&self) -> &str {
        "talking"
    }

    async fn complete(
        &self,
        request: Request,
        deltas: DeltaSink,
    ) -> Result<Completion, ModelError> {
        self.asked.add_permits(1);
        self.go_on.acquire().await.expect("it is open").forget();
        // More than may wait for a hub that is away.
        for _ in 0..2_000 {
            deltas.push(&"x".repeat(1024));
            tokio::task::yield_now().await;
        }
        let is_first = request.messages.len() == 1;
        let call = ToolCall {
            id: "1".to_owned(),
            name: "look".to_owned(),
            arguments: json!({}),
        };
        Ok(Completion {
            text: "done".to_owned(),
            tool_calls: is_first.then_some(call).into_iter().collect(),
            ..Completion::default()
        })
    }
}

/// The journal does not wait for a display: a run goes on up to its end while nobody can be shown anything.
#[tokio::test]
async fn a_run_goes_on_while_nobody_can_be_shown_it() {
    let hub = Hub::start().await;
    let line = Line::to(hub.address()).await;
    let (asked, go_on) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let journal = Arc::new(MemoryJournal::default());
    let model = Talking {
        asked: asked.clone(),
        go_on: go_on.clone(),
    };
    let look = Tool::new("look", "Looks", json!({"type": "object"}), {
        |_: ToolContext, _: Value| async { Ok("seen") }
    });
    let _agent = Agent::worker(card("a"))
        .model(model)
        .tool(look)
        .journal(journal.clone())
        .start(line.url())
        .await
        .expect("it starts");
    let client = hub.client().await;
    let pending = client.delegate(Delegation::to("a").text("go")).await;
    let pending = pending.expect("it is taken");
    soon(asked.acquire()).await.expect("it is asked").forget();
    line.cut().await;
    go_on.add_permits(2);
    eventually("the run comes to its end", || async {
        let runs = journal.list(&Filter::default()).await.expect("it works");
        let entries = journal.read(&runs[0].run, 0, 100).await;
        let entries = entries.expect("it is there");
        let last = entries.last().map(|e| &e.event);
        matches!(last, Some(RunEvent::Stopping { .. }))
    })
    .await;
    line.mend();
    let outcome = soon(pending.outcome()).await.expect("an outcome");
    assert_eq!(outcome.text, "done");
}
