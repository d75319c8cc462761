//! A hub, the gateway in front of it, and an agent with the behaviours that the tests ask for by the first word of a message.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use agenthub_a2a::{Gateway, Settings, push};
use agenthub_broker::{ExtraServices, Server, Settings as HubSettings};
use agenthub_sdk::{
    Agent, Artifact, ArtifactUpdate, Card, Client, Failure, Part, Reply, RunningAgent, Skill,
    TaskContext, proto::a2a::AgentCard,
};
use axum::{
    Router,
    body::{Body, BodyDataStream, to_bytes},
    http::{HeaderMap, Request},
};
use futures_util::StreamExt;
use serde_json::{Value, json};
use tokio::{sync::Semaphore, time::timeout};
use tonic::service::Routes;
use tower::ServiceExt;

/// Nothing here takes that long unless it is broken.
const PATIENCE: Duration = Duration::from_secs(20);

/// Updates of a task that says `flood`.
pub(crate) const FLOOD: usize = 1_500;

/// Waits for something that must come.
pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    timeout(PATIENCE, future).await.expect("it came in time")
}

pub(crate) struct Stage {
    pub(crate) hub: Server,
    pub(crate) router: Router,
    pub(crate) agent: RunningAgent,
    pub(crate) gateway: Gateway,
}

/// The settings of the gateway, where a test asks for no others.
pub(crate) fn settings() -> Settings {
    Settings {
        default_agent: "painter".into(),
        streaming: true,
        public_url: None,
        public_grpc: None,
        cors: vec!["https://app.example".into()],
        is_tls: false,
        accepted: Default::default(),
        local_only: true,
        push: Some(push::Settings::default()),
        card_key: None,
        extended: None,
        outbound: Default::default(),
    }
}

/// The agent's card.
pub(crate) fn card() -> Card {
    let skill = Skill::new("paint", "Paint", "Paints").tags(["art"]);
    Card::new("painter", "Does what it is told").skill(skill)
}

/// An answer over HTTP.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

/// Opens a gateway in the process of its hub.
pub(crate) async fn open(gateway: &Gateway, hub: &Server) {
    let client = Client::builder(format!("http://{}", hub.address())).in_process(hub.in_process());
    let port = Some(hub.address().port());
    let opened = gateway.open(client, port).await;
    opened.expect("the hub is there");
}

impl Stage {
    pub(crate) async fn start() -> Self {
        Self::with(card()).await
    }

    pub(crate) async fn with(card: impl Into<AgentCard>) -> Self {
        Self::set(card, settings()).await
    }

    pub(crate) async fn set(card: impl Into<AgentCard>, settings: Settings) -> Self {
        let gateway = Gateway::new(settings);
        let others = ExtraServices::from(Routes::new(gateway.service()));
        let address = ([127, 0, 0, 1], 0).into();
        let hub = Server::start(HubSettings::default(), address, others).await;
        let hub = hub.expect("the address is free");
        let url = format!("http://{}", hub.address());
        open(&gateway, &hub).await;
        let agent = Agent::worker(card).on_task_type("paint", work);
        let agent = agent.start(url).await.expect("it starts");
        Self {
            router: gateway.router(),
            hub,
            agent,
            gateway,
        }
    }

    /// Closes the gateway, and has another one at the same hub, with the routes of that.
    pub(crate) async fn restart_gateway(&mut self, settings: Settings) {
        self.gateway.close().await;
        let gateway = Gateway::new(settings);
        open(&gateway, &self.hub).await;
        self.router = gateway.router();
        self.gateway = gateway;
    }

    pub(crate) async fn stop(self) {
        self.agent.stop().await;
        self.gateway.close().await;
        self.hub.shutdown().await;
    }

    /// A request with these headers, and what is answered before the body.
    pub(crate) async fn ask(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Body>,
    ) -> axum::response::Response {
        let mut request = Request::builder().method(method).uri(path);
        if !headers.iter().any(|(name, _)| *name == "host") {
            request = request.header("host", "127.0.0.1:8080");
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(body.into()).expect("a request");
        let answer = soon(self.router.clone().oneshot(request)).await;
        answer.expect("the router always answers")
    }

    pub(crate) async fn http(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Body>,
    ) -> Answer {
        let answer = self.ask(method, path, headers, body).await;
        let (parts, body) = answer.into_parts();
        let body = soon(to_bytes(body, usize::MAX)).await.expect("a body");
        Answer {
            status: parts.status.as_u16(),
            headers: parts.headers,
            body: serde_json::from_slice(&body).unwrap_or(Value::Null),
        }
    }

    /// HTTP+JSON, of 1.0.
    pub(crate) async fn rest(&self, method: &str, path: &str, body: Value) -> Answer {
        let body = match &body {
            Value::Null => String::new(),
            body => body.to_string(),
        };
        let headers = [
            ("content-type", "application/a2a+json"),
            ("a2a-version", "1.0"),
        ];
        self.http(method, path, &headers, body).await
    }

    /// JSON-RPC, of 1.0: the whole answer.
    pub(crate) async fn rpc(&self, method: &str, params: Value) -> Value {
        let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
        let headers = [("content-type", "application/json"), ("a2a-version", "1.0")];
        let answer = self
            .http("POST", "/agents/painter", &headers, body.to_string())
            .await;
        assert_eq!(answer.status, 200);
        assert_eq!(
            (&answer.body["jsonrpc"], &answer.body["id"]),
            (&json!("2.0"), &json!(7))
        );
        answer.body
    }

    /// The result of a method that must have one.
    pub(crate) async fn done(&self, method: &str, params: Value) -> Value {
        let mut answer = self.rpc(method, params).await;
        assert_eq!(answer["error"], Value::Null);
        answer["result"].take()
    }

    /// The code of a method that must fail.
    pub(crate) async fn code(&self, method: &str, params: Value) -> i64 {
        let answer = self.rpc(method, params).await;
        answer["error"]["code"].as_i64().expect("an error")
    }

    /// The events of a method that streams.
    pub(crate) async fn stream(&self, method: &str, params: Value) -> Events {
        let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
        let headers = [("content-type", "application/json"), ("a2a-version", "1.0")];
        let answer = self.ask("POST", "/", &headers, body.to_string()).await;
        assert_eq!(answer.headers()["content-type"], "text/event-stream");
        Events::of(answer)
    }

    /// The task that a text leads to.
    pub(crate) async fn send(&self, text: &str) -> Value {
        let mut sent = self.done("SendMessage", message(text)).await;
        sent["task"].take()
    }

    /// A task that the agent is at work on.
    pub(crate) async fn at_work(&self) -> String {
        let mut params = message("wait");
        params["configuration"] = json!({"returnImmediately": true});
        let sent = self.done("SendMessage", params).await;
        let id = sent["task"]["id"].as_str().expect("an id").to_owned();
        let mut events = self.stream("SubscribeToTask", json!({"id": id})).await;
        let mut shown = events.next().await.expect("the task");
        while state(&shown) != "TASK_STATE_WORKING" {
            shown = events.next().await.expect("it begins");
        }
        id
    }
}

/// Server-sent events.
pub(crate) struct Events {
    body: BodyDataStream,
    read: String,
}

impl Events {
    pub(crate) fn of(answer: axum::response::Response) -> Self {
        Self {
            body: answer.into_body().into_data_stream(),
            read: String::new(),
        }
    }

    /// The data of the next event; of JSON-RPC its result. `None` at the end.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        // Signs of life are no events.
        soon(self.read_next()).await
    }

    async fn read_next(&mut self) -> Option<Value> {
        loop {
            if let Some((event, rest)) = self.read.split_once("\n\n") {
                let data = event.strip_prefix("data: ").map(str::to_owned);
                self.read = rest.to_owned();
                let Some(data) = data else { continue };
                let mut data: Value = serde_json::from_str(&data).expect("JSON");
                return Some(match data.get_mut("result") {
                    Some(result) => result.take(),
                    None => data,
                });
            }
            let chunk = self.body.next().await?.expect("no break");
            self.read
                .push_str(std::str::from_utf8(&chunk).expect("text"));
        }
    }

    pub(crate) async fn rest(mut self) -> Vec<Value> {
        let mut all = Vec::new();
        while let Some(event) = self.next().await {
            all.push(event);
        }
        all
    }
}

/// The parameters of a message.
pub(crate) fn message(text: &str) -> Value {
    json!({"message": {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": text}]}})
}

/// A message that goes on with a task.
pub(crate) fn follow_up(text: &str, task: &Value) -> Value {
    let mut params = message(text);
    params["message"]["taskId"] = task["id"].clone();
    params
}

/// The state that an event, or a task, shows; empty if none.
pub(crate) fn state(shown: &Value) -> &str {
    let status = [&shown["task"], &shown["statusUpdate"], shown]
        .into_iter()
        .find_map(|at| at["status"]["state"].as_str());
    status.unwrap_or_default()
}

/// What the agent does.
async fn work(task: TaskContext) -> Result<Reply, Failure> {
    let text = task.text();
    let (word, rest) = text.split_once(' ').unwrap_or((&text, ""));
    match word {
        "wait" => {
            task.cancelled().await;
            Err(Failure::cancelled("as you like"))
        }
        "ask" => Ok(Reply::input_required("which colour?")),
        "auth" => Ok(Reply::auth_required("sign in at https://shop.example")),
        "listen" => Ok(Reply::text(format!("heard {}", overheard(&task).await))),
        "poll" => {
            let answer = task.ask_requester("which colour?").await?.text();
            Ok(Reply::text(format!(
                "{answer} and {}",
                overheard(&task).await
            )))
        }
        "survey" => {
            let colour = task.ask_requester("which colour?").await?.text();
            task.publish_update("thinking").await?;
            gate(rest).acquire().await?.forget();
            let shape = task.ask_requester("which shape?").await?.text();
            Ok(Reply::text(format!("a {colour} {shape}")))
        }
        "signin" => {
            tokio::select! {
                _ = task.ask_auth("sign in") => {}
                permit = async { gate(rest).acquire().await.map(|p| p.forget()) } => permit?,
            }
            task.publish_update("signed in").await?;
            Ok(Reply::text("welcome"))
        }
        "alone" => Ok(Reply::text("no task").message_only()),
        "fail" => Err(Failure::failed("no paint")),
        "reject" => Err(Failure::rejected("not my style")),
        "steps" => {
            let mut update = stroke("one ");
            for chunk in ["two ", "three"] {
                task.publish_artifact(update).await?;
                gate(rest).acquire().await?.forget();
                update = stroke(chunk).append();
            }
            task.publish_artifact(update).await?;
            Ok(Reply::text("stepped"))
        }
        "draw" => {
            for (n, chunk) in ["a ", "red ", "cat"].into_iter().enumerate() {
                task.publish_update(format!("stroke {n}")).await?;
                let update = stroke(chunk);
                let update = if n > 0 { update.append() } else { update };
                task.publish_artifact(update).await?;
            }
            Ok(Reply::text("drawn"))
        }
        "flood" => {
            for n in 0..FLOOD {
                task.publish_update(n.to_string()).await?;
            }
            Ok(Reply::text("over"))
        }
        _ => Ok(Reply::text(format!("{word} {rest}").trim().to_owned())),
    }
}

/// The next message of a task at work.
async fn overheard(task: &TaskContext) -> String {
    let next = agenthub_sdk::internal::follow_up(task).await;
    let text = next.message().map(|message| message.text());
    next.done().await;
    text.unwrap_or_default()
}

fn stroke(chunk: &str) -> ArtifactUpdate {
    ArtifactUpdate::new(Artifact {
        artifact_id: "picture".into(),
        name: "picture.txt".into(),
        parts: vec![Part::text(chunk)],
        ..Default::default()
    })
}

/// Permits of the steps of this name: the agent takes one for each.
pub(crate) fn gate(name: &str) -> Arc<Semaphore> {
    static GATES: Mutex<BTreeMap<String, Arc<Semaphore>>> = Mutex::new(BTreeMap::new());
    let mut gates = GATES.lock().expect("nobody panicked with it");
    let gate = gates.entry(name.to_owned());
    gate.or_insert_with(|| Arc::new(Semaphore::new(0))).clone()
}
