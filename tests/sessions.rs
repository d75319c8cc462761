//! A team in Markdown with recorded decisions of a real model (`sop/tests/cassettes/README.md`).

use std::fs;

use serde_json::Value;

use crate::harness::{System, free_address};

const CASSETTES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/sop/tests/cassettes");

/// Replays a session: the called agents, by name, with their outcomes.
fn replayed(session: &str, request: &str) -> Vec<(String, String)> {
    let system = System::bare(free_address());
    let team = format!("{CASSETTES}/team");
    let recording = format!("{CASSETTES}/{session}.jsonl");
    let ask = [
        "sop",
        "ask",
        &team,
        request,
        "--here",
        "--ephemeral",
        "--json",
        "--replay",
        &recording,
    ];
    let done = system.run(&ask, "");
    assert_eq!(done.code, Some(0), "{done:?}");
    let answer: Value = serde_json::from_str(&done.stdout).expect("one line of JSON");

    // The result is the model's last answer, word for word.
    let text = fs::read_to_string(&recording).expect("it is in the repository");
    let last = text.lines().last().expect("there are answers");
    let last: Value = serde_json::from_str(last).expect("a line of JSON");
    let said = &last["ended"]["answer"]["completion"]["text"];
    assert!(said.as_str().is_some_and(|said| !said.is_empty()), "{last}");
    assert_eq!(&answer["answer"], said);

    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let agents = answer["agents"].as_array().expect("a list").iter();
    let mut agents: Vec<_> = agents
        .map(|agent| (text(&agent["agent"]), text(&agent["state"])))
        .collect();
    agents.sort();
    agents
}

fn completed(agents: &[&str]) -> Vec<(String, String)> {
    let completed = agents
        .iter()
        .map(|a| ((*a).to_owned(), "completed".to_owned()));
    completed.collect()
}

/// spec: SOP-10.1
#[test]
fn a_model_had_two_agents_work_for_what_needs_both() {
    let agents = replayed(
        "both",
        "Write a recipe for soup, and write a poem about rain.",
    );
    assert_eq!(agents, completed(&["cook", "poet"]));
}

/// spec: SOP-10.2
#[test]
fn a_model_had_one_agent_work_for_what_it_alone_can_do() {
    let agents = replayed("alone", "Write a poem about rain.");
    assert_eq!(agents, completed(&["poet"]));
}

/// spec: SOP-10.3
#[test]
fn a_model_answered_itself_what_needs_nobody() {
    assert_eq!(replayed("direct", "Good morning!"), []);
}
