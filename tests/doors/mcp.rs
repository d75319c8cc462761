//! MCP over HTTP with TLS: tokens of the hub and of an issuer, refusals, and what RFC 9728 tells.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Answer, Scene, authorization, https};
use crate::harness::{PATIENCE, Process, eventually};

const BEGIN: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#;

/// A door with the files of the hub, and its `host:port`.
pub(super) fn open(scene: &Scene) -> (Process, String) {
    let door = scene.start_client(&[
        "mcp",
        "--http",
        "127.0.0.1:0",
        "--tls-cert",
        "certs/server.pem",
        "--tls-key",
        "certs/server.key",
    ]);
    let line = door.line_with("MCP tools at");
    let url = line
        .split_whitespace()
        .find(|word| word.starts_with("https://127.0.0.1:") && word.ends_with("/mcp"));
    let url = url.unwrap_or_else(|| panic!("no address of TLS: {line}"));
    let address = url
        .trim_start_matches("https://")
        .trim_end_matches("/mcp")
        .to_owned();
    (door, address)
}

/// A request in a session, if there is one.
async fn post(scene: &Scene, door: &str, token: Option<&str>, session: &str, body: &str) -> Answer {
    let session = match session {
        "" => String::new(),
        session => format!("Mcp-Session-Id: {session}\r\n"),
    };
    let headers = format!(
        "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n{session}{}",
        authorization(token)
    );
    let at = ("POST", "/mcp");
    https(door, &scene.nobody(), at, &headers, body).await
}

/// The message in an answer of server-sent events.
fn message(answer: &Answer) -> Value {
    let data = answer
        .body
        .lines()
        .filter_map(|line| line.strip_prefix("data: "));
    let mut messages = data.filter_map(|line| serde_json::from_str(line).ok());
    messages.next_back().unwrap_or_else(|| panic!("{answer:?}"))
}

fn session(answer: &Answer) -> &str {
    let mut lines = answer.head.lines();
    let line = lines.find(|line| line.to_lowercase().starts_with("mcp-session-id:"));
    line.and_then(|line| line.split_once(": "))
        .unwrap_or_else(|| panic!("{answer:?}"))
        .1
}

/// Issue 25: MCP over HTTP takes the same tokens, with the resource metadata that its authorization chapter asks for. Each client asks in its own
/// name; the process, which has a token with all rights, lends it to nobody.
#[tokio::test(flavor = "multi_thread")]
async fn clients_show_their_own_tokens_over_tls() {
    let scene = Scene::start().await;
    let (alice, id) = scene.issue("alice", "user");
    let jwt = scene.jwt();
    let (_door, address) = open(&scene);
    for token in [&alice, &jwt] {
        let begun = post(&scene, &address, Some(token), "", BEGIN).await;
        assert_eq!(begun.status, 200, "{begun:?}");
        let session = session(&begun).to_owned();
        let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call",
            "params": {"name": "agent_echo", "arguments": {"request": "good day"}}});
        let call = call.to_string();
        let answer = post(&scene, &address, Some(token), &session, &call).await;
        let result = message(&answer);
        assert_eq!(result["result"]["content"][0]["text"], "Echo: good day");
        // Not as the other one.
        let other = [&alice, &jwt].into_iter().find(|other| *other != token);
        let stolen = post(&scene, &address, other.map(|o| &**o), &session, &call).await;
        assert_eq!(stolen.status, 404, "{stolen:?}");
    }
    let tasks = scene.run(
        &["tasks", "list", "--json", "--token-file", "alice.token"],
        "",
    );
    let own: Vec<Value> = tasks
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(own.len(), 1, "hers alone: {tasks:?}");
    let refused = post(&scene, &address, None, "", BEGIN).await;
    assert_eq!(refused.status, 401, "{refused:?}");
    let metadata = format!("https://{address}/.well-known/oauth-protected-resource/mcp");
    let challenge = format!("resource_metadata=\"{metadata}\"");
    assert!(refused.head.contains(&challenge), "{refused:?}");
    for path in ["", "/mcp"] {
        let path = format!("/.well-known/oauth-protected-resource{path}");
        let at = ("GET", &*path);
        let document = https(&address, &scene.nobody(), at, "", "").await;
        let document = document.json();
        assert_eq!(document["resource"], format!("https://{address}/mcp"));
        assert_eq!(
            document["authorization_servers"],
            json!([scene.issuer.issuer()])
        );
    }
    let revoked = scene.system.run(&["tokens", "revoke", &id], "");
    assert_eq!(revoked.code, Some(0), "{revoked:?}");
    eventually("the token is refused", || {
        let who = scene.run(&["access", "whoami", "--token-file", "alice.token"], "");
        (who.code != Some(0)).then_some(())
    });
    // The door hears of it after the hub.
    let begun = Instant::now();
    let refused = loop {
        let answer = post(&scene, &address, Some(&alice), "", BEGIN).await;
        if answer.status != 200 {
            break answer;
        }
        assert!(begun.elapsed() < PATIENCE, "{answer:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    assert_eq!(refused.status, 401, "{refused:?}");
    assert!(refused.head.contains("invalid_token"), "{refused:?}");
}
