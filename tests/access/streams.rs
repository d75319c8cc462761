//! Ends of streams: whoever loses its identity is told so on each of them, by every door.

use std::{
    io::{ErrorKind, Read, Write},
    net::TcpStream,
    time::Duration,
};

use agenthub_access::{Needs, SERVICES};
use agenthub_sdk::{Agent, Card, Failure, Skill, TaskContext};
use futures_util::{StreamExt, stream};
use prost::Message as _;
use prost_reflect::DynamicMessage;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tonic::{Code, Request, Status, client::Grpc, transport::Channel};

use super::Guarded;
use crate::{
    harness::{PATIENCE, eventually},
    namespaces::answers::{Raw, method},
};

/// A run that waits for a person.
const WORKFLOW: &str = "steps:\n  ask: { approve: 'Shall it fly?' }\n";

/// Requests that keep each stream open, with `RUN` and `TASK` for ids of what goes on.
const STREAMS: &[(&str, &str)] = &[
    (
        "/agenthub.AgentHub/Connect",
        r#"{"hello": {"protocolVersion": 2, "agentId": "vic~c", "instanceId": "one"}}"#,
    ),
    (
        "/agenthub.AgentHub/SubscribeToMessages",
        r#"{"agentId": "vic~m"}"#,
    ),
    (
        "/agenthub.AgentHub/SubscribeToTasks",
        r#"{"agentId": "vic~t"}"#,
    ),
    (
        "/agenthub.AgentHub/SubscribeToAgentEvents",
        r#"{"agentId": "vic~e"}"#,
    ),
    (
        "/cortex.Cortex/Chat",
        r#"{"text": "ask silent to wait", "contextId": "talk"}"#,
    ),
    ("/cortex.Cortex/WatchRun", r#"{"id": "RUN"}"#),
    ("/cortex.Cortex/WatchApprovals", r#"{"follow": true}"#),
    (
        "/lf.a2a.v1.A2AService/SendStreamingMessage",
        r#"{"tenant": "silent", "message": {"messageId": "g1", "role": "ROLE_USER", "parts": [{"text": "wait"}]}}"#,
    ),
    (
        "/lf.a2a.v1.A2AService/SubscribeToTask",
        r#"{"tenant": "silent", "id": "TASK"}"#,
    ),
    (
        "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
        "",
    ),
    (
        "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
        "",
    ),
];

/// Requests of HTTP whose answers are events.
const EVENTS: &[(&str, &str, &str)] = &[
    ("GET", "/v1/runs/RUN/events", ""),
    (
        "POST",
        "/v1/runs",
        r#"{"workflow": {"name": "fly", "steps": {"ask": {"approve": "Shall it fly?"}}}}"#,
    ),
    ("GET", "/", ""),
    ("GET", "/ui/runs", ""),
    ("GET", "/ui/runs/RUN", ""),
    ("GET", "/ui/tasks", ""),
    ("GET", "/ui/agents", ""),
    ("GET", "/ui/events", ""),
    ("GET", "/ui/mailboxes", ""),
    (
        "POST",
        "/agents/silent/message:stream",
        r#"{"message": {"messageId": "h1", "role": "ROLE_USER", "parts": [{"text": "wait"}]}}"#,
    ),
    ("GET", "/agents/silent/tasks/TASK:subscribe", ""),
    (
        "POST",
        "/agents/silent",
        r#"{"jsonrpc": "2.0", "id": 1, "method": "SendStreamingMessage", "params": {"message": {"messageId": "h2", "role": "ROLE_USER", "parts": [{"text": "wait"}]}}}"#,
    ),
];

/// A user, an agent that never answers, a task of it that the user asked for, and a run that waits for a person.
struct Scene {
    guarded: Guarded,
    _silent: agenthub_sdk::RunningAgent,
    root: String,
    token: String,
    id: String,
    run: String,
    task: String,
}

impl Scene {
    async fn start(files: &[(&str, &str)], namespace: &str) -> Self {
        let guarded = Guarded::start_in("up", files);
        if namespace != "default" {
            let added = guarded.system.run(&["namespaces", "add", namespace], "");
            assert_eq!(added.code, Some(0), "{added:?}");
        }
        let issue = |name, role| guarded.issue(&[name, "--role", role, "--namespace", namespace]);
        let ((root, _), (token, id)) = (issue("root", "admin"), issue("vic", "operator"));
        let skill = Skill::new("work", "Work", "Waits for ever");
        let card = Card::new("silent", "Waits for ever").skill(skill);
        let silent = Agent::worker(card).on_any(async |task: TaskContext| {
            task.cancelled().await;
            Err::<(), _>(Failure::cancelled("as you like"))
        });
        let silent = silent.token(&root).expect("a token");
        let silent = silent.start(guarded.system.hub()).await.expect("it starts");
        let folder = guarded.system.folder();
        std::fs::write(folder.join("fly.yaml"), WORKFLOW).expect("it is written");
        let begun = guarded.run_as(&token, &["workflow", "run", "fly.yaml", "--detach"]);
        assert_eq!(begun.code, Some(0), "{begun:?}");
        let run = begun.stdout.trim().to_owned();
        let headers = format!(
            "Content-Type: application/json\r\nA2A-Version: 1.0\r\nAuthorization: Bearer {token}\r\n"
        );
        let message = json!({
            "message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "wait"}]},
            "configuration": {"returnImmediately": true},
        });
        let asked = eventually("the agent is there", || {
            let path = "/agents/silent/message:send";
            let answer =
                crate::http::send(&guarded.http, "POST", path, &headers, &message.to_string());
            answer.filter(|answer| answer.status == 200)
        });
        let task = asked.json()["task"]["id"]
            .as_str()
            .expect("an id")
            .to_owned();
        Self {
            guarded,
            _silent: silent,
            root,
            token,
            id,
            run,
            task,
        }
    }

    fn filled(&self, text: &str) -> String {
        text.replace("RUN", &self.run).replace("TASK", &self.task)
    }

    /// Number of tasks and runs, as an administrator sees them, who has no quota.
    fn begun(&self) -> (usize, usize) {
        let count = |args: &[&str]| {
            let listed = self.guarded.run_as(&self.root, args);
            assert_eq!(listed.code, Some(0), "{listed:?}");
            listed.stdout.lines().count()
        };
        (
            count(&["tasks", "list", "--json"]),
            count(&["runs", "list", "--json"]),
        )
    }

    fn revoke(&self) {
        let revoked = self.guarded.system.run(&["tokens", "revoke", &self.id], "");
        assert_eq!(revoked.code, Some(0), "{revoked:?}");
    }

    /// Opens a stream of gRPC, and waits for its end in a task once the hub has begun to answer.
    async fn opened(&self, channel: &Channel, path: &str, request: &str) -> JoinHandle<Status> {
        let bytes = match method(path) {
            None => Vec::new(),
            Some(method) => {
                let request: Value = serde_json::from_str(&self.filled(request)).expect("JSON");
                let message = DynamicMessage::deserialize(method.input(), &request);
                message.expect(path).encode_to_vec()
            }
        };
        let mut grpc = Grpc::new(channel.clone());
        grpc.ready().await.expect("it is connected");
        let is_both_ways = path.contains("Reflection") || path.ends_with("Connect");
        let first = (!bytes.is_empty() || !is_both_ways).then_some(bytes);
        let requests = stream::iter(first);
        let mut request = match is_both_ways {
            true => Request::new(requests.chain(stream::pending()).boxed()),
            false => Request::new(requests.boxed()),
        };
        let header = format!("Bearer {}", self.token).parse().expect("a header");
        request.metadata_mut().insert("authorization", header);
        let version = "1.0".parse().expect("a header");
        request.metadata_mut().insert("a2a-version", version);
        let path = path.parse().expect("a path");
        let answer = tokio::time::timeout(PATIENCE, grpc.streaming(request, path, Raw)).await;
        let answer = answer.expect("an answer in time");
        tokio::spawn(async move {
            let mut answer = match answer {
                Ok(answer) => answer.into_inner(),
                Err(status) => return status,
            };
            loop {
                match answer.message().await {
                    Ok(Some(_)) => {}
                    Ok(None) => return Status::ok("it ended well"),
                    Err(status) => return status,
                }
            }
        })
    }

    /// Asks for events, and reads until there are some.
    fn listen(&self, method: &str, path: &str, body: &str) -> (TcpStream, String) {
        let (http, path, body) = (&self.guarded.http, self.filled(path), self.filled(body));
        let mut stream = TcpStream::connect(http).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time");
        let (token, length) = (&self.token, body.len());
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: {http}\r\nOrigin: http://{http}\r\nA2A-Version: 1.0\r\nAccept: text/event-stream\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        )
        .expect("it reads");
        let mut read = Vec::new();
        let mut part = [0; 4096];
        while !read.windows(4).any(|end| end == b"\r\n\r\n") {
            let count = stream.read(&mut part).expect("a head");
            assert_ne!(count, 0, "{path}: {}", String::from_utf8_lossy(&read));
            read.extend_from_slice(&part[..count]);
        }
        (stream, String::from_utf8_lossy(&read).into_owned())
    }
}

/// Opens a stream of each kind, has them end, and looks at how each has ended.
async fn ends(scene: &Scene, end: impl FnOnce(&Scene), codes: &[Code], why: &[&str]) {
    let channel = scene.guarded.channel().await;
    let mut open = Vec::new();
    for (path, request) in STREAMS {
        open.push((path, scene.opened(&channel, path, request).await));
    }
    let mut listening = Vec::new();
    for (method, path, body) in EVENTS {
        let (stream, head) = tokio::task::block_in_place(|| scene.listen(method, path, body));
        assert!(
            head.contains("text/event-stream"),
            "{method} {path}: {head}"
        );
        listening.push((method, path, stream, head));
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    for (path, stream) in &mut open {
        if stream.is_finished() {
            panic!("{path} has ended before: {:?}", stream.await);
        }
    }
    tokio::task::block_in_place(|| end(scene));
    let says = |said: &str| why.iter().any(|why| said.contains(why));
    let mut faults = Vec::new();
    for (path, stream) in open {
        match tokio::time::timeout(PATIENCE, stream).await {
            Ok(status) => {
                let status = status.expect("no panic");
                if !codes.contains(&status.code()) || !says(status.message()) {
                    faults.push(format!("{path}: {status:?}"));
                }
            }
            Err(_) => faults.push(format!("{path}: it has not ended")),
        }
    }
    for (method, path, mut stream, head) in listening {
        let said = tokio::task::block_in_place(|| {
            let mut read = Vec::new();
            // However it breaks off, it has to: a stream that is only silent times out.
            if let Err(error) = stream.read_to_end(&mut read)
                && matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
            {
                panic!(
                    "{method} {path} has not ended: {}",
                    String::from_utf8_lossy(&read)
                );
            }
            head + &String::from_utf8_lossy(&read)
        });
        if said.ends_with("\r\n0\r\n\r\n") || !says(&said) {
            let end = said.len().saturating_sub(200);
            faults.push(format!("{method} {path}: {:?}", said.get(end..)));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Issue 25: a stream that ends because its caller's token was revoked says so, and is no good end to any client.
#[tokio::test(flavor = "multi_thread")]
async fn every_stream_of_a_revoked_token_says_so() {
    let known: Vec<&str> = STREAMS.iter().map(|(path, _)| *path).collect();
    for rpc in SERVICES {
        if rpc.is_stream && rpc.needs != Needs::Nothing {
            assert!(known.contains(&rpc.path), "{} is not tried", rpc.path);
        }
    }
    let scene = Scene::start(&[], "default").await;
    let why = ["was revoked"];
    ends(&scene, Scene::revoke, &[Code::Unauthenticated], &why).await;
}

/// Issue 25: the same for the streams of a namespace that is removed.
#[tokio::test(flavor = "multi_thread")]
async fn every_stream_of_a_removed_namespace_says_so() {
    let scene = Scene::start(&[], "team").await;
    let remove = |scene: &Scene| {
        let args = ["namespaces", "remove", "team", "--with-everything"];
        let removed = scene.guarded.system.run(&args, "");
        assert_eq!(removed.code, Some(0), "{removed:?}");
    };
    let why = ["was revoked", "not served here any more"];
    ends(&scene, remove, &[Code::Unauthenticated], &why).await;
}

/// Issue 25: streams over HTTP count as those of gRPC do. What is refused has done nothing.
#[tokio::test(flavor = "multi_thread")]
async fn events_over_http_count_for_the_quota_of_streams() {
    let scene = Scene::start(
        &[
            ("policy.toml", "[quotas.principals.vic]\nstreams = 1\n"),
            ("agenthub.toml", "[access]\npolicy = \"policy.toml\"\n"),
        ],
        "default",
    )
    .await;
    let channel = scene.guarded.channel().await;
    let (path, request) = STREAMS[1];
    let first = scene.opened(&channel, path, request).await;
    let before = tokio::task::block_in_place(|| scene.begun());
    let mut faults = Vec::new();
    for (method, path, body) in EVENTS {
        let (_, head) = tokio::task::block_in_place(|| scene.listen(method, path, body));
        let is_rpc = body.contains("jsonrpc");
        let status = if is_rpc {
            "HTTP/1.1 200"
        } else {
            "HTTP/1.1 429"
        };
        let says_when = head.to_ascii_lowercase().contains("retry-after: 5\r\n");
        if !head.starts_with(status) || !says_when || head.contains("text/event-stream") {
            faults.push(format!("{method} {path}: {head}"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let after = tokio::task::block_in_place(|| scene.begun());
    assert_eq!(before, after, "nothing was begun");
    first.abort();
    let events = ("GET", "/v1/runs/RUN/events", "");
    let _second = tokio::task::block_in_place(|| {
        eventually("there is room again", || {
            let (stream, head) = scene.listen(events.0, events.1, events.2);
            head.starts_with("HTTP/1.1 200").then_some(stream)
        })
    });
    let status = scene.opened(&channel, path, request).await.await;
    let status = status.expect("no panic");
    assert_eq!(status.code(), Code::ResourceExhausted, "{status:?}");
}
