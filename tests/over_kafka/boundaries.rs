//! SIGKILL of a bridge and of executors at each boundary of each step of the example workflows, and a Kafka that starts again meanwhile.
//!
//! Each run is held at one boundary of one step. Once all are held where they are to be, the victims are killed, so that one kill has all boundaries of all
//! steps. The agent counts what it is asked.

mod held;

use std::{
    env,
    net::TcpStream,
    path::Path,
    process::{Child, Command},
    time::Duration,
};

use agenthub_bus::{
    kafka::lag,
    messages::{RESULTS, TASKS},
};
use agenthub_sdk::runs::boundaries::Boundary;

use self::held::{BRIDGES, Place, Runs};
use super::stage::Stage;
use crate::{
    executors::{executors, kill_process},
    harness::eventually,
};

/// Boundaries that a bridge comes to.
const OF_BRIDGES: [Place; 5] = [
    Place::HttpSent,
    Place::At(Boundary::ResponseReceived),
    Place::At(Boundary::ObjectStored),
    Place::At(Boundary::ResultRecorded),
    Place::At(Boundary::ResultPublished),
];

/// Boundaries that the executor of a run comes to.
const OF_EXECUTORS: [Place; 5] = [
    Place::At(Boundary::IntentSaved),
    Place::At(Boundary::InputStored),
    Place::At(Boundary::Published),
    Place::At(Boundary::ResultSaved),
    Place::At(Boundary::OutboxSent),
];

/// Boundaries that the reader of results comes to, for the executors of all runs.
const OF_READERS: [Place; 2] = [
    Place::At(Boundary::ResultReceived),
    Place::At(Boundary::ResultTakenIn),
];

/// True where the agent has answered, and a bridge that dies there has written nothing down.
fn is_asked_again(place: Place) -> bool {
    match place {
        Place::HttpSent => true,
        Place::At(boundary) => {
            matches!(
                boundary,
                Boundary::ResponseReceived | Boundary::ObjectStored
            )
        }
    }
}

/// spec: EXE-4.3, EXE-4.4, EXE-5.1
#[test]
fn a_bridge_is_killed_at_each_boundary_of_each_step() {
    let (stage, up) = Stage::start(Duration::ZERO, "tasks");
    let bridge = stage.bridge("one");
    let runs = Runs::begin(&stage, &OF_BRIDGES);
    runs.are_held();
    bridge.kill();
    runs.let_go();
    let bridge = stage.bridge("one");
    runs.end(&[&up, &bridge]);
    runs.are_counted(|place| 1 + usize::from(is_asked_again(place)));
}

/// The processes of runs, while the hub lives on.
///
/// spec: EXE-1.4, EXE-4.1, EXE-4.2, EXE-4.3, EXE-4.4
#[test]
fn executors_are_killed_at_each_boundary_of_each_step() {
    let (stage, up) = Stage::start(Duration::ZERO, "processes");
    let bridge = stage.bridge("one");
    // A process is a second of work: these two have all kinds of steps.
    let files = ["chain.json", "invitations.yaml"];
    let runs = Runs::begin_some(&stage, &OF_EXECUTORS, &files);
    runs.are_held();
    for run in runs.ids() {
        executors(run).into_iter().for_each(kill_process);
    }
    runs.let_go();
    runs.end(&[&up, &bridge]);
    runs.are_counted(|_| 1);
}

/// All runs, their hub and the reader of their results are one process.
///
/// spec: EXE-4.1, EXE-4.2, EXE-4.3, EXE-4.4
#[test]
fn what_executes_runs_and_reads_results_is_killed_at_each_boundary_of_each_step() {
    let (stage, up) = Stage::start(Duration::ZERO, "tasks");
    let bridge = stage.bridge("one");
    let places = [&OF_EXECUTORS[..], &OF_READERS].concat();
    let runs = Runs::begin(&stage, &places);
    runs.are_held();
    runs.have_sent_their_outbox();
    up.kill();
    runs.let_go();
    let up = stage.up();
    runs.end(&[&up, &bridge]);
    runs.are_counted(|_| 1);
}

/// spec: EXE-4.3, EXE-4.4, EXE-5.1
#[test]
fn all_are_killed_when_the_offsets_of_each_step_are_committed() {
    let (stage, up) = Stage::start(Duration::ZERO, "tasks");
    let bridge = stage.bridge("one");
    let runs = Runs::begin(&stage, &[Place::At(Boundary::ResultSaved)]);
    runs.are_held();
    let results = stage.results();
    for (group, topic) in [(BRIDGES, TASKS), (&results, RESULTS)] {
        eventually(&format!("{group} has committed all"), || {
            (lag(&stage.servers, group, topic) == 0).then_some(())
        });
    }
    bridge.kill();
    up.kill();
    runs.let_go();
    let up = stage.up();
    let bridge = stage.bridge("one");
    runs.end(&[&up, &bridge]);
    runs.are_counted(|_| 1);
}

/// A restart of Kafka, which ends before the next test begins, whatever becomes of this one.
struct Restart(Child);

impl Drop for Restart {
    fn drop(&mut self) {
        let _ = self.0.wait();
    }
}

/// Restarts Kafka while runs are held at all boundaries, and kills all others with it or nobody. Where nobody is killed, the runs go on while Kafka is
/// away.
fn kafka_restarts(kills_others: bool) {
    let Ok(folder) = env::var("AGENTHUB_TEST_KAFKA_FOLDER") else {
        eprintln!("skipped: AGENTHUB_TEST_KAFKA_FOLDER names no folder of scripts/services");
        return;
    };
    let (stage, up) = Stage::start(Duration::ZERO, "tasks");
    let mut living = Some((up, stage.bridge("one")));
    let places = [&OF_BRIDGES[..], &OF_EXECUTORS, &OF_READERS].concat();
    let runs = Runs::begin_some(&stage, &places, &["chain.json", "counting.yaml"]);
    runs.are_held();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/services");
    let restart = Command::new(script).args(["restart", &folder]).spawn();
    let mut restart = Restart(restart.expect("it starts"));
    eventually("Kafka is away", || {
        TcpStream::connect(&stage.servers).is_err().then_some(())
    });
    if kills_others && let Some((up, bridge)) = living.take() {
        up.kill();
        bridge.kill();
    }
    runs.let_go();
    assert!(restart.0.wait().expect("it is waited for").success());
    let (up, bridge) = living.unwrap_or_else(|| (stage.up(), stage.bridge("one")));
    runs.end(&[&up, &bridge]);
    runs.are_counted(|place| 1 + usize::from(kills_others && is_asked_again(place)));
}

/// spec: EXE-4.3, EXE-5.1
#[test]
fn runs_go_on_at_each_boundary_when_kafka_is_back() {
    kafka_restarts(false);
}

/// spec: EXE-4.3, EXE-4.4, EXE-5.1
#[test]
fn runs_go_on_at_each_boundary_when_all_are_back() {
    kafka_restarts(true);
}
