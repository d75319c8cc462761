//! Teams in Markdown with recorded decisions of real models (`sop/tests/cassettes/README.md`, `sop/tests/decisions/README.md`).

use std::fs;

use serde_json::Value;

use crate::harness::{System, free_address};

const CASSETTES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/sop/tests/cassettes");
const DECISIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/sop/tests/decisions");

/// Replays a session of a folder: the called agents, by name, with their outcomes.
fn replayed(folder: &str, session: &str, request: &str) -> Vec<(String, String)> {
    let system = System::bare(free_address());
    let team = format!("{folder}/team");
    let recording = format!("{folder}/{session}.jsonl");
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
        CASSETTES,
        "both",
        "Write a recipe for soup, and write a poem about rain.",
    );
    assert_eq!(agents, completed(&["cook", "poet"]));
}

/// spec: SOP-10.2
#[test]
fn a_model_had_one_agent_work_for_what_it_alone_can_do() {
    let agents = replayed(CASSETTES, "alone", "Write a poem about rain.");
    assert_eq!(agents, completed(&["poet"]));
}

/// spec: SOP-10.3
#[test]
fn a_model_answered_itself_what_needs_nobody() {
    assert_eq!(replayed(CASSETTES, "direct", "Good morning!"), []);
}

/// Whom a model asked for requests that were chosen before it saw them: several, one or nobody, as each needs.
///
/// spec: SOP-10.1, SOP-10.2, SOP-10.3
#[test]
fn a_model_asked_whom_each_request_needed_and_nobody_else() {
    let requests = fs::read_to_string(format!("{DECISIONS}/requests.json")).expect("a file");
    let requests: Vec<Value> = serde_json::from_str(&requests).expect("JSON");
    assert_eq!(requests.len(), 10);
    for request in requests {
        let text = |key: &str| request[key].as_str().expect("a text");
        let needed = request["agents"].as_array().expect("a list").iter();
        let needed: Vec<&str> = needed.filter_map(Value::as_str).collect();
        let asked = replayed(DECISIONS, text("name"), text("request"));
        assert_eq!(asked, completed(&needed), "{request}");
    }
}

/// The second agent is told what the first one has said, word for word: a replay answers only requests that have it.
///
/// spec: SOP-10.4
#[test]
fn a_model_passed_on_what_the_agent_before_had_said() {
    let request = "Have tomorrow's weather in Lyon looked up, and have the answer translated into Italian for our guest.";
    let asked = replayed(DECISIONS, "forecast", request);
    assert_eq!(asked, completed(&["translator", "weather"]));

    let recording = fs::read_to_string(format!("{DECISIONS}/forecast.jsonl")).expect("a file");
    let mut lines = recording
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("a line of JSON"))
        .skip(1);
    let mut of = |instructions: &str| {
        let line = lines.find(|line| {
            let system = &line["request"]["messages"][0]["parts"][0]["text"];
            system
                .as_str()
                .is_some_and(|text| text.starts_with(instructions))
        });
        line.expect("it was asked")
    };
    let weather = of("You tell the weather.");
    let said = weather["ended"]["answer"]["completion"]["text"].as_str();
    let said = said.filter(|said| !said.is_empty()).expect("words");
    let translated = of("You translate texts.")["request"]["messages"].to_string();
    assert!(translated.contains(said), "{translated}");
}
