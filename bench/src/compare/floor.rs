//! The floor: bytes read from one connection are written unchanged to all others.

use std::{net::SocketAddr, sync::Arc};

use bytes::{Bytes, BytesMut};
use clap::Args;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::broadcast,
    task::JoinSet,
};

/// Bytes per read.
const SEGMENT: usize = 64 * 1024;

/// Segments that a reader may lag behind.
const BEHIND: usize = 1024;

/// First byte of a connection: writer or reader.
pub(super) const WRITES: u8 = b'W';
pub(super) const READS: u8 = b'R';

/// Address to listen on.
#[derive(Debug, Args)]
pub(crate) struct Floor {
    /// The address
    #[arg(long, value_name = "ADDR")]
    listen: SocketAddr,
}

/// Serves until killed.
///
/// # Errors
///
/// The address cannot be used.
pub(crate) async fn run(floor: &Floor) -> anyhow::Result<bool> {
    let listener = TcpListener::bind(floor.listen).await?;
    let (segments, _) = broadcast::channel::<Bytes>(BEHIND);
    let segments = Arc::new(segments);
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await?;
        connections.spawn(serve(stream, Arc::clone(&segments)));
        while connections.try_join_next().is_some() {}
    }
}

async fn serve(mut stream: TcpStream, segments: Arc<broadcast::Sender<Bytes>>) {
    // An error concerns a peer that is gone.
    let _ = stream.set_nodelay(true);
    let Ok(role) = stream.read_u8().await else {
        return;
    };
    match role {
        WRITES => {
            let mut buffer = BytesMut::with_capacity(SEGMENT);
            while let Ok(1..) = stream.read_buf(&mut buffer).await {
                // There may be no reader.
                let _ = segments.send(buffer.split().freeze());
                buffer.reserve(SEGMENT);
            }
        }
        _ => {
            let mut segments = segments.subscribe();
            if stream.write_u8(READS).await.is_err() {
                return;
            }
            while let Ok(segment) = segments.recv().await {
                if stream.write_all(&segment).await.is_err() {
                    return;
                }
            }
        }
    }
}
