//! Connections of HTTP that are let in, with or without TLS: so many at a time.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use agenthub_proto::socket::Stream;
use socket2::{SockRef, TcpKeepalive};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    task::JoinSet,
    time::sleep,
};
use tokio_rustls::server::TlsStream;

use super::timed::Connection;
use crate::{
    connections::{Greeted, NO_ROOM, is_of_one_peer},
    tls::{Handshakes, Slot, Speaks, Tls, secure},
};

/// The most connections at a time. Further ones wait to be accepted.
const MAX_CONNECTIONS: usize = 2_048;

/// Silence of a peer after which the system asks it whether it is there. One that is gone for good is noticed within four minutes also while the
/// hub has nothing to write, as an agent is at work for it.
const SILENCE: Duration = Duration::from_secs(60);

/// Time between those questions, of which the system asks nine.
const ASKING: Duration = Duration::from_secs(15);

/// TCP, with or without TLS.
pub(super) type HttpStream = Stream<TcpStream, TlsStream<Greeted<TcpStream>>>;

type Accepted = (Connection<HttpStream>, SocketAddr);

/// A listener whose connections end by themselves when they make no progress.
#[derive(Debug)]
pub(super) struct Listening {
    listener: TcpListener,
    room: Arc<Semaphore>,
    tls: Option<Tls>,
    /// False once it was told that no connections are taken, until one is.
    has_room: bool,
    handshakes: Handshakes,
    /// Handshakes in progress; `None` if one failed.
    shaking: JoinSet<Option<Accepted>>,
}

impl Listening {
    /// The same listener, with bounds.
    pub(super) fn new(listener: TcpListener, tls: Option<Tls>) -> Self {
        Self {
            listener,
            room: Arc::new(Semaphore::new(MAX_CONNECTIONS)),
            tls,
            has_room: true,
            handshakes: Handshakes::default(),
            shaking: JoinSet::new(),
        }
    }

    /// The next connection. Cancel-safe.
    pub(super) async fn accept(&mut self) -> Accepted {
        if let Some(tls) = self.tls.clone() {
            return self.secured(&tls).await;
        }
        let (stream, peer, room) = Self::tcp(&self.listener, &self.room, &mut self.has_room).await;
        (Connection::new(Stream::Plain(stream), Some(room)), peer)
    }

    /// The next connection of TCP. Cancel-safe.
    async fn tcp(
        listener: &TcpListener,
        room: &Arc<Semaphore>,
        has_room: &mut bool,
    ) -> (TcpStream, SocketAddr, OwnedSemaphorePermit) {
        let room = Arc::clone(room).acquire_owned().await;
        let room = room.expect("it is never closed");
        loop {
            match listener.accept().await {
                Ok((stream, peer)) => {
                    *has_room = true;
                    // Frames are small, and are not to wait for each other.
                    let _ = stream.set_nodelay(true);
                    let alive = TcpKeepalive::new().with_time(SILENCE).with_interval(ASKING);
                    let _ = SockRef::from(&stream).set_tcp_keepalive(&alive);
                    return (stream, peer, room);
                }
                Err(error) if is_of_one_peer(&error) => {
                    tracing::debug!(%error, "a peer was gone before it was let in");
                }
                Err(error) => {
                    if std::mem::take(has_room) {
                        tracing::warn!(%error, "no connections of HTTP are taken for now: see to the limit of open files (ulimit -n)");
                    }
                    sleep(NO_ROOM).await;
                }
            }
        }
    }

    /// The next connection whose handshake is done. Cancel-safe.
    async fn secured(&mut self, tls: &Tls) -> Accepted {
        loop {
            let next = async {
                let slot = self.handshakes.enter().await;
                (
                    slot,
                    Self::tcp(&self.listener, &self.room, &mut self.has_room).await,
                )
            };
            tokio::select! {
                Some(shaken) = self.shaking.join_next() => {
                    if let Ok(Some(accepted)) = shaken {
                        return accepted;
                    }
                }
                (slot, (stream, peer, room)) = next => {
                    self.shaking.spawn(shake(tls.clone(), stream, slot, peer, room));
                }
            }
        }
    }
}

async fn shake(
    tls: Tls,
    stream: TcpStream,
    slot: Slot,
    peer: SocketAddr,
    room: OwnedSemaphorePermit,
) -> Option<Accepted> {
    match secure(&tls, Speaks::Http, stream, slot).await {
        Ok((stream, certificate)) => {
            let stream = Stream::Tls(Box::new(stream));
            let connection = Connection::new(stream, Some(room)).of(certificate);
            Some((connection, peer))
        }
        Err(error) => {
            tracing::debug!(%error, "a handshake of TLS failed");
            None
        }
    }
}
