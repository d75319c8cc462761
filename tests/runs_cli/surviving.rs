//! Runs whose processes are killed in progress: they wait for an approval at that time, so that the point is always the
//! same.

use std::{fs, path::PathBuf};

use serde_json::Value;

use crate::harness::{Process, System, eventually, free_address};

/// The approvals that are requested.
const ASKED: [&str; 6] = [
    "--criterion",
    "mentions \"open day\"",
    "--approval",
    "plan.strategy",
    "--json",
    "brief.yaml",
];

const BRIEF: &str = "objective: Invite everybody\npayload:\n  clientBrief: Our open day is on 12 May. There is coffee for everybody.\n";

/// Starts a program that serves on a free port.
pub(crate) fn start(system: &System, args: &[&str]) -> Process {
    fs::write(system.folder().join("brief.yaml"), BRIEF).expect("the folder is there");
    let any = PathBuf::from("127.0.0.1:0");
    let environment = [("AGENTHUB_GRPC", &any), ("AGENTHUB_HTTP", &any)];
    Process::start_in(&environment, system.folder(), &system.hub(), args)
}

/// The frames up to one of this type.
pub(crate) fn frames_to(process: &Process, kind: &str) -> Vec<Value> {
    let mut frames = Vec::new();
    loop {
        let line = process.line(&format!("a frame of type {kind}"));
        let frame: Value = serde_json::from_str(&line).expect("a frame");
        let is_last = frame["type"] == kind;
        frames.push(frame);
        if is_last {
            return frames;
        }
    }
}

/// Address of the hub that a process runs.
pub(crate) fn hub_of(process: &Process) -> String {
    eventually("it says where its hub is", || {
        let said = process.said();
        let url = said.split("http://").nth(1)?.split(',').next()?;
        Some(format!("http://{url}"))
    })
}

fn allow(system: &System, hub: &str, run: &str) {
    let allowed = eventually("it can be allowed", || {
        let finished = system.run(&["runs", "approve", run, "--hub", hub], "");
        (finished.code == Some(0)).then_some(finished)
    });
    assert!(allowed.stdout.contains("plan.strategy"), "{allowed:?}");
}

fn sequences(frames: &[Value]) -> Vec<u64> {
    let sequence = |frame: &Value| frame["sequence"].as_u64().expect("a number");
    frames.iter().map(sequence).collect()
}

/// The whole system is in the process of `agenthub run`, which is killed; `agenthub runs watch` finishes the run.
///
/// spec: ORC-11.5, ORC-12.3
#[test]
fn a_run_in_a_process_of_its_own_is_finished_after_that_is_killed() {
    let system = System::bare("127.0.0.1:1".to_owned());
    let args: Vec<&str> = ["run", "--here"].into_iter().chain(ASKED).collect();
    let first = start(&system, &args);
    let before = frames_to(&first, "approval");
    let run = before[0]["correlationId"]
        .as_str()
        .expect("an id")
        .to_owned();
    first.kill();

    let second = start(&system, &["runs", "watch", &run, "--here", "--json"]);
    let again = frames_to(&second, "approval");
    assert_eq!(again, before, "what was shown is shown again");
    allow(&system, &hub_of(&second), &run);
    let rest = frames_to(&second, "complete");
    let all: Vec<Value> = again.into_iter().chain(rest).collect();
    assert_eq!(sequences(&all), (1..=all.len() as u64).collect::<Vec<_>>());
    let made = all.last().expect("the end")["data"]["result"].to_string();
    assert!(made.contains("open day"), "{made}");
    let ended = second.wait();
    // The best there is without a language model.
    assert_eq!(ended.code, Some(3));
    assert!(!ended.stderr.contains("WARN"), "{}", ended.stderr);
}

/// A watcher continues without any action when everything else is killed and restarted.
///
/// spec: ORC-4, ORC-11.5
#[test]
fn a_run_is_watched_on_without_a_gap_when_everything_is_killed_and_comes_back() {
    let system = System::bare(free_address());
    let up = || system.serve(&["up", "--no-chat"]);
    let first = up();
    fs::write(system.folder().join("brief.yaml"), BRIEF).expect("the folder is there");
    let args: Vec<&str> = ["run"].into_iter().chain(ASKED).collect();
    let watching = system.start(&args);
    let before = frames_to(&watching, "approval");
    let run = before[0]["correlationId"]
        .as_str()
        .expect("an id")
        .to_owned();
    first.kill();
    let _second = up();
    allow(&system, &system.hub(), &run);
    let rest = frames_to(&watching, "complete");
    let all: Vec<Value> = before.into_iter().chain(rest).collect();
    assert_eq!(sequences(&all), (1..=all.len() as u64).collect::<Vec<_>>());
    // The best there is without a language model.
    assert_eq!(watching.wait().code, Some(3));
}
