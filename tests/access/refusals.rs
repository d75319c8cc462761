//! Refusals over HTTP: each has a body that says what, where and what to do.

use serde_json::Value;

use super::Guarded;
use crate::http::send;

const JSON: &str = "application/json";
const FORM: &str = "application/x-www-form-urlencoded";

/// Paths of every part of the port.
const PATHS: [&str; 22] = [
    "/",
    "/health",
    "/ready",
    "/metrics",
    "/v1/runs",
    "/v1/runs/x",
    "/v1/runs/x/events",
    "/v1/runs/x/cancel",
    "/v1/approvals",
    "/agents",
    "/agents/nobody",
    "/agents/nobody/message:send",
    "/.well-known/agent-card.json",
    "/.well-known/jwks.json",
    "/message:send",
    "/tasks/x:cancel",
    "/tasks/x/pushNotificationConfigs",
    "/ui/tasks/x",
    "/ui/chat",
    "/ui/nothing",
    "/nothing",
    "/a/b/%ff",
];

/// Issue 25, RFC 9457: wrong methods, unknown paths, wrong types, bodies that are too large or no JSON, pages of other origins, other hosts.
#[test]
fn every_refusal_says_what_where_and_what_to_do() {
    let guarded = Guarded::start("up");
    let (alice, _) = guarded.issue(&["alice", "--role", "admin"]);
    let http = &guarded.http;
    let own =
        format!("Authorization: Bearer {alice}\r\nOrigin: http://{http}\r\nA2A-Version: 1.0\r\n");
    let foreign = own.replace(&format!("http://{http}"), "https://evil.example");
    let large = format!(r#"{{"objective": "{}"}}"#, "x".repeat(3 << 20));
    let mut faults = Vec::new();
    let mut refusals = 0;
    for path in PATHS {
        let bare = [
            "GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW",
        ];
        let bare = bare.map(|method| (method, &own, "", ""));
        let with_body = [
            ("POST", &own, "text/plain", "x"),
            ("POST", &own, JSON, "{"),
            ("POST", &own, JSON, "[]"),
            ("POST", &own, JSON, &large),
            ("POST", &own, FORM, "a=%ff&%"),
            ("POST", &own, FORM, &large),
            ("POST", &foreign, JSON, "{}"),
        ];
        for (method, headers, content_type, body) in bare.into_iter().chain(with_body) {
            let headers = match content_type {
                "" => headers.clone(),
                content_type => format!("{headers}Content-Type: {content_type}\r\n"),
            };
            let Some(answer) = send(http, method, path, &headers, body) else {
                // Whoever refuses a large body may hang up before all of it was sent.
                assert!(body.len() > 1000, "{method} {path}");
                continue;
            };
            if !(400..500).contains(&answer.status) {
                continue;
            }
            refusals += 1;
            let status = answer.status;
            let is_page = answer
                .header("content-type")
                .is_some_and(|t| t.starts_with("text/html"));
            let text = answer.text();
            if !says_why(is_page, &text) {
                faults.push(format!("{method} {path} {content_type}: {status} {text:?}"));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(refusals > 200, "{refusals} refusals");
}

/// True for a problem with a detail, an error of A2A or JSON-RPC with a message, or a page.
fn says_why(is_page: bool, text: &str) -> bool {
    if is_page {
        return text.contains("</html>");
    }
    let Ok(said) = serde_json::from_str::<Value>(text) else {
        return false;
    };
    let words = [&said["detail"], &said["error"]["message"]];
    words
        .iter()
        .any(|words| words.as_str().is_some_and(|words| words.len() > 10))
}
