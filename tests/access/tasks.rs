//! Tasks over A2A, by who asked for them.

use serde_json::Value;

use super::Guarded;
use crate::http::send;

/// Issue 25: over A2A too, tasks are seen by who asked for them, and nobody sends where no rule allows it.
#[test]
fn tasks_over_a2a_are_those_of_their_callers() {
    let guarded = Guarded::start("up");
    let alice = guarded.issue(&["alice", "--role", "user"]).0;
    let bob = guarded.issue(&["bob", "--role", "user"]).0;
    let dora = guarded.issue(&["dora", "--role", "operator"]).0;
    let few = guarded.issue(&["few", "--allow", "send:writer"]).0;
    let http = &guarded.http;
    let ask = |token: &str, method: &str, path: &str, body: &str| {
        let headers = format!(
            "Content-Type: application/json\r\nA2A-Version: 1.0\r\nAuthorization: Bearer {token}\r\n"
        );
        let answer = send(http, method, path, &headers, body).expect("an answer");
        (answer.status, answer.text())
    };
    let message = r#"{"message": {"messageId": "m1", "contextId": "c1", "role": "ROLE_USER", "parts": [{"text": "hi"}], "metadata": {"agenthub.principal": "bob"}}, "configuration": {"returnImmediately": true}}"#;
    let (status, sent) = ask(&alice, "POST", "/agents/agent_echo/message:send", message);
    assert_eq!(status, 200, "{sent}");
    let sent: Value = serde_json::from_str(&sent).expect("JSON");
    let id = sent["task"]["id"].as_str().expect("a task");
    let path = format!("/agents/agent_echo/tasks/{id}");
    assert_eq!(ask(&alice, "GET", &path, "").0, 200);
    assert_eq!(ask(&dora, "GET", &path, "").0, 200);
    let (status, foreign) = ask(&bob, "GET", &path, "");
    let unknown = ask(&bob, "GET", "/agents/agent_echo/tasks/unknown", "").1;
    assert_eq!(status, 404);
    assert_eq!(foreign.replace(id, "unknown"), unknown);
    assert_eq!(ask(&bob, "POST", &format!("{path}:cancel"), "{}").0, 404);
    let listed = |token: &str| {
        let (status, text) = ask(token, "GET", "/agents/agent_echo/tasks", "");
        assert_eq!(status, 200, "{text}");
        let page: Value = serde_json::from_str(&text).expect("JSON");
        page["tasks"].as_array().expect("tasks").len()
    };
    assert_eq!([listed(&alice), listed(&bob), listed(&dora)], [1, 0, 1]);
    // The same message of another is another task.
    let (_, again) = ask(&bob, "POST", "/agents/agent_echo/message:send", message);
    let again: Value = serde_json::from_str(&again).expect("JSON");
    assert_ne!(again["task"]["id"].as_str(), Some(id), "{again}");
    let (status, text) = ask(&few, "POST", "/agents/agent_echo/message:send", message);
    assert_eq!(status, 403, "{text}");
    assert!(text.contains("send:"), "{text}");
    assert_eq!(
        ask(
            &few,
            "GET",
            "/agents/agent_echo/.well-known/agent-card.json",
            ""
        )
        .0,
        403
    );
}
