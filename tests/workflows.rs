//! Workflows: from a file to the result, over refusals, people and crashes.

mod again;
pub(crate) mod kills;
pub(crate) mod logging;
mod taking_back;
pub(crate) mod worker;

use std::{fs, path::PathBuf};

use serde_json::Value;

use crate::{
    harness::{Finished, System, eventually},
    http::send,
};

pub(crate) fn example(name: &str) -> String {
    format!("{}/examples/workflows/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// A file in the system's folder; its path.
pub(crate) fn written(system: &System, name: &str, text: &str) -> String {
    let path = system.folder().join(name);
    fs::write(&path, text).expect("the folder is there");
    path.display().to_string()
}

pub(crate) fn shown(system: &System, run: &str) -> Value {
    let finished = system.run(&["runs", "show", run, "--json"], "");
    serde_json::from_str(&finished.stdout).unwrap_or_default()
}

/// The run, once it is in this state.
pub(crate) fn in_state(system: &System, run: &str, state: &str) -> Value {
    eventually(&format!("the run is {state}"), || {
        let run = shown(system, run);
        (run["state"] == state).then_some(run)
    })
}

/// Begins a run and leaves it; its id.
pub(crate) fn begun(system: &System, file: &str, input: &str) -> String {
    let started = system.run(
        &["workflow", "run", file, "--input", "-", "--detach"],
        input,
    );
    assert_eq!(started.code, Some(0), "{started:?}");
    started.stdout.trim().to_owned()
}

/// spec: EXE-1.1, EXE-2.2, EXE-8.5
#[test]
fn a_workflow_with_a_branch_a_loop_and_an_approval_runs_to_its_result() {
    let (system, _up) = System::up();
    let input = r#"{"event": "our open day", "people": ["Ann", "Bob", "Cy"]}"#;
    let run = begun(&system, &example("invitations.yaml"), input);
    let asked = in_state(&system, &run, "awaiting-approval");
    let approval = asked["approvals"][0]["id"].as_str().expect("an approval");
    let arguments = asked["approvals"][0].to_string();
    assert!(arguments.contains("Send this to 3 people?"), "{arguments}");
    let approved = system.run(&["runs", "approve", &run, approval, "--by", "ann"], "");
    assert_eq!(approved.code, Some(0), "{approved:?}");
    let watched = system.run(&["runs", "watch", &run], "");
    assert_eq!(watched.code, Some(0), "{watched:?}");
    let result: Value = serde_json::from_str(&watched.stdout).expect("JSON");
    assert_eq!(result["sent"], 3, "{result}");
    assert_eq!(
        result["first"],
        "Echo: Echo: Hello, Ann! Echo: You are invited to our open day."
    );
    let graph = system.run(&["runs", "graph", &run, "--format", "text"], "");
    assert!(graph.stdout.contains("send/2"), "{graph:?}");
    assert!(!graph.stdout.contains("formal"), "{graph:?}");
}

/// spec: EXE-1.3
#[test]
fn what_is_wrong_is_said_before_anything_starts() {
    let (system, _up) = System::up();
    let wrong = written(
        &system,
        "wrong.yaml",
        "steps:\n  a: { agent: agent_ecko, text: x }\n  b: { agent: agent_echo, text: '${c.output}' }\n",
    );
    for (command, code) in [("validate", 1), ("run", 2)] {
        let finished = system.run(&["workflow", command, &wrong], "");
        assert_eq!(finished.code, Some(code), "{finished:?}");
        for part in [
            "wrong.yaml:2:15",
            "agent_echo",
            "there is no step `c`",
            "wrong.yaml:3",
        ] {
            assert!(
                finished.stderr.contains(part),
                "{part}: {}",
                finished.stderr
            );
        }
    }
    let invitations = example("invitations.yaml");
    let given = written(&system, "input.yaml", "event: x\npeople: 5\n");
    for (input, part) in [
        (given.as_str(), "input.yaml:2:9"),
        (r#"{"event": 1, "people": ["a"]}"#, "--input:1:11"),
        ("{}", "the field `event` is missing"),
        ("[]", "the input is no mapping"),
    ] {
        let finished = system.run(&["workflow", "run", &invitations, "--input", input], "");
        assert_eq!(finished.code, Some(2), "{finished:?}");
        assert!(finished.stderr.contains(part), "{part}: {finished:?}");
    }
    assert!(
        system.json(&["runs", "list", "--json"]).is_empty(),
        "nothing was started"
    );
    let folder = system.run(&["workflow", "validate", "--offline", "."], "");
    assert_eq!(folder.code, Some(1), "{folder:?}");
    assert!(folder.stderr.contains("this is a folder"), "{folder:?}");
    for command in ["validate", "graph"] {
        let gone = system.run(&["workflow", command, "gone.yaml"], "");
        assert_eq!(gone.code, Some(2), "{command}: {gone:?}");
        assert!(gone.stderr.contains("there is no such file"), "{gone:?}");
    }
    let files = [example("invitations.yaml"), example("chain.json")];
    let fine = system.run(&["workflow", "validate", &files[0], &files[1]], "");
    assert_eq!(fine.code, Some(0), "{fine:?}");
    let unasked = system.run(&["workflow", "validate", "--offline", &files[0]], "");
    assert_eq!(unasked.code, Some(3), "{unasked:?}");
    assert!(
        unasked.stderr.contains("not checked whether the agents"),
        "{unasked:?}"
    );
}

/// spec: EXE-9.5
#[test]
fn a_workflow_that_fails_says_which_step_and_why() {
    let (system, _up) = System::up();
    let file = written(
        &system,
        "late.yaml",
        "steps:\n  a: { agent: agent_echo, text: x }\n  b: { agent: agent_echo, text: '${a.output.missing.deep}' }\n",
    );
    let finished: Finished = system.run(&["workflow", "run", &file], "");
    assert_eq!(finished.code, Some(1), "{finished:?}");
    assert!(
        finished.stderr.contains("the step `b` has failed"),
        "{finished:?}"
    );
}

/// spec: EXE-1.1, EXE-1.2, EXE-1.3
#[test]
fn over_http_a_workflow_is_started_once_for_each_key() {
    let (system, _up, http) = System::up_with_http();
    let post = |key: &str, body: &str| {
        let headers = format!("Content-Type: application/json\r\nIdempotency-Key: {key}\r\n");
        let answer = send(&http, "POST", "/v1/runs", &headers, body).expect("an answer");
        (answer.status, answer.json())
    };
    let body = |text: &str| {
        format!(
            r#"{{"workflow": {{"steps": {{"a": {{"agent": "agent_echo", "text": "{text}"}}}}, "output": "${{a.output.text}}"}}, "input": {{}}}}"#
        )
    };
    let (status, run) = post("one", &body("hi"));
    assert_eq!(status, 201, "{run}");
    assert_eq!(run["mode"], "workflow", "{run}");
    let id = run["id"].as_str().expect("an id");
    let ended = in_state(&system, id, "completed");
    assert_eq!(ended["result"]["message"], "Echo: hi", "{ended}");
    let (status, again) = post("one", &body("hi"));
    assert_eq!((status, &again["id"]), (201, &run["id"]), "{again}");
    let (status, other) = post("one", &body("ho"));
    assert_eq!(status, 422, "{other}");
    let (status, wrong) = post(
        "two",
        r#"{"workflow": {"steps": {"a": {"agent": "nobody", "text": "x"}}}}"#,
    );
    assert_eq!(status, 422, "{wrong}");
    assert!(wrong.to_string().contains("nobody"), "{wrong}");
    let (status, wrong) = post("three", r#"{"workflow": {}, "inptu": {}}"#);
    assert_eq!(status, 422, "{wrong}");
    assert!(wrong.to_string().contains("inptu"), "{wrong}");
}

/// spec: EXE-2.5
#[test]
fn a_workflow_of_another_file_is_a_run_of_its_own_for_each_item() {
    let (system, _up) = System::up();
    written(
        &system,
        "inner.yaml",
        "input: { type: object, required: [who] }\nsteps:\n  greet: { agent: agent_echo, text: 'hi ${workflow.input.who}' }\noutput: ${greet.output.text}\n",
    );
    let outer = written(
        &system,
        "outer.yaml",
        "steps:\n  all: { for_each: [ann, bob], parallel: 2, workflow: inner.yaml, input: { who: '${loop.item}' } }\noutput: ${all.output.iterations}\n",
    );
    let finished = system.run(&["workflow", "run", &outer], "");
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let result: Value = serde_json::from_str(&finished.stdout).expect("JSON");
    assert_eq!(result, serde_json::json!(["Echo: hi ann", "Echo: hi bob"]));
    assert!(
        finished.stderr.contains("✓ all/1 (workflows)"),
        "{finished:?}"
    );
    let runs = |more: &[&str]| {
        let args = [&["runs", "list", "--json", "--mode", "workflow"], more].concat();
        system.json(&args).len()
    };
    assert_eq!((runs(&[]), runs(&["--all"])), (1, 3));

    written(
        &system,
        "inner.yaml",
        "steps:\n  greet: { workflow: outer.yaml }\n",
    );
    let circle = system.run(&["workflow", "validate", "--offline", &outer], "");
    assert_eq!(circle.code, Some(1), "{circle:?}");
    assert!(
        circle.stderr.contains("inner.yaml:2:") && circle.stderr.contains("within itself"),
        "{circle:?}"
    );
    written(
        &system,
        "inner.yaml",
        "input: { required: [whom] }\nsteps:\n  greet: { agent: agent_echo, txt: hi }\n",
    );
    let wrong = system.run(&["workflow", "run", &outer], "");
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
    assert!(wrong.stderr.contains("inner.yaml:3:"), "{wrong:?}");
}

/// spec: EXE-4.5, EXE-8.1, EXE-8.2, EXE-8.3, EXE-8.4, EXE-8.5
#[test]
fn each_step_is_told_of_with_its_agent_its_attempts_and_its_times() {
    let (system, _up) = System::up();
    let file = written(
        &system,
        "tries.yaml",
        "steps:\n  a: { agent: agent_echo, text: x }\n  b: { agent: agent_echo, text: y, depends_on: [a] }\n",
    );
    let finished = system.run(&["workflow", "run", &file, "--json"], "");
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let frames = finished.stdout.lines();
    let frames: Vec<Value> = frames
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let told = |frame: &Value| {
        let data = &frame["data"];
        assert!(
            data["timestamp"]
                .as_str()
                .is_some_and(|at| at.ends_with('Z')),
            "{frame}"
        );
        assert!(data["runId"].is_string(), "{frame}");
        format!(
            "{} {} {}",
            data["stepName"], frame["message"], data["metadata"]["agent"]
        )
    };
    let steps = frames.iter().filter(|frame| frame["type"] == "step");
    assert_eq!(
        steps.map(told).collect::<Vec<_>>(),
        [
            r#""a" "RUNNING" "agent_echo""#,
            r#""a" "COMPLETED" "agent_echo""#,
            r#""b" "RUNNING" "agent_echo""#,
            r#""b" "COMPLETED" "agent_echo""#,
        ]
    );
    assert_eq!(
        frames.last().map(|last| last["type"].clone()),
        Some("complete".into())
    );
    let table = system.run(&["runs", "steps", "latest"], "");
    assert_eq!(table.code, Some(0), "{table:?}");
    for part in ["STEP", "a ", "completed", "agent_echo", " ms"] {
        assert!(table.stdout.contains(part), "{part}: {table:?}");
    }
}

#[test]
fn a_secret_reaches_its_agent_and_is_in_no_journal() {
    let system = System::bare(crate::harness::free_address());
    let file = written(
        &system,
        "secret.yaml",
        "steps:\n  a: { agent: agent_echo, text: 'key ${secret.TOKEN}' }\noutput: ${a.output.text}\n",
    );
    let without = system.serve(&["up"]);
    let refused = system.run(&["workflow", "run", &file], "");
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(
        refused.stderr.contains("AGENTHUB_SECRET_TOKEN"),
        "{refused:?}"
    );
    without.kill();
    let secret = PathBuf::from("s3cr3t-value");
    let _up = system.serve_in(&[("AGENTHUB_SECRET_TOKEN", &secret)], &["up"]);
    let finished = system.run(&["workflow", "run", &file], "");
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert_eq!(finished.stdout.trim(), "Echo: key [secret TOKEN]");
    let runs = system.folder().join(".agenthub/runs");
    let journal = fs::read_dir(&runs).expect("the folder is there").flatten();
    let journals =
        journal.filter(|file| file.file_name().to_string_lossy().starts_with("workflows"));
    let mut count = 0;
    for file in journals {
        let bytes = fs::read(file.path()).expect("it can be read");
        let is_there = bytes.windows(12).any(|part| part == b"s3cr3t-value");
        assert!(!is_there, "{}", file.path().display());
        count += 1;
    }
    assert!(count > 0, "there is a journal");
}

/// The first steps of the guide, as somebody who reads it takes them.
#[test]
fn the_workflow_of_the_guide_is_written_run_and_done_again() {
    let (system, _up) = System::up();
    let guide = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/WORKFLOWS.md"));
    let guide = guide.expect("it is there");
    let behind = guide
        .split_once("Save this as `invite.yaml`")
        .expect("it is in the guide")
        .1;
    let text = behind
        .split("```yaml\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next());
    let text = text.expect("there is a file");
    let broken = written(
        &system,
        "broken.yaml",
        &text.replace("[allowed]", "[alowed]"),
    );
    let refused = system.run(&["workflow", "validate", &broken], "");
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(
        refused.stderr.contains("did you mean `allowed`?"),
        "{refused:?}"
    );
    let file = written(&system, "invite.yaml", text);
    let run = begun(
        &system,
        &file,
        r#"{"event": "our open day", "people": ["Ann", "Bob"]}"#,
    );
    in_state(&system, &run, "awaiting-approval");
    let approved = system.run(&["runs", "approve", &run], "");
    assert_eq!(approved.code, Some(0), "{approved:?}");
    let watched = system.run(&["runs", "watch", &run], "");
    assert_eq!(watched.code, Some(0), "{watched:?}");
    let result: Value = serde_json::from_str(&watched.stdout).expect("JSON");
    assert_eq!(result, serde_json::json!({"sent": 2}));
    let retried = system.run(&["runs", "retry", "latest", "--from", "send"], "");
    assert_eq!(retried.code, Some(0), "{retried:?}");
    let again = retried.stdout.trim();
    in_state(&system, again, "completed");
    let steps = system.json(&["runs", "steps", again, "--json"]);
    let names: Vec<&str> = steps
        .iter()
        .filter(|step| step["state"] != "reused")
        .filter_map(|step| step["step"].as_str())
        .collect();
    assert_eq!(
        names,
        ["send/0", "send/1", "sign"],
        "the draft and the approval stand, and nobody signs again"
    );
    let sign = steps.iter().find(|step| step["step"] == "sign");
    assert_eq!(sign.expect("it is there")["state"], "skipped");
}
