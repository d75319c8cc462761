//! Connections of peers: letting them in, serving HTTP/2 on them, and seeing them off.

mod calls;
mod deadline;
mod gathered;
mod greeting;
mod line;
mod patience;

use std::{convert::Infallible, io, pin::pin, time::Duration};

use agenthub_proto::{
    http2 as wire,
    socket::{PING, PONG, Socket},
};
use hyper::{Request, body::Incoming, server::conn::http2, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    task::JoinSet,
    time::sleep,
};
use tokio_stream::{Stream, StreamExt};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tonic::{body::Body, codegen::Service, service::Routes};

use self::{
    calls::{Calls, Told},
    gathered::Gathered,
};
pub(crate) use self::{
    calls::{give_up_after, line, was_given_up},
    line::Line,
};

/// How long a peer may be silent in the beginning.
const GREETING: Duration = Duration::from_secs(5);
/// What one stream may keep for a peer that does not take it, in bytes. One message more can be on top.
const SEND_BUFFER: usize = 64 * 1024;
/// The headers of one request, in bytes.
const HEADERS: u32 = 16 * 1024;
/// The streams of one connection, which may be that of a program with many agents. The hub bounds those of all agents together.
const STREAMS: u32 = 4096;
/// How long nobody is let in after this machine had no room for another connection.
const NO_ROOM: Duration = Duration::from_millis(100);

/// Serves everybody who comes in until `stop`. From then on nobody is let in, every peer is told to go, and this waits for the
/// calls that are under way. A call whose peer takes nothing of its answer for `stall` ends, though its connection lives, unless it
/// says [otherwise](give_up_after). Dropping this ends all connections at once, and with them their calls.
pub(crate) async fn serve<S>(
    incoming: impl Stream<Item = io::Result<Socket<S>>> + Send,
    routes: Routes,
    stall: Duration,
    stop: CancellationToken,
) where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let tasks = TaskTracker::new();
    let routes = routes.prepare();
    let mut connections = JoinSet::new();
    let mut has_room = true;
    // The listener goes with this block, so that whoever comes later is turned away rather than left waiting.
    {
        let mut incoming = pin!(incoming);
        loop {
            let accepted = tokio::select! {
                () = stop.cancelled() => break,
                Some(_) = connections.join_next() => continue,
                accepted = incoming.next() => accepted,
            };
            match accepted {
                None => break,
                Some(Ok(socket)) => {
                    has_room = true;
                    let calls = Calls {
                        tasks: tasks.clone(),
                        stall,
                        line: Line::new(socket.progress()),
                    };
                    let serving = connection(socket, routes.clone(), calls, stop.clone());
                    connections.spawn(serving);
                }
                Some(Err(error)) if is_of_one_peer(&error) => {
                    tracing::debug!(%error, "a peer was gone before it was let in");
                }
                Some(Err(error)) => {
                    if std::mem::take(&mut has_room) {
                        tracing::warn!(%error, "no connections are taken for now: see to the limit of open files (ulimit -n)");
                    }
                    stop.run_until_cancelled(sleep(NO_ROOM)).await;
                }
            }
        }
    }
    while connections.join_next().await.is_some() {}
    tasks.close();
    tasks.wait().await;
}

/// Whether accepting failed for reasons of the one who was to be accepted: accept(2) also hands on what went wrong on its way.
fn is_of_one_peer(error: &io::Error) -> bool {
    use io::ErrorKind::{
        BrokenPipe, ConnectionAborted, ConnectionRefused, ConnectionReset, HostUnreachable,
        Interrupted, NetworkDown, NetworkUnreachable, TimedOut, WouldBlock,
    };
    matches!(
        error.kind(),
        BrokenPipe
            | ConnectionAborted
            | ConnectionRefused
            | ConnectionReset
            | HostUnreachable
            | Interrupted
            | NetworkDown
            | NetworkUnreachable
            | TimedOut
            | WouldBlock
    )
}

/// Serves one peer until it goes, falls silent, or after `stop` has nothing more under way.
async fn connection<S>(socket: S, routes: Routes, calls: Calls, stop: CancellationToken)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    // Boxed, as what happens once takes no room afterwards.
    let greeted = stop.run_until_cancelled(greeting::hear(socket, GREETING));
    let socket = match Box::pin(greeted).await {
        Some(Ok(socket)) => TokioIo::new(Gathered::new(socket)),
        Some(Err(error)) => {
            return tracing::debug!(%error, "a peer did not say that it speaks HTTP/2");
        }
        None => return,
    };
    let service = service_fn(move |request: Request<Incoming>| {
        let within = deadline::of(request.headers());
        let answer = Box::pin(routes.clone().call(request.map(Body::new)));
        async move { Ok::<_, Infallible>(deadline::keep(within, answer).await.map(Told::new)) }
    });
    let mut serving = pin!(http2(calls).serve_connection(socket, service));
    let ended = tokio::select! {
        ended = &mut serving => ended,
        () = stop.cancelled() => {
            serving.as_mut().graceful_shutdown();
            serving.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection broke");
    }
}

fn http2(calls: Calls) -> http2::Builder<Calls> {
    let mut builder = http2::Builder::new(calls);
    builder
        .timer(TokioTimer::new())
        .keep_alive_interval(PING)
        .keep_alive_timeout(PONG)
        .initial_stream_window_size(wire::STREAM_WINDOW)
        .initial_connection_window_size(wire::CONNECTION_WINDOW)
        .max_frame_size(wire::FRAME)
        .max_send_buf_size(SEND_BUFFER)
        .max_header_list_size(HEADERS)
        .max_concurrent_streams(STREAMS);
    builder
}

#[cfg(test)]
mod tests;
