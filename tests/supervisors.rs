//! Supervisors that find the agents of the hub and answer with their help; nothing here needs a network.

use serde_json::Value;

use crate::harness::{Process, System, eventually, free_address};

const LEAD: &str = "agent_lead";
const WEATHER: &str = "Tells the weather forecast";
const STARS: &str = "Looks up stars and planets in the sky";

fn weather(system: &System) -> Process {
    system.start_worker("agent_weather", WEATHER, "echo sunny tomorrow")
}

fn stars(system: &System) -> Process {
    system.start_worker("agent_stars", STARS, "echo mars is up")
}

/// Asks the supervisor until the answer contains `text`: it may not have seen a new agent yet.
fn answers(system: &System, words: &str, text: &str) {
    answers_with(system, words, text, 3);
}

/// The same, where the answer has this exit code.
fn answers_with(system: &System, words: &str, text: &str, code: i32) {
    eventually(
        &format!("the answer to \"{words}\" holds \"{text}\""),
        || {
            let answer = system.run(&["publish", "--to", LEAD, "--wait", words], "");
            let is_found = answer.stdout.contains(text);
            assert!(!is_found || answer.code == Some(code), "{answer:?}");
            is_found.then_some(())
        },
    );
}

/// spec: AGT-6.3, AGT-12.4, AGT-12.5
#[test]
fn a_supervisor_answers_with_workers_that_were_there_before_it() {
    let (system, _broker) = System::broker();
    let _workers = (weather(&system), stars(&system));
    let _lead = system.start_supervisor(LEAD, &["--ephemeral"]);
    answers(&system, "what is the weather forecast", "sunny tomorrow");
    answers(&system, "which stars are in the sky", "mars is up");
}

/// spec: AGT-6.3, AGT-12.4, AGT-12.5
#[test]
fn a_supervisor_answers_with_workers_that_come_on_both_sides_of_it() {
    let (system, _broker) = System::broker();
    let _weather = weather(&system);
    let _lead = system.start_supervisor(LEAD, &["--ephemeral"]);
    answers(&system, "what is the weather forecast", "sunny tomorrow");
    let _stars = stars(&system);
    answers(&system, "which stars are in the sky", "mars is up");
}

/// It starts even before the hub, reports that, and answers alone while it has no workers.
///
/// spec: AGT-6.3, AGT-12.4, AGT-12.5
#[test]
fn a_supervisor_answers_alone_and_then_with_workers_that_come_after_it() {
    let system = System::bare(free_address());
    let lead = system.start(&["agent", "supervisor", "--name", LEAD, "--ephemeral"]);
    eventually("the supervisor says that there is no hub", || {
        lead.said().contains("no hub").then_some(())
    });
    let _broker = system.start_broker();
    let line = lead.line("that it is there");
    for part in [LEAD, "supervisor", &system.hub(), "offline"] {
        assert!(line.contains(part), "{part}: {line}");
    }
    answers_with(
        &system,
        "what is the weather forecast",
        "nothing was done",
        1,
    );
    let _workers = (weather(&system), stars(&system));
    answers(&system, "what is the weather forecast", "sunny tomorrow");
    // Whether each did its part takes a model.
    answers_with(
        &system,
        "let agent_weather look up the forecast and agent_stars the planets in the sky",
        "mars is up",
        3,
    );
}

/// spec: AGT-3.2, AGT-3.3, AGT-3.4, AGT-3.5, AGT-7.1, AGT-7.2, AGT-7.3, AGT-7.4, AGT-8.2, AGT-11.5
#[test]
fn those_who_watch_see_each_tool_begin_and_end() {
    let (system, _broker) = System::broker();
    let _weather = weather(&system);
    let _broken = system.start_worker(
        "agent_broken",
        "Repairs broken clocks",
        "echo no spring left >&2; exit 7",
    );
    let _lead = system.start_supervisor(LEAD, &["--ephemeral"]);
    let people = system.start(&["tasks", "watch"]);
    let programs = system.start(&["tasks", "watch", "--json"]);
    for watch in [&people, &programs] {
        eventually("it watches", || {
            answers(&system, "what is the weather forecast", "sunny tomorrow");
            watch.printed()
        });
    }

    answers(
        &system,
        "ask agent_weather for the forecast",
        "sunny tomorrow",
    );
    let line = people.line_with("Invoking tool: agent_weather");
    assert!(line.contains("      Invoking"), "it is indented: {line}");
    people.line_with("Invoking tool: work");
    people.line_with("Tool work completed successfully");
    let line = people.line_with("Tool agent_weather completed successfully");
    assert!(line.ends_with(" ms)") || line.ends_with(" s)"), "{line}");

    answers_with(&system, "repair the broken clocks", "no spring left", 1);
    people.line_with("Invoking tool: agent_broken");
    people.line_with("Tool work failed: sh ended with exit code 7: no spring left");

    let of = |text: &str| -> Value {
        serde_json::from_str(&programs.line_with(text)).unwrap_or_else(|e| panic!("{e}"))
    };
    let lead = &of("Invoking tool: agent_weather")["statusUpdate"];
    assert_eq!(lead["status"]["state"], "TASK_STATE_WORKING", "{lead}");
    assert_eq!(lead["metadata"]["agentType"], "supervisor", "{lead}");
    let timestamp = lead["status"]["timestamp"].as_str().unwrap_or_default();
    assert!(
        timestamp.contains('T') && timestamp.ends_with('Z'),
        "{lead}"
    );
    let worker = &of("Invoking tool: work")["statusUpdate"];
    assert_eq!(worker["metadata"]["agentType"], "worker", "{worker}");
    assert_eq!(worker["metadata"]["tool"]["name"], "work", "{worker}");
}

/// spec: AGT-12.5
#[test]
fn supervisors_that_know_each_other_do_not_ask_in_circles() {
    let (system, _broker) = System::broker();
    let _one = system.start_supervisor("agent_one", &["--ephemeral"]);
    let _two = system.start_supervisor("agent_two", &["--ephemeral"]);
    let ask = [
        "publish",
        "--to",
        "agent_one",
        "--wait",
        "ask agent_two to ask agent_one",
    ];
    eventually("the first one asks the second one", || {
        let asked = system.states().len();
        let answer = system.run(&ask, "");
        assert_eq!(
            answer.code,
            Some(1),
            "neither has a tool for it: {answer:?}"
        );
        let tasks = system.states().len() - asked;
        assert!(tasks <= 2, "one asked two, and two asked nobody: {tasks}");
        (tasks == 2).then_some(())
    });
}
