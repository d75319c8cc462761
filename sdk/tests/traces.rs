//! What can be followed in the logs. Alone in its process, as the subscriber is the whole process's.

use std::{
    io,
    sync::{Arc, Mutex},
    time::Duration,
};

use agenthub_broker::{Server, Settings};
use agenthub_sdk::{Agent, Card, Client, Delegation, Failure, TaskContext, TraceContext};
use tokio::time::timeout;
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

#[tokio::test]
async fn what_a_handler_logs_carries_its_task_and_trace_and_no_payload() {
    let lines = Lines::default();
    let subscriber = tracing_subscriber::fmt()
        .json()
        .with_max_level(tracing::Level::INFO)
        .with_writer(lines.clone())
        .finish();
    tracing::subscriber::set_global_default(subscriber).expect("there is no other");

    let any_port = ([127, 0, 0, 1], 0).into();
    let hub = Server::start(
        Settings::default(),
        any_port,
        tonic::service::Routes::default(),
    )
    .await;
    let hub = hub.expect("a free port");
    let url = format!("http://{}", hub.address());
    let _agent = Agent::worker(Card::new("a", "An agent of a test"))
        .on("work", async |task: TaskContext| {
            tracing::info!("inside the handler");
            Ok::<_, Failure>(task.text())
        })
        .on("fail", async |task: TaskContext| {
            Err::<(), _>(Failure::failed(format!("cannot do: {}", task.text())))
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
    assert_eq!(outcome.error, "cannot do: a secret between us");

    let text = lines.text();
    assert!(text.contains("the handler has no result"), "{text}");
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
