//! What can be followed in the logs. Alone in its process, as the subscriber is the whole process's.

use std::{
    io,
    sync::{Arc, Mutex, OnceLock},
    time::Duration,
};

use agenthub_broker::{Server, Settings};
use agenthub_sdk::{
    Agent, Card, Client, Delegation, Failure, TaskContext, Tool, TraceContext,
    model::{Completion, Scripted, ToolCall},
};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};
use tracing_subscriber::fmt::MakeWriter;

/// The lines that were logged.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Lines {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().expect("no panic while it is locked")).into_owned()
    }
}

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0
            .lock()
            .expect("no panic while it is locked")
            .extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

/// What this process logs.
fn lines() -> Lines {
    static LINES: OnceLock<Lines> = OnceLock::new();
    let lines = LINES.get_or_init(|| {
        let lines = Lines::default();
        let subscriber = tracing_subscriber::fmt()
            .json()
            .with_max_level(tracing::Level::INFO)
            .with_writer(lines.clone())
            .finish();
        tracing::subscriber::set_global_default(subscriber).expect("there is no other");
        lines
    });
    lines.clone()
}

async fn hub() -> Server {
    let any_port = ([127, 0, 0, 1], 0).into();
    let routes = tonic::service::Routes::default();
    let hub = Server::start(Settings::default(), any_port, routes).await;
    hub.expect("a free port")
}

/// spec: ORC-9, SOP-9.5, SOP-9.6
#[tokio::test]
async fn the_steps_of_a_run_are_logged_with_its_workflow_and_trace_and_no_payload() {
    let lines = lines();
    let hub = hub().await;
    let url = format!("http://{}", hub.address());
    let look = Tool::new("look", "", json!({"type": "object"}), async |_, _| {
        Ok("a tool's secret")
    });
    let call = ToolCall {
        id: "call_1".into(),
        name: "look".into(),
        arguments: json!({"for": "a tool's secret"}),
    };
    let calls = Completion {
        tool_calls: vec![call],
        ..Completion::default()
    };
    let says = Completion {
        text: "a tool's secret".into(),
        ..Completion::default()
    };
    let agent = Agent::worker(Card::new("thinker", "An agent of a test"))
        .model(Scripted::answers([Ok(calls), Ok(says)]))
        .tool(look);
    let _agent = agent.start(&url).await.expect("it starts");
    let trace = TraceContext::start();
    let delegation = Delegation::to("thinker")
        .text("a tool's secret")
        .metadata("correlation_id", "request-7");
    let client = Client::builder(&url).connect().await;
    let pending = client.expect("the hub is there");
    let pending = pending.delegate(delegation.trace(trace)).await;
    let outcome = pending.expect("it is taken").outcome();
    let outcome = timeout(Duration::from_secs(20), outcome).await;
    outcome.expect("it came in time").expect("an outcome");

    let told = || -> Vec<Value> {
        let text = lines.text();
        let all = text.lines().filter_map(|l| serde_json::from_str(l).ok());
        let of_the_run = |l: &Value| l["fields"]["trace_id"] == trace.trace_id();
        all.filter(of_the_run)
            .map(|mut l: Value| l["fields"].take())
            .collect()
    };
    let is_over = || {
        told()
            .last()
            .is_some_and(|l| l["message"] == "a run is over")
    };
    let waiting = async {
        while !is_over() {
            sleep(Duration::from_millis(5)).await;
        }
    };
    let waited = timeout(Duration::from_secs(20), waiting).await;
    assert!(waited.is_ok(), "{:?}", told());
    let told = told();
    assert!(
        told.iter()
            .all(|l| l["workflow"] == "tool_loop" && l["run"] == told[0]["run"])
    );
    assert!(told.iter().all(|l| l["correlation_id"] == "request-7"));
    let messages: Vec<_> = told.iter().filter_map(|l| l["message"].as_str()).collect();
    let step = ["a step begins", "a step is back"];
    let steps = [step, step, step].concat();
    assert_eq!(
        messages,
        [&["a run begins"], &*steps, &["a run is over"]].concat()
    );
    let kinds: Vec<_> = told.iter().filter_map(|l| l["kind"].as_str()).collect();
    assert_eq!(kinds, ["model", "tool", "model"]);
    assert_eq!(told[3]["to"], "look");
    assert_eq!(told[7]["state"], "completed");
    assert!(
        !lines.text().contains("a tool's secret"),
        "{}",
        lines.text()
    );
}

#[tokio::test]
async fn what_a_handler_logs_carries_its_task_and_trace_and_no_payload() {
    let lines = lines();
    let hub = hub().await;
    let url = format!("http://{}", hub.address());
    let _agent = Agent::worker(Card::new("a", "An agent of a test"))
        .on_task_type("work", async |task: TaskContext| {
            tracing::info!("inside the handler");
            Ok(task.text())
        })
        .on_task_type("fail", async |_: TaskContext| {
            Err::<(), _>(Failure::failed("cannot do it with password=hunter2"))
        })
        .start(&url)
        .await
        .expect("it starts");
    let trace = TraceContext::start();
    let delegation = Delegation::to("a")
        .text("a secret between us")
        .task_id("t-1")
        .context_id("c-1")
        .trace(trace);
    let client = Client::builder(&url)
        .connect()
        .await
        .expect("the hub is there");
    let pending = client.delegate(delegation).await.expect("it is taken");
    let outcome = timeout(Duration::from_secs(20), pending.outcome()).await;
    outcome.expect("it came in time").expect("an outcome");

    let delegation = Delegation::to("a")
        .capability("fail")
        .text("a secret between us");
    let pending = client.delegate(delegation).await.expect("it is taken");
    let outcome = timeout(Duration::from_secs(20), pending.outcome()).await;
    let outcome = outcome.expect("it came in time").expect("an outcome");
    assert_eq!(outcome.error, "cannot do it with password=hunter2");

    let text = lines.text();
    let line = text.lines().find(|l| l.contains("handler failed"));
    let line: serde_json::Value =
        serde_json::from_str(line.expect("it is logged")).expect("a line of JSON");
    assert_eq!(line["level"], "WARN");
    assert_eq!(
        line["fields"]["error"],
        "cannot do it with password=[redacted]"
    );
    assert!(!text.contains("hunter2"), "{text}");
    let line = text
        .lines()
        .find(|l| l.contains("inside the handler"))
        .expect("it is logged");
    let line: serde_json::Value = serde_json::from_str(line).expect("a line of JSON");
    let span = &line["span"];
    assert_eq!(
        (&span["name"], &span["agent"]),
        (&"task".into(), &"a".into())
    );
    assert_eq!(
        (&span["task_id"], &span["context_id"]),
        (&"t-1".into(), &"c-1".into())
    );
    assert_eq!(span["trace_id"], trace.trace_id());
    assert!(!text.contains("a secret between us"), "{text}");
}
