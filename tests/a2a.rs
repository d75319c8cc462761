//! A2A on the running program. What the gateway does in detail is tested in its room.

use std::{env, path::Path};

use serde_json::Value;

use crate::harness::{Process, System, get, http_address};

fn json(answer: &str) -> Value {
    let (_, body) = answer.split_once("\r\n\r\n").expect("a body");
    serde_json::from_str(body).expect("JSON")
}

/// The hub, Cortex and the echo agent, and where they serve HTTP.
fn up() -> (System, Process, String) {
    let system = System::bare("127.0.0.1:0".to_owned());
    let args = "up --json --ephemeral --grpc 127.0.0.1:0 --http 127.0.0.1:0";
    let args: Vec<&str> = args.split(' ').collect();
    let up = system.start(&args);
    let http = http_address(&up);
    (system, up, http)
}

/// spec: A2A 1.0.1 §8.2
#[test]
fn cortex_is_the_agent_at_the_root_and_the_others_are_below() {
    let (_system, _up, http) = up();
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
    let (system, _up, http) = up();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/a2a_client.py");
    let script = script.to_str().expect("a path in Unicode");
    let url = format!("http://{http}/agents/agent_echo");
    let args = [script, &url, "JSONRPC", "HTTP+JSON", "GRPC"];
    let client = Process::start_other(&python, system.folder(), "", &args);
    let finished = client.finish("");
    assert_eq!(finished.code, Some(0), "{finished:?}");
}
