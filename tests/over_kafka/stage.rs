//! The stage for tests of workflows over Kafka: `up`, bridges, and an agent over HTTP.

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    path::PathBuf,
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
    harness::{Process, System, alone_with_kafka, free_address},
    workflows::shown,
};

/// The key with which the agent is called. It is in the file `key` alone.
pub(super) const KEY: &str = "bridge-canary-0a5d93e7";

/// A request to the agent.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) at: Instant,
    /// The message.
    pub(super) id: String,
    /// The run.
    pub(super) context: String,
}

/// Requests to the agent, and answers.
#[derive(Debug, Default)]
pub(super) struct Counted {
    pub(super) begun: Vec<Asked>,
    /// Answers by the ids of messages: the first of each.
    pub(super) ended: BTreeMap<String, Instant>,
    /// Messages that are not answered yet.
    held: BTreeSet<String>,
}

/// An agent over HTTP that counts what it is asked, by the ids of messages. It wants [`KEY`].
pub(super) struct Agent {
    url: String,
    counted: Arc<Mutex<Counted>>,
    _runtime: Runtime,
}

impl Agent {
    /// An agent that takes this time for an answer.
    fn start(work: Duration) -> Self {
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
            .with_state((Arc::clone(&counted), work));
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

    /// Holds the answer to a message back.
    pub(super) fn hold(&self, id: &str) {
        self.counted().held.insert(id.to_owned());
    }

    /// Lets all answers go.
    pub(super) fn let_go(&self) {
        self.counted().held.clear();
    }
}

async fn answer(
    State((counted, work)): State<(Arc<Mutex<Counted>>, Duration)>,
    headers: HeaderMap,
    Json(request): Json<Value>,
) -> Response {
    if headers.get("x-key").is_none_or(|key| key != KEY) {
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
    });
    sleep(work).await;
    while lock().held.contains(&id) {
        sleep(Duration::from_millis(5)).await;
    }
    lock().ended.entry(id).or_insert_with(Instant::now);
    let text = message["parts"][0]["text"].as_str().unwrap_or_default();
    let said = json!({ "messageId": "m", "role": "ROLE_AGENT", "parts": [{ "text": format!("done: {text}") }] });
    Json(json!({ "message": said })).into_response()
}

/// Address of a Kafka, further settings of it, and the password in the file `password`.
pub(super) struct Address<'a> {
    pub(super) servers: String,
    pub(super) settings: &'a str,
    pub(super) password: &'a str,
}

/// A system with `up`, whose steps go over Kafka, and the agent among those of the hub. The Kafka is the one that `AGENTHUB_TEST_KAFKA` names,
/// or librdkafka's mock cluster.
pub(super) struct Stage {
    pub(super) system: System,
    pub(super) agent: Agent,
    /// Address at which `up` serves HTTP.
    pub(super) http: String,
    /// Addresses of Kafka.
    pub(super) servers: String,
    executors: &'static str,
    environment: Vec<(&'static str, PathBuf)>,
    _kafka: Option<MockKafka>,
    _alone: MutexGuard<'static, ()>,
}

impl Stage {
    /// The stage, with an agent that takes this time for an answer, and its `up`.
    pub(super) fn start(work: Duration, executors: &'static str) -> (Self, Process) {
        Self::start_with(work, executors, "", Vec::new())
    }

    /// The same with further settings, before the tables of the file, and variables of the environment.
    pub(super) fn start_with(
        work: Duration,
        executors: &'static str,
        settings: &str,
        environment: Vec<(&'static str, PathBuf)>,
    ) -> (Self, Process) {
        let (kafka, servers, topics) = match env::var("AGENTHUB_TEST_KAFKA") {
            Ok(servers) => (None, servers, ""),
            Err(_) => {
                let kafka = MockKafka::start();
                let servers = kafka.servers();
                (
                    Some(kafka),
                    servers,
                    "make_topics = false\npartitions = 4\n",
                )
            }
        };
        let at = Address {
            servers,
            settings: topics,
            password: "",
        };
        let (stage, up) = Self::start_at(at, work, executors, settings, environment);
        let stage = Self {
            _kafka: kafka,
            ..stage
        };
        (stage, up)
    }

    /// The same at this address of Kafka.
    pub(super) fn start_at(
        at: Address<'_>,
        work: Duration,
        executors: &'static str,
        settings: &str,
        environment: Vec<(&'static str, PathBuf)>,
    ) -> (Self, Process) {
        let Address {
            servers,
            settings: of_kafka,
            password,
        } = at;
        let alone = alone_with_kafka();
        let system = System::bare(free_address());
        let settings = format!(
            "{settings}\n[outbound]\nallow = ['127.0.0.0/8']\n[bridge.auth.counting]\nkind = 'apiKey'\nkey = 'file:key'\n\
             [kafka]\nservers = '{servers}'\n{of_kafka}"
        );
        fs::write(system.folder().join("agenthub.toml"), settings).expect("it is written");
        fs::write(system.folder().join("key"), format!("{KEY}\n")).expect("it is written");
        fs::write(system.folder().join("password"), password).expect("it is written");
        let stage = Self {
            system,
            agent: Agent::start(work),
            http: free_address(),
            servers,
            executors,
            environment,
            _kafka: None,
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

    /// Folder of the boundaries at which steps are held.
    pub(super) fn boundaries(&self) -> PathBuf {
        self.system.folder().join("boundaries")
    }

    /// The group that reads the results of `up`.
    pub(super) fn results(&self) -> String {
        let journal = self.system.folder().join(".agenthub/runs/workflows.lock");
        let journal = fs::read_to_string(journal).expect("it names the journal");
        format!("agenthub.results.{}", journal.trim())
    }

    /// A process of the system, whose steps can be held at boundaries.
    pub(super) fn process(&self, args: &[&str]) -> Process {
        let boundaries = self.boundaries();
        let mut environment = vec![("AGENTHUB_BOUNDARIES", &boundaries)];
        environment.extend(self.environment.iter().map(|(name, value)| (*name, value)));
        Process::start_in(&environment, self.system.folder(), &self.system.hub(), args)
    }

    /// `agenthub up`, again after a kill.
    pub(super) fn up(&self) -> Process {
        let executors = ["--executors", self.executors, "--max-executors", "200"];
        let up = [
            &self.system.up_at(&self.http)[..],
            &executors,
            &self.system.patience(),
        ];
        let up = self.process(&up.concat());
        up.line("the banner");
        up
    }

    /// A bridge that takes tasks, again after a kill under the same name.
    pub(super) fn bridge(&self, name: &str) -> Process {
        let a2a = format!("http://{}", self.http);
        // Kafka knows names beyond the end of a test.
        let name = format!("{name}.{}", self.http.replace(':', "-"));
        let args = [
            "bridge",
            "--json",
            "--a2a",
            &a2a,
            "--name",
            &name,
            "--metrics",
            "127.0.0.1:0",
        ];
        let bridge = self.process(&args);
        bridge.line("that it takes tasks");
        bridge
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
            assert!(since.elapsed() < Duration::from_secs(300), "{shown}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}
