//! An agent whose tools come from a server.

use std::{sync::Arc, time::Duration};

use agenthub_broker::{Server, Settings};
use agenthub_mcp::client::Connection;
use agenthub_sdk::{
    Agent, Card, Client, Delegation, Update,
    model::{Completion, PromptPart, Request, Scripted, ToolCall},
    runs::{
        Journal, StepId, StepKey,
        journal::{Filter, MemoryJournal},
    },
};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{LIMIT, SERVER, noted, settings, until};

async fn hub() -> (Server, String) {
    let address = ([127, 0, 0, 1], 0).into();
    let routes = tonic::service::Routes::default();
    let server = Server::start(Settings::default(), address, routes).await;
    let server = server.expect("the address is free");
    let url = format!("http://{}", server.address());
    (server, url)
}

/// A model that calls these tools, one after the other, and then says that it is done.
fn calling<const N: usize>(calls: [(&'static str, Value); N]) -> Scripted {
    let calls = calls.map(|(name, arguments)| {
        Ok(Completion {
            tool_calls: vec![ToolCall {
                id: format!("call_{name}"),
                name: name.to_owned(),
                arguments,
            }],
            ..Completion::default()
        })
    });
    let done = Ok(Completion {
        text: "done".to_owned(),
        ..Completion::default()
    });
    Scripted::answers(calls.into_iter().chain([done]))
}

/// The result of its last call, as the model was told it.
fn told(request: &Request) -> Value {
    let parts = request.messages.iter().flat_map(|message| &message.parts);
    let mut results = parts.filter_map(|part| match part {
        PromptPart::ToolResult { value, .. } => Some(value.clone()),
        _ => None,
    });
    results.next_back().unwrap_or_default()
}

/// spec: SOP-1.4, AGT-11.3
#[tokio::test]
async fn its_model_calls_them_like_any_tool() {
    let (_hub, url) = hub().await;
    let connection = Connection::new(settings(&[SERVER]));
    let offer = connection.tools().await.expect("it lists them");
    let model = calling([
        ("test_echo", json!({"text": "hello"})),
        ("test_echo", json!({"words": "hello"})),
        ("test_fail", json!({})),
        ("test_huge", json!({})),
    ]);
    let agent = Agent::worker(Card::new("helper", "Helps"))
        .model(model.clone())
        .tools(offer.tools.iter().map(|tool| tool.tool()));
    let _agent = agent.start(url.as_str()).await.expect("it starts");
    let user = Client::builder(url)
        .agent_id("user")
        .connect()
        .await
        .expect("the hub is there");
    let pending = user
        .delegate(Delegation::to("helper").text("go"))
        .await
        .expect("it is asked");
    let outcome = timeout(LIMIT, pending.outcome())
        .await
        .expect("in time")
        .expect("it answers");
    assert_eq!(outcome.text, "done");
    let requests = model.requests();
    assert!(
        requests[0]
            .tools
            .iter()
            .any(|t| t.name == "test_echo" && t.description == "Says it again")
    );
    assert_eq!(told(&requests[1]), json!("hello"));
    let unfit = told(&requests[2]).to_string();
    assert!(unfit.contains("do not fit the tool's schema"), "{unfit}");
    assert_eq!(told(&requests[3]), json!({"error": "there is no disk"}));
    let huge = told(&requests[4]).to_string();
    assert!(
        huge.len() < 70_000 && huge.contains("bytes left out"),
        "{}",
        huge.len()
    );
    connection.close().await;
}

/// Those who watch the task see how far a tool is; who cancels it ends the tool's work at its server.
#[tokio::test]
async fn its_progress_is_shown_and_cancelling_the_task_calls_it_off() {
    let (_hub, url) = hub().await;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().to_str().expect("a plain path");
    let connection = Connection::new(settings(&[SERVER, "--notes", path]));
    let offer = connection.tools().await.expect("it lists them");
    let agent = Agent::worker(Card::new("helper", "Helps"))
        .model(calling([("test_slow", json!({}))]))
        .tools(offer.tools.iter().map(|tool| tool.tool()));
    let _agent = agent.start(url.as_str()).await.expect("it starts");
    let user = Client::builder(url)
        .agent_id("user")
        .connect()
        .await
        .expect("the hub is there");
    let mut pending = user
        .delegate(Delegation::to("helper").text("go"))
        .await
        .expect("it is asked");
    let mut updates = pending.updates();
    let shown = async {
        while let Some(update) = updates.next().await {
            let Update::Status(update) = update else {
                continue;
            };
            let text = update
                .status
                .map(|status| status.text())
                .unwrap_or_default();
            if text.starts_with("at work (") {
                return;
            }
        }
        panic!("no progress was shown");
    };
    timeout(LIMIT, shown).await.expect("it is shown in time");
    pending.cancel("enough").await.expect("it is cancelled");
    until("it is called off", || {
        noted(folder.path(), "cancelled").is_some()
    })
    .await;
    connection.close().await;
}

/// A server can tell a call that is made again after a crash from a second one.
#[tokio::test]
async fn its_server_gets_the_key_of_the_call() {
    let (_hub, url) = hub().await;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().to_str().expect("a plain path");
    let connection = Connection::new(settings(&[SERVER, "--notes", path]));
    let offer = connection.tools().await.expect("it lists them");
    let journal = Arc::new(MemoryJournal::default());
    let agent = Agent::worker(Card::new("helper", "Helps"))
        .model(calling([("test_echo", json!({"text": "hello"}))]))
        .journal(journal.clone())
        .tools(offer.tools.iter().map(|tool| tool.tool()));
    let _agent = agent.start(url.as_str()).await.expect("it starts");
    let user = Client::builder(url).agent_id("user").connect().await;
    let user = user.expect("the hub is there");
    let asked = user.ask("helper", "go");
    let outcome = timeout(LIMIT, asked).await.expect("in time");
    assert_eq!(outcome.expect("it answers").text, "done");
    let runs = journal.list(&Filter::default()).await.expect("it works");
    let key = StepKey {
        run: runs[0].run.clone(),
        step: StepId::new("turn-1/call-1"),
        attempt: 1,
    };
    let key = key.message_id().to_string();
    assert_eq!(noted(folder.path(), "key"), Some(key));
    connection.close().await;
}

/// Of a call that was cut off the model is told that it may have happened all the same.
#[tokio::test]
async fn a_model_is_told_that_what_was_cut_off_may_have_happened() {
    let (_hub, url) = hub().await;
    let mut settings = settings(&[SERVER]);
    settings.timeout = Duration::from_secs(3);
    let connection = Connection::new(settings);
    let offer = connection.tools().await.expect("it lists them");
    let model = calling([("test_slow", json!({}))]);
    let agent = Agent::worker(Card::new("helper", "Helps"))
        .model(model.clone())
        .tools(offer.tools.iter().map(|tool| tool.tool()));
    let _agent = agent.start(url.as_str()).await.expect("it starts");
    let user = Client::builder(url).agent_id("user").connect().await;
    let user = user.expect("the hub is there");
    let asked = user.ask("helper", "go");
    let outcome = timeout(LIMIT, asked).await.expect("in time");
    assert_eq!(outcome.expect("it answers").text, "done");
    let told = told(&model.requests()[1]).to_string();
    assert!(
        told.contains("what was asked for may have been done or not"),
        "{told}"
    );
    connection.close().await;
}
