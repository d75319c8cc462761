//! A hub, models that do as they are told, and tasks that are watched.

use std::time::Duration;

use agenthub_broker::{Server, Settings};
use agenthub_sdk::{
    Client, Delegation, Error, Failure, Outcome, Tool, ToolContext, Update,
    internal::assemble,
    model::{self, Completion, PromptMessage, PromptPart, PromptRole, Request, Scripted},
    proto::{
        a2a::{Artifact, TaskState},
        agenthub::TaskStatusUpdateEvent,
        json,
    },
    schemars,
};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

pub(crate) use agenthub_sdk::testing::{calls, says};

/// Nothing here takes that long unless it is broken.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) async fn hub() -> Server {
    hub_with(Settings::default()).await
}

pub(crate) async fn hub_with(settings: Settings) -> Server {
    let server = Server::start(
        settings,
        ([127, 0, 0, 1], 0).into(),
        tonic::service::Routes::default(),
    );
    server.await.expect("the address is free")
}

pub(crate) fn url(hub: &Server) -> String {
    format!("http://{}", hub.address())
}

pub(crate) async fn user(hub: &Server) -> Client {
    let client = Client::builder(url(hub)).agent_id("user").connect().await;
    client.expect("the hub is there")
}

/// Waits for something that must come.
pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    timeout(PATIENCE, future).await.expect("it came in time")
}

/// Waits until the condition holds.
pub(crate) async fn eventually<F: Future<Output = bool>>(what: &str, mut holds: impl FnMut() -> F) {
    let waiting = async {
        while !holds().await {
            sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(timeout(PATIENCE, waiting).await.is_ok(), "never: {what}");
}

/// A task as its requester saw it.
#[derive(Debug)]
pub(crate) struct Watched {
    pub(crate) outcome: Outcome,
    pub(crate) statuses: Vec<TaskStatusUpdateEvent>,
    /// What was shown of the answer while it grew, and in how many pieces.
    pub(crate) grown: String,
    pub(crate) pieces: usize,
}

impl Watched {
    /// The words of the updates while it was at work.
    pub(crate) fn lines(&self) -> Vec<String> {
        let statuses = self.statuses.iter().filter_map(|s| s.status.as_ref());
        let working = statuses.filter(|s| s.state() == TaskState::Working);
        let texts = working.map(|s| s.text());
        texts.filter(|text| !text.is_empty()).collect()
    }

    /// The metadata `tool` of the updates.
    pub(crate) fn tools(&self) -> Vec<Value> {
        let metadata = self.statuses.iter().filter_map(|s| s.metadata.as_ref());
        let metadata = metadata.map(json::from_struct);
        metadata.filter_map(|m| m.get("tool").cloned()).collect()
    }
}

pub(crate) async fn delegate(client: &Client, delegation: Delegation) -> Result<Watched, Error> {
    let mut pending = client.delegate(delegation).await?;
    let mut updates = pending.updates();
    let mut watched = (Vec::new(), Vec::<Artifact>::new(), 0);
    while let Some(update) = soon(updates.next()).await {
        match update {
            Update::Status(update) => watched.0.push(update),
            Update::Artifact(update) => {
                watched.2 += 1;
                assemble(&mut watched.1, &update);
            }
            _ => {}
        }
    }
    let outcome = soon(pending.outcome()).await?;
    Ok(Watched {
        outcome,
        statuses: watched.0,
        grown: watched.1.iter().map(Artifact::text).collect(),
        pieces: watched.2,
    })
}

pub(crate) async fn ask(client: &Client, agent: &str, text: &str) -> Watched {
    let asked = delegate(client, Delegation::to(agent).text(text)).await;
    asked.expect("there is an outcome")
}

/// A model that gives these answers, one for each turn.
pub(crate) fn script(
    answers: impl IntoIterator<Item = Result<Completion, model::ModelError>>,
) -> Scripted {
    Scripted::answers(answers)
}

/// What the model was told of its calls before it was asked this.
pub(crate) fn results(request: &Request) -> Vec<Value> {
    let told = request
        .messages
        .iter()
        .filter(|m| m.role == PromptRole::Tool);
    let parts = told.flat_map(|m: &PromptMessage| &m.parts);
    parts
        .filter_map(|part| match part {
            PromptPart::ToolResult { value, .. } => Some(value.clone()),
            _ => None,
        })
        .collect()
}

/// The names of the tools that the model was offered.
pub(crate) fn offered(request: &Request) -> Vec<&str> {
    request.tools.iter().map(|t| &*t.name).collect()
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
pub(crate) struct Numbers {
    /// What to add up.
    numbers: Vec<i64>,
}

pub(crate) fn sum() -> Tool {
    Tool::typed(
        "sum",
        "Adds numbers up",
        async |_: ToolContext, input: Numbers| Ok(input.numbers.iter().sum::<i64>()),
    )
}

/// A tool without input that fails with these words.
pub(crate) fn failing(name: &str, error: &'static str) -> Tool {
    let schema = json!({"type": "object"});
    Tool::new(name, "Fails", schema, move |_, _| async move {
        Err::<(), _>(Failure::failed(error))
    })
}
