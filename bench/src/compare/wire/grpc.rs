//! The hub's real client: tonic's transport, with the reader, windows and frames of the SDK.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use agenthub_sdk::proto::{
    grpc::{Messages, call},
    http2,
    socket::{HubAddress, channel},
};
use anyhow::Context as _;
use bytes::Bytes;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Endpoint;

use super::{
    Readers,
    hub::{self, CONNECT, Deliveries},
};
use crate::compare::tally::Tally;

/// Frames queued for the transport.
const QUEUE: usize = 4;

/// Timeout of a connection with TLS.
const LONGEST: Duration = Duration::from_secs(10);

/// Starts a subscriber of a server, which may speak TLS; reads from the return on.
pub(super) async fn subscribe(
    server: (SocketAddr, bool),
    number: usize,
    mut deliveries: Deliveries,
    readers: &mut Readers,
) -> anyhow::Result<()> {
    let (frames, mut from_hub) = connect(server, hub::subscriber(number)).await?;
    readers.spawn(async move {
        while let Ok(Some(frame)) = from_hub.next().await {
            deliveries.take(&frame);
            if let Some(answer) = deliveries.answer()
                && frames.send(answer).await.is_err()
            {
                return;
            }
        }
    });
    Ok(())
}

/// Sender of frames with publishes. Their results are counted.
pub(super) async fn publisher(
    server: (SocketAddr, bool),
    tally: Arc<Tally>,
    readers: &mut Readers,
) -> anyhow::Result<mpsc::Sender<Bytes>> {
    let (frames, mut from_hub) = connect(server, hub::publisher()).await?;
    readers.spawn(async move {
        while let Ok(Some(frame)) = from_hub.next().await {
            hub::results(&frame, &tally);
        }
    });
    Ok(frames)
}

async fn connect(
    (server, is_tls): (SocketAddr, bool),
    hello: Bytes,
) -> anyhow::Result<(mpsc::Sender<Bytes>, Messages)> {
    let with_windows = |endpoint: Endpoint| {
        endpoint
            .tcp_nodelay(true)
            .initial_stream_window_size(http2::STREAM_WINDOW)
            .initial_connection_window_size(http2::CONNECTION_WINDOW)
            .max_frame_size(http2::FRAME)
    };
    let channel = match is_tls {
        false => {
            let endpoint = Endpoint::from_shared(format!("http://{server}"))?;
            with_windows(endpoint).connect().await?
        }
        true => {
            let address = HubAddress::parse(&format!("https://{server}"));
            let address = address.map_err(anyhow::Error::msg)?;
            let endpoint = with_windows(address.endpoint());
            channel(address, &endpoint, LONGEST)
        }
    };
    let (frames, to_hub) = mpsc::channel(QUEUE);
    frames.try_send(hello).context("a channel has room")?;
    let to_hub = ReceiverStream::new(to_hub);
    let mut from_hub = call(channel, CONNECT, to_hub, usize::MAX).await?;
    from_hub.next().await?.context("the hub says no welcome")?;
    Ok((frames, from_hub))
}
