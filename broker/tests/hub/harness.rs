//! A hub on a free port, its clients, and short descriptions of their responses.

use std::{future::Future, time::Duration};

use agenthub_broker::{Server, Settings};
use agenthub_proto::{
    a2a::{AgentCard, AgentSkill, Artifact, Message, Part, Role, Task, TaskState, TaskStatus},
    agenthub::{
        AgentEvent, AgentEventMetadata, GetTaskRequest, PublishMessageRequest, PublishResponse,
        PublishTaskArtifactRequest, PublishTaskUpdateRequest, RegisterAgentRequest,
        SubscribeToAgentEventsRequest, SubscribeToMessagesRequest, SubscribeToTasksRequest,
        TaskArtifactUpdateEvent, TaskStatusUpdateEvent, agent_event::Payload,
        agent_hub_client::AgentHubClient,
    },
};
use tokio::time::{Instant, timeout};
use tonic::{Request, Status, Streaming, service::Routes, transport::Channel};

pub(crate) type Client = AgentHubClient<Channel>;

/// Time limit of any operation in a test.
pub(crate) const DEADLINE: Duration = Duration::from_secs(10);

/// A serving hub, and a client.
pub(crate) struct TestHub {
    pub(crate) server: Server,
    pub(crate) client: Client,
}

impl TestHub {
    pub(crate) async fn start() -> Self {
        Self::with(Settings::default()).await
    }

    pub(crate) async fn with(settings: Settings) -> Self {
        let address = "127.0.0.1:0".parse().expect("an address");
        let server = Server::start(settings, address, Routes::default())
            .await
            .expect("a free port");
        let client = Client::new(channel(&server).await);
        Self { server, client }
    }

    /// A client on its own connection.
    pub(crate) async fn another_client(&self) -> Client {
        Client::new(channel(&self.server).await)
    }

    pub(crate) async fn register(&self, card: AgentCard, topics: &[&str]) {
        let request = RegisterAgentRequest {
            agent_card: Some(card),
            subscriptions: topics.iter().map(ToString::to_string).collect(),
            ..Default::default()
        };
        let answer = self.client.clone().register_agent(request).await;
        let answer = answer.expect("an answer").into_inner();
        assert!(answer.success, "{}", answer.error);
    }

    pub(crate) async fn try_publish(
        &self,
        message: Message,
        routing: AgentEventMetadata,
    ) -> Result<PublishResponse, Status> {
        let request = PublishMessageRequest {
            message: Some(message),
            routing: Some(routing),
            ..Default::default()
        };
        let answer = within(self.client.clone().publish_message(request)).await;
        answer.map(tonic::Response::into_inner)
    }

    pub(crate) async fn publish(&self, message: Message, routing: AgentEventMetadata) -> String {
        let answer = self.try_publish(message, routing).await.expect("accepted");
        assert!(answer.success, "{}", answer.error);
        answer.event_id
    }

    pub(crate) async fn try_report(
        &self,
        from: &str,
        task: &str,
        state: TaskState,
    ) -> Result<(), Status> {
        let request = PublishTaskUpdateRequest {
            update: Some(status(task, state)),
            routing: Some(routing(from, "")),
        };
        let answer = within(self.client.clone().publish_task_update(request)).await;
        answer.map(|a| assert!(a.into_inner().success))
    }

    pub(crate) async fn report(&self, from: &str, task: &str, state: TaskState) {
        self.try_report(from, task, state).await.expect("accepted");
    }

    pub(crate) async fn try_artifact(&self, from: &str, task: &str) -> Result<(), Status> {
        let request = PublishTaskArtifactRequest {
            artifact: Some(artifact(task, "result")),
            routing: Some(routing(from, "")),
        };
        let answer = within(self.client.clone().publish_task_artifact(request)).await;
        answer.map(|a| assert!(a.into_inner().success))
    }

    pub(crate) async fn task(&self, id: &str) -> Task {
        let request = GetTaskRequest {
            task_id: id.to_owned(),
            history_length: 0,
        };
        let answer = within(self.client.clone().get_task(request)).await;
        answer.expect("the task is known").into_inner()
    }

    /// Waits until the task has this state.
    pub(crate) async fn until_state(&self, id: &str, state: TaskState) -> Task {
        until(&format!("task {id} is {state:?}"), async || {
            let task = self.task(id).await;
            (task.state() == state).then_some(task)
        })
        .await
    }

    pub(crate) async fn messages(&self, agent: &str) -> Events {
        self.messages_with(SubscribeToMessagesRequest {
            agent_id: agent.to_owned(),
            ..Default::default()
        })
        .await
    }

    pub(crate) async fn messages_with(&self, request: SubscribeToMessagesRequest) -> Events {
        let answer = within(self.client.clone().subscribe_to_messages(request)).await;
        Events(answer.expect("subscribed").into_inner())
    }

    pub(crate) async fn tasks(&self, agent: &str) -> Events {
        self.tasks_with(SubscribeToTasksRequest {
            agent_id: agent.to_owned(),
            ..Default::default()
        })
        .await
    }

    pub(crate) async fn tasks_with(&self, request: SubscribeToTasksRequest) -> Events {
        let answer = within(self.client.clone().subscribe_to_tasks(request)).await;
        Events(answer.expect("subscribed").into_inner())
    }

    pub(crate) async fn agent_events(&self, agent: &str, types: &[&str]) -> Events {
        let request = SubscribeToAgentEventsRequest {
            agent_id: agent.to_owned(),
            event_types: types.iter().map(ToString::to_string).collect(),
            ..Default::default()
        };
        self.agent_events_with(request).await
    }

    pub(crate) async fn agent_events_with(&self, request: SubscribeToAgentEventsRequest) -> Events {
        let answer = within(self.client.clone().subscribe_to_agent_events(request)).await;
        Events(answer.expect("subscribed").into_inner())
    }

    /// Sends a marker for its agent to every message subscription, and reads up to it.
    pub(crate) async fn texts_so_far(&self, agent: &str, events: &mut Events) -> Vec<String> {
        self.publish(user("(end)"), routing("marker", agent)).await;
        let mut texts = Vec::new();
        loop {
            match events.text().await {
                text if text == "(end)" => return texts,
                text => texts.push(text),
            }
        }
    }
}

async fn channel(server: &Server) -> Channel {
    let endpoint = Channel::from_shared(format!("http://{}", server.address()));
    let endpoint = endpoint.expect("an address is a URL");
    endpoint.connect().await.expect("the hub listens")
}

/// Events of a server stream.
pub(crate) struct Events(Streaming<AgentEvent>);

impl Events {
    pub(crate) async fn next(&mut self) -> AgentEvent {
        let event = within(self.0.message()).await.expect("the stream goes on");
        event.expect("the stream has not ended")
    }

    /// The text of the next message.
    pub(crate) async fn text(&mut self) -> String {
        match self.next().await.payload {
            Some(Payload::Message(message)) => message.text(),
            other => panic!("not a message: {other:?}"),
        }
    }

    /// The next event in words.
    pub(crate) async fn word(&mut self) -> String {
        word(&self.next().await)
    }

    /// The final status of the stream, after all events.
    pub(crate) async fn end(&mut self) -> Option<Status> {
        loop {
            match within(self.0.message()).await {
                Ok(Some(_)) => {}
                Ok(None) => return None,
                Err(status) => return Some(status),
            }
        }
    }
}

/// An event in words: `message hi`, `status working t1`, `registered echo`.
pub(crate) fn word(event: &AgentEvent) -> String {
    match &event.payload {
        Some(Payload::Message(m)) => format!("message {}", m.text()),
        Some(Payload::Task(t)) => {
            format!("task {} {} {}", t.state().label(), t.id, t.history.len())
        }
        Some(Payload::StatusUpdate(u)) => {
            let state = u.status.as_ref().map_or("none", |s| s.state().label());
            format!("status {state} {}", u.task_id)
        }
        Some(Payload::ArtifactUpdate(u)) => format!("artifact {}", u.task_id),
        Some(Payload::AgentCard(c)) => {
            let online = if c.is_online() { "online" } else { "offline" };
            let snapshot = if c.is_snapshot() { " (snapshot)" } else { "" };
            format!("{} {} {online}{snapshot}", c.event_type, c.agent_id)
        }
        None => "nothing".to_owned(),
    }
}

/// Awaits a future, or fails the test.
pub(crate) async fn within<T>(future: impl Future<Output = T>) -> T {
    timeout(DEADLINE, future)
        .await
        .expect("it did not finish in time")
}

/// Polls until there is an answer.
pub(crate) async fn until<T>(what: &str, mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    let end = Instant::now() + DEADLINE;
    loop {
        if let Some(answer) = ask().await {
            return answer;
        }
        assert!(Instant::now() < end, "never happened: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// A request with a deadline.
pub(crate) fn timed<T>(message: T) -> Request<T> {
    let mut request = Request::new(message);
    request.set_timeout(DEADLINE);
    request
}

pub(crate) fn user(text: &str) -> Message {
    Message::new(Role::User, text)
}

pub(crate) fn in_context(context: &str, text: &str) -> Message {
    Message {
        context_id: context.to_owned(),
        ..user(text)
    }
}

/// A message that creates or extends a task in context `c-<task>`.
pub(crate) fn work(task: &str, text: &str) -> Message {
    Message {
        task_id: task.to_owned(),
        ..in_context(&format!("c-{task}"), text)
    }
}

pub(crate) fn routing(from: &str, to: &str) -> AgentEventMetadata {
    AgentEventMetadata {
        from_agent_id: from.to_owned(),
        to_agent_id: to.to_owned(),
        ..Default::default()
    }
}

pub(crate) fn status(task: &str, state: TaskState) -> TaskStatusUpdateEvent {
    TaskStatusUpdateEvent {
        task_id: task.to_owned(),
        status: Some(TaskStatus {
            state: state.into(),
            ..Default::default()
        }),
        ..Default::default()
    }
}

pub(crate) fn artifact(task: &str, text: &str) -> TaskArtifactUpdateEvent {
    TaskArtifactUpdateEvent {
        task_id: task.to_owned(),
        artifact: Some(Artifact {
            artifact_id: "a".to_owned(),
            parts: vec![Part::text(text)],
            ..Default::default()
        }),
        ..Default::default()
    }
}

/// A card with one skill, named after the agent with the suffix `_skill`.
pub(crate) fn card(name: &str) -> AgentCard {
    AgentCard {
        protocol_version: "0.2.9".to_owned(),
        name: name.to_owned(),
        version: "1.0.0".to_owned(),
        skills: vec![AgentSkill {
            id: format!("{name}_skill"),
            tags: vec!["testing".to_owned()],
            input_modes: vec!["text/plain".to_owned()],
            ..Default::default()
        }],
        ..Default::default()
    }
}
