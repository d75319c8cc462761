//! Credentials of a size that none has.

use std::{
    io::{ErrorKind, Read, Write},
    net::TcpStream,
};

use tonic::{Code, Request, Status, client::Grpc};
use tonic_prost::ProstCodec;

use super::Guarded;
use crate::harness::PATIENCE;

/// Begins each of them, and is to come out nowhere.
const MARK: &str = "ah_huge-canary-7d20c4b9";

/// Sizes of a credential, in KiB.
const SIZES: [usize; 5] = [8, 20, 60, 128, 1024];

fn huge(kib: usize) -> String {
    let mut text = MARK.repeat(kib * 1024 / MARK.len() + 1);
    text.truncate(kib * 1024);
    text
}

/// The answer to a request with this line in its head, as far as it comes: the hub may close the connection while more is written.
fn asked(http: &str, line: &str) -> String {
    let mut stream = TcpStream::connect(http).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time");
    let request =
        format!("GET /v1/runs HTTP/1.1\r\nHost: {http}\r\n{line}\r\nConnection: close\r\n\r\n");
    let written = stream.write_all(request.as_bytes());
    let is_closed =
        |kind: ErrorKind| [ErrorKind::BrokenPipe, ErrorKind::ConnectionReset].contains(&kind);
    if let Err(error) = written {
        assert!(is_closed(error.kind()), "{error}");
    }
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer) {
        Ok(_) => {}
        Err(error) => assert!(is_closed(error.kind()), "{error}"),
    }
    String::from_utf8_lossy(&answer).into_owned()
}

/// Issue 25: a credential of any size is refused, quoted nowhere, and the hub goes on as before.
#[tokio::test(flavor = "multi_thread")]
async fn a_credential_of_any_size_is_refused_and_quoted_nowhere() {
    let guarded = Guarded::start("up");
    let (alice, _) = guarded.issue(&["alice", "--role", "user"]);
    let http = &guarded.http;
    tokio::task::block_in_place(|| {
        for kib in SIZES {
            for name in ["Authorization: Bearer ", "Cookie: agenthub="] {
                let answer = asked(http, &format!("{name}{}", huge(kib)));
                let expected = if kib < 64 { "401" } else { "431" };
                let status = answer.split(' ').nth(1);
                // What is closed while it is written may have no answer any more.
                let is_refused = status.map_or(kib > 64, |status| status == expected);
                assert!(is_refused, "{name} {kib} KiB: {answer}");
                assert!(!answer.contains(MARK), "{name} {kib} KiB");
            }
        }
    });
    for kib in SIZES {
        for name in ["authorization", "cookie"] {
            let mut grpc = Grpc::new(guarded.channel().await);
            grpc.ready().await.expect("it is connected");
            let mut request = Request::new(());
            let value = format!("Bearer {}", huge(kib));
            let value = value.parse().expect("a header");
            request.metadata_mut().insert(name, value);
            let path = "/agenthub.Access/WhoAmI".parse().expect("a path");
            let codec = ProstCodec::<(), ()>::default();
            let answer: Result<tonic::Response<()>, Status> =
                grpc.unary(request, path, codec).await;
            let refused = answer.expect_err("it is nobody");
            // Beyond 16 KiB the transport refuses the call.
            assert!(
                kib > 16 || refused.code() == Code::Unauthenticated,
                "{name} {kib} KiB: {refused:?}"
            );
            assert!(!format!("{refused:?}").contains(MARK), "{name} {kib} KiB");
        }
    }
    let said = guarded.up.said();
    assert!(!said.contains(MARK), "{said}");
    let line = format!("Authorization: Bearer {alice}");
    let answer = tokio::task::block_in_place(|| asked(http, &line));
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}
