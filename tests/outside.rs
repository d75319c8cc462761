//! Agents elsewhere, as agents of a hub and at a terminal, with real processes. What happens in detail is tested in the room of A2A.

use std::{env, fs, io::Write, net::TcpListener, path::Path, sync::Arc};

use agenthub_sdk::{Agent, ArtifactUpdate, Card, Failure, Part, Reply, RunningAgent, TaskContext};
use serde_json::json;
use tokio::{runtime::Runtime, sync::Semaphore};

use crate::{
    a2a_push::{notification, post},
    harness::{Process, System, eventually, free_address},
    terminal::Terminal,
};

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
        "supports      streaming",
        "signature     not signed",
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
    // The agent looks at words alone.
    let data = ["a2a", "call", &url, "good day", "--data", r#"{"a": 1}"#];
    let called = system.run(&data, "");
    assert_eq!(called.code, Some(3), "{called:?}");
    let why = "agent_echo: it did it in part";
    assert!(called.stderr.contains(why), "{called:?}");
    // Cortex says its answer as an artifact, at work, and when it is done.
    let cortex = format!("http://{http}");
    let called = system.run(&["a2a", "call", &cortex, "echo good night"], "");
    let shown = format!("{}{}", called.stdout, called.stderr);
    assert_eq!(shown.matches("good night").count(), 1, "{called:?}");
    let events = system.json(&["a2a", "call", &url, "good day", "--json"]);
    assert!(events[0]["task"]["id"].is_string(), "{events:?}");

    let nobody = format!("http://{http}/agents/nobody");
    let failed = system.run(&["a2a", "call", &nobody, "good day"], "");
    assert_eq!(failed.code, Some(1), "{failed:?}");
    assert!(failed.stderr.contains("there is no card"), "{failed:?}");
    let failed = system.run(&["a2a", "call", &url, "good day", "--task", "made-up"], "");
    assert!(
        failed.stderr.contains("the agent has no task made-up"),
        "{failed:?}"
    );
    for args in [
        &["a2a", "card", "agent.example"][..],
        &["a2a", "call", "localhost:8080", "x"],
        &["agents", "add", "agent.example"],
    ] {
        let failed = system.run(args, "");
        assert_eq!(failed.code, Some(2), "{failed:?}");
        assert!(failed.stderr.contains("neither http://"), "{failed:?}");
    }
    assert_eq!(system.run(&["a2a", "call", &url], "").code, Some(2));
    assert_eq!(
        system
            .run(&["a2a", "call", &url, "x", "--bearer", "sk-1"], "")
            .code,
        Some(2)
    );
}

#[test]
fn a_question_at_a_terminal_is_answered_or_left() {
    let (system, _up, http) = System::up_with_http();
    let runtime = Runtime::new().expect("threads");
    let agent = Agent::worker(Card::new("asker", "Asks")).on_any(async |task: TaskContext| {
        let colour = task.ask_requester("Which colour?").await?.text();
        Ok::<_, Failure>(Reply::text(format!("a {colour} cat")))
    });
    let _agent = runtime
        .block_on(agent.start(system.hub()))
        .expect("it starts");
    let url = format!("http://{http}/agents/asker");
    let mut call = Terminal::start(&system, &["a2a", "call", &url, "paint"]);
    call.shows("Which colour?");
    call.shows("> ");
    call.press("blue\r");
    call.shows("a blue cat");
    assert_eq!(call.left(), Some(0));
    let shown = ["Which colour?", "a blue cat"].map(|text| call.count(text));
    assert_eq!(shown, [1, 1], "each is said once");

    for leaves in ["\r", "\x04"] {
        let mut call = Terminal::start(&system, &["a2a", "call", &url, "paint"]);
        call.shows("> ");
        call.press(leaves);
        call.shows(&format!("give it with `agenthub a2a call {url} --task "));
        assert_eq!(call.left(), Some(1));
    }
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
    let args = [&system.up_at(&far_http)[..], &["--ephemeral"]].concat();
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
    let script = script("a2a_agent.py");
    check_agent_of_sdk("Python", |near, binding| {
        Process::start_other(&python, near.system.folder(), "", &[&script, binding])
    });
}

/// An agent written with the official SDK for JavaScript is an agent of the hub, over each binding.
#[test]
fn an_agent_of_the_official_javascript_sdk_is_an_agent_of_the_hub() {
    let packages = env::var("AGENTHUB_TEST_NODE").ok();
    let Some(packages) = packages.filter(|packages| !packages.is_empty()) else {
        eprintln!(
            "not tested: AGENTHUB_TEST_NODE names no folder that has the packages `@a2a-js/sdk` and `express`"
        );
        return;
    };
    let (script, node) = (
        script("a2a_agent.mjs"),
        format!("AGENTHUB_TEST_NODE={packages}"),
    );
    check_agent_of_sdk("JavaScript", |near, binding| {
        let args = [&*node, "node", &script, binding];
        Process::start_other("env", near.system.folder(), "", &args)
    });
}

/// The path of a script in this folder.
fn script(name: &str) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(name);
    script.to_str().expect("a path in Unicode").to_owned()
}

/// Starts an agent of an SDK for each binding, adds it by its address, and lets it stream, ask, be cancelled at work and while it waits, and
/// have its changes pushed.
fn check_agent_of_sdk(language: &str, start: impl Fn(&Near, &str) -> Process) {
    let near = Near::new();
    let _broker = near.start();
    for (binding, id) in [
        ("JSONRPC", "by_rpc"),
        ("HTTP+JSON", "by_http"),
        ("GRPC", "by_grpc"),
    ] {
        let agent = start(&near, binding);
        let address = agent.line("its address").trim().to_owned();
        near.add(&address, id);
        let listed = near.system.run(&["agents", "outside"], "");
        assert!(
            listed.stdout.contains(&format!("{binding} 1.0 at ")),
            "{listed:?}"
        );
        let url = near.url(id);
        let call = |words: &[&str]| {
            let args = [&["a2a", "call", url.as_str()], words].concat();
            near.system.run(&args, "")
        };
        let drawn = call(&["a cat"]);
        assert_eq!(
            drawn.stdout,
            format!("one two\n{language}: a cat"),
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
            answered.stdout.ends_with(&format!("{language}: blue")),
            "{binding}: {answered:?}"
        );

        let waiting = near.system.start(&["a2a", "call", &url, "wait", "--json"]);
        waiting.line_with("at work");
        near.system.json(&["tasks", "cancel", "latest", "--json"]);
        let cancelled = waiting.finish("");
        assert_eq!(cancelled.code, Some(1), "{binding}: {cancelled:?}");
        assert!(
            cancelled.stdout.contains("TASK_STATE_CANCELED"),
            "{binding}: {cancelled:?}"
        );
        let late = call(&["wait", "--timeout", "10"]);
        assert_eq!(late.code, Some(1), "{binding}: {late:?}");
        for part in ["is cancelled", "not done within 10 s"] {
            assert!(late.stderr.contains(part), "{binding}: {late:?}");
        }
        call(&["ask"]);
        near.system.json(&["tasks", "cancel", "latest", "--json"]);
        check_pushes(&near, id, &format!("{language}: a dog"));
        until_all_have_ended(address.trim_start_matches("http://"));
    }
}

/// Waits until all tasks of an agent have ended: those that were cancelled on the hub were cancelled there.
fn until_all_have_ended(agent: &str) {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": {}});
    eventually("all tasks of the agent have ended", || {
        let listed = post(agent, "/rpc", &body);
        let tasks = listed["result"]["tasks"].as_array().expect("tasks");
        let states = tasks.iter().map(|task| task["status"]["state"].as_str());
        let mut states: Vec<&str> = states.map(Option::unwrap_or_default).collect();
        states.sort_unstable();
        let expected = [["CANCELED"; 3], ["COMPLETED"; 3]].concat();
        let names = expected.iter().map(|state| format!("TASK_STATE_{state}"));
        names.eq(states).then_some(())
    });
}

/// Tasks of an agent elsewhere are pushed to a receiver, as those of any agent of the hub.
///
/// spec: A2A 1.0.1 §4.3.3
fn check_pushes(near: &Near, agent: &str, answer: &str) {
    let receiver = TcpListener::bind("127.0.0.1:0").expect("it is free");
    receiver.set_nonblocking(true).expect("a socket");
    let url = format!("http://{}/", receiver.local_addr().expect("an address"));
    let body = json!({
        "message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "a dog"}]},
        "configuration": {"taskPushNotificationConfig": {"url": url}, "returnImmediately": true},
    });
    let path = format!("/agents/{agent}/message:send");
    let sent = eventually("the hub has room for the message", || {
        let sent = post(&near.http, &path, &body);
        // A busy hub asks to try again soon.
        (sent["error"]["status"] != "UNAVAILABLE").then_some(sent)
    });
    assert!(sent["task"]["id"].is_string(), "{sent}");
    let mut pushed = String::new();
    while !pushed.contains("TASK_STATE_COMPLETED") {
        let (mut stream, _, shown) = notification(&receiver);
        write!(
            stream,
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        )
        .expect("it reads");
        pushed.push_str(&shown.to_string());
    }
    for part in ["at work", "two", answer] {
        assert!(pushed.contains(part), "{part}: {pushed}");
    }
}
