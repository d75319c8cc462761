//! Working agents, each in a process on its own host.

use std::time::Duration;

use agenthub_sdk::{
    Agent, Card, Failure, Reply, RunningAgent, Skill, TaskContext,
    hub::Connection,
    proto::a2a::{Artifact, Part},
};
use fastrand::Rng;
use tokio::time::sleep;

use crate::{
    ledger::{Ledger, Observation},
    network,
};

/// Text of a delegation that must fail.
pub(crate) const FAIL: &str = "fail";

/// Pause between attempts to reach the hub.
const RETRY: Duration = Duration::from_millis(400);

/// Runs a process of `agent` on `host` until it crashes.
pub(crate) async fn run(
    agent: &'static str,
    host: &'static str,
    ledger: Ledger,
) -> turmoil::Result {
    let process = ledger.process(host);
    loop {
        let card =
            Card::new(agent, "An agent of a simulation").skill(Skill::new("work", "Work", "Works"));
        let (book, name) = (ledger.clone(), process.clone());
        let worker = Agent::worker(card)
            .instance_id(process.clone())
            .concurrency(4)
            .connector(network::dial)
            .on_task_type("work", move |task| handle(task, book.clone(), name.clone()));
        match worker.start(network::url()).await {
            Ok(running) => {
                note_connections(&running, &process, &ledger).await;
                let reason = running.closed().await;
                ledger.note(Observation::Wrong(format!(
                    "{process} was sent away: {reason}"
                )));
                return Ok(());
            }
            Err(error) if error.is_retryable() => sleep(RETRY).await,
            Err(error) => {
                ledger.note(Observation::Wrong(format!(
                    "{process} was not taken: {error}"
                )));
                return Ok(());
            }
        }
    }
}

/// Notes every connection, until there will be no other.
async fn note_connections(running: &RunningAgent, process: &str, ledger: &Ledger) {
    let mut connection = running.client().connection();
    connection.mark_changed();
    while connection.changed().await.is_ok() {
        match &*connection.borrow_and_update() {
            Connection::Connected { .. } => ledger.note(Observation::Connected {
                process: process.to_owned(),
            }),
            Connection::Reconnecting { .. } => {}
            Connection::Closed { .. } => return,
        }
    }
}

async fn handle(task: TaskContext, ledger: Ledger, process: String) -> Result<Reply, Failure> {
    let (id, attempt) = (task.task_id().to_owned(), task.attempt());
    ledger.note(Observation::Begun {
        task: id.clone(),
        context: task.context_id().to_owned(),
        process: process.clone(),
        attempt,
    });
    // Most work is short; some takes longer than the acknowledgement deadline.
    let mut rng = Rng::new();
    let millis = match rng.u32(..10) {
        0 => rng.u64(7_000..9_000),
        1..=3 => rng.u64(500..3_000),
        _ => rng.u64(..300),
    };
    if rng.bool() {
        let _ = task.publish_update("on it").await;
    }
    sleep(Duration::from_millis(millis)).await;
    ledger.note(Observation::Done {
        task: id,
        process: process.clone(),
    });
    if task.text() == FAIL {
        return Err(Failure::failed(format!("failed by {process}")));
    }
    let artifact = Artifact {
        artifact_id: "result".to_owned(),
        parts: vec![Part::text(process.clone())],
        ..Default::default()
    };
    Ok(Reply::none().artifact(artifact))
}
