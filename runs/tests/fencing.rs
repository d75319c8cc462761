//! Fencing: two processes and one run; a driver whose lease expired is refused.
//!
//! The child is this test program itself (`drives_until_it_is_fenced`). It is stopped in the middle of a step, like a
//! machine that sleeps, and continues when another driver has ended its run.

use std::{
    fs::{self, OpenOptions},
    io::Write,
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use agenthub_runs::{
    DelegationResult, DriveError, Driver, Effect, EffectFailure, RunId, RunOutcome, SentHandoff,
    Spent, Step, StepContext, ToolOutput, World,
    journal::{Entry, JournalError, SqliteJournal},
    model::{Completion, Request, ToolCall},
};
use async_trait::async_trait;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::Value;
use tokio::{sync::watch, time::sleep};

use crate::support::{begins, call};

const FOLDER: &str = "RUNS_FENCING_FOLDER";
const PATIENCE: Duration = Duration::from_secs(20);
const LEASE: Duration = Duration::from_millis(900);

/// Sequential tools.
fn steps() -> impl agenthub_runs::Strategy {
    crate::support::Wants(|facts: &agenthub_runs::Facts| {
        for name in ["first", "second"] {
            let step = Step::new(name, Effect::Call(call(name)));
            if facts.result(&step).is_none() {
                return agenthub_runs::Next::Steps(vec![step]);
            }
        }
        agenthub_runs::Next::Finish(RunOutcome::completed("both are done"))
    })
}

/// Notes its calls, and blocks the first tool until a file `go` exists.
struct RecordingWorld {
    folder: PathBuf,
    who: &'static str,
}

impl RecordingWorld {
    fn note(&self, what: &str) {
        let mut options = OpenOptions::new();
        let file = options
            .append(true)
            .create(true)
            .open(self.folder.join("log"));
        let line = format!("{} {what}\n", self.who);
        file.and_then(|mut f| f.write_all(line.as_bytes()))
            .expect("the folder is there");
    }
}

#[async_trait]
impl World for RecordingWorld {
    async fn look(&self, _: &Value) -> Value {
        Value::Null
    }

    async fn ask(&self, _: &StepContext, _: Request) -> Result<Completion, EffectFailure> {
        Err(EffectFailure::lasting("nobody asks"))
    }

    async fn call(&self, step: &StepContext, _: &ToolCall) -> Result<ToolOutput, EffectFailure> {
        self.note(&format!("calls {}", step.key.step));
        while self.who == "child" && !self.folder.join("go").exists() {
            sleep(Duration::from_millis(5)).await;
        }
        Ok(ToolOutput::from("done"))
    }

    async fn delegate(
        &self,
        _: &StepContext,
        _: &SentHandoff,
    ) -> Result<DelegationResult, EffectFailure> {
        Err(EffectFailure::lasting("nobody delegates"))
    }

    async fn recall(&self, _: &StepContext, _: &SentHandoff) {}

    async fn say(&self, _: &StepContext, _: &str) -> Result<(), EffectFailure> {
        Ok(())
    }

    fn show(&self, _: &Entry, _: bool) {}

    async fn conclude(&self, outcome: &RunOutcome, _: Spent) -> Result<(), EffectFailure> {
        self.note(&format!("concludes {}", outcome.label()));
        Ok(())
    }
}

async fn drive(folder: &Path, who: &'static str) -> Result<RunOutcome, DriveError> {
    let journal = SqliteJournal::open(folder.join("runs.db")).expect("it opens");
    let driver = Driver::new(Arc::new(journal), who).lease(LEASE);
    let asked = Instant::now();
    let hand = loop {
        let first = begins("wants", Value::Null);
        match driver.open(RunId::new("run"), "owner", Some(first)).await {
            Ok(hand) => break hand,
            Err(JournalError::Leased { .. }) if asked.elapsed() < PATIENCE => {
                sleep(Duration::from_millis(20)).await;
            }
            Err(error) => panic!("{error}"),
        }
    };
    let folder = folder.to_owned();
    let world = Arc::new(RecordingWorld { folder, who });
    let commands = watch::Sender::new(agenthub_runs::Command::Go);
    hand.drive(&steps(), world, commands.subscribe()).await
}

/// Not a test: the child's main function.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn drives_until_it_is_fenced() {
    let Ok(folder) = std::env::var(FOLDER) else {
        return;
    };
    let lost = drive(Path::new(&folder), "child").await;
    assert_eq!(lost, Err(DriveError::Fenced));
}

/// Kills the child on drop, in case the test fails.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// spec: design 8 (fencing): the loser's appends are refused, and nothing follows from them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_slept_through_its_lease_changes_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = || fs::read_to_string(folder.path().join("log")).unwrap_or_default();
    let child = Command::new(std::env::current_exe().expect("this program"))
        .args([
            "--exact",
            "fencing::drives_until_it_is_fenced",
            "--nocapture",
        ])
        .env(FOLDER, folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let mut child = Killed(child.expect("it starts"));
    let pid = Pid::from_raw(child.0.id().try_into().expect("it is small"));
    let asked = Instant::now();
    while log().is_empty() {
        assert!(asked.elapsed() < PATIENCE, "the child never began");
        sleep(Duration::from_millis(5)).await;
    }
    kill(pid, Signal::SIGSTOP).expect("it is there");

    let outcome = drive(folder.path(), "parent").await;
    assert_eq!(outcome, Ok(RunOutcome::completed("both are done")));
    fs::write(folder.path().join("go"), "").expect("the folder is there");
    kill(pid, Signal::SIGCONT).expect("it is there");
    let status = tokio::task::spawn_blocking(move || child.0.wait());
    let status = tokio::time::timeout(PATIENCE, status).await;
    let status = status
        .expect("it ends")
        .expect("nothing panics")
        .expect("it was there");
    assert!(
        status.success(),
        "it was not fenced: {status} {:?}",
        status.signal()
    );
    let wanted = "child calls first
parent calls first
parent calls second
parent concludes completed
";
    assert_eq!(log(), wanted, "the child does nothing any more");
}
