//! What becomes of a request whose agents fail.

use std::path::PathBuf;

use serde_json::Value;

use super::{
    alone, asked,
    brain::{Brain, FAILS, WAITS},
    json_of, write,
};
use crate::harness::{Finished, Process, System};

/// A team of two who are asked at once: the model of one is out of order, that of the other takes its time.
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

/// spec: SOP-8.3, SOP-8.4, SOP-8.5, SOP-9.3
#[test]
fn the_first_failure_ends_the_request_and_calls_the_others_back() {
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
    assert!(brain.asked(WAITS) <= 1, "it is not asked again");
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
    assert_eq!(finished.code, Some(0), "{finished:?}");
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

/// What a request has of files is its own.
#[test]
fn a_second_request_in_the_same_folder_does_without_files() {
    let system = alone();
    let brain = Brain::start();
    team(&system, "continue");
    let first = begin(&system, &brain, &[]);
    brain.wait_asked(WAITS, 1);
    let second = system.run(&["sop", "ask", "--here", super::SOPS, super::WORDS], "");
    assert_eq!(second.code, Some(0), "{second:?}");
    for part in ["keeps no files", "there is no report"] {
        assert!(second.stderr.contains(part), "{part}: {second:?}");
    }
    brain.let_go();
    let first = first.finish("");
    assert_eq!(first.code, Some(0), "{first:?}");
    assert!(first.stderr.contains("sop report "), "{first:?}");
}
