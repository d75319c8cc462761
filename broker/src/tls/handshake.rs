//! The beginning of a connection with TLS.

use std::{io, time::Duration};

use agenthub_proto::PeerCertificate;
use bytes::Bytes;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    time::timeout,
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

use super::{Slot, Speaks, Tls, plaintext};
use crate::connections::Greeted;

/// Deadline of a handshake, from the beginning of the connection.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// Time for a peer to read why it is refused. A connection that is closed while bytes of the peer are unread loses what it was told.
const LAST_WORD: Duration = Duration::from_secs(1);
/// Bytes of a refused peer that are read meanwhile.
const LAST_BYTES: u64 = 64 * 1024;

/// A connection with TLS, and the identity of its peer if that has shown a certificate.
pub(crate) type Secured<S> = (TlsStream<Greeted<S>>, Option<PeerCertificate>);

/// Shakes hands with a peer, unless it takes too long or has to make room for others.
///
/// # Errors
///
/// The peer does not speak TLS, is not accepted, or does not finish.
pub(crate) async fn secure<S>(
    tls: &Tls,
    speaks: Speaks,
    socket: S,
    slot: Slot,
) -> io::Result<Secured<S>>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let handshake = timeout(HANDSHAKE, shake(tls, speaks, socket));
    tokio::select! {
        done = handshake => done.unwrap_or_else(|_| Err(late("it was not done in time"))),
        () = slot.evicted() => Err(late("it made room for others")),
    }
}

fn late(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, reason)
}

async fn shake<S>(tls: &Tls, speaks: Speaks, mut socket: S) -> io::Result<Secured<S>>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let first = socket.read_u8().await?;
    if !plaintext::is_tls(first) {
        socket.write_all(&plaintext::answer(speaks, first)).await?;
        part(socket).await;
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "the peer does not speak TLS",
        ));
    }
    let socket = Greeted::after(Bytes::copy_from_slice(&[first]), socket);
    let accepting = TlsAcceptor::from(tls.config(speaks)).accept(socket);
    match accepting.into_fallible().await {
        Ok(stream) => {
            let shown = stream.get_ref().1.peer_certificates();
            // One that names nobody was refused when it was verified.
            let peer = shown.and_then(|chain| PeerCertificate::of_der(chain.first()?).ok());
            Ok((stream, peer))
        }
        Err((error, socket)) => {
            part(socket).await;
            Err(error)
        }
    }
}

/// Closes a connection so that the peer can read what it was told.
async fn part<S: AsyncRead + AsyncWrite + Unpin>(mut socket: S) {
    let parting = async {
        socket.shutdown().await?;
        tokio::io::copy(&mut socket.take(LAST_BYTES), &mut tokio::io::sink()).await
    };
    // It is closed either way.
    let _ = timeout(LAST_WORD, parting).await;
}
