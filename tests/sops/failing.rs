//! Requests whose agents fail.

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use nix::sys::signal::Signal;
use serde_json::Value;

use super::{
    alone, asked,
    brain::{Brain, FAILS, WAITS},
    json_of, write,
};
use crate::harness::{Finished, Process, System, eventually};

/// A team of two agents that are called at once: the model of one fails, that of the other is slow.
fn team(system: &System, error_mode: &str) {
    let lead = format!(
        "---\nname: lead\ndescription: Leads\ntype: orchestrator\nerror_mode: {error_mode}\n---\n## Steps\n\n\
         1. Ask `shaky` for one half and `steady` for the other.\n2. Answer with the half of `steady`.\n"
    );
    let agent = |name: &str, model: &str| {
        format!("---\nname: {name}\ndescription: Makes halves\nmodel: {model}\n---\nMake it.\n")
    };
    write(
        system.folder(),
        &[
            ("team/lead.md", &lead),
            ("team/shaky.md", &agent("shaky", FAILS)),
            ("team/steady.md", &agent("steady", WAITS)),
        ],
    );
}

fn begin(system: &System, brain: &Brain, more: &[&str]) -> Process {
    let (url, key) = (PathBuf::from(&brain.url), PathBuf::from("key"));
    let environment = [("AGENTHUB_MODEL_ENDPOINT", &url), ("OPENAI_API_KEY", &key)];
    let mut args = vec!["sop", "ask", "--here"];
    args.extend(more);
    args.extend(["team", "two halves"]);
    Process::start_in(&environment, system.folder(), &system.hub(), &args)
}

fn state<'v>(value: &'v Value, agent: &str) -> &'v Value {
    let agents = value["agents"].as_array().expect("agents");
    let found = agents.iter().find(|one| one["agent"] == agent);
    &found.unwrap_or_else(|| panic!("{agent} was not asked: {value:#}"))["state"]
}

fn failure(finished: &Finished) {
    assert_eq!(finished.code, Some(1), "{finished:?}");
}

/// spec: SOP-8.4, SOP-8.5, SOP-9.3
#[test]
fn the_first_failure_ends_the_request_and_names_the_agent() {
    let system = alone();
    let brain = Brain::start();
    team(&system, "fail-fast");
    // The other one never gets an answer: the request ends all the same.
    let finished = begin(&system, &brain, &["--log", "info"]).finish("");
    failure(&finished);
    assert_eq!(finished.stdout, "");
    let error = finished
        .stderr
        .lines()
        .find(|line| line.starts_with("error: "));
    let error = error.unwrap_or_else(|| panic!("it says why: {finished:?}"));
    for part in ["agent_shaky failed", "out of order"] {
        assert!(error.contains(part), "{part}: {error}");
    }
    assert_eq!(brain.asked(WAITS), 1, "both were at work");
    let logged = finished.stderr.lines().filter(|line| line.starts_with('{'));
    let mut logged = logged.filter(|line| line.contains("shaky") && line.contains("error"));
    assert!(
        logged.any(|line| line.contains("correlation_id")),
        "{finished:?}"
    );

    let as_json = begin(&system, &brain, &["--json"]).finish("");
    failure(&as_json);
    let value = json_of(&as_json);
    assert_eq!(value["ok"], false);
    assert!(
        value["error"]
            .as_str()
            .is_some_and(|e| e.contains("agent_shaky failed")),
        "{value:#}"
    );
    assert_eq!(value["partial"], false, "{value:#}");
    let failed = value["failed"].as_array().expect("failed");
    assert_eq!(failed.len(), 1, "{value:#}");
    assert_eq!(failed[0]["agent"], "shaky", "{value:#}");
    let why = failed[0]["error"].as_str();
    assert!(
        why.is_some_and(|why| why.contains("out of order")),
        "{value:#}"
    );
}

/// A team of two that stays on the hub of a system.
fn stays(system: &System, brain: &Brain) -> Process {
    let (url, key) = (PathBuf::from(&brain.url), PathBuf::from("key"));
    let environment = [("AGENTHUB_MODEL_ENDPOINT", &url), ("OPENAI_API_KEY", &key)];
    let args = ["sop", "up", "team", "--json"];
    let up = Process::start_in(&environment, system.folder(), &system.hub(), &args);
    up.line("the banner");
    system.wait_online("lead");
    up
}

/// spec: SOP-8.3, SOP-8.5
#[test]
fn the_first_failure_calls_the_others_back() {
    let (system, _broker) = System::broker();
    let brain = Brain::start();
    team(&system, "fail-fast");
    let _up = stays(&system, &brain);
    failure(&system.run(&["sop", "ask", "team", "two halves"], ""));
    assert_eq!(brain.asked(WAITS), 1, "both were at work");
    eventually("the other one's task is cancelled", || {
        let tasks = system.try_json(&["tasks", "list", "--json"])?;
        let cancelled = |task: &Value| {
            let task = task.to_string();
            task.contains("steady") && task.contains("TASK_STATE_CANCELLED")
        };
        tasks.iter().any(cancelled).then_some(())
    });
}

#[test]
fn who_is_told_to_stop_twice_does_not_wait_for_a_hub() {
    let (system, broker) = System::broker();
    let brain = Brain::start();
    team(&system, "continue");
    let _up = stays(&system, &brain);
    let asking = system.start(&["sop", "ask", "team", "two halves"]);
    brain.wait_asked(WAITS, 1);
    // It receives the cancellation and does not answer.
    broker.signal(Signal::SIGSTOP);
    asking.signal(Signal::SIGINT);
    eventually("it is being cancelled", || {
        asking.said().contains("cancelling it").then_some(())
    });
    let told = Instant::now();
    asking.signal(Signal::SIGINT);
    let finished = asking.finish("");
    broker.signal(Signal::SIGCONT);
    assert_eq!(finished.code, Some(130), "{finished:?}");
    // Who is told once waits for 15 s.
    assert!(told.elapsed() < Duration::from_secs(12), "{finished:?}");
}

/// spec: SOP-4.4, SOP-8.4, SOP-8.5, SOP-8.6, SOP-8.7
#[test]
fn an_agent_that_cannot_start_fails_as_one_that_was_asked_does() {
    let system = alone();
    let brain = Brain::start();
    brain.let_go();
    team(&system, "fail-fast");
    let stranded =
        "---\nname: stranded\ndescription: Makes halves\ntools: [nobody]\n---\nMake it.\n";
    let steady =
        format!("---\nname: shaky\ndescription: Makes halves\nmodel: {WAITS}\n---\nMake it.\n");
    write(
        system.folder(),
        &[
            ("team/stranded.md", stranded),
            ("team/shaky.md", &steady),
            ("team/broken.md", "---\ndescription: x\n---\nWork.\n"),
        ],
    );
    let refused = begin(&system, &brain, &["--json"]).finish("");
    failure(&refused);
    let value = json_of(&refused);
    assert_eq!(value["ok"], false, "{value:#}");
    let error = value["error"].as_str().unwrap_or_default();
    for part in ["stranded cannot start", "--error-mode continue"] {
        assert!(error.contains(part), "{part}: {value:#}");
    }
    assert!(value["faults"].to_string().contains("stranded.md"));
    assert_eq!(brain.asked(WAITS), 0, "nobody was asked");
    let latest = json_of(&system.run(&["sop", "report", "latest", "--json"], ""));
    let latest = &latest["reports"][0];
    assert_eq!(latest["state"], "failed", "it is a request: {latest:#}");

    let more = ["--json", "--error-mode", "continue"];
    let partial = begin(&system, &brain, &more).finish("");
    assert_eq!(partial.code, Some(3), "{partial:?}");
    let value = json_of(&partial);
    assert_eq!(value["partial"], true, "{value:#}");
    assert_eq!(value["failed"][0]["agent"], "stranded", "{value:#}");
    let answer = value["answer"].as_str().unwrap_or_default();
    assert!(answer.contains("\nstranded could not start: "), "{value:#}");
    assert!(value["unusable"].to_string().contains("broken.md"));
    for part in [
        "the answer is without stranded, which could not start",
        "the team was without team/broken.md",
    ] {
        assert!(partial.stderr.contains(part), "{part}: {partial:?}");
    }

    let gone = system.run(&["sop", "ask", "--json", "gone", "hello"], "");
    assert_eq!(gone.code, Some(2), "{gone:?}");
    let value = json_of(&gone);
    assert_eq!(value["ok"], false, "{value:#}");
    assert_eq!(value["faults"][0]["file"], "gone", "{value:#}");
}

/// spec: SOP-8.3, SOP-8.6, SOP-8.7
#[test]
fn where_it_continues_the_answer_has_what_there_is_and_says_what_is_missing() {
    let system = alone();
    let brain = Brain::start();
    team(&system, "continue");
    let asking = begin(&system, &brain, &["--json"]);
    brain.wait_asked(WAITS, 1);
    brain.wait_asked(FAILS, 1);
    brain.let_go();
    let finished = asking.finish("");
    assert_eq!(finished.code, Some(3), "{finished:?}");
    let value = json_of(&finished);
    assert_eq!(value["partial"], true, "{value:#}");
    assert_eq!(asked(&value).len(), 2, "{value:#}");
    assert_eq!(state(&value, "shaky"), "failed");
    assert_eq!(state(&value, "steady"), "completed");
    let answer = value["answer"].as_str().unwrap_or_default();
    for part in ["It was worth the wait.", "shaky", "out of order"] {
        assert!(answer.contains(part), "{part}: {value:#}");
    }
    assert_eq!(value["data"]["partial"], true, "{value:#}");
    assert_eq!(value["data"]["results"].as_array().map(Vec::len), Some(2));
}

/// spec: SOP-8.4
#[test]
fn whoever_asks_may_choose_how_failures_are_taken() {
    let system = alone();
    let brain = Brain::start();
    brain.let_go();
    team(&system, "continue");
    let finished = begin(&system, &brain, &["--error-mode", "fail-fast"]).finish("");
    failure(&finished);
    assert!(
        finished.stderr.contains("agent_shaky failed"),
        "{finished:?}"
    );
}

/// The files of a request are its own.
#[test]
fn a_second_request_in_the_same_folder_does_without_files() {
    let system = alone();
    let brain = Brain::start();
    team(&system, "continue");
    let first = begin(&system, &brain, &[]);
    brain.wait_asked(WAITS, 1);
    let second = system.run(&["sop", "ask", "--here", super::SOPS, super::WORDS], "");
    assert_eq!(second.code, Some(3), "nobody wrote it: {second:?}");
    for part in ["keeps no files", "there is no report"] {
        assert!(second.stderr.contains(part), "{part}: {second:?}");
    }
    brain.let_go();
    let first = first.finish("");
    assert_eq!(first.code, Some(3), "it is partial: {first:?}");
    assert!(first.stderr.contains("sop report "), "{first:?}");
}
