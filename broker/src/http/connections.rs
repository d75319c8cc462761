//! Serving of connections: requests of HTTP/1.1, each with the origin of its connection.

use std::{convert::Infallible, net::SocketAddr};

use axum::{
    Router,
    body::Body,
    extract::{ConnectInfo, Request},
    response::Response,
};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpListener,
    task::{JoinHandle, JoinSet},
};
use tokio_util::sync::CancellationToken;
use tonic::codegen::Service as _;

use super::{
    exchanges::AnswerBody,
    listening::Listening,
    refusals::{RequestSummary, in_words},
    timed::Connection,
};
use crate::{connections::Origin, tls::Tls};

/// Maximum bytes of the head of a request.
const HEAD_BYTES: usize = 64 * 1024;

/// Serves HTTP, with TLS if given, within bounds until `stop`, and then for as long as requests take: 2,048 connections at a time, each of which ends
/// once nothing moves for 75 s, unless a whole request waits for its answer, or once a head takes longer than 30 s from its first byte, or a body
/// longer than 60 s and a second for each KiB. Aborting the task ends all of them. It is compiled here, with the optimisation of this crate.
pub fn serve(
    listener: TcpListener,
    router: Router,
    tls: Option<Tls>,
    stop: CancellationToken,
) -> JoinHandle<()> {
    tokio::spawn(accept(Listening::new(listener, tls), router, stop))
}

async fn accept(mut listening: Listening, router: Router, stop: CancellationToken) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            () = stop.cancelled() => break,
            Some(_) = connections.join_next() => {}
            (stream, peer) = listening.accept() => {
                connections.spawn(connection(stream, peer, router.clone(), stop.clone()));
            }
        }
    }
    // Later connections are refused instead of left waiting.
    drop(listening);
    while connections.join_next().await.is_some() {}
}

/// Serves one peer until it disconnects, falls silent, or has no request in progress after `stop`.
async fn connection<S>(
    stream: Connection<S>,
    peer: SocketAddr,
    router: Router,
    stop: CancellationToken,
) where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let certificate = stream.certificate().cloned();
    let origin = certificate.map_or(Origin::Unknown, Origin::Certified);
    let exchanges = stream.exchanges().clone();
    let service = service_fn(move |request: Request<Incoming>| {
        let (parts, body) = request.into_parts();
        let (body, exchange) = exchanges.begin(body);
        let request = Request::from_parts(parts, Body::new(body));
        let answer = answer(router.clone(), request, &origin, peer);
        async move {
            let answer = answer.await;
            Ok::<_, Infallible>(answer.map(|body| AnswerBody::new(body, exchange)))
        }
    });
    let mut builder = http1::Builder::new();
    // The connection itself ends when a head takes too long, and leaves one that waits for its next request alone.
    builder
        .header_read_timeout(None)
        .max_header_size(HEAD_BYTES);
    let mut serving = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), service));
    let ended = tokio::select! {
        ended = &mut serving => ended,
        () = stop.cancelled() => {
            serving.as_mut().graceful_shutdown();
            serving.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection of HTTP broke");
    }
}

/// The answer to a request, with words if it is a refusal.
fn answer(
    mut router: Router,
    request: Request,
    origin: &Origin,
    peer: SocketAddr,
) -> impl Future<Output = Response> + use<> {
    let (mut parts, body) = request.into_parts();
    origin.mark(&mut parts.extensions);
    parts.extensions.insert(ConnectInfo(peer));
    let summary = RequestSummary::of(&parts);
    let answer = router.call(Request::from_parts(parts, body));
    async move { in_words(summary, answer.await.unwrap_or_else(|never| match never {})).await }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use axum::routing::{get, post};
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex},
        time::{Instant, sleep},
    };

    use super::{
        super::timed::{BODY, HEAD, PATIENCE},
        *,
    };

    /// The other end of a connection to a server that answers `/` with `ok`.
    fn connect() -> (DuplexStream, JoinHandle<()>) {
        let (ours, theirs) = duplex(1024);
        let length = post(async |body: String| body.len().to_string());
        let slow = post(async |body: String| {
            sleep(Duration::from_secs(3_600)).await;
            body
        });
        let router = Router::new()
            .route("/", get(async || "ok"))
            .route("/length", length)
            .route("/slow", slow);
        let peer = SocketAddr::from(([127, 0, 0, 1], 1));
        let stop = CancellationToken::new();
        let serving = connection(Connection::new(ours, None), peer, router, stop);
        (theirs, tokio::spawn(serving))
    }

    /// Issue 25: whoever drips the head of a request holds a connection for 30 s, however often something comes.
    #[tokio::test(start_paused = true)]
    async fn a_head_that_drips_is_cut_off() {
        let (mut peer, serving) = connect();
        let begun = Instant::now();
        peer.write_all(b"GET / HTTP/1.1\r\n").await.expect("room");
        let dripping = async {
            loop {
                sleep(Duration::from_secs(4)).await;
                if peer.write_all(b"x: y\r\n").await.is_err() {
                    return;
                }
            }
        };
        let (_, ended) = tokio::join!(dripping, serving);
        ended.expect("it ends by itself");
        assert!(begun.elapsed() < HEAD + Duration::from_secs(5));
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_that_is_slow_is_answered_and_the_next_one_has_its_own_time() {
        let (mut peer, _serving) = connect();
        for _ in 0..3 {
            for piece in ["GET / HTTP/1.1\r\n", "host: a\r\n", "\r\n"] {
                sleep(Duration::from_secs(9)).await;
                peer.write_all(piece.as_bytes()).await.expect("room");
            }
            let mut answer = [0; 1024];
            let length = peer.read(&mut answer).await.expect("an answer");
            let answer = String::from_utf8_lossy(&answer[..length]);
            assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        }
    }

    /// Issue 25: proxies keep connections for a minute, and lose what they send on one that ends by then.
    #[tokio::test(start_paused = true)]
    async fn a_connection_that_waits_for_its_next_request_has_more_than_a_minute() {
        let (mut peer, serving) = connect();
        let mut answer = [0; 1024];
        for _ in 0..3 {
            sleep(Duration::from_secs(70)).await;
            peer.write_all(b"GET / HTTP/1.1\r\n").await.expect("room");
            sleep(HEAD - Duration::from_secs(1)).await;
            peer.write_all(b"host: a\r\n\r\n").await.expect("room");
            let length = peer.read(&mut answer).await.expect("an answer");
            let answer = String::from_utf8_lossy(&answer[..length]);
            assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        }
        let begun = Instant::now();
        serving.await.expect("it ends by itself");
        assert_eq!(begun.elapsed(), PATIENCE);
    }

    /// A2A §3.2.2: who sends a message may wait for its answer, which takes as long as an agent does.
    #[tokio::test(start_paused = true)]
    async fn an_answer_may_take_as_long_as_it_takes() {
        let (mut peer, serving) = connect();
        let request = "POST /slow HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\n\r\nwork";
        for _ in 0..2 {
            peer.write_all(request.as_bytes()).await.expect("room");
            let mut answer = [0; 1024];
            let length = peer.read(&mut answer).await.expect("an answer");
            let told = String::from_utf8_lossy(&answer[..length]);
            assert!(told.starts_with("HTTP/1.1 200"), "{told}");
        }
        // Nobody waits for the answer of a peer that is gone.
        peer.write_all(request.as_bytes()).await.expect("room");
        drop(peer);
        serving.await.expect("it ends by itself");
    }

    /// Issue 25: whoever drips the body of a request holds a connection for a minute, however often something comes.
    #[tokio::test(start_paused = true)]
    async fn a_body_that_drips_is_cut_off() {
        let (mut peer, serving) = connect();
        let begun = Instant::now();
        let head = "POST /length HTTP/1.1\r\nhost: a\r\ncontent-length: 1000\r\n\r\n";
        peer.write_all(head.as_bytes()).await.expect("room");
        let dripping = async {
            loop {
                sleep(Duration::from_secs(4)).await;
                if peer.write_all(b"x").await.is_err() {
                    return;
                }
            }
        };
        let (_, ended) = tokio::join!(dripping, serving);
        ended.expect("it ends by itself");
        assert!(begun.elapsed() < BODY + Duration::from_secs(5));
    }

    /// spec: RFC 9110 §10.1.1
    #[tokio::test(start_paused = true)]
    async fn a_large_body_has_the_time_of_a_slow_line() {
        let (mut peer, _serving) = connect();
        let head = "POST /length HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 102400\r\n\r\n";
        peer.write_all(head.as_bytes()).await.expect("room");
        let mut answer = [0; 1024];
        let length = peer.read(&mut answer).await.expect("an answer");
        let told = String::from_utf8_lossy(&answer[..length]).into_owned();
        assert!(told.starts_with("HTTP/1.1 100"), "{told}");
        for _ in 0..100 {
            sleep(Duration::from_secs(1)).await;
            peer.write_all(&[b'x'; 1024]).await.expect("room");
        }
        let length = peer.read(&mut answer).await.expect("an answer");
        let told = String::from_utf8_lossy(&answer[..length]);
        assert!(told.starts_with("HTTP/1.1 200"), "{told}");
    }

    #[tokio::test]
    async fn a_head_that_is_large_is_refused() {
        let (mut peer, _serving) = connect();
        let (mut from, mut to) = tokio::io::split(&mut peer);
        let large = format!("GET / HTTP/1.1\r\nx: {}\r\n", "y".repeat(HEAD_BYTES));
        let mut answer = String::new();
        let reading = from.read_to_string(&mut answer);
        let (_, read) = tokio::join!(to.write_all(large.as_bytes()), reading);
        read.expect("an answer");
        assert!(answer.starts_with("HTTP/1.1 431"), "{answer}");
    }
}
