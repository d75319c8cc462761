//! The floor's protocol: four bytes of length, then the message.

use std::{net::SocketAddr, sync::Arc};

use anyhow::Context as _;
use bytes::{BufMut as _, BytesMut};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpStream, tcp::OwnedWriteHalf},
};

use super::{
    Readers,
    scan::{self, Piece},
};
use crate::compare::{
    floor::{READS, WRITES},
    tally::Tally,
};

const LENGTH: usize = 4;

pub(super) async fn subscribe(
    server: SocketAddr,
    tally: Arc<Tally>,
    readers: &mut Readers,
) -> anyhow::Result<()> {
    let mut stream = TcpStream::connect(server).await?;
    stream.write_u8(READS).await?;
    stream
        .read_u8()
        .await
        .context("the floor's server is gone")?;
    readers.spawn(scan::read(
        stream,
        BytesMut::new(),
        next,
        tally,
        Tally::delivered,
    ));
    Ok(())
}

/// The first message, if complete.
fn next(buffer: &[u8]) -> Option<Piece> {
    let length = buffer.first_chunk::<LENGTH>()?;
    let whole = LENGTH + usize::try_from(u32::from_be_bytes(*length)).ok()?;
    let body = LENGTH;
    (buffer.len() >= whole).then_some(Piece { whole, body })
}

pub(super) async fn publisher(server: SocketAddr) -> anyhow::Result<OwnedWriteHalf> {
    let mut stream = TcpStream::connect(server).await?;
    stream.set_nodelay(true)?;
    stream.write_u8(WRITES).await?;
    Ok(stream.into_split().1)
}

pub(super) fn frame(message: &[u8], buffer: &mut BytesMut) {
    buffer.put_u32(u32::try_from(message.len()).unwrap_or(u32::MAX));
    buffer.put_slice(message);
}
