//! Quotas over the whole system.

use std::{
    fs,
    time::{Duration, Instant},
};

use agenthub_proto::{
    a2a::{Message, Role, TaskState, TaskStatus},
    agenthub::{
        AgentEventMetadata, CancelTaskRequest, ChargeRequest, PublishMessageRequest,
        PublishTaskUpdateRequest, SubscribeToMessagesRequest, TaskStatusUpdateEvent,
        agent_hub_client::AgentHubClient,
    },
};
use futures_util::future::join_all;
use serde_json::Value;
use tonic::{
    Code, Request, Status,
    codegen::InterceptedService,
    metadata::AsciiMetadataValue,
    service::Interceptor,
    transport::{Channel, Endpoint},
};
use tonic_types::StatusExt as _;

use crate::{
    harness::{PATIENCE, System, eventually, free_address, within_a_day},
    http::send,
};

/// Quotas of the tests.
const POLICY: &str = r#"
[quotas.principals.alice]
publishes_per_second = 5
streams = 1

[quotas.principals.carol]
open_tasks = 2

[quotas.roles.user]
tokens_per_day = 1000

[quotas.principals.erin]
tokens_per_day = 1_000_000
"#;

#[derive(Clone)]
struct Bearing(AsciiMetadataValue);

impl Interceptor for Bearing {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        let token = self.0.clone();
        request.metadata_mut().insert("authorization", token);
        Ok(request)
    }
}

type Client = AgentHubClient<InterceptedService<Channel, Bearing>>;

/// A system with a policy of quotas, and tokens of these users.
fn system<const N: usize>(users: [&str; N]) -> (System, [String; N]) {
    let system = System::bare(free_address());
    let file = |name: &str, text: &str| {
        fs::write(system.folder().join(name), text).expect("it is written");
    };
    file("policy.toml", POLICY);
    file("agenthub.toml", "[access]\npolicy = \"policy.toml\"\n");
    let tokens = users.map(|name| {
        let issue = ["tokens", "issue", name, "--role", "user", "--json"];
        let token = system.json(&issue).remove(0)["token"].take();
        token.as_str().expect("a token").to_owned()
    });
    (system, tokens)
}

async fn client(system: &System, token: &str) -> Client {
    let endpoint = Endpoint::from_shared(system.hub()).expect("a URL");
    let channel = endpoint.connect().await.expect("the hub listens");
    let token = format!("Bearer {token}").parse().expect("a header");
    AgentHubClient::with_interceptor(channel, Bearing(token))
}

async fn publish(
    client: &mut Client,
    from: &str,
    to: &str,
    id: &str,
    task: &str,
) -> Result<(), Status> {
    let request = PublishMessageRequest {
        message: Some(Message {
            message_id: id.to_owned(),
            context_id: "c".to_owned(),
            task_id: task.to_owned(),
            ..Message::new(Role::User, "hi")
        }),
        routing: Some(AgentEventMetadata {
            from_agent_id: from.to_owned(),
            to_agent_id: to.to_owned(),
            ..AgentEventMetadata::default()
        }),
        ..PublishMessageRequest::default()
    };
    client.publish_message(request).await.map(drop)
}

/// Issue 25: publishes a second and streams of a principal; nobody else is held up, and the refusal says when to come back.
#[tokio::test(flavor = "multi_thread")]
async fn publishes_and_streams_are_limited_by_principal() {
    let (mut system, tokens) = system(["alice", "bob"]);
    let _broker = system.serve_anywhere(&["broker"]);
    let mut alice = client(&system, &tokens[0]).await;
    let mut bob = client(&system, &tokens[1]).await;
    // All at once, as a slow machine takes long enough for thirty, one after the other, that each is within the quota.
    let sent = (0..30).map(|at| {
        let mut alice = alice.clone();
        async move { publish(&mut alice, "alice", "bob", &format!("m{at}"), "").await }
    });
    let of_bob = async {
        for at in 0..30 {
            let sent = publish(&mut bob, "bob", "alice", &format!("m{at}"), "").await;
            sent.expect("bob has no quota of publishes");
        }
    };
    let (sent, ()) = tokio::join!(join_all(sent), of_bob);
    let refused: Vec<Status> = sent.into_iter().filter_map(Result::err).collect();
    let status = refused.first().expect("some are refused");
    assert!(refused.len() < 26, "five are let through");
    assert_eq!(status.code(), Code::ResourceExhausted, "{status}");
    let said = status.message();
    assert!(
        said.contains("\"alice\" has a quota of 5 publishes a second"),
        "{said}"
    );
    assert!(said.contains("come back in"), "{said}");
    let details = String::from_utf8_lossy(status.details()).into_owned();
    assert!(details.contains("google.rpc.RetryInfo"), "{details}");
    let listening = || SubscribeToMessagesRequest {
        agent_id: "alice".to_owned(),
        ..SubscribeToMessagesRequest::default()
    };
    let first = alice.subscribe_to_messages(listening()).await;
    let first = first.expect("one stream may be open");
    let second = alice.subscribe_to_messages(listening()).await;
    let status = second.expect_err("not two");
    assert_eq!(status.code(), Code::ResourceExhausted, "{status}");
    assert!(status.message().contains("1 streams at once"), "{status}");
    // Whoever looks at what the hub offers keeps its mail, and the other way round.
    let channel = Endpoint::from_shared(system.hub()).expect("a URL");
    let channel = channel.connect().await.expect("the hub listens");
    let reflection = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
    let looked = super::call(&channel, reflection, Some(&tokens[0])).await;
    assert_ne!(looked, Code::ResourceExhausted);
    drop(first);
    let begun = Instant::now();
    while alice.subscribe_to_messages(listening()).await.is_err() {
        assert!(
            begun.elapsed() < PATIENCE,
            "the stream that ended still counts"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Issue 25: open tasks, right after a restart too.
#[tokio::test(flavor = "multi_thread")]
async fn open_tasks_are_limited_also_after_a_restart() {
    let (mut system, tokens) = system(["carol", "bob"]);
    let (broker, _) = system.serve_anywhere(&["broker"]);
    let mut carol = client(&system, &tokens[0]).await;
    let ask = |task: &str| (format!("m-{task}"), task.to_owned());
    for task in ["t1", "t2"] {
        let (id, task) = ask(task);
        let asked = publish(&mut carol, "carol", "bob", &id, &task).await;
        asked.expect("two may be open");
    }
    let refused = publish(&mut carol, "carol", "bob", "m-t3", "t3").await;
    let status = refused.expect_err("not three");
    assert_eq!(status.code(), Code::ResourceExhausted, "{status}");
    assert!(
        status
            .message()
            .contains("\"carol\" has a quota of 2 open tasks, and has 2"),
        "{status}"
    );
    let mut bob = client(&system, &tokens[1]).await;
    let asked = publish(&mut bob, "bob", "carol", "m-b", "b").await;
    asked.expect("bob has no quota of tasks");
    broker.kill();
    let _broker = system.serve_anywhere(&["broker"]);
    let mut carol = client(&system, &tokens[0]).await;
    let refused = publish(&mut carol, "carol", "bob", "m-t3", "t3").await;
    refused.expect_err("two are open still");
    let cancel = CancelTaskRequest {
        task_id: "t1".to_owned(),
        reason: String::new(),
    };
    carol.cancel_task(cancel).await.expect("it is hers");
    let asked = publish(&mut carol, "carol", "bob", "m-t3", "t3").await;
    asked.expect("one has ended");
}

/// Issue 25: tokens a day, by what agents report at the end of tasks; they are there after a restart.
#[tokio::test(flavor = "multi_thread")]
async fn tokens_of_a_day_are_limited_also_after_a_restart() {
    within_a_day();
    let (mut system, tokens) = system(["dora", "bob"]);
    let (broker, _) = system.serve_anywhere(&["broker"]);
    let mut dora = client(&system, &tokens[0]).await;
    let mut bob = client(&system, &tokens[1]).await;
    let asked = publish(&mut dora, "dora", "bob", "m1", "t1").await;
    asked.expect("nothing is spent");
    let task = dora
        .get_task(agenthub_proto::agenthub::GetTaskRequest {
            task_id: "t1".to_owned(),
            ..Default::default()
        })
        .await
        .expect("it is hers");
    drop(task);
    let usage = Message::default().with_metadata("usage", serde_json::json!({"tokens": 1500}));
    let ended = PublishTaskUpdateRequest {
        update: Some(TaskStatusUpdateEvent {
            task_id: "t1".to_owned(),
            status: Some(TaskStatus {
                state: TaskState::Completed.into(),
                ..TaskStatus::default()
            }),
            r#final: true,
            metadata: usage.metadata,
            ..TaskStatusUpdateEvent::default()
        }),
        routing: Some(AgentEventMetadata {
            from_agent_id: "bob".to_owned(),
            ..AgentEventMetadata::default()
        }),
    };
    bob.publish_task_update(ended).await.expect("it is his");
    let refused = publish(&mut dora, "dora", "bob", "m2", "t2").await;
    let status = refused.expect_err("1500 of 1000 are spent");
    assert_eq!(status.code(), Code::ResourceExhausted, "{status}");
    assert!(
        status
            .message()
            .contains("a quota of 1000 tokens a day, and has 1500: come back in"),
        "{status}"
    );
    let file = system.folder().join("dora.token");
    fs::write(&file, &tokens[0]).expect("it is written");
    let file = file.to_str().expect("a path");
    let who = system.json(&["access", "whoami", "--json", "--token-file", file]);
    let quotas = &who[0]["quotas"];
    assert_eq!(quotas[0]["what"], "tokens a day", "{quotas}");
    assert_eq!(
        (&quotas[0]["limit"], &quotas[0]["used"]),
        (&1000.into(), &1500.into())
    );
    let refused = publish(&mut dora, "dora", "bob", "m3", "").await;
    let status = refused.expect_err("a message of no task may have models work, too");
    assert!(
        status.get_details_retry_info().is_some(),
        "when to come back: {status}"
    );
    let asked = publish(&mut bob, "bob", "dora", "m4", "t4").await;
    asked.expect("bob has spent nothing");
    broker.kill();
    let _broker = system.serve_anywhere(&["broker"]);
    let mut dora = client(&system, &tokens[0]).await;
    let refused = publish(&mut dora, "dora", "bob", "m2", "t2").await;
    refused.expect_err("it is the same day still");
}

/// Issue 25: whoever is over a quota is told when to come back over HTTP, too: A2A and runs.
#[tokio::test(flavor = "multi_thread")]
async fn over_http_the_answer_says_when_to_come_back() {
    within_a_day();
    let (mut system, tokens) = system(["dora", "erin"]);
    let root = system.json(&["tokens", "issue", "root", "--role", "admin", "--json"]);
    let root = root[0]["token"].as_str().expect("a token").to_owned();
    let (_up, http) = system.serve_anywhere(&["up", "--no-chat"]);
    let mut admin = client(&system, &root).await;
    let charge = ChargeRequest {
        principal: "dora".to_owned(),
        tokens: 1200,
        cost_micros: 0,
    };
    admin.charge(charge).await.expect("an administrator may");
    let headers = format!(
        "Content-Type: application/json\r\nA2A-Version: 1.0\r\nAuthorization: Bearer {}\r\n",
        tokens[0]
    );
    let message = r#"{"message": {"messageId": "m1", "contextId": "c1", "role": "ROLE_USER", "parts": [{"text": "hi"}]}}"#;
    let run = r#"{"objective": "say hello"}"#;
    for (path, body) in [
        ("/agents/agent_echo/message:send", message),
        ("/v1/runs", run),
    ] {
        let answer = send(&http, "POST", path, &headers, body).expect("an answer");
        let after = answer.header("Retry-After").map(str::to_owned);
        let (status, text) = (answer.status, answer.text());
        assert_eq!(status, 429, "{path}: {text}");
        let seconds: u64 = after.expect(path).parse().expect("seconds");
        assert!((1..=24 * 3600).contains(&seconds), "{path}: {seconds}");
        assert!(
            text.contains("a quota of 1000 tokens a day"),
            "{path}: {text}"
        );
    }
    let rpc = serde_json::json!({
        "jsonrpc": "2.0", "id": 1, "method": "SendMessage",
        "params": serde_json::from_str::<Value>(message).expect("JSON"),
    });
    let answer = send(
        &http,
        "POST",
        "/agents/agent_echo",
        &headers,
        &rpc.to_string(),
    );
    let answer = answer.expect("an answer");
    assert!(answer.header("Retry-After").is_some());
    let text = answer.text();
    assert!(text.contains("google.rpc.RetryInfo"), "{text}");

    // What a conversation takes counts for who has it, and is refused once nothing is left.
    let [of_dora, of_erin] = [0, 1].map(|n| {
        let file = system.folder().join(format!("{n}.token"));
        fs::write(&file, &tokens[n]).expect("it is written");
        file.to_str().expect("a path").to_owned()
    });
    let refused = system.run(&["chat", "--token-file", &of_dora], "hello\n");
    let said = format!("{}{}", refused.stdout, refused.stderr);
    assert!(said.contains("a quota of 1000 tokens a day"), "{refused:?}");
    let answered = system.run(&["chat", "--token-file", &of_erin], "hello\n");
    assert_eq!(answered.code, Some(0), "{answered:?}");
    let who = ["access", "whoami", "--json", "--token-file", &of_erin];
    eventually("it is counted", || {
        let used = system.json(&who)[0]["quotas"][0]["used"].as_u64();
        (used > Some(0)).then_some(())
    });
}
