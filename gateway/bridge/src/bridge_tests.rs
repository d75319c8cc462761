//! Tests of the bridge with an agent over HTTP that follows a script.

mod running;
mod streaming;

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use agenthub_a2a::client::Remote;
use agenthub_bus::{
    MemoryBus, Message,
    messages::{Outcome, RESULTS, StreamChunk, TASK_ID, TaskRequest, TaskResult, read},
};
use agenthub_claims::ClaimStore;
use agenthub_outbound::{Connector, Network, Settings as Outbound};
use async_trait::async_trait;
use axum::{
    Json, Router,
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use serde_json::{Value, json};
use tokio::{
    net::TcpListener,
    task::JoinSet,
    time::{sleep, timeout},
};

use crate::{Bridge, Directory, NotFound, Settings, directory::remote};

const PATIENCE: Duration = Duration::from_secs(60);

/// The next answers of the agent, and what it was sent.
#[derive(Debug, Default)]
struct Script {
    answers: Mutex<VecDeque<(u16, &'static str, String)>>,
    requests: Mutex<Vec<Value>>,
}

/// A directory with one agent, `writer`. A search for `never` does not end.
#[derive(Debug)]
struct One {
    url: String,
    connector: Connector,
    /// Times that the hub is away.
    away: AtomicUsize,
    /// Times that it breaks off.
    breaks: AtomicUsize,
}

#[async_trait]
impl Directory for One {
    async fn find(&self, name: &str) -> Result<Remote, NotFound> {
        if counts_down(&self.away) {
            return Err(NotFound::Hub("it starts again".to_owned()));
        }
        assert!(!counts_down(&self.breaks), "it breaks off");
        if name == "never" {
            return std::future::pending().await;
        }
        if name != "writer" {
            return Err(NotFound::Unknown(name.to_owned()));
        }
        remote(&self.connector, &self.url, None)
            .await
            .map_err(|failure| NotFound::Card {
                name: name.to_owned(),
                failure,
            })
    }
}

/// True as many times as the number says.
fn counts_down(times: &AtomicUsize) -> bool {
    times
        .fetch_update(SeqCst, SeqCst, |times| times.checked_sub(1))
        .is_ok()
}

struct World {
    bridge: Bridge,
    bus: Arc<MemoryBus>,
    claims: ClaimStore,
    script: Arc<Script>,
    directory: Arc<One>,
    _serving: JoinSet<()>,
}

impl World {
    async fn start(streams: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let card = json!({
            "name": "writer", "description": "Writes", "version": "1", "skills": [],
            "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
            "capabilities": { "streaming": streams },
            "supportedInterfaces": [{ "url": url, "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0" }],
        });
        let script = Arc::new(Script::default());
        let router = Router::new()
            .route("/.well-known/agent-card.json", get(async || Json(card)))
            .route("/message:send", post(answer))
            .route("/message:stream", post(answer))
            .with_state(script.clone());
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            let _ = axum::serve(listener, router).await;
        });
        let connector = Connector::new(Outbound {
            allow: Network::everything().to_vec(),
            ..Outbound::default()
        });
        let bus = Arc::new(MemoryBus::default());
        let claims = ClaimStore::open("memory:///").expect("a store");
        let directory = Arc::new(One {
            url,
            connector,
            away: AtomicUsize::new(0),
            breaks: AtomicUsize::new(0),
        });
        let bridge = Bridge::new(Settings {
            bus: bus.clone(),
            claims: claims.clone(),
            directory: directory.clone(),
            largest_input: 1 << 20,
        });
        Self {
            bridge,
            bus,
            claims,
            script,
            directory,
            _serving: serving,
        }
    }

    fn answers(&self, status: u16, body: &Value) {
        let answer = (status, "application/a2a+json", body.to_string());
        self.script
            .answers
            .lock()
            .expect("no panic")
            .push_back(answer);
    }

    fn streams(&self, events: &[Value]) {
        let body = events.iter().map(|event| format!("data: {event}\n\n"));
        let answer = (200, "text/event-stream", body.collect());
        self.script
            .answers
            .lock()
            .expect("no panic")
            .push_back(answer);
    }

    fn requests(&self) -> Vec<Value> {
        self.script.requests.lock().expect("no panic").clone()
    }

    /// The result of a task with this text for this agent.
    async fn result(&self, agent: &str, text: &'static str) -> TaskResult {
        let plain = "text/plain".parse().expect("a content type");
        let input = self.claims.put(text.into(), &plain).await;
        self.result_of(agent, &input.expect("it is put").to_string())
            .await
    }

    async fn result_of(&self, agent: &str, input: &str) -> TaskResult {
        self.result_as("task-1", agent, input).await
    }

    async fn result_as(&self, id: &str, agent: &str, input: &str) -> TaskResult {
        let task = TaskRequest {
            run_id: "run-1".into(),
            task_id: id.into(),
            agent_name: agent.into(),
            input_claim_check: input.into(),
            correlation_id: "correlation-1".into(),
        };
        let handled = self.bridge.handle(&task, Some("00-trace".into()));
        timeout(PATIENCE, handled).await.expect("it is handled");
        let all = self.published(RESULTS);
        let last = all.last().expect("a result");
        assert_eq!(last.id, format!("{id}.result"));
        assert_eq!(last.key, "run-1");
        assert_eq!(last.headers["traceparent"], "00-trace");
        let result: TaskResult = read(last).expect("it fits its schema");
        assert_eq!(result.task_id, id);
        assert_eq!(result.run_id, "run-1");
        // spec: EXE-7.4
        assert_eq!(result.correlation_id, "correlation-1");
        result
    }

    fn published(&self, topic: &str) -> Vec<Message> {
        let published = self.bus.published().borrow().clone();
        let of_topic = published.into_iter().filter(|(on, _)| on == topic);
        of_topic.map(|(_, message)| message).collect()
    }

    async fn output(&self, result: &TaskResult) -> String {
        let claim = result.output_claim_check.as_ref().expect("an output");
        let content = self.claims.get(claim, 1 << 20).await;
        String::from_utf8(content.expect("it is there").into()).expect("it is text")
    }
}

async fn answer(State(script): State<Arc<Script>>, Json(request): Json<Value>) -> Response {
    script.requests.lock().expect("no panic").push(request);
    let answer = script.answers.lock().expect("no panic").pop_front();
    let (status, content_type, body) = answer.expect("an answer in the script");
    let status = StatusCode::from_u16(status).expect("a status");
    (status, [("content-type", content_type)], body).into_response()
}

fn said(text: &str) -> Value {
    json!({ "message": { "messageId": "m", "role": "ROLE_AGENT", "parts": [{ "text": text }] } })
}

fn error(status: u16, message: &str) -> Value {
    json!({ "error": { "code": status, "message": message } })
}

/// spec: EXE-5.3, EXE-7.1, EXE-7.2, EXE-7.3, EXE-7.4
#[tokio::test]
async fn an_answer_is_stored_and_its_claim_check_published() {
    let world = World::start(false).await;
    world.answers(200, &said("a poem"));
    let result = world.result("writer", "write").await;
    assert_eq!(result.status, Outcome::Completed);
    assert_eq!(result.error_message, None);
    assert_eq!(world.output(&result).await, "a poem");
    let message = &world.requests()[0]["message"];
    assert_eq!(message["messageId"], "task-1");
    assert_eq!(message["role"], "ROLE_USER");
    assert_eq!(message["parts"][0]["text"], "write");
}

/// spec: EXE-5.2
#[tokio::test(start_paused = true)]
async fn a_task_waits_for_a_hub_that_is_away() {
    let world = World::start(false).await;
    world.directory.away.store(20, SeqCst);
    world.answers(200, &said("a poem"));
    let result = world.result("writer", "write").await;
    assert_eq!(result.status, Outcome::Completed);
}

#[tokio::test(start_paused = true)]
async fn a_task_that_breaks_off_each_time_has_failed() {
    let world = World::start(false).await;
    world.directory.breaks.store(5, SeqCst);
    let result = world.result("writer", "write").await;
    assert_eq!(result.status, Outcome::Failed);
    let why = result.error_message.expect("a reason");
    assert!(why.contains("broke off 5 times"), "{why}");
    assert_eq!(world.requests().len(), 0);
}

/// A task comes again after a crash, or where its executor has published it again.
///
/// spec: EXE-4.3
#[tokio::test]
async fn a_task_that_comes_again_is_not_carried_out_again() {
    let world = World::start(false).await;
    world.answers(200, &said("a poem"));
    let first = world.result("writer", "write").await;
    let again = world.result("writer", "write").await;
    assert_eq!(first, again);
    assert_eq!(world.requests().len(), 1);
}

/// spec: EXE-5.5
#[tokio::test]
async fn transient_failures_are_tried_again_with_the_same_message() {
    let world = World::start(false).await;
    world.answers(503, &error(503, "busy"));
    world.answers(429, &error(429, "busier"));
    world.answers(500, &error(500, "broken"));
    world.answers(200, &said("a poem"));
    let result = world.result("writer", "write").await;
    assert_eq!(world.output(&result).await, "a poem");
    let requests = world.requests();
    assert_eq!(requests.len(), 4);
    assert!(
        requests
            .iter()
            .all(|r| r["message"]["messageId"] == "task-1")
    );
}

/// spec: EXE-9.1, EXE-9.2
#[tokio::test]
async fn an_error_of_the_agent_is_a_failed_result_with_its_status() {
    let world = World::start(false).await;
    world.answers(422, &error(422, "no such metre"));
    let result = world.result("writer", "write").await;
    assert_eq!(result.status, Outcome::Failed);
    assert_eq!(result.output_claim_check, None);
    assert_eq!(
        result.error_message.as_deref(),
        Some("HTTP 422: no such metre")
    );
    assert_eq!(world.requests().len(), 1, "it is no transient failure");
}

/// An agent that is broken is left alone; one that refuses what it is asked is not.
///
/// spec: EXE-5.5
#[tokio::test(start_paused = true)]
async fn an_agent_that_does_not_answer_again_and_again_is_left_alone() {
    let world = World::start(false).await;
    let mut ids = (1..).map(|n| format!("task-{n}"));
    let plain = "text/plain".parse().expect("a content type");
    let input = world.claims.put("write".into(), &plain).await;
    let input = input.expect("it is put").to_string();
    let mut why = async || {
        let id = ids.next().expect("there is no end of them");
        world.result_as(&id, "writer", &input).await.error_message
    };
    for _ in 0..6 {
        world.answers(422, &error(422, "no such metre"));
        why().await;
    }
    assert_eq!(world.requests().len(), 6);
    for _ in 0..5 {
        for _ in 0..5 {
            world.answers(503, &error(503, "broken"));
        }
        assert_eq!(why().await.as_deref(), Some("HTTP 503: broken"));
    }
    assert_eq!(world.requests().len(), 6 + 25);
    let why = why().await.expect("a reason");
    assert!(why.contains("is not asked for"), "{why}");
    assert_eq!(world.requests().len(), 6 + 25);
}

/// spec: EXE-9.2
#[tokio::test]
async fn credentials_that_are_not_accepted_are_a_failed_result_with_the_status() {
    for status in [401, 403] {
        let world = World::start(false).await;
        world.answers(status, &error(status, "who are you?"));
        let result = world.result("writer", "write").await;
        let why = result.error_message.expect("a reason");
        assert!(why.contains(&format!("HTTP {status}")), "{why}");
        assert!(why.contains("who are you?"), "{why}");
    }
}

/// spec: EXE-5.2, EXE-9.1
#[tokio::test]
async fn a_task_that_cannot_be_sent_fails_with_the_reason() {
    let world = World::start(false).await;
    let unknown = world.result("nobody", "write").await;
    let why = unknown.error_message.expect("a reason");
    assert!(why.contains("no agent \"nobody\" is on the hub"), "{why}");
    for (id, input) in [("task-2", "nonsense"), ("task-3", "s3://elsewhere/claim")] {
        let unreadable = world.result_as(id, "writer", input).await;
        let why = unreadable.error_message.expect("a reason");
        assert!(why.contains("cannot read the input"), "{why}");
    }
    assert_eq!(world.requests().len(), 0);
}

/// spec: EXE-9.1
#[tokio::test]
async fn a_result_that_the_bus_refuses_becomes_a_failed_one() {
    let world = World::start(false).await;
    world.answers(200, &said("a poem"));
    world.bus.refuse_once("task-1.result");
    let result = world.result("writer", "write").await;
    assert_eq!(result.status, Outcome::Failed);
    let why = result.error_message.expect("a reason");
    assert!(why.contains("cannot be published"), "{why}");
    assert!(why.contains("too large"), "{why}");
}

/// A topic that the bus forbids is allowed later.
///
/// spec: EXE-9.1
#[tokio::test]
async fn a_result_that_the_bus_refuses_in_any_form_waits() {
    let world = World::start(false).await;
    world.answers(200, &said("a poem"));
    let first = world.result("writer", "write").await;
    // From here on the record of the result is all that it takes.
    tokio::time::pause();
    world.bus.refuse("task-1.result");
    let allowed = async {
        sleep(PATIENCE / 2).await;
        world.bus.allow("task-1.result");
    };
    let (again, ()) = tokio::join!(world.result("writer", "write"), allowed);
    assert_eq!(again, first);
    assert_eq!(world.published(RESULTS).len(), 2);
}
