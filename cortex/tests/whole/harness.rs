//! A hub, Cortex on a model that the test makes, agents and users, all in this process over real sockets.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use agenthub_broker::Server;
use agenthub_cortex::{CHAT_REQUEST, CORTEX, Cortex, Handle, Running, Settings};
use agenthub_sdk::{
    Agent, AgentBuilder, Card, Client, Delegation, Failure, Outcome, Pending, RunningAgent, Skill,
    TaskContext,
    hub::EventStream,
    model::{Completion, DeltaSink, LanguageModel, ModelError, Request},
    proto::{
        a2a::{Message, Role},
        agenthub::{AgentEventMetadata, SubscribeToAgentEventsRequest, agent_event::Payload},
        cortex::{ChatRequest, Frame},
    },
};
use serde_json::{Value, json};
use tokio::{sync::mpsc, time::timeout};
use tokio_stream::StreamExt;

/// Nothing in these tests takes this long.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) async fn hub_on(address: SocketAddr) -> Server {
    hub_with(agenthub_broker::Settings::default(), address).await
}

async fn hub_with(settings: agenthub_broker::Settings, address: SocketAddr) -> Server {
    let routes = tonic::service::Routes::default();
    Server::start(settings, address, routes)
        .await
        .expect("the address is free")
}

pub(crate) async fn hub() -> Server {
    hub_on((Ipv4Addr::LOCALHOST, 0).into()).await
}

pub(crate) fn url(hub: &Server) -> String {
    format!("http://{}", hub.address())
}

/// A hub with Cortex.
pub(crate) struct World {
    pub(crate) hub: Server,
    pub(crate) cortex: Running,
}

impl World {
    pub(crate) async fn new(model: impl LanguageModel + 'static) -> Self {
        Self::with(model, |_| {}).await
    }

    pub(crate) async fn with(
        model: impl LanguageModel + 'static,
        change: impl FnOnce(&mut Settings),
    ) -> Self {
        let hub = hub().await;
        let cortex = cortex(&hub, model, change).await;
        Self { hub, cortex }
    }

    /// One whose agents may be away for a moment only.
    pub(crate) async fn impatient(model: impl LanguageModel + 'static) -> Self {
        let settings = agenthub_broker::Settings {
            away_grace: Duration::from_millis(50),
            ..Default::default()
        };
        let hub = hub_with(settings, (Ipv4Addr::LOCALHOST, 0).into()).await;
        let cortex = cortex(&hub, model, |_| {}).await;
        Self { hub, cortex }
    }

    /// Starts an agent and waits until Cortex knows it.
    pub(crate) async fn agent(&self, agent: AgentBuilder) -> RunningAgent {
        let name = agent.card().name.clone();
        let agent = agent.start(url(&self.hub)).await.expect("the hub runs");
        knows(&self.cortex, &name).await;
        agent
    }

    pub(crate) async fn user(&self, name: &str) -> User {
        User::new(&self.hub, name).await
    }

    pub(crate) async fn end(self) {
        within(self.cortex.stop()).await;
        within(self.hub.shutdown()).await;
    }
}

pub(crate) async fn cortex(
    hub: &Server,
    model: impl LanguageModel + 'static,
    change: impl FnOnce(&mut Settings),
) -> Running {
    let mut settings = Settings::new(url(hub), Arc::new(model));
    settings.drain = Duration::from_millis(50);
    change(&mut settings);
    Cortex::start(settings).await.expect("the hub runs")
}

/// Waits until Cortex knows that the agent is here.
pub(crate) async fn knows(cortex: &Running, agent: &str) {
    knows_that(cortex, agent, true).await;
}

/// Waits until Cortex knows that the agent is away.
pub(crate) async fn is_away(cortex: &Running, agent: &str) {
    knows_that(cortex, agent, false).await;
}

async fn knows_that(cortex: &Running, agent: &str, online: bool) {
    let directory = cortex.client().directory();
    let mut changed = directory.changed();
    within(async {
        while directory
            .get(agent)
            .is_none_or(|entry| entry.online != online)
        {
            changed.changed().await.expect("Cortex runs");
        }
    })
    .await;
}

pub(crate) async fn within<T>(what: impl Future<Output = T>) -> T {
    timeout(PATIENCE, what).await.expect("it ends in time")
}

/// Somebody who talks with Cortex.
pub(crate) struct User {
    pub(crate) client: Client,
}

impl User {
    pub(crate) async fn new(hub: &Server, name: &str) -> Self {
        let client = Client::builder(url(hub)).agent_id(name).connect().await;
        Self {
            client: client.expect("the hub runs"),
        }
    }

    pub(crate) async fn send(&self, context_id: &str, text: &str) -> Pending {
        let delegation = Delegation::to(CORTEX)
            .capability(CHAT_REQUEST)
            .context_id(context_id)
            .text(text);
        let sent = self.client.delegate(delegation).await;
        sent.expect("the hub takes it")
    }

    pub(crate) async fn ask(&self, context_id: &str, text: &str) -> Outcome {
        let pending = self.send(context_id, text).await;
        within(pending.outcome()).await.expect("an outcome")
    }

    /// What Cortex answers, or why it does not.
    pub(crate) async fn answer(&self, context_id: &str, text: &str) -> String {
        said(&self.ask(context_id, text).await)
    }

    /// The messages that come for this user.
    pub(crate) async fn messages(&self) -> Messages {
        let request = SubscribeToAgentEventsRequest {
            agent_id: self.client.agent_id().to_owned(),
            event_types: vec!["message".to_owned()],
            ..Default::default()
        };
        let events = self.client.agent_events(request).await;
        Messages(events.expect("the hub runs"))
    }

    /// Publishes a message without a task.
    pub(crate) async fn publish(&self, to: &str, message: Message) {
        let routing = AgentEventMetadata {
            to_agent_id: to.to_owned(),
            ..Default::default()
        };
        let published = self.client.publish(message, routing).await;
        published.expect("the hub takes it");
    }
}

pub(crate) struct Messages(EventStream);

impl Messages {
    /// The next message from this sender.
    pub(crate) async fn from(&mut self, sender: &str) -> Message {
        within(async {
            loop {
                let event = self.0.next().await.expect("the hub runs").expect("events");
                let is_from = event.sender() == sender;
                if let (true, Some(Payload::Message(message))) = (is_from, event.payload) {
                    return message;
                }
            }
        })
        .await
    }
}

/// The frames of a turn whose caller watches it to its end.
pub(crate) async fn called(cortex: &Handle, text: &str) -> Vec<Frame> {
    let request = ChatRequest {
        text: text.to_owned(),
        context_id: "c".to_owned(),
    };
    let frames = cortex.chat(tonic::Request::new(request));
    let frames: Result<_, _> = within(frames.expect("it is taken").collect()).await;
    frames.expect("it is not broken off")
}

/// The words of the message that an outcome came with.
pub(crate) fn said(outcome: &Outcome) -> String {
    let message = outcome.message.as_ref();
    message.map(Message::text).unwrap_or_default()
}

pub(crate) fn message(context_id: &str, role: Role, text: &str) -> Message {
    Message {
        context_id: context_id.to_owned(),
        ..Message::new(role, text)
    }
}

/// An agent with one skill, `work`.
pub(crate) fn worker<F>(
    name: &str,
    work: impl Fn(TaskContext) -> F + Send + Sync + 'static,
) -> AgentBuilder
where
    F: Future<Output = Result<String, Failure>> + Send + 'static,
{
    let skill = Skill::new("work", "Work", "Does what it is told");
    Agent::worker(Card::new(name, "A worker").skill(skill))
        .on_task_type("work", work)
        .drain_timeout(Duration::from_millis(50))
}

/// A worker that works until it is cancelled, and tells both.
pub(crate) fn cancelled(name: &str, tell: mpsc::Sender<&'static str>) -> AgentBuilder {
    worker(name, move |task| {
        let tell = tell.clone();
        async move {
            tell.send("at work").await?;
            task.cancelled().await;
            tell.send("cancelled").await?;
            Err(Failure::cancelled("told to stop"))
        }
    })
}

/// A model that answers what the function makes of the request, however long that takes.
pub(crate) struct Thinking<F>(pub(crate) F);

impl<F> std::fmt::Debug for Thinking<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Thinking")
    }
}

#[tonic::async_trait]
impl<F, A> LanguageModel for Thinking<F>
where
    F: Fn(Request) -> A + Send + Sync,
    A: Future<Output = String> + Send,
{
    fn name(&self) -> &str {
        "thinking"
    }

    async fn complete(
        &self,
        request: Request,
        deltas: DeltaSink,
    ) -> Result<Completion, ModelError> {
        let text = (self.0)(request).await;
        deltas.push(&text);
        Ok(Completion {
            text,
            ..Completion::default()
        })
    }
}

/// The decision to answer this.
pub(crate) fn respond(text: &str) -> String {
    json!({"actions": [{"type": "chat.response", "text": text}]}).to_string()
}

/// The decision to have these agents work.
pub(crate) fn delegate(agents: &[&str]) -> String {
    let tasks = agents.iter().map(
        |agent| json!({"type": "task.request", "targetAgent": agent, "taskType": "work", "payload": {"for": agent}}),
    );
    json!({"actions": tasks.collect::<Vec<_>>()}).to_string()
}

pub(crate) fn words(request: &Request) -> String {
    request.last_user_text().unwrap_or_default()
}

/// What came back, as the model sees it: the text, or the error.
pub(crate) fn results(request: &Request) -> Option<String> {
    let results = request.data("results")?.as_array()?;
    let line = |result: &Value| {
        let text = result["error"].as_str().or(result["text"].as_str());
        text.unwrap_or_default().to_owned()
    };
    Some(results.iter().map(line).collect::<Vec<_>>().join(" + "))
}

/// A model that has the agents work that the words name, and answers with what comes back.
pub(crate) fn delegating(request: &Request) -> Result<String, ModelError> {
    if let Some(results) = results(request) {
        return Ok(respond(&results));
    }
    let words = words(request);
    let agents: Vec<&str> = words
        .split(' ')
        .filter(|w| w.starts_with("agent_"))
        .collect();
    Ok(match agents.is_empty() {
        true => respond(&format!("you said: {words}")),
        false => delegate(&agents),
    })
}

/// The ids in the request's agents block.
pub(crate) fn agents_shown(request: &Request) -> Vec<String> {
    let agents = request.data("agents").and_then(Value::as_array);
    let ids = agents
        .into_iter()
        .flatten()
        .filter_map(|a| a["id"].as_str());
    ids.map(str::to_owned).collect()
}
