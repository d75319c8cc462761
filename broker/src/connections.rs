//! Connections of peers: accepting, serving HTTP/2, and closing.

mod calls;
mod deadline;
mod gathered;
mod greeting;
mod in_process;
mod line;
mod origin;
mod patience;

use std::{convert::Infallible, io, pin::pin, sync::Arc, time::Duration};

use agenthub_proto::{
    http2 as wire,
    socket::{PING, PONG, Socket},
};
use hyper::{Request, body::Incoming, server::conn::http2, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    io::{AsyncRead, AsyncWrite, DuplexStream},
    net::TcpListener,
    sync::mpsc,
    task::{JoinHandle, JoinSet},
    time::sleep,
};
use tokio_stream::{Stream, StreamExt, wrappers::TcpListenerStream};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tonic::{body::Body, codegen::Service, service::Routes};

use self::{
    calls::{Calls, ProgressBody},
    gathered::Gathered,
};
pub(crate) use self::{
    calls::{give_up_after, line, was_given_up},
    greeting::Greeted,
    in_process::in_process,
    line::Line,
    origin::Origin,
};
use crate::{
    Gated,
    tls::{Handshakes, Slot, Speaks, Tls, secure},
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
pub(crate) const NO_ROOM: Duration = Duration::from_millis(100);

/// Links in memory of this process's own parts, which need no TLS.
pub(crate) struct Links {
    /// The namespace that these parts belong to.
    pub(crate) namespace: Arc<str>,
    pub(crate) links: mpsc::Receiver<DuplexStream>,
}

/// Serves connections, with TLS if given, and links until `stop`. Then accepts no more, tells every peer to go, and waits for the calls in progress.
/// A call whose peer reads nothing of its answer for `stall` ends, though its connection lives, unless it set [another
/// time](give_up_after). Dropping this ends all connections and their calls at once.
pub(crate) async fn serve<S>(
    incoming: impl Stream<Item = io::Result<Socket<S>>> + Send,
    tls: Option<Tls>,
    mut links: Option<Links>,
    routes: Gated<Routes>,
    stall: Duration,
    stop: CancellationToken,
) where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let tasks = TaskTracker::new();
    let mut connections = JoinSet::new();
    let mut has_room = true;
    let handshakes = Handshakes::default();
    // The listener is dropped with this block, so that later connections are refused instead of left waiting.
    {
        let mut incoming = pin!(incoming);
        loop {
            let calls = |line| Calls {
                tasks: tasks.clone(),
                stall,
                line,
            };
            let accepted = tokio::select! {
                () = stop.cancelled() => break,
                Some(_) = connections.join_next() => continue,
                Some((link, origin)) = link(&mut links) => {
                    let (routes, calls) = (routes.clone(), calls(Line::default()));
                    connections.spawn(connection(link, origin, routes, calls, stop.clone()));
                    continue;
                }
                accepted = incoming.next() => accepted,
            };
            match accepted {
                None => break,
                Some(Ok(socket)) => {
                    has_room = true;
                    let calls = calls(Line::new(socket.progress()));
                    let (routes, stop) = (routes.clone(), stop.clone());
                    let Some(tls) = &tls else {
                        connections.spawn(connection(socket, Origin::Unknown, routes, calls, stop));
                        continue;
                    };
                    // Further peers wait to be accepted meanwhile.
                    let Some(slot) = stop.run_until_cancelled(handshakes.enter()).await else {
                        break;
                    };
                    connections.spawn(secured(tls.clone(), socket, slot, routes, calls, stop));
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

/// Time after which a call of other services than a hub's ends whose peer reads nothing.
const STALL: Duration = Duration::from_secs(120);

/// Serves services that are not a hub's, with TLS if given, until `stop`, and then for as long as calls take.
pub fn serve_services(
    listener: TcpListener,
    services: Gated<Routes>,
    tls: Option<Tls>,
    stop: CancellationToken,
) -> JoinHandle<()> {
    let incoming = TcpListenerStream::new(listener).map(|stream| Socket::tcp(stream?));
    tokio::spawn(serve(incoming, tls, None, services, STALL, stop))
}

/// The next link of this process; `None` if there is none ever again.
async fn link(links: &mut Option<Links>) -> Option<(DuplexStream, Origin)> {
    let Links { namespace, links } = links.as_mut()?;
    let link = links.recv().await?;
    Some((link, Origin::ThisProcess(Arc::clone(namespace))))
}

/// Serves one peer that speaks TLS.
async fn secured<S>(
    tls: Tls,
    socket: S,
    slot: Slot,
    routes: Gated<Routes>,
    calls: Calls,
    stop: CancellationToken,
) where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    // Boxed, so that the state of the handshake takes no memory afterwards.
    let handshake = Box::pin(secure(&tls, Speaks::Grpc, socket, slot));
    match stop.run_until_cancelled(handshake).await {
        Some(Ok((stream, peer))) => {
            let origin = peer.map_or(Origin::Unknown, Origin::Certified);
            connection(stream, origin, routes, calls, stop).await;
        }
        Some(Err(error)) => tracing::debug!(%error, "a handshake of TLS failed"),
        None => {}
    }
}

/// True for errors of the accepted connection: accept(2) also reports errors that occurred before it was accepted.
pub(crate) fn is_of_one_peer(error: &io::Error) -> bool {
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
async fn connection<S>(
    socket: S,
    origin: Origin,
    routes: Gated<Routes>,
    calls: Calls,
    stop: CancellationToken,
) where
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
    let service = service_fn(move |mut request: Request<Incoming>| {
        origin.mark(request.extensions_mut());
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
