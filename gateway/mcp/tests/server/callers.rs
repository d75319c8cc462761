//! Many callers of one door, on a hub with identities: each sees and does what it may, and nothing in the name of another (issue 25).

use futures_util::StreamExt as _;
use reqwest::{Method, Response};
use rmcp::{
    model::{CallToolResponse, SubscriptionFilter},
    service::{ClientLifecycleMode, ServiceError},
};
use serde_json::{Value, json};

use crate::{
    harness::{GuardedHub, Hub, OpenDoor, lifecycles, modern, params, soon, texts, web},
    http::BEGIN,
};

/// Alice may not send to the painter; Carol may see nobody.
const POLICY: &str = "
[roles.stranger]
allow = ['be:{self}~*', 'send:*']

[principals.alice]
deny = ['send:painter']
";

const LIST: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;

/// The challenge of a refused request.
fn challenge(answer: &Response) -> String {
    let challenge = answer.headers().get("www-authenticate");
    let challenge = challenge.map(|value| value.to_str().expect("text").to_owned());
    challenge.unwrap_or_default()
}

/// A session of this token.
async fn begun(door: &OpenDoor, token: &str) -> String {
    let answer = door.post(BEGIN).bearer_auth(token).send().await;
    let answer = answer.expect("an answer");
    assert_eq!(answer.status(), 200);
    let session = answer.headers()["mcp-session-id"].to_str().expect("text");
    session.to_owned()
}

/// The status of a request in a session.
async fn status(door: &OpenDoor, method: Method, session: &str, token: &str) -> u16 {
    let request = match method {
        Method::POST => door.post(LIST),
        other => web()
            .request(other, door.url())
            .header("Accept", "text/event-stream"),
    };
    let request = request.header("Mcp-Session-Id", session).bearer_auth(token);
    request.send().await.expect("an answer").status().as_u16()
}

#[tokio::test]
async fn callers_see_and_ask_whom_they_may_in_their_own_name() {
    let guarded = GuardedHub::start(Some(POLICY)).await;
    let (admin, _) = guarded.issue("root", &["admin"]).await;
    let (alice, _) = guarded.issue("alice", &["user"]).await;
    let (bob, _) = guarded.issue("bob", &["user"]).await;
    let _writer = guarded.agent("writer", &admin).await;
    let _painter = guarded.agent("painter", &admin).await;
    let door = guarded.door().await;
    for lifecycle in lifecycles() {
        let mut of_alice = door.client_with(lifecycle.clone(), Some(&alice)).await;
        let mut of_bob = door.client_with(lifecycle, Some(&bob)).await;
        of_bob.sees(&["agent_painter", "agent_writer"]).await;
        of_alice.sees(&["agent_writer"]).await;
        for (client, name) in [(&of_alice, "alice"), (&of_bob, "bob")] {
            let result = client.call("agent_writer", json!({"request": "it"})).await;
            let expected = format!("it for {name}");
            assert_eq!(texts(&result.expect("a result")), [expected]);
        }
        let denied = of_alice
            .call("agent_painter", json!({"request": "it"}))
            .await;
        let Err(ServiceError::McpError(denied)) = denied else {
            panic!("it is no tool of hers: {denied:?}");
        };
        assert_eq!(
            denied.message,
            "unknown tool: \"agent_painter\"; here are agent_writer"
        );
    }
}

/// Sessions of one principal do not exist for another; one of its own other tokens goes on with them, as after a refresh.
#[tokio::test]
async fn a_session_is_of_one_principal_alone() {
    let guarded = GuardedHub::start(None).await;
    let (alice, first) = guarded.issue("alice", &["user"]).await;
    let (renewed, _) = guarded.issue("alice", &["user"]).await;
    let (bob, _) = guarded.issue("bob", &["admin"]).await;
    let door = guarded.door().await;
    let session = begun(&door, &alice).await;
    for method in [Method::POST, Method::GET] {
        assert_eq!(status(&door, method, &session, &bob).await, 404);
    }
    // Bob ends nothing that is not his.
    status(&door, Method::DELETE, &session, &bob).await;
    assert_eq!(status(&door, Method::POST, &session, &alice).await, 200);
    assert_eq!(status(&door, Method::POST, &session, &renewed).await, 200);
    guarded.revoke(&first);
    let gone = async { while status(&door, Method::POST, &session, &alice).await != 401 {} };
    soon(gone).await;
    assert_eq!(status(&door, Method::POST, &session, &renewed).await, 200);
}

/// Promise: a stream ends within a second after its token was revoked.
#[tokio::test]
async fn a_revoked_token_ends_calls_and_streams() {
    let guarded = GuardedHub::start(None).await;
    let (alice, id) = guarded.issue("alice", &["user"]).await;
    let door = guarded.door().await;
    let session = begun(&door, &alice).await;
    let stream = web()
        .get(door.url())
        .header("Accept", "text/event-stream")
        .header("Mcp-Session-Id", &session)
        .bearer_auth(&alice);
    let stream = stream.send().await.expect("an answer");
    assert_eq!(stream.status(), 200);
    let without_session = door.client_with(modern(), Some(&alice)).await;
    let mut filter = SubscriptionFilter::default();
    filter.tools_list_changed = Some(true);
    let subscribed = soon(without_session.service.listen(filter)).await;
    let mut subscription = subscribed.expect("it is taken");
    guarded.revoke(&id);
    let mut frames = stream.bytes_stream();
    soon(async { while frames.next().await.is_some() {} }).await;
    soon(async { while matches!(subscription.next().await, Ok(Some(_))) {} }).await;
    let again = door.post(LIST).bearer_auth(&alice).send().await;
    let again = again.expect("an answer");
    assert_eq!(again.status(), 401);
    let challenge = challenge(&again);
    assert!(challenge.contains("error=\"invalid_token\""), "{challenge}");
}

#[tokio::test]
async fn a_call_ends_with_its_token() {
    let guarded = GuardedHub::start(None).await;
    let (alice, id) = guarded.issue("alice", &["user"]).await;
    let (admin, _) = guarded.issue("root", &["admin"]).await;
    let work = agenthub_sdk::Skill::new("work", "Work", "Works");
    let card = agenthub_sdk::Card::new("slow", "Never done").skill(work);
    let (told, mut heard) = tokio::sync::mpsc::channel(1);
    let agent = agenthub_sdk::Agent::worker(card).on_task_type("work", move |task| {
        let told = told.clone();
        async move {
            let task: agenthub_sdk::TaskContext = task;
            let _ = told.send(()).await;
            task.cancelled().await;
            Err::<(), _>(agenthub_sdk::Failure::cancelled("as you like"))
        }
    });
    let agent = agent.token(&admin).expect("a token");
    let _agent = agent.start(guarded.hub.url()).await.expect("it starts");
    let door = guarded.door().await;
    let client = door
        .client_with(ClientLifecycleMode::Initialize, Some(&alice))
        .await;
    let peer = client.service.peer().clone();
    let calling = tokio::spawn(async move {
        let call = params("agent_slow", json!({"request": "it"}));
        peer.call_tool_once(call).await
    });
    soon(heard.recv()).await.expect("it begins");
    guarded.revoke(&id);
    // Its stream ends, before or after it was told.
    let ended = soon(calling).await.expect("no panic");
    let is_done =
        matches!(ended, Ok(CallToolResponse::Complete(done)) if done.is_error != Some(true));
    assert!(!is_done, "it goes on without its token");
}

/// RFC 6750 §3, RFC 9728 §5.1
#[tokio::test]
async fn who_is_not_let_in_is_told_why_and_where_tokens_come_from() {
    let guarded = GuardedHub::start(Some(POLICY)).await;
    let (alice, id) = guarded.issue("alice", &["user"]).await;
    let (carol, _) = guarded.issue("carol", &["stranger"]).await;
    let (late, _) = guarded.issue("late", &["user"]).await;
    guarded.revoke(&id);
    let door = OpenDoor::to(&guarded.hub, |settings| {
        settings.issuers = vec!["https://login.example".to_owned()];
        settings.scopes = vec!["openid".to_owned()];
    })
    .await;
    let metadata = format!(
        "http://{}/.well-known/oauth-protected-resource/mcp",
        door.address
    );
    let revoked = async {
        while door
            .post(LIST)
            .bearer_auth(&alice)
            .send()
            .await
            .expect("an answer")
            .status()
            != 401
        {}
    };
    soon(revoked).await;
    let unknown = format!("Bearer ah_{}", "A".repeat(43));
    for (authorization, status, error) in [
        (None, 401, None),
        (Some("Basic eA==".to_owned()), 401, None),
        (Some("Bearer".to_owned()), 400, Some("invalid_request")),
        (Some(unknown), 401, Some("invalid_token")),
        (Some(format!("Bearer {alice}")), 401, Some("invalid_token")),
        (Some("Bearer a.b.c".to_owned()), 401, Some("invalid_token")),
        (
            Some(format!("Bearer {carol}")),
            403,
            Some("insufficient_scope"),
        ),
    ] {
        let mut request = door.post(BEGIN);
        if let Some(authorization) = &authorization {
            request = request.header("Authorization", authorization);
        }
        let answer = request.send().await.expect("an answer");
        assert_eq!(answer.status(), status, "{authorization:?}");
        let challenge = challenge(&answer);
        let place = format!("resource_metadata=\"{metadata}\"");
        assert!(challenge.starts_with("Bearer "), "{challenge}");
        assert!(challenge.contains(&place), "{challenge}");
        assert!(challenge.contains("scope=\"openid\""), "{challenge}");
        assert_eq!(challenge.contains("error="), error.is_some(), "{challenge}");
        if let Some(error) = error {
            assert!(challenge.contains(&format!("error=\"{error}\"")));
        }
        let body: Value = answer.json().await.expect("JSON");
        assert!(body["error"]["message"].is_string(), "{body}");
    }
    // A token in the query is none (RFC 6750 §2.3), and neither is the token of the process.
    let queried = format!("{}?access_token={late}", door.url());
    let queried = web().post(queried).body(BEGIN).send().await;
    assert_eq!(queried.expect("an answer").status(), 401);
    for path in ["", "/mcp"] {
        let place = format!(
            "http://{}/.well-known/oauth-protected-resource{path}",
            door.address
        );
        let document = web().get(place).send().await.expect("an answer");
        let document: Value = document.json().await.expect("JSON");
        assert_eq!(
            document,
            json!({
                "resource": door.url(),
                "authorization_servers": ["https://login.example"],
                "scopes_supported": ["openid"],
                "bearer_methods_supported": ["header"],
                "resource_name": "AgentHub",
            })
        );
    }
}

/// A caller who was let in while nobody needed a token is not let in afterwards.
#[tokio::test]
async fn the_first_token_ends_the_sessions_of_everybody() {
    let guarded = GuardedHub::start(None).await;
    let door = guarded.door().await;
    let begin = door.post(BEGIN).send().await.expect("an answer");
    let session = begin.headers()["mcp-session-id"]
        .to_str()
        .expect("text")
        .to_owned();
    let stream = web()
        .get(door.url())
        .header("Accept", "text/event-stream")
        .header("Mcp-Session-Id", &session);
    let stream = stream.send().await.expect("an answer");
    let (alice, _) = guarded.issue("alice", &["admin"]).await;
    let mut frames = stream.bytes_stream();
    soon(async { while frames.next().await.is_some() {} }).await;
    let nobody = door.post(LIST).header("Mcp-Session-Id", &session);
    assert_eq!(nobody.send().await.expect("an answer").status(), 401);
    assert_eq!(status(&door, Method::POST, &session, &alice).await, 404);
}

/// Beyond loopback nobody is let in without an identity, whatever the hub does.
#[tokio::test]
async fn a_door_that_needs_identities_opens_to_nobody_on_an_open_hub() {
    let hub = Hub::start().await;
    let door = OpenDoor::to(&hub, |settings| settings.needs_identity = true).await;
    for token in [None, Some("ah_x")] {
        let mut request = door.post(BEGIN);
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        let answer = request.send().await.expect("an answer");
        assert_eq!(answer.status(), 403);
        assert_eq!(challenge(&answer), "", "no token would help");
    }
    assert_eq!(door.door.is_hub_open().await, Some(true));
}

/// Nobody is let in while there is no hub, and a client may try again.
#[tokio::test]
async fn without_a_hub_nobody_is_let_in() {
    let hub = Hub::start().await;
    let door = hub.door().await;
    hub.stop().await;
    let answer = door.post(BEGIN).bearer_auth("ah_x").send().await;
    let answer = answer.expect("an answer");
    assert_eq!(answer.status(), 503);
    assert!(answer.headers().contains_key("retry-after"));
    assert_eq!(door.door.is_hub_open().await, None);
}
