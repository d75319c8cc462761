//! A hub with the specialists, and tasks that are watched.

use std::{net::Ipv4Addr, sync::Arc};

use agenthub_agents::{qa, strategy, writer};
use agenthub_broker::{Server, Settings};
use agenthub_sdk::{
    Client, Delegation, Outcome, RunningAgent, Update,
    model::{Completion, LanguageModel, ModelError, Offline, Output, Request},
    proto::{
        a2a::{Artifact, TaskState},
        json,
    },
};
use serde_json::Value;

pub(crate) struct World {
    _hub: Server,
    _agents: Vec<RunningAgent>,
    pub(crate) client: Client,
}

pub(crate) async fn world(model: Arc<dyn LanguageModel>) -> World {
    let routes = tonic::service::Routes::default();
    let address = (Ipv4Addr::LOCALHOST, 0).into();
    let hub = Server::start(Settings::default(), address, routes).await;
    let hub = hub.expect("a free port");
    let url = format!("http://{}", hub.address());
    let mut agents = Vec::new();
    for agent in [
        strategy::agent(model.clone()),
        writer::agent(model.clone()),
        qa::agent(model),
    ] {
        agents.push(agent.start(&*url).await.expect("the hub runs"));
    }
    let client = Client::builder(url).agent_id("ann").connect().await;
    World {
        _hub: hub,
        _agents: agents,
        client: client.expect("the hub runs"),
    }
}

pub(crate) async fn offline() -> World {
    world(Arc::new(Offline)).await
}

/// A task as its requester sees it.
pub(crate) struct Watched {
    pub(crate) outcome: Outcome,
    /// The tools that were called and what they gave, as statuses tell.
    pub(crate) tools: Vec<Value>,
    /// What was shown of the answer while it grew.
    pub(crate) grown: String,
}

impl Watched {
    pub(crate) fn output(&self) -> Value {
        assert_eq!(
            self.outcome.state,
            TaskState::Completed,
            "{}",
            self.outcome.error
        );
        let message = self.outcome.message.as_ref().expect("a message");
        message.data().next().expect("data")
    }
}

impl World {
    pub(crate) async fn ask(&self, agent: &str, skill: &str, payload: Value) -> Watched {
        let delegation = Delegation::to(agent)
            .capability(skill)
            .text("Fill the garden");
        self.delegate(delegation.payload(payload)).await
    }

    pub(crate) async fn delegate(&self, delegation: Delegation) -> Watched {
        let mut pending = self
            .client
            .delegate(delegation)
            .await
            .expect("the hub takes it");
        let mut updates = pending.updates();
        let (mut tools, mut artifacts) = (Vec::new(), Vec::new());
        while let Some(update) = updates.next().await {
            match update {
                Update::Status(status) => {
                    let metadata = status.metadata.as_ref().map(json::from_struct);
                    tools.extend(metadata.and_then(|m| m.get("tool").cloned()));
                }
                Update::Artifact(update) => {
                    agenthub_sdk::internal::assemble(&mut artifacts, &update)
                }
                _ => {}
            }
        }
        Watched {
            outcome: pending.outcome().await.expect("an outcome"),
            tools,
            grown: artifacts.iter().map(Artifact::text).collect(),
        }
    }
}

pub(crate) fn says(text: &Value) -> Result<Completion, ModelError> {
    Ok(Completion {
        text: text.to_string(),
        ..Completion::default()
    })
}

/// A request as a snapshot shows it: who says what.
pub(crate) fn shown(request: &Request) -> String {
    let output = match &request.output {
        Output::Text => "text".to_owned(),
        Output::Json { name, .. } => format!("JSON, {name}"),
    };
    let messages = request.messages.iter();
    let messages = messages.map(|m| format!("## {:?}\n\n{}", m.role, m.rendered()));
    let tools: Vec<&str> = request.tools.iter().map(|tool| &*tool.name).collect();
    format!(
        "answer: {output}; tools: {}\n\n{}",
        tools.join(", "),
        messages.collect::<Vec<_>>().join("\n\n")
    )
}
