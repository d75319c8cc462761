//! The connector against real sockets.

mod server;
mod tls;

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use tower::ServiceExt;

use self::server::{Server, Then};
use crate::{
    Connector, Error, Limits, Network, Reply, Settings,
    dial::{Lookup, system},
    reachable::Refusal,
    tls::config,
};

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
const OK_ONCE: &str = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok";

/// Long for a socket of this machine, short for a test.
const SHORT: Duration = Duration::from_millis(300);

fn settings(allow: &[&str]) -> Settings {
    Settings {
        allow: allow
            .iter()
            .map(|n| n.parse::<Network>().expect(n))
            .collect(),
        connect: Duration::from_secs(10),
    }
}

fn get(url: &str) -> Request<Bytes> {
    Request::get(url).body(Bytes::new()).expect("a request")
}

async fn call(connector: &Connector, url: &str) -> Result<Reply<Bytes>, Error> {
    connector.request(get(url), Limits::default()).await
}

fn short() -> Limits {
    Limits {
        headers: SHORT,
        body: SHORT,
        size: 16,
    }
}

/// Names that lead elsewhere with each look; the last answer stays.
fn names(answers: Vec<Vec<SocketAddr>>) -> (Lookup, Arc<AtomicUsize>) {
    let looks = Arc::new(AtomicUsize::new(0));
    let count = looks.clone();
    let lookup: Lookup = Arc::new(move |_, _| {
        let look = count.fetch_add(1, Ordering::SeqCst);
        let answer = answers.get(look).or(answers.last()).cloned();
        Box::pin(async move { Ok(answer.unwrap_or_default()) })
    });
    (lookup, looks)
}

#[tokio::test]
async fn this_machine_is_not_reached_however_it_is_written() {
    let server = Server::start("127.0.0.1", OK, Then::Wait).await;
    let connector = Connector::new(Settings::default());
    let port = server.address.port();
    for host in [
        "127.0.0.1",
        "localhost",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "127.1",
        "0",
        "0.0.0.0",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[64:ff9b::7f00:1]",
    ] {
        let url = format!("http://{host}:{port}/");
        let error = call(&connector, &url).await.expect_err(host);
        assert!(
            matches!(error, Error::Refused { .. }) && !error.is_retryable(),
            "{host}: {error:?}"
        );
    }
    assert_eq!(server.connections(), 0);
    let allowed = Connector::new(settings(&["127.0.0.0/8"]));
    let reply = call(&allowed, &format!("http://127.0.0.1:{port}/")).await;
    assert_eq!(reply.expect("it is allowed").body, "ok");
}

#[tokio::test]
async fn metadata_of_clouds_is_not_reached() {
    let connector = Connector::new(Settings::default());
    for (host, refusal) in [
        ("169.254.169.254", Refusal::LinkLocal),
        ("[fd00:ec2::254]", Refusal::Private),
        ("[::ffff:169.254.169.254]", Refusal::Translated),
        ("168.63.129.16", Refusal::Metadata),
    ] {
        let url = format!("http://{host}/latest/meta-data/?key=secret");
        let error = call(&connector, &url).await.expect_err(host);
        assert!(
            matches!(&error, Error::Refused { refusal: r, .. } if *r == refusal),
            "{host}: {error:?}"
        );
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}

#[tokio::test]
async fn a_redirect_is_an_answer_and_is_not_followed() {
    let inner = Server::start("127.0.0.1", OK, Then::Wait).await;
    for status in ["301 M", "302 F", "307 T", "308 P"] {
        let answer = format!(
            "HTTP/1.1 {status}\r\nlocation: http://{}/\r\ncontent-length: 0\r\n\r\n",
            inner.address
        );
        let outer = Server::start("127.0.0.1", answer, Then::Wait).await;
        let connector = Connector::new(settings(&["127.0.0.0/8"]));
        let reply = call(&connector, &format!("http://{}/", outer.address)).await;
        assert!(reply.expect("an answer").status.is_redirection());
    }
    assert_eq!(inner.connections(), 0);
}

#[tokio::test]
async fn a_name_that_changes_its_address_is_asked_about_again() {
    let first = Server::start("127.0.0.1", OK_ONCE, Then::Close).await;
    let second = Server::start("127.0.0.2", OK, Then::Wait).await;
    let (lookup, looks) = names(vec![vec![first.address], vec![second.address]]);
    let connector = Connector::with(settings(&["127.0.0.1"]), lookup, config);
    let url = "http://rebinding.example/";
    assert_eq!(call(&connector, url).await.expect("allowed").body, "ok");
    // It is resolved once for a connection: the answer that was checked is the one that is used.
    assert_eq!((looks.load(Ordering::SeqCst), first.connections()), (1, 1));
    let error = call(&connector, url).await.expect_err("it is elsewhere");
    assert!(matches!(error, Error::Refused { .. }), "{error:?}");
    assert_eq!(second.connections(), 0);
}

#[tokio::test]
async fn of_several_addresses_only_those_are_used_that_may_be_reached() {
    let inner = Server::start("127.0.0.2", OK, Then::Wait).await;
    let port = inner.address.port();
    let closed: SocketAddr = ([127, 0, 0, 1], 1).into();
    let open = Server::start("127.0.0.1", OK, Then::Wait).await;
    let (lookup, _) = names(vec![vec![
        ([127, 0, 0, 2], port).into(),
        closed,
        open.address,
    ]]);
    let connector = Connector::with(settings(&["127.0.0.1"]), lookup, config);
    let reply = call(&connector, "http://several.example/").await;
    assert_eq!(reply.expect("one of them answers").body, "ok");
    assert_eq!((inner.connections(), open.connections()), (0, 1));
}

#[tokio::test]
async fn a_host_that_is_nowhere_or_does_not_listen_is_told_so() {
    let (lookup, _) = names(vec![vec![]]);
    let connector = Connector::with(settings(&[]), lookup, config);
    let error = call(&connector, "http://nowhere.example/").await;
    let error = error.expect_err("it has no address");
    assert!(matches!(error, Error::Unresolved { .. }) && error.is_retryable() && error.is_unsent());

    let connector = Connector::new(settings(&["127.0.0.0/8"]));
    let error = call(&connector, "http://127.0.0.1:1/").await;
    let error = error.expect_err("nobody listens");
    assert!(
        matches!(error, Error::Unreachable { .. }) && error.is_retryable() && error.is_unsent()
    );
}

#[tokio::test]
async fn each_part_of_an_exchange_has_a_deadline() {
    let connector = Connector::new(settings(&["127.0.0.0/8"]));
    let part = async |answer: &str| {
        let server = Server::start("127.0.0.1", answer, Then::Wait).await;
        let url = format!("http://{}/", server.address);
        match connector.request(get(&url), short()).await {
            Err(Error::Deadline { what, .. }) => what,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(part("").await, "its answer");
    assert_eq!(part("HTTP/1.1 200 OK\r\ncontent-le").await, "its answer");
    let half = "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf";
    assert_eq!(part(half).await, "its answer's body");

    let never: Lookup = Arc::new(|_, _| Box::pin(std::future::pending()));
    let slow = Settings {
        connect: SHORT,
        ..settings(&[])
    };
    let connector = Connector::with(slow, never, config);
    let error = call(&connector, "http://slow.example/").await;
    let error = error.expect_err("names do not answer");
    assert!(matches!(error, Error::Deadline { .. }) && error.is_unsent());
}

#[tokio::test]
async fn a_body_is_bounded_however_it_comes() {
    let connector = Connector::new(settings(&["127.0.0.0/8"]));
    let body = "x".repeat(17);
    for answer in [
        format!("HTTP/1.1 200 OK\r\ncontent-length: 17\r\n\r\n{body}"),
        format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n11\r\n{body}\r\n0\r\n\r\n"),
        format!("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{body}"),
    ] {
        let server = Server::start("127.0.0.1", answer, Then::Close).await;
        let url = format!("http://{}/", server.address);
        let error = connector.request(get(&url), short()).await;
        let error = error.expect_err("it is too large");
        assert!(
            matches!(error, Error::TooLarge { limit: 16, .. }),
            "{error:?}"
        );
    }
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_no_answer() {
    let connector = Connector::new(settings(&["127.0.0.0/8"]));
    for answer in ["", "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf"] {
        let server = Server::start("127.0.0.1", answer, Then::Close).await;
        let url = format!("http://{}/", server.address);
        let error = call(&connector, &url).await.expect_err("it broke off");
        assert!(
            matches!(error, Error::Broken { .. }) && !error.is_unsent(),
            "{error:?}"
        );
    }
}

#[tokio::test]
async fn grpc_goes_out_by_the_same_check() {
    let server = Server::start("127.0.0.1", OK, Then::Wait).await;
    let connector = Connector::with(Settings::default(), system(), config);
    let request = Request::post(format!("http://{}/a.B/C", server.address));
    let request = request.body(Full::<Bytes>::default()).expect("a request");
    let error = connector.http2().oneshot(request).await;
    let error = error.expect_err("it is refused");
    assert!(matches!(Error::within(&error), Some(Error::Refused { .. })));
    assert_eq!(server.connections(), 0);
}
