//! What workflows over Kafka are tested with: `up`, bridges, and an agent over HTTP.

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use agenthub_bus::kafka::MockKafka;
use axum::{
    Json, Router,
    extract::State,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use serde_json::{Value, json};
use tokio::{net::TcpListener, runtime::Runtime, time::sleep};

use crate::{
    harness::{Process, System, eventually, free_address},
    workflows::shown,
};

/// The tests share topics, whose messages they would have from one another.
static ALONE: Mutex<()> = Mutex::new(());

/// Time at which an agent answers.
#[derive(Clone, Copy, Debug)]
pub(super) enum Answers {
    /// After this time.
    After(Duration),
    /// When it is [let](Agent::let_go).
    WhenLet,
}

/// A request to the agent.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) at: Instant,
    /// The message.
    pub(super) id: String,
    /// The run.
    pub(super) context: String,
    pub(super) text: String,
}

/// Requests to the agent, and answers.
#[derive(Debug, Default)]
pub(super) struct Counted {
    pub(super) begun: Vec<Asked>,
    /// Answers by the ids of messages: the first of each.
    pub(super) ended: BTreeMap<String, Instant>,
    let_go: BTreeSet<String>,
}

/// An agent over HTTP that counts what it is asked, by the ids of messages. It wants the key `k-1`.
pub(super) struct Agent {
    url: String,
    counted: Arc<Mutex<Counted>>,
    _runtime: Runtime,
}

impl Agent {
    fn start(answers: Answers) -> Self {
        let runtime = Runtime::new().expect("threads");
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"));
        let listener = listener.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let card = json!({
            "name": "counting", "description": "Counts", "version": "1", "skills": [],
            "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
            "capabilities": {},
            "securitySchemes": { "key": { "apiKeySecurityScheme": { "location": "header", "name": "x-key" } } },
            "supportedInterfaces": [{ "url": url, "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0" }],
        });
        let counted = Arc::<Mutex<Counted>>::default();
        let router = Router::new()
            .route("/.well-known/agent-card.json", get(async || Json(card)))
            .route("/message:send", post(answer))
            .with_state((Arc::clone(&counted), answers));
        runtime.spawn(async move {
            let _ = axum::serve(listener, router).await;
        });
        Self {
            url,
            counted,
            _runtime: runtime,
        }
    }

    pub(super) fn counted(&self) -> MutexGuard<'_, Counted> {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets an answer go.
    pub(super) fn let_go(&self, id: &str) {
        self.counted().let_go.insert(id.to_owned());
    }

    /// The message that this run has sent as its latest one, once it has sent so many different ones.
    pub(super) fn message(&self, run: &str, number: usize) -> String {
        eventually(&format!("step {number} of {run} is at work"), || {
            let counted = self.counted();
            let of_run = counted.begun.iter().filter(|asked| asked.context == run);
            let mut ids: Vec<&str> = Vec::new();
            for asked in of_run {
                if !ids.contains(&&*asked.id) {
                    ids.push(&asked.id);
                }
            }
            assert!(ids.len() <= number, "{ids:?}");
            (ids.len() == number).then(|| ids[number - 1].to_owned())
        })
    }
}

async fn answer(
    State((counted, answers)): State<(Arc<Mutex<Counted>>, Answers)>,
    headers: HeaderMap,
    Json(request): Json<Value>,
) -> Response {
    if headers.get("x-key").is_none_or(|key| key != "k-1") {
        let error = json!({ "error": { "code": 401, "message": "no key" } });
        return (StatusCode::UNAUTHORIZED, Json(error)).into_response();
    }
    let message = &request["message"];
    let field = |name: &str| message[name].as_str().unwrap_or_default().to_owned();
    let id = field("messageId");
    let lock = || counted.lock().unwrap_or_else(PoisonError::into_inner);
    lock().begun.push(Asked {
        at: Instant::now(),
        id: id.clone(),
        context: field("contextId"),
        text: message["parts"][0]["text"]
            .as_str()
            .unwrap_or_default()
            .to_owned(),
    });
    match answers {
        Answers::After(time) => sleep(time).await,
        Answers::WhenLet => {
            while !lock().let_go.contains(&id) {
                sleep(Duration::from_millis(1)).await;
            }
        }
    }
    lock().ended.entry(id).or_insert_with(Instant::now);
    let text = message["parts"][0]["text"].as_str().unwrap_or_default();
    let said = json!({ "messageId": "m", "role": "ROLE_AGENT", "parts": [{ "text": format!("done: {text}") }] });
    Json(json!({ "message": said })).into_response()
}

/// A system with `up`, whose steps go over Kafka, and the agent among those of the hub. The Kafka is the one that `AGENTHUB_TEST_KAFKA` names,
/// or librdkafka's mock cluster.
pub(super) struct Stage {
    pub(super) system: System,
    pub(super) agent: Agent,
    http: String,
    executors: &'static str,
    _kafka: Option<MockKafka>,
    _alone: MutexGuard<'static, ()>,
}

impl Stage {
    /// The stage, and its `up`.
    pub(super) fn start(answers: Answers, executors: &'static str) -> (Self, Process) {
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let (kafka, settings) = match env::var("AGENTHUB_TEST_KAFKA") {
            Ok(servers) => (None, format!("servers = '{servers}'\n")),
            Err(_) => {
                let kafka = MockKafka::start();
                let servers = kafka.servers();
                let settings =
                    format!("servers = '{servers}'\nmake_topics = false\npartitions = 4\n");
                (Some(kafka), settings)
            }
        };
        let system = System::bare(free_address());
        let settings = format!(
            "[outbound]\nallow = ['127.0.0.0/8']\n[bridge.auth.counting]\nkind = 'apiKey'\nkey = 'file:key'\n[kafka]\n{settings}"
        );
        fs::write(system.folder().join("agenthub.toml"), settings).expect("it is written");
        fs::write(system.folder().join("key"), "k-1\n").expect("it is written");
        let stage = Self {
            system,
            agent: Agent::start(answers),
            http: free_address(),
            executors,
            _kafka: kafka,
            _alone: alone,
        };
        let up = stage.up();
        let add = [
            "agents",
            "add",
            &stage.agent.url,
            "--id",
            "counting",
            "--json",
        ];
        assert_eq!(stage.system.json(&add)[0]["online"], true);
        (stage, up)
    }

    /// `agenthub up`, again after a kill.
    pub(super) fn up(&self) -> Process {
        let up = self.system.start(&[
            "up",
            "--json",
            "--executors",
            self.executors,
            "--presence-lease-seconds",
            crate::harness::PRESENCE_LEASE_SECONDS,
            "--grpc",
            self.system.grpc(),
            "--http",
            &self.http,
        ]);
        up.line("the banner");
        up
    }

    /// A bridge that takes tasks.
    pub(super) fn bridge(&self) -> Process {
        let bridge = self.bridge_later();
        bridge.line("that it takes tasks");
        bridge
    }

    /// A bridge that prints a line once it takes tasks.
    pub(super) fn bridge_later(&self) -> Process {
        let a2a = format!("http://{}", self.http);
        let args = ["bridge", "--json", "--a2a", &a2a, "--at-once", "16"];
        self.system.start(&args)
    }

    /// A run that has ended, whatever that takes.
    pub(super) fn ended(&self, run: &str) -> Value {
        let since = Instant::now();
        loop {
            let shown = shown(&self.system, run);
            let state = shown["state"].as_str().unwrap_or_default();
            if ["completed", "failed", "cancelled"].contains(&state) {
                return shown;
            }
            assert!(since.elapsed() < Duration::from_secs(90), "{shown}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}
