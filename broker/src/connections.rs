//! Connections of peers: accepting, serving HTTP/2, and closing.

mod calls;
mod deadline;
mod gathered;
mod greeting;
mod in_process;
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
    calls::{Calls, ProgressBody},
    gathered::Gathered,
};
pub(crate) use self::{
    calls::{give_up_after, line, was_given_up},
    in_process::in_process,
    line::Line,
};

/// Timeout for the first bytes of a peer.
const GREETING: Duration = Duration::from_secs(5);
/// Send buffer of a stream whose peer does not read, in bytes. One more message may be added on top.
const SEND_BUFFER: usize = 64 * 1024;
/// Maximum bytes of a request's headers.
const HEADERS: u32 = 16 * 1024;
/// Maximum streams of a connection, which may be that of a program with many agents. The hub limits the streams of all
/// agents together.
const STREAMS: u32 = 4096;
/// Pause of accepting after the machine had no resources for another connection.
const NO_ROOM: Duration = Duration::from_millis(100);

/// Serves connections until `stop`. Then accepts no more, tells every peer to go, and waits for the calls in progress.
/// A call whose peer reads nothing of its answer for `stall` ends, though its connection lives, unless it set [another
/// time](give_up_after). Dropping this ends all connections and their calls at once.
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
    // The listener is dropped with this block, so that later connections are refused instead of left waiting.
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

/// True for errors of the accepted connection: accept(2) also reports errors that occurred before it was accepted.
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

/// Serves one peer until it disconnects, falls silent, or has no call in progress after `stop`.
async fn connection<S>(socket: S, routes: Routes, calls: Calls, stop: CancellationToken)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    // Boxed, so that the state of one-time steps takes no memory afterwards.
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
        async move { Ok::<_, Infallible>(deadline::keep(within, answer).await.map(ProgressBody::new)) }
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
