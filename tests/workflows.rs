//! Workflows: from a file to the result, over refusals, people and crashes.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use agenthub_sdk::{Agent, Card, RunningAgent, Skill, TaskContext};
use serde_json::Value;
use tokio::{runtime::Runtime, time::sleep};

use crate::{
    harness::{Finished, Process, System, eventually, free_address},
    http::send,
};

fn example(name: &str) -> String {
    format!("{}/examples/workflows/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// A file in the system's folder; its path.
fn written(system: &System, name: &str, text: &str) -> String {
    let path = system.folder().join(name);
    std::fs::write(&path, text).expect("the folder is there");
    path.display().to_string()
}

fn shown(system: &System, run: &str) -> Value {
    let finished = system.run(&["runs", "show", run, "--json"], "");
    serde_json::from_str(&finished.stdout).unwrap_or_default()
}

/// The run, once it is in this state.
fn in_state(system: &System, run: &str, state: &str) -> Value {
    eventually(&format!("the run is {state}"), || {
        let run = shown(system, run);
        (run["state"] == state).then_some(run)
    })
}

/// Begins a run and leaves it; its id.
fn begun(system: &System, file: &str, input: &str) -> String {
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
    ] {
        let finished = system.run(&["workflow", "run", &invitations, "--input", input], "");
        assert_eq!(finished.code, Some(2), "{finished:?}");
        assert!(finished.stderr.contains(part), "{part}: {finished:?}");
    }
    assert!(
        system.json(&["runs", "list", "--json"]).is_empty(),
        "nothing was started"
    );
    let files = [example("invitations.yaml"), example("chain.json")];
    let fine = system.run(&["workflow", "validate", &files[0], &files[1]], "");
    assert_eq!(fine.code, Some(0), "{fine:?}");
}

/// Calls of the worker, by step: the tasks that it had.
type Calls = Arc<Mutex<BTreeMap<String, Vec<String>>>>;

/// A worker that counts its calls, and takes its time for one step.
struct Worker {
    calls: Calls,
    /// The step that it does not end.
    held: Arc<Mutex<String>>,
    runtime: Runtime,
    agent: Option<RunningAgent>,
}

impl Worker {
    fn start(hub: &str) -> Self {
        let (calls, held) = (Calls::default(), Arc::new(Mutex::new(String::new())));
        let runtime = Runtime::new().expect("threads");
        let skill = Skill::new("work", "Work", "Works");
        let (counted, holding) = (Arc::clone(&calls), Arc::clone(&held));
        let agent = Agent::worker(Card::new("worker", "Works").skill(&skill)).on(
            &skill,
            move |task: TaskContext, text: String| {
                let (counted, holding) = (Arc::clone(&counted), Arc::clone(&holding));
                async move {
                    let id = task.task_id().to_owned();
                    {
                        let mut calls = counted.lock().expect("no panic");
                        calls.entry(text.clone()).or_default().push(id);
                    }
                    while *holding.lock().expect("no panic") == text {
                        sleep(Duration::from_millis(10)).await;
                    }
                    format!("{text} is done")
                }
            },
        );
        let agent = runtime
            .block_on(agent.start(hub))
            .expect("the hub is there");
        Self {
            calls,
            held,
            runtime,
            agent: Some(agent),
        }
    }

    fn hold(&self, step: &str) {
        *self.held.lock().expect("no panic") = step.to_owned();
    }

    fn wait_called(&self, step: &str) {
        eventually(&format!("{step} is called"), || {
            self.calls
                .lock()
                .expect("no panic")
                .contains_key(step)
                .then_some(())
        });
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if let Some(agent) = self.agent.take() {
            self.runtime.block_on(agent.stop());
        }
    }
}

fn up(system: &System) -> Process {
    let up = system.start(&[
        "up",
        "--json",
        "--data",
        "data",
        "--grpc",
        system.grpc(),
        "--http",
        "127.0.0.1:0",
    ]);
    up.line("the banner");
    up
}

/// spec: EXE-4.1, EXE-4.2, EXE-4.3, EXE-4.4
#[test]
fn a_workflow_survives_kills_at_every_step_and_no_completed_step_runs_again() {
    let system = System::bare(free_address());
    let mut running = up(&system);
    let worker = Worker::start(&system.hub());
    system.wait_online("worker");
    let steps = ["one", "two", "three"];
    let file = written(
        &system,
        "chain.yaml",
        "\
steps:
  one: { agent: worker, skill: work, text: one }
  two: { agent: worker, skill: work, text: two, depends_on: [one] }
  three: { agent: worker, skill: work, text: '${workflow.input.last}', depends_on: [two] }
output: ${three.output.text}
",
    );
    worker.hold(steps[0]);
    let run = begun(&system, &file, r#"{"last": "three"}"#);
    for (at, step) in steps.iter().enumerate() {
        // Once while the agent is at it, and once when it may have answered.
        worker.wait_called(step);
        for next in [step, steps.get(at + 1).unwrap_or(&"")] {
            worker.hold(next);
            running.kill();
            running = up(&system);
        }
    }
    let ended = in_state(&system, &run, "completed");
    assert!(ended.to_string().contains("three is done"), "{ended}");
    let calls = worker.calls.lock().expect("no panic").clone();
    for step in steps {
        let tasks = &calls[step];
        assert!(tasks.len() <= 2, "{step} was called {} times", tasks.len());
        assert!(
            tasks.iter().all(|task| *task == tasks[0]),
            "{step}: {tasks:?}"
        );
    }
    drop(running);
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
