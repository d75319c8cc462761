//! Requests with doubled or missing headers, and messages with metadata in the hub's name.

use std::{
    io::{Read, Write},
    net::TcpStream,
};

use serde_json::{Value, json};
use tonic::{Code, Request, Status, client::Grpc};
use tonic_prost::ProstCodec;

use super::Guarded;
use crate::{harness::PATIENCE, namespaces::answers::called};

/// Status of the answer to a request with these lines of its head.
fn status(http: &str, path: &str, lines: &[String]) -> u16 {
    let mut stream = TcpStream::connect(http).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time");
    let head = lines.join("\r\n");
    let request = format!("GET {path} HTTP/1.1\r\n{head}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("it answers");
    let status = text.split(' ').nth(1).expect("a status");
    status.parse().expect("a number")
}

/// Issue 25: a proxy in front of the hub may read the first of two headers, and the hub the second: nobody is anybody then.
#[tokio::test(flavor = "multi_thread")]
async fn who_sends_two_credentials_or_hosts_is_refused() {
    let guarded = Guarded::start("up");
    let (alice, _) = guarded.issue(&["alice", "--role", "admin"]);
    let (bob, _) = guarded.issue(&["bob", "--role", "user"]);
    let http = &guarded.http;
    let token = |token: &str| format!("Authorization: Bearer {token}");
    let host = format!("Host: {http}");
    tokio::task::block_in_place(|| {
        let lines = [host.clone(), token(&bob)];
        assert_eq!(status(http, "/v1/runs", &lines), 200);
        assert_eq!(status(http, "/v1/runs", &lines[..1]), 401);
        for path in ["/v1/runs", "/ui/runs", "/agents", "/health"] {
            for lines in [
                vec![host.clone(), token(&bob), token(&alice)],
                vec![host.clone(), token(&bob), token(&bob)],
                vec![
                    host.clone(),
                    token(&bob),
                    "authorization: Basic x".to_owned(),
                ],
                vec![host.clone(), host.clone(), token(&bob)],
                vec![host.clone(), "host: evil.example".to_owned(), token(&bob)],
                vec![token(&bob)],
                vec!["host:".to_owned(), token(&bob)],
            ] {
                assert_eq!(status(http, path, &lines), 400, "{path} {lines:?}");
            }
        }
    });
    let channel = guarded.channel().await;
    for tokens in [[&alice, &bob], [&bob, &bob]] {
        let mut grpc = Grpc::new(channel.clone());
        grpc.ready().await.expect("it is connected");
        let mut request = Request::new(());
        for token in tokens {
            let header = format!("Bearer {token}").parse().expect("a header");
            request.metadata_mut().append("authorization", header);
        }
        let path = "/agenthub.Access/WhoAmI".parse().expect("a path");
        let codec = ProstCodec::<(), ()>::default();
        let answer: Result<tonic::Response<()>, Status> = grpc.unary(request, path, codec).await;
        let status = answer.expect_err("two tokens");
        assert_eq!(status.code(), Code::InvalidArgument, "{status}");
        assert!(status.message().contains("several headers"), "{status}");
    }
}

/// Issue 25: what the hub alone says of who asked is not taken from a sender; the rest of a message's metadata is its own.
#[test]
fn the_hubs_own_keys_in_a_message_are_not_its_senders() {
    let guarded = Guarded::start("broker");
    let (alice, _) = guarded.issue(&["alice", "--role", "user"]);
    let (bob, _) = guarded.issue(&["bob", "--role", "user"]);
    let hub = guarded.system.hub();
    let message = json!({
        "message": {
            "messageId": "m", "taskId": "t", "content": [{"text": "x"}],
            "metadata": {"agenthub.principal": "root", "agenthub.mine": "a", "colour": "red"},
        },
        "routing": {"fromAgentId": "alice", "toAgentId": "bob"},
    });
    let said = called(&hub, &alice, "/agenthub.AgentHub/PublishMessage", &message);
    assert!(said.contains("\"success\":true"), "{said}");
    let ask = json!({"taskId": "t"});
    let task = called(&hub, &bob, "/agenthub.AgentHub/GetTask", &ask);
    let task: Value = serde_json::from_str(&task).expect("a task");
    let metadata = &task["history"][0]["metadata"];
    assert_eq!(
        *metadata,
        json!({"agenthub.mine": "a", "colour": "red"}),
        "{task}"
    );
}
