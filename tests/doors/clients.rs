//! Official clients for Python, and an agent in Python over plain gRPC, with TLS and a token. They need the Python that
//! `AGENTHUB_TEST_PYTHON` names.

use std::{env, path::Path};

use super::{Scene, mcp::open};
use crate::harness::{PATIENCE, Process, eventually};

/// The Python of the tests; `None` if there is none.
fn python() -> Option<String> {
    let python = env::var("AGENTHUB_TEST_PYTHON").ok();
    let python = python.filter(|python| !python.is_empty());
    if python.is_none() {
        eprintln!("not tested: AGENTHUB_TEST_PYTHON names no Python with the official clients");
    }
    python
}

fn file(name: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    file.to_str().expect("a path in Unicode").to_owned()
}

impl Scene {
    /// Starts another program that finds the hub, its CA and a token in the environment.
    fn start_other(&self, token: &str, program: &str, args: &[&str]) -> Process {
        let folder = self.system.folder();
        let token = std::fs::read_to_string(folder.join(token)).expect("a token");
        let variables = [
            format!("AGENTHUB_CA={}", folder.join("certs/ca.pem").display()),
            format!("AGENTHUB_TOKEN={token}"),
        ];
        let variables = variables.each_ref().map(String::as_str);
        let args = [&variables[..], &[program], args].concat();
        Process::start_other("env", folder, &self.url(), &args)
    }
}

/// Issue 25: the official A2A client for Python asks, streams, cancels and reads the extended card over all three bindings.
#[tokio::test(flavor = "multi_thread")]
async fn the_official_python_client_of_a2a_shows_a_token_over_tls() {
    let Some(python) = python() else { return };
    let scene = Scene::start().await;
    scene.issue("root", "admin");
    scene.issue("alice", "user");
    let this_program = env::current_exe().expect("it has a path");
    let this_program = this_program.to_str().expect("a path in Unicode");
    let test = "a2a::the_agent_of_the_conformance_tests";
    let args = ["--exact", test, "--ignored"];
    let _agent = scene.start_other("root.token", this_program, &args);
    eventually("the agent is there", || {
        let show = [
            "agents",
            "show",
            "conformance",
            "--json",
            "--token-file",
            "alice.token",
        ];
        let shown = scene.run(&show, "");
        shown.stdout.contains("AGENT_STATE_ONLINE").then_some(())
    });
    let script = file("tests/a2a_client.py");
    let [echo, conformance] =
        ["agent_echo", "conformance"].map(|slug| format!("https://{}/agents/{slug}", scene.http));
    let args = [
        &*script,
        &echo,
        &conformance,
        "JSONRPC",
        "HTTP+JSON",
        "GRPC",
        "--ca",
        "certs/ca.pem",
        "--token-file",
        "alice.token",
    ];
    let client = Process::start_other(&python, scene.system.folder(), "", &args);
    let finished = client.finish_within(3 * PATIENCE, "");
    assert_eq!(finished.code, Some(0), "{finished:?}");
}

/// Issue 25: MCP over HTTP takes the same tokens, and the official client for Python finds where tokens come from (RFC 9728).
#[tokio::test(flavor = "multi_thread")]
async fn the_official_python_client_of_mcp_shows_a_token_over_tls() {
    let Some(python) = python() else { return };
    let scene = Scene::start().await;
    scene.issue("alice", "user");
    let (_door, address) = open(&scene);
    let url = format!("https://{address}/mcp");
    let script = file("tests/mcp_guarded_client.py");
    let args = [
        &*script,
        &url,
        "certs/ca.pem",
        "alice.token",
        scene.issuer.issuer(),
    ];
    let client = Process::start_other(&python, scene.system.folder(), "", &args);
    let finished = client.finish_within(3 * PATIENCE, "");
    assert_eq!(finished.code, Some(0), "{finished:?}");
}

/// The agent of docs/AGENTS.md. spec: HUB-6.3
#[tokio::test(flavor = "multi_thread")]
async fn an_agent_in_python_shows_a_token_over_tls() {
    let Some(python) = python() else { return };
    let scene = Scene::start().await;
    scene.issue("words", "agent");
    scene.issue("alice", "user");
    let program = file("examples/agent.py");
    let grpc = scene.system.grpc();
    let of = |token: &str| {
        let args = [
            &*program,
            grpc,
            "--ca",
            "certs/ca.pem",
            "--token-file",
            token,
        ];
        Process::start_other(&python, scene.system.folder(), "", &args)
    };
    let agent = of("words.token");
    agent.line_with("connected");
    let ask = [
        "publish",
        "--to",
        "words",
        "--task-type",
        "count",
        "--wait",
        "so it goes",
        "--token-file",
        "alice.token",
    ];
    let counted = scene.run(&ask, "");
    assert!(counted.stdout.contains("3 words"), "{counted:?}");
    // Another principal may not be that agent.
    let other = of("alice.token");
    eventually("it is refused", || {
        other.said().contains("PERMISSION_DENIED").then_some(())
    });
}
