//! A2A on the running program. What the gateway does in detail is tested in its room.

use std::{
    env,
    io::{Read, Write},
    net::TcpStream,
    path::Path,
};

use serde_json::{Value, json};

use crate::harness::{PATIENCE, Process, System, eventually, free_address, get, http_address};

#[path = "conformance/behaviours.rs"]
mod behaviours;

pub(crate) fn json(answer: &str) -> Value {
    let (_, body) = answer.split_once("\r\n\r\n").expect("a body");
    serde_json::from_str(body).expect("JSON")
}

/// The answer to a request of A2A 1.0, head included.
pub(crate) fn post(http: &str, path: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(http).expect("it listens");
    stream
        .set_read_timeout(Some(PATIENCE))
        .expect("a time that is not zero");
    let length = body.len();
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nHost: {http}\r\nA2A-Version: 1.0\r\nContent-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
    .expect("it reads");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("it answers");
    text
}

/// spec: A2A 1.0.1 §8.2
#[test]
fn cortex_is_the_agent_at_the_root_and_the_others_are_below() {
    let (_system, _up, http) = System::up_with_http();
    let card = json(&get(&http, "/.well-known/agent-card.json"));
    assert_eq!(card["name"], "cortex");
    assert_eq!(
        card["supportedInterfaces"][0]["url"],
        format!("http://{http}")
    );
    let card = "/agents/agent_echo/.well-known/agent-card.json";
    let card = json(&get(&http, card));
    assert_eq!(card["supportedInterfaces"][0]["tenant"], "agent_echo");
    let agents = json(&get(&http, "/agents?tag=echo"));
    assert_eq!(agents["agents"][0]["slug"], "agent_echo");
}

/// The official client for Python finds the echo agent, asks it, streams and looks at its tasks, over all three bindings.
#[test]
fn the_official_python_client_uses_an_agent() {
    let python = env::var("AGENTHUB_TEST_PYTHON").ok();
    let Some(python) = python.filter(|python| !python.is_empty()) else {
        eprintln!(
            "not tested: AGENTHUB_TEST_PYTHON names no Python that has the package `a2a-sdk`"
        );
        return;
    };
    let (system, _up, http) = System::up_with_http();
    let _agent = Conformance::start(&system, &http);
    let script = script("a2a_client.py");
    let [echo, conformance] =
        ["agent_echo", "conformance"].map(|slug| format!("http://{http}/agents/{slug}"));
    let args = [
        &*script,
        &echo,
        &conformance,
        "JSONRPC",
        "HTTP+JSON",
        "GRPC",
    ];
    let client = Process::start_other(&python, system.folder(), "", &args);
    let finished = client.finish_within(3 * PATIENCE, "");
    assert_eq!(finished.code, Some(0), "{finished:?}");
}

/// The official client for JavaScript asks an agent of the SDK, streams, answers its questions and cancels, over all three bindings.
#[test]
fn the_official_javascript_client_uses_an_agent() {
    let packages = env::var("AGENTHUB_TEST_NODE").ok();
    let Some(packages) = packages.filter(|packages| !packages.is_empty()) else {
        eprintln!(
            "not tested: AGENTHUB_TEST_NODE names no folder that has the package `@a2a-js/sdk`"
        );
        return;
    };
    let (system, _up, http) = System::up_with_http();
    let _agent = Conformance::start(&system, &http);
    let script = script("a2a_client.mjs");
    let url = format!("http://{http}/agents/conformance");
    let node = format!("AGENTHUB_TEST_NODE={packages}");
    let args = [
        &*node,
        "node",
        &script,
        &url,
        "JSONRPC",
        "HTTP+JSON",
        "GRPC",
    ];
    let client = Process::start_other("env", system.folder(), "", &args);
    let finished = client.finish_within(3 * PATIENCE, "");
    assert_eq!(finished.code, Some(0), "{finished:?}");
}

/// The path of a script in this folder.
fn script(name: &str) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(name);
    script.to_str().expect("a path in Unicode").to_owned()
}

/// The agent of the conformance tests, as a process of this program.
struct Conformance(Process);

impl Conformance {
    /// Starts it, and waits until its card is there.
    fn start(system: &System, http: &str) -> Self {
        let this_program = env::current_exe().expect("it has a path");
        let test = "a2a::the_agent_of_the_conformance_tests";
        let args = ["--exact", test, "--ignored"];
        let agent = Process::start_other(this_program, system.folder(), &system.hub(), &args);
        eventually("the agent has a card", || {
            let card = get(http, "/agents/conformance/.well-known/agent-card.json");
            card.starts_with("HTTP/1.1 200").then_some(())
        });
        Self(agent)
    }
}

#[tokio::test]
#[ignore = "it is a part of other tests"]
async fn the_agent_of_the_conformance_tests() {
    let hub = env::var("AGENTHUB_HUB").expect("the test says where its hub is");
    let agent = behaviours::agent(None).run(hub).await;
    agent.expect("it ends well");
}

/// The task of an answer to `SendMessage`, over JSON-RPC.
fn send(http: &str, text: &str, task: Option<&Value>, is_waited_for: bool) -> Value {
    let mut message = json!({"messageId": text, "role": "ROLE_USER", "parts": [{"text": text}]});
    if let Some(task) = task {
        message["taskId"] = task["id"].clone();
    }
    let configuration = json!({"returnImmediately": !is_waited_for});
    let params = json!({"message": message, "configuration": configuration});
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params});
    let answer = post(http, "/agents/conformance", &request.to_string());
    let mut answer = json(&answer);
    assert_eq!(answer["error"], Value::Null);
    answer["result"]["task"].take()
}

fn shown(task: &Value) -> (&str, &str) {
    let status = &task["status"];
    let text = &status["message"]["parts"][0]["text"];
    (
        status["state"].as_str().unwrap_or_default(),
        text.as_str().unwrap_or_default(),
    )
}

/// spec: A2A 1.0.1 §3.4.3
#[test]
fn a_question_outlives_an_agent_and_a_hub_that_are_killed() {
    let system = System::bare(free_address());
    let start_hub = || {
        let hub = system.begin_durable_broker_in(&[]);
        let http = http_address(&hub);
        (hub, http)
    };
    let (hub, http) = start_hub();
    let agent = Conformance::start(&system, &http);
    let asked = send(&http, "ask", None, true);
    assert_eq!(
        shown(&asked),
        ("TASK_STATE_INPUT_REQUIRED", "Which colour?")
    );

    agent.0.kill();
    hub.kill();
    let (hub, http) = start_hub();
    // Nobody is there to take the answer yet.
    send(&http, "blue", Some(&asked), false);
    let agent = Conformance::start(&system, &http);
    let task = || {
        let id = asked["id"].as_str().expect("an id");
        let path = format!("/agents/conformance/tasks/{id}?A2A-Version=1.0");
        json(&get(&http, &path))
    };
    eventually("it goes on with the answer", || {
        (shown(&task()) == ("TASK_STATE_INPUT_REQUIRED", "Which size?")).then_some(())
    });

    agent.0.kill();
    let _agent = Conformance::start(&system, &http);
    let done = send(&http, "large", Some(&asked), true);
    assert_eq!(shown(&done), ("TASK_STATE_COMPLETED", "a large blue cat"));
    drop(hub);
}
