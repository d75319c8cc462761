//! Workflows of which a part was not done, or was asked for and handed to nobody.

use std::{
    fs,
    time::{Duration, SystemTime},
};

use agenthub_proto::wkt::Timestamp;
use serde_json::Value;

use crate::{
    harness::{Finished, System, eventually, free_address},
    workflows::written,
};

/// A workflow that goes on without its first step, which fails.
const GONE_WITHOUT: &str = "\
steps:
  first: { agent: writer, text: write a poem, on_failure: continue }
  second: { agent: agent_echo, text: 'hi', depends_on: [first] }
";

/// A workflow that goes on without each item of its loop.
const ITEMS: &str = "\
steps:
  each: { for_each: [5, 6], agent: writer, text: write a poem, on_item_failure: continue }
";

/// spec: EXE-9
#[test]
fn a_workflow_that_goes_on_without_a_step_is_done_in_part() {
    let (system, _up) = System::up();
    let run = |file: &str, text: &str| {
        let file = written(&system, file, text);
        system.run(&["workflow", "run", &file], "")
    };
    let parted = run("one.yaml", GONE_WITHOUT);
    assert_eq!(parted.code, Some(3), "{parted:?}");
    assert!(parted.stderr.contains("first: "), "{parted:?}");
    let items = run("items.yaml", ITEMS);
    assert_eq!(items.code, Some(3), "{items:?}");
    for item in ["each/0: ", "each/1: "] {
        assert!(items.stderr.contains(item), "{item}: {items:?}");
    }
    let whole = run(
        "whole.yaml",
        &GONE_WITHOUT.replace("writer, text: write a poem", "agent_echo, text: ho"),
    );
    assert_eq!(whole.code, Some(0), "{whole:?}");
    let listed = system.run(&["runs", "list"], "").stdout;
    assert_eq!(listed.matches("completed, in part").count(), 2, "{listed}");
}

/// A tool has five seconds to end when it is called back.
///
/// spec: EXE-9.5
#[test]
fn a_run_whose_time_is_over_does_not_go_on_waiting_for_an_event() {
    let (system, _up) = System::up();
    let text = "timeout: 1s\nsteps:\n  a: { wait_for: { event: tide.high } }\n";
    let file = written(&system, "late.yaml", text);
    let run = system.run(&["workflow", "run", &file], "");
    assert_eq!(run.code, Some(1), "{run:?}");
    let shown = &system.json(&["runs", "show", "latest", "--json"])[0];
    let at = |field: &str| {
        let at: Option<Timestamp> = shown[field].as_str().and_then(|at| at.parse().ok());
        SystemTime::try_from(at.expect("a time")).expect("a time")
    };
    let took = at("endedAt").duration_since(at("createdAt"));
    assert!(took.expect("in order") < Duration::from_secs(5), "{shown}");
}

/// spec: EXE-1.3
#[test]
fn an_input_that_may_not_be_given_is_told_by_validate() {
    let system = System::bare("127.0.0.1:1".to_owned());
    let text = "steps:\n  a: { agent: agent_echo, text: \"on ${workflow.input.topic}\" }\n";
    let file = written(&system, "topic.yaml", text);
    let validated = system.run(&["workflow", "validate", "--offline", &file], "");
    assert_eq!(validated.code, Some(3), "{validated:?}");
    for part in ["topic.yaml:2:", "`topic` may not be given"] {
        assert!(validated.stderr.contains(part), "{part}: {validated:?}");
    }
    let json = ["workflow", "validate", "--offline", "--json", &file];
    let report: Value = serde_json::from_str(&system.run(&json, "").stdout).expect("JSON");
    assert_eq!(report["ok"], true, "{report:#}");
    assert_eq!(report["faults"][0]["severity"], "warning", "{report:#}");
    assert_eq!(report["faults"][0]["line"], 2, "{report:#}");
}

/// spec: EXE-1.3
#[test]
fn a_field_of_the_input_that_reaches_nobody_is_refused() {
    let (system, _up) = System::up();
    let file = written(
        &system,
        "formal.yaml",
        "input: { properties: { formal: { type: boolean } } }\nsteps:\n  a: { agent: agent_echo, text: hi, when: workflow.input.formal is defined }\n",
    );
    let run = |input: &str| system.run(&["workflow", "run", &file, "--input", input], "");
    let refused = run(r#"{"fromal": true}"#);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    for part in [
        "--input:1:",
        "did you mean `formal`?",
        "nothing was started",
    ] {
        assert!(refused.stderr.contains(part), "{part}: {refused:?}");
    }
    assert_eq!(run(r#"{"formal": true}"#).code, Some(0));
}

/// spec: EXE-1.2, EXE-1.3
#[test]
fn words_that_a_served_workflow_hands_to_nobody_are_named() {
    let (system, _up) = System::up();
    let folder = system.folder().join("flows");
    fs::create_dir_all(&folder).expect("the folder is ours");
    let text = "name: fixed\nsteps:\n  a: { agent: agent_echo, text: hi }\n";
    fs::write(folder.join("fixed.yaml"), text).expect("the folder is ours");
    let _served = system.start(&["workflow", "serve", "flows"]);
    system.wait_online("fixed");
    let ask = |args: &[&str]| -> Finished {
        let args = [&["publish", "--to", "fixed", "--wait"], args].concat();
        system.run(&args, "")
    };
    let words = ask(&["do this in French"]);
    assert_eq!(words.code, Some(3), "{words:?}");
    assert!(words.stdout.contains("Echo: hi"), "{words:?}");
    let named = "nobody was handed the words “do this in French”: the workflow takes no input";
    assert!(words.stderr.contains(named), "{words:?}");
    let beside = ask(&["--data", r#"{"language": "fr"}"#, "do this"]);
    assert_eq!(beside.code, Some(3), "{beside:?}");
    for part in ["“do this”", "language"] {
        assert!(beside.stderr.contains(part), "{part}: {beside:?}");
    }
    let unknown = ask(&["--data", r#"{"language": "fr"}"#, ""]);
    assert_eq!(unknown.code, Some(1), "{unknown:?}");
    assert!(
        unknown.stderr.contains("`language`: no step reads it"),
        "{unknown:?}"
    );
    let none = ask(&["--data", "{}", ""]);
    assert_eq!(none.code, Some(0), "{none:?}");
    let tasks = system.json(&["tasks", "list", "--json"]);
    let of_fixed = |task: &&Value| task.to_string().contains("fixed");
    assert!(tasks.iter().any(|task| of_fixed(&task)), "{tasks:?}");
    let listed = system.run(&["tasks", "list"], "").stdout;
    assert!(listed.contains("completed, in part"), "{listed}");
}

/// spec: EXE-1.2
#[test]
fn words_beside_a_workflow_that_is_sent_are_named() {
    let (system, _up) = System::up();
    let sent = |words: &str| {
        let data = r#"{"workflow": {"steps": {"a": {"agent": "agent_echo", "text": "x"}}}}"#;
        let args = ["publish", "--to", "workflows", "--wait", "--data", data];
        system.run(&[&args[..], &[words]].concat(), "")
    };
    assert_eq!(sent("").code, Some(0));
    let beside = sent("only if it rains");
    assert_eq!(beside.code, Some(3), "{beside:?}");
    assert!(beside.stderr.contains("“only if it rains”"), "{beside:?}");
}

/// spec: EXE-1.2, EXE-1.3
#[test]
fn a_field_that_no_step_reads_is_told_by_validate_and_by_the_run_that_has_it() {
    let (system, _up) = System::up();
    let text = "input:\n  required: [who]\n  properties:\n    who: { type: string }\n    formal: { type: boolean }\nsteps:\n  a: { agent: agent_echo, text: 'hi ${workflow.input.who}' }\n";
    let file = written(&system, "greet.yaml", text);
    let validated = system.run(&["workflow", "validate", &file], "");
    assert_eq!(validated.code, Some(0), "{validated:?}");
    for part in ["greet.yaml:5:", "no step reads `formal`"] {
        assert!(validated.stderr.contains(part), "{part}: {validated:?}");
    }
    let run = |input: &str| system.run(&["workflow", "run", &file, "--input", input], "");
    assert_eq!(run(r#"{"who": "Mia"}"#).code, Some(0));
    let vain = run(r#"{"who": "Mia", "formal": true}"#);
    assert_eq!(vain.code, Some(3), "{vain:?}");
    let told = "no step reads `formal` of the input";
    assert!(vain.stderr.contains(told), "{vain:?}");
}

/// spec: EXE-3.3
#[test]
fn who_is_waited_for_is_said_at_once() {
    let system = System::bare(free_address()).impatient();
    let _up = system.start_durable_up();
    let echo = system.start_echo("agent_away");
    echo.kill();
    eventually("it is offline", || {
        let shown = system.run(&["agents", "show", "agent_away", "--json"], "");
        shown.stdout.contains("AGENT_STATE_OFFLINE").then_some(())
    });
    let text = "name: patient\nsteps:\n  a: { agent: agent_away, text: hi }\n";
    let file = written(&system, "patient.yaml", text);
    let run = system.run(&["workflow", "run", &file], "");
    assert_eq!(run.code, Some(1), "{run:?}");
    let said = "agent_away is offline: a step for it waits";
    assert!(run.stderr.contains(said), "{run:?}");
    fs::create_dir_all(system.folder().join("flows")).expect("the folder is ours");
    fs::write(system.folder().join("flows/patient.yaml"), text).expect("the folder is ours");
    let _served = system.start(&["workflow", "serve", "flows"]);
    system.wait_online("patient");
    let called = system.run(&["publish", "--to", "patient", "--wait", "patient"], "");
    assert_eq!(called.code, Some(1), "{called:?}");
    let tasks = system.run(&["tasks", "show", "latest"], "").stdout
        + &system.run(&["tasks", "list", "--json"], "").stdout;
    assert!(tasks.contains("agent_away"), "{tasks}");
}
