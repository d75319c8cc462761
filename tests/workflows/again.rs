//! Runs that are done again from a step, and the differences between two runs.

use serde_json::{Value, json};

use super::{begun, in_state, written};
use crate::{
    harness::{Finished, System},
    http::send,
};

#[test]
fn a_run_again_does_what_failed_and_two_runs_can_be_compared() {
    let (system, _up) = System::up();
    let file = written(
        &system,
        "again.yaml",
        "input: { type: object, properties: { b: { type: string } } }\nsteps:\n  a: { agent: agent_echo, text: one }\n  b: { agent: agent_echo, \
         text: 'two ${a.output.text}' }\n  c: { agent: '${workflow.input.b}', text: three }\n"
            .replace("agent: '${workflow.input.b}'", "agent: agent_echo")
            .replace("text: three", "text: '${b.output.deep.er}'")
            .as_str(),
    );
    let failed = system.run(&["workflow", "run", &file], "");
    assert_eq!(failed.code, Some(1), "{failed:?}");
    let id = |state: &str| {
        let runs = system.json(&["runs", "list", "--json", "--state", state]);
        runs[0]["id"].as_str().expect("an id").to_owned()
    };
    let first = id("failed");
    let retried = system.run(&["runs", "retry", &first, "--from", "b"], "");
    assert_eq!(retried.code, Some(0), "{retried:?}");
    let second = retried.stdout.trim().to_owned();
    let ended = in_state(&system, &second, "failed");
    assert_eq!(ended["resumes"], first.as_str(), "{ended}");
    let steps = system.json(&["runs", "steps", &second, "--json"]);
    let names: Vec<&str> = steps
        .iter()
        .filter_map(|step| step["step"].as_str())
        .collect();
    assert_eq!(
        names,
        ["a", "b", "c"],
        "a stands, and c, which fails before it asks anybody, is told of"
    );
    assert_eq!(
        [&steps[0]["state"], &steps[1]["state"], &steps[2]["state"]],
        ["reused", "completed", "failed"]
    );
    assert_eq!(steps[1]["request"]["text"], "two Echo: one", "{steps:?}");
    let retried = system.run(&["runs", "retry", &second], "");
    assert_eq!(retried.code, Some(0), "{retried:?}");
    let third = retried.stdout.trim().to_owned();
    in_state(&system, &third, "failed");
    let steps = system.json(&["runs", "steps", &third, "--json"]);
    let stand: Vec<_> = steps.iter().map(|s| (&s["step"], &s["state"])).collect();
    assert_eq!(
        stand,
        [
            (&"a".into(), &"reused".into()),
            (&"b".into(), &"reused".into()),
            (&"c".into(), &"failed".into())
        ],
        "what only the first run did stands in a retry of its retry"
    );

    let same = system.run(&["runs", "diff", &first, &first], "");
    assert_eq!(same.code, Some(0), "{same:?}");
    let reused = system.run(&["runs", "diff", &first, &second], "");
    assert_eq!(
        reused.code,
        Some(0),
        "what stands is no difference: {reused:?}"
    );

    let file = written(
        &system,
        "told.yaml",
        "input: { type: object, required: [x], properties: { x: { type: string } } }\nsteps: { a: { agent: agent_echo, text: hi } }\n\
         output: { r: \"${{'p': 1, 'q': 2}[workflow.input.x]}\" }\n",
    );
    let told = |x: &str, state: &str| {
        let run = begun(&system, &file, &json!({ "x": x }).to_string());
        in_state(&system, &run, state);
        run
    };
    let runs = [("p", "completed"), ("q", "completed"), ("z", "failed")];
    let [p, q, z] = runs.map(|(x, state)| told(x, state));
    let compared = system.run(&["runs", "diff", &p, &q], "");
    assert_eq!(
        compared.code,
        Some(3),
        "their steps are the same, what was asked and came of it is not: {compared:?}"
    );
    for part in [
        "the steps of the runs are the same, the runs are not",
        r#"its input differs at /x: "p", then "q""#,
        "its result differs at /message/r: 1, then 2",
    ] {
        assert!(compared.stdout.contains(part), "{part}: {compared:?}");
    }
    let compared = system.run(&["runs", "diff", &p, &z, "--json"], "");
    assert_eq!(compared.code, Some(3), "{compared:?}");
    let compared: Value = serde_json::from_str(&compared.stdout).expect("it is JSON");
    assert_eq!(
        (&compared["same"], &compared["steps"]),
        (&false.into(), &json!([]))
    );
    assert_eq!(
        compared["outcome"][0],
        r#"its state differs: "completed", then "failed""#
    );
    let plan = system.json(&["runs", "plan", &p, "--json"]).remove(0);
    assert_eq!(plan["states"]["a"], "completed", "{plan}");

    let none = system.run(&["runs", "retry", &first, "--from", "z"], "");
    assert_eq!(none.code, Some(2), "{none:?}");
    assert!(none.stderr.contains("there is no step `z`"), "{none:?}");
}

#[test]
fn a_run_again_is_one_run_for_one_key_and_request() {
    let (system, _up, http) = System::up_with_http();
    let file = written(
        &system,
        "keyed.yaml",
        "input: { type: object }\nsteps:\n  a: { agent: agent_echo, text: one }\n  b: { agent: agent_echo, text: 'two ${a.output.text}' }\n",
    );
    let first = begun(&system, &file, "{}");
    in_state(&system, &first, "completed");
    let again = |from: &str, key: &str| {
        let args = ["runs", "retry", &first, "--from", from];
        system.run(&[&args[..], &["--idempotency-key", key]].concat(), "")
    };
    let run = |finished: &Finished| {
        assert_eq!(finished.code, Some(0), "{finished:?}");
        finished.stdout.trim().to_owned()
    };
    let second = run(&again("b", "k"));
    in_state(&system, &second, "completed");
    assert_eq!(run(&again("b", "k")), second);
    assert_ne!(run(&again("b", "l")), second);
    let other = again("a", "k");
    assert_eq!(other.code, Some(1), "{other:?}");
    assert!(other.stderr.contains(&second), "{other:?}");

    let path = format!("/v1/runs/{first}/retry");
    let posted = |key: &str, body: &str| {
        let headers = format!("Content-Type: application/json\r\nIdempotency-Key: {key}\r\n");
        let answer = send(&http, "POST", &path, &headers, body).expect("an answer");
        (answer.status, answer.json())
    };
    let (status, same) = posted("k", r#"{"from": "b"}"#);
    assert_eq!(
        (status, &same["id"]),
        (201, &second.as_str().into()),
        "{same}"
    );
    let (status, other) = posted("k", r#"{"from": "b", "input": {"x": 1}}"#);
    assert_eq!(
        (status, &other["run"]),
        (422, &second.as_str().into()),
        "{other}"
    );
}
