//! Agents elsewhere, as agents of a hub and at a terminal, with real processes. What happens in detail is tested in the room of A2A.

use std::{env, fs, path::Path, sync::Arc};

use agenthub_sdk::{Agent, ArtifactUpdate, Card, Failure, Part, Reply, RunningAgent, TaskContext};
use tokio::{runtime::Runtime, sync::Semaphore};

use crate::harness::{Process, System, free_address};

/// A hub on disk that calls agents on this machine, and where it serves HTTP, over its restarts.
struct Near {
    system: System,
    http: String,
}

impl Near {
    fn new() -> Self {
        let system = System::bare(free_address());
        let settings = "[outbound]\nallow = ['127.0.0.0/8']\n";
        fs::write(system.folder().join("agenthub.toml"), settings).expect("it is written");
        let http = free_address();
        Self { system, http }
    }

    fn start(&self) -> Process {
        let args = [
            "broker",
            "--json",
            "--grpc",
            self.system.grpc(),
            "--http",
            &self.http,
        ];
        let broker = self.system.start(&args);
        broker.line("the banner");
        broker
    }

    fn add(&self, url: &str, id: &str) {
        let added = self
            .system
            .json(&["agents", "add", url, "--id", id, "--json"]);
        assert_eq!(added[0]["agentId"], id);
        assert_eq!(added[0]["online"], true);
    }

    fn url(&self, agent: &str) -> String {
        format!("http://{}/agents/{agent}", self.http)
    }
}

#[test]
fn an_agent_elsewhere_is_shown_and_asked_at_a_terminal() {
    let (system, _up, http) = System::up_with_http();
    let url = format!("http://{http}/agents/agent_echo");
    let card = system.run(&["a2a", "card", &url], "");
    assert_eq!(card.code, Some(0), "{card:?}");
    for part in [
        "agent_echo ",
        "interface     JSONRPC 1.0 at ",
        "can           streaming",
        "  skill ",
    ] {
        assert!(card.stdout.contains(part), "{part}: {card:?}");
    }
    let card = system.json(&["a2a", "card", &url, "--json"]);
    assert_eq!(card[0]["name"], "agent_echo");
    for binding in ["jsonrpc", "http", "grpc"] {
        let called = system.run(&["a2a", "call", &url, "good day", "--binding", binding], "");
        assert_eq!(called.code, Some(0), "{binding}: {called:?}");
        assert_eq!(called.stdout, "Echo: good day", "{binding}");
    }
    let called = system.run(&["a2a", "call", &url, "-"], "good evening\n");
    assert_eq!(called.stdout, "Echo: good evening");
    let events = system.json(&["a2a", "call", &url, "good day", "--json"]);
    assert!(events[0]["task"]["id"].is_string(), "{events:?}");

    let nobody = format!("http://{http}/agents/nobody");
    let failed = system.run(&["a2a", "call", &nobody, "good day"], "");
    assert_eq!(failed.code, Some(1), "{failed:?}");
    assert!(failed.stderr.contains("there is no card"), "{failed:?}");
    assert_eq!(system.run(&["a2a", "call", &url], "").code, Some(2));
    assert_eq!(
        system
            .run(&["a2a", "call", &url, "x", "--bearer", "sk-1"], "")
            .code,
        Some(2)
    );
}

#[test]
fn a_hub_calls_nobody_on_this_machine_unless_it_may() {
    let (far, _up, http) = System::up_with_http();
    let url = format!("http://{http}/agents/agent_echo");
    let (system, _broker) = System::broker();
    let refused = system.run(&["agents", "add", &url], "");
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(
        refused.stderr.contains("allow it in [outbound]"),
        "{refused:?}"
    );
    let metadata = system.run(&["agents", "add", "http://169.254.169.254/"], "");
    assert_eq!(metadata.code, Some(1), "{metadata:?}");
    assert!(metadata.stderr.contains("link-local"), "{metadata:?}");
    drop(far);
}

/// An agent on a hub that draws the second half when it is told to.
fn slow(hub: String) -> (Runtime, RunningAgent, Arc<Semaphore>) {
    let runtime = Runtime::new().expect("threads");
    let gate = Arc::new(Semaphore::new(0));
    let go = gate.clone();
    let half = |text: &str| {
        ArtifactUpdate::new(agenthub_sdk::Artifact {
            artifact_id: "picture".into(),
            parts: vec![Part::text(text)],
            ..Default::default()
        })
    };
    let agent =
        Agent::worker(Card::new("slow", "Draws slowly")).on_any(move |task: TaskContext| {
            let go = go.clone();
            async move {
                task.publish_artifact(half("one ")).await?;
                go.acquire().await?.forget();
                task.publish_artifact(half("two").append()).await?;
                Ok::<_, Failure>(Reply::text("drawn"))
            }
        });
    let agent = runtime.block_on(agent.start(hub)).expect("it starts");
    (runtime, agent, gate)
}

#[test]
fn an_agent_elsewhere_outlives_a_hub_that_is_killed() {
    let system = System::bare(free_address());
    let far_http = free_address();
    let args = [
        "up",
        "--json",
        "--no-chat",
        "--ephemeral",
        "--grpc",
        system.grpc(),
        "--http",
        &far_http,
    ];
    let far = system.start(&args);
    far.line("the banner");
    let (_runtime, _agent, gate) = slow(system.hub());

    let near = Near::new();
    let broker = near.start();
    near.add(&format!("http://{far_http}/agents/slow"), "far_slow");
    near.add(&format!("http://{far_http}/agents/agent_echo"), "far_echo");
    let asked = ["publish", "good day", "--to", "far_echo", "--wait"];
    let echoed = near.system.run(&asked, "");
    assert_eq!(echoed.stdout, "Echo: good day", "{echoed:?}");

    let call = near
        .system
        .start(&["a2a", "call", &near.url("far_slow"), "draw", "--json"]);
    call.line_with("one ");
    broker.kill();
    gate.add_permits(1);
    let _broker = near.start();
    let finished = call.finish("");
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert!(
        finished.stdout.contains("two") && finished.stdout.contains("drawn"),
        "{finished:?}"
    );
    // It was handed on once.
    let tasks = system.json(&["tasks", "list", "--agent", "slow", "--json"]);
    assert_eq!(tasks.len(), 1, "{tasks:?}");

    near.system.wait_online("far_echo");
    let echoed = near.system.run(&asked, "");
    assert_eq!(echoed.stdout, "Echo: good day", "{echoed:?}");
    let listed = near.system.json(&["agents", "outside", "--json"]);
    assert_eq!(listed.len(), 2);
    near.system
        .json(&["agents", "remove", "far_echo", "--json"]);
    let gone = near.system.run(&["agents", "show", "far_echo"], "");
    assert_eq!(gone.code, Some(1), "{gone:?}");
}

/// An agent written with the official SDK for Python is an agent of the hub, over each binding.
#[test]
fn an_agent_of_the_official_python_sdk_is_an_agent_of_the_hub() {
    let python = env::var("AGENTHUB_TEST_PYTHON").ok();
    let Some(python) = python.filter(|python| !python.is_empty()) else {
        eprintln!(
            "not tested: AGENTHUB_TEST_PYTHON names no Python that has the package `a2a-sdk`"
        );
        return;
    };
    let near = Near::new();
    let _broker = near.start();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/a2a_agent.py");
    let script = script.to_str().expect("a path in Unicode");
    for (binding, id) in [
        ("JSONRPC", "py_rpc"),
        ("HTTP+JSON", "py_http"),
        ("GRPC", "py_grpc"),
    ] {
        let agent = Process::start_other(&python, near.system.folder(), "", &[script, binding]);
        near.add(agent.line("its address").trim(), id);
        let listed = near.system.run(&["agents", "outside"], "");
        assert!(
            listed.stdout.contains(&format!("{binding} 1.0 at ")),
            "{listed:?}"
        );
        let call = |words: &[&str]| {
            let url = near.url(id);
            let args = [&["a2a", "call", url.as_str()], words].concat();
            near.system.run(&args, "")
        };
        let drawn = call(&["a cat"]);
        assert_eq!(
            drawn.stdout, "one two\nPython: a cat",
            "{binding}: {drawn:?}"
        );
        assert!(drawn.stderr.contains("at work"), "{binding}: {drawn:?}");

        let asked = call(&["ask"]);
        assert_eq!(asked.code, Some(1), "{binding}: {asked:?}");
        assert!(
            asked.stderr.contains("which colour?"),
            "{binding}: {asked:?}"
        );
        let (_, task) = asked.stderr.split_once("--task ").expect("how to answer");
        let task = task.split_whitespace().next().expect("a task");
        let answered = call(&["blue", "--task", task]);
        assert!(
            answered.stdout.ends_with("Python: blue"),
            "{binding}: {answered:?}"
        );

        let url = near.url(id);
        let waiting = near.system.start(&["a2a", "call", &url, "wait", "--json"]);
        waiting.line_with("at work");
        near.system.json(&["tasks", "cancel", "latest", "--json"]);
        let cancelled = waiting.finish("");
        assert_eq!(cancelled.code, Some(1), "{binding}: {cancelled:?}");
        assert!(
            cancelled.stdout.contains("TASK_STATE_CANCELED"),
            "{binding}: {cancelled:?}"
        );
    }
}
