//! Monitoring messages of workflows, as agents get them that have registered for the topic.

use std::sync::mpsc;

use agenthub_sdk::{Agent, Card, Reply, RunningAgent, TaskContext};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::harness::{PATIENCE, System, eventually, free_address};

const TOPIC: &str = "workflow.monitoring.updates";

/// An agent that watches workflows.
struct Watcher {
    messages: mpsc::Receiver<(String, Value)>,
    runtime: Runtime,
    agent: Option<RunningAgent>,
}

impl Watcher {
    fn start(system: &System) -> Self {
        let (sender, messages) = mpsc::channel();
        let runtime = Runtime::new().expect("threads");
        let agent = Agent::worker(Card::new("watcher", "Watches workflows"))
            .topics([TOPIC])
            .concurrency(1)
            .on_any(move |task: TaskContext| {
                if task.routing().event_type == TOPIC {
                    let id = task.message().message_id.clone();
                    let _ = sender.send((id, task.data().unwrap_or_default()));
                }
                async { Reply::none() }
            });
        let agent = runtime
            .block_on(agent.start(system.hub()))
            .expect("the hub is there");
        Self {
            messages,
            runtime,
            agent: Some(agent),
        }
    }

    /// The messages of a run, each once, until the last one.
    fn all_of(&self, run: &str) -> Vec<Value> {
        let mut seen = Vec::new();
        let mut bodies = Vec::new();
        loop {
            let next = self.messages.recv_timeout(PATIENCE);
            let (id, body) = next.unwrap_or_else(|_| panic!("no more than {bodies:#?}"));
            if body["run_id"] != run || seen.contains(&id) {
                continue;
            }
            seen.push(id);
            bodies.push(body);
            if bodies.last().is_some_and(|b| b["step_name"] == "workflow") {
                return bodies;
            }
        }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        if let Some(agent) = self.agent.take() {
            self.runtime.block_on(agent.stop());
        }
    }
}

fn begun(system: &System, workflow: &str) -> String {
    let path = system.folder().join("workflow.yaml");
    std::fs::write(&path, workflow).expect("the folder is there");
    let path = path.display().to_string();
    let started = system.run(&["workflow", "run", &path, "--detach"], "");
    assert_eq!(started.code, Some(0), "{started:?}");
    started.stdout.trim().to_owned()
}

fn lines(bodies: &[Value]) -> Vec<String> {
    let line = |body: &Value| {
        let text = |field: &str| body[field].as_str().unwrap_or_default().to_owned();
        format!("{} {}", text("step_name"), text("status"))
    };
    bodies.iter().map(line).collect()
}

/// spec: EXE-3.3, EXE-3.4, EXE-8.1, EXE-8.2, EXE-8.4, EXE-8.5, EXE-10.3
#[test]
fn every_change_of_a_step_is_told_once_and_in_order_though_the_executor_is_killed() {
    let system = System::bare(free_address());
    let up = system.start_durable_up();
    let watcher = Watcher::start(&system);
    system.wait_online("watcher");
    let run = begun(
        &system,
        "\
steps:
  one: { agent: agent_echo, text: hi }
  ask: { approve: Go on?, depends_on: [one] }
  two: { agent: agent_echo, text: '${one.output.text}', depends_on: [ask] }
",
    );
    let approval = eventually("a person is asked", || {
        let shown = system.run(&["runs", "show", &run, "--json"], "");
        let shown: Value = serde_json::from_str(&shown.stdout).unwrap_or_default();
        shown["approvals"][0]["id"].as_str().map(str::to_owned)
    });
    up.kill();
    let up = system.start_durable_up();
    eventually("the run asks again", || {
        let approved = system.run(&["runs", "approve", &run, &approval], "");
        (approved.code == Some(0)).then_some(())
    });
    // What follows from the answer may be told, or not.
    up.kill();
    let _up = system.start_durable_up();
    let bodies = watcher.all_of(&run);
    assert_eq!(
        lines(&bodies),
        [
            "one RUNNING",
            "one COMPLETED",
            "ask RUNNING",
            "ask COMPLETED",
            "two RUNNING",
            "two COMPLETED",
            "workflow COMPLETED",
        ]
    );
    for body in &bodies {
        let fields: Vec<&String> = body.as_object().expect("an object").keys().collect();
        assert_eq!(
            fields,
            ["metadata", "run_id", "status", "step_name", "timestamp"]
        );
        let at = body["timestamp"].as_str().expect("a text");
        assert!(at.ends_with('Z') && at.contains('T'), "{at}");
    }
}

/// spec: EXE-8.3, EXE-8.5
#[test]
fn a_step_that_fails_is_told_with_its_error_and_the_workflow_behind_it() {
    let (system, _up) = System::up();
    let watcher = Watcher::start(&system);
    system.wait_online("watcher");
    let run = begun(
        &system,
        "steps:\n  ask: { approve: Go on? }\n  two: { agent: agent_echo, text: x, depends_on: [ask] }\n",
    );
    let approval = eventually("a person is asked", || {
        let shown = system.run(&["runs", "show", &run, "--json"], "");
        let shown: Value = serde_json::from_str(&shown.stdout).unwrap_or_default();
        shown["approvals"][0]["id"].as_str().map(str::to_owned)
    });
    let refused = system.run(
        &[
            "runs",
            "refuse",
            &run,
            &approval,
            "--comment",
            "too soon",
            "--by",
            "ann",
        ],
        "",
    );
    assert_eq!(refused.code, Some(0), "{refused:?}");
    let bodies = watcher.all_of(&run);
    assert_eq!(
        lines(&bodies),
        ["ask RUNNING", "ask FAILED", "workflow FAILED"]
    );
    assert_eq!(
        bodies[1]["metadata"],
        json!({"attempt": 1, "error": "ann refused it: too soon"})
    );
    let error = bodies[2]["metadata"]["error"].as_str().expect("an error");
    assert!(error.contains("the step `ask` has failed"), "{error}");
}
