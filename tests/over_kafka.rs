//! Workflows whose steps go over Kafka to an agent over HTTP, with real processes: on the Kafka that `AGENTHUB_TEST_KAFKA` names, or on librdkafka's
//! mock cluster.

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use agenthub_bus::kafka::MockKafka;
use axum::{
    Json, Router,
    extract::State,
    http::HeaderMap,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use tokio::{net::TcpListener, runtime::Runtime, time::sleep};

use crate::{
    harness::{Process, System, eventually, free_address},
    workflows::{begun, in_state, shown, written},
};

/// Time that the agent takes.
const WORK: Duration = Duration::from_millis(400);

/// Time in which a bridge has published what an agent has answered.
const PUBLISHED: Duration = Duration::from_secs(2);

/// Runs that are at work at once.
const RUNS: usize = 6;

/// A loop of the agent elsewhere, and a step of an agent of the hub.
const WORKFLOW: &str = "\
steps:
  count:
    for_each: [1, 2, 3, 4]
    parallel: 2
    agent: counting
    text: \"number ${loop.item}\"
    timeout: 100s
  echo: { agent: agent_echo, text: \"all of ${count.output.total_count}\", timeout: 100s }
output: ${echo.output.text}
";

/// An agent over HTTP that counts what it is asked, by the ids of messages.
#[derive(Debug, Default)]
struct Counted {
    begun: Vec<(Instant, String)>,
    ended: Vec<(Instant, String)>,
}

struct Agent {
    url: String,
    counted: Arc<Mutex<Counted>>,
    _runtime: Runtime,
}

impl Agent {
    fn start() -> Self {
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
            .with_state(Arc::clone(&counted));
        runtime.spawn(async move {
            let _ = axum::serve(listener, router).await;
        });
        Self {
            url,
            counted,
            _runtime: runtime,
        }
    }

    fn ended(&self) -> usize {
        let counted = self.counted.lock().expect("no panic");
        let ids: BTreeSet<_> = counted.ended.iter().map(|(_, id)| id).collect();
        ids.len()
    }
}

async fn answer(
    State(counted): State<Arc<Mutex<Counted>>>,
    headers: HeaderMap,
    Json(request): Json<Value>,
) -> Response {
    if headers.get("x-key").is_none_or(|key| key != "k-1") {
        let error = json!({ "error": { "code": 401, "message": "no key" } });
        return (axum::http::StatusCode::UNAUTHORIZED, Json(error)).into_response();
    }
    let message = &request["message"];
    let id = message["messageId"].as_str().expect("an id").to_owned();
    let begun = (Instant::now(), id.clone());
    counted.lock().expect("no panic").begun.push(begun);
    sleep(WORK).await;
    let ended = (Instant::now(), id);
    counted.lock().expect("no panic").ended.push(ended);
    let said = json!({ "messageId": "m", "role": "ROLE_AGENT", "parts": [{ "text": "counted" }] });
    Json(json!({ "message": said })).into_response()
}

/// A system with `up`, whose steps go over Kafka, and the agent among those of the hub.
struct Stage {
    system: System,
    agent: Agent,
    http: String,
    _up: Process,
    _kafka: Option<MockKafka>,
}

impl Stage {
    fn start() -> Self {
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
        let http = free_address();
        let up = system.start(&["up", "--json", "--grpc", system.grpc(), "--http", &http]);
        up.line("the banner");
        let agent = Agent::start();
        let add = ["agents", "add", &agent.url, "--id", "counting", "--json"];
        assert_eq!(system.json(&add)[0]["online"], true);
        Self {
            system,
            agent,
            http,
            _up: up,
            _kafka: kafka,
        }
    }

    fn bridge(&self) -> Process {
        let a2a = format!("http://{}", self.http);
        let args = ["bridge", "--json", "--a2a", &a2a, "--at-once", "4"];
        let bridge = self.system.start(&args);
        bridge.line("that it takes tasks");
        bridge
    }

    /// A run that has ended, whatever that takes.
    fn ended(&self, run: &str) -> Value {
        let since = Instant::now();
        loop {
            let shown = shown(&self.system, run);
            if shown["state"] != "working" && shown["state"] != "unknown" && !shown.is_null() {
                return shown;
            }
            assert!(since.elapsed() < Duration::from_secs(90), "{shown}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

/// spec: EXE-3.1, EXE-3.2, EXE-5.1, EXE-5.2, EXE-5.4, EXE-7.3
#[test]
fn bridges_share_the_steps_of_workflows_and_take_up_what_a_killed_one_had() {
    let stage = Stage::start();
    let bridges = [stage.bridge(), stage.bridge()];
    let file = written(&stage.system, "count.yaml", WORKFLOW);
    let runs = [(); RUNS].map(|()| begun(&stage.system, &file, "{}"));
    eventually("some steps have completed", || {
        (stage.agent.ended() >= 4).then_some(())
    });
    let [killed, left] = bridges;
    killed.kill();
    let killed_at = Instant::now();
    for run in &runs {
        let ended = stage.ended(run);
        assert_eq!(ended["state"], "completed", "{ended}\n{}", left.said());
        let said = ended["result"]["message"].as_str().unwrap_or_default();
        assert!(said.contains("all of 4"), "{ended}");
    }
    // A bridge that is told to stop ends well.
    left.signal(Signal::SIGTERM);
    assert_eq!(left.wait().code, Some(0));

    let counted = stage.agent.counted.lock().expect("no panic");
    let mut times: BTreeMap<&str, Vec<Instant>> = BTreeMap::new();
    for (at, id) in &counted.begun {
        times.entry(id).or_default().push(*at);
    }
    assert_eq!(times.len(), RUNS * 4, "each step is a message of its own");
    for (id, begun) in &times {
        assert!(begun.len() <= 2, "{id} was asked for {begun:?}");
        let is_of = |(_, of): &&(Instant, String)| of == id;
        let ended = counted.ended.iter().find(is_of).map(|(at, _)| *at);
        let ended = ended.expect("it has ended");
        assert!(
            begun.len() == 1 || ended + PUBLISHED > killed_at,
            "a step that had completed was done again"
        );
    }
    in_state(&stage.system, &runs[0], "completed");
}
