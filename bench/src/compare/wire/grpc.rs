//! The hub as its users speak with it: through tonic, with the windows and frames that the SDK has.

use std::{net::SocketAddr, sync::Arc};

use agenthub_sdk::proto::http2;
use anyhow::Context as _;
use bytes::{Buf as _, BufMut as _, Bytes};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{
    Request, Status, Streaming,
    codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder},
    codegen::http::uri::PathAndQuery,
    transport::Endpoint,
};

use super::{
    Readers,
    hub::{self, CONNECT, Deliveries},
};
use crate::compare::tally::Tally;

/// Frames that wait for the transport.
const QUEUE: usize = 4;

/// A subscriber, which reads when this returns.
pub(super) async fn subscribe(
    server: SocketAddr,
    number: usize,
    mut deliveries: Deliveries,
    readers: &mut Readers,
) -> anyhow::Result<()> {
    let (frames, mut from_hub) = connect(server, hub::subscriber(number)).await?;
    readers.spawn(async move {
        while let Ok(Some(frame)) = from_hub.message().await {
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

/// Where frames with publishes go. Their results are counted.
pub(super) async fn publisher(
    server: SocketAddr,
    tally: Arc<Tally>,
    readers: &mut Readers,
) -> anyhow::Result<mpsc::Sender<Bytes>> {
    let (frames, mut from_hub) = connect(server, hub::publisher()).await?;
    readers.spawn(async move {
        while let Ok(Some(frame)) = from_hub.message().await {
            hub::results(&frame, &tally);
        }
    });
    Ok(frames)
}

async fn connect(
    server: SocketAddr,
    hello: Bytes,
) -> anyhow::Result<(mpsc::Sender<Bytes>, Streaming<Bytes>)> {
    let channel = Endpoint::from_shared(format!("http://{server}"))?
        .tcp_nodelay(true)
        .initial_stream_window_size(http2::STREAM_WINDOW)
        .initial_connection_window_size(http2::CONNECTION_WINDOW)
        .max_frame_size(http2::FRAME)
        .connect()
        .await?;
    let mut client = tonic::client::Grpc::new(channel).max_decoding_message_size(usize::MAX);
    client.ready().await?;
    let (frames, to_hub) = mpsc::channel(QUEUE);
    frames.try_send(hello).context("a channel has room")?;
    let path = PathAndQuery::from_static(CONNECT);
    let requests = Request::new(ReceiverStream::new(to_hub));
    let mut from_hub = client
        .streaming(requests, path, Verbatim)
        .await?
        .into_inner();
    from_hub
        .message()
        .await?
        .context("the hub says no welcome")?;
    Ok((frames, from_hub))
}

/// Messages as they are.
#[derive(Debug, Default)]
struct Verbatim;

impl Codec for Verbatim {
    type Encode = Bytes;
    type Decode = Bytes;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Verbatim {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, item: Bytes, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        buffer.put(item);
        Ok(())
    }
}

impl Decoder for Verbatim {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        Ok(Some(buffer.copy_to_bytes(buffer.remaining())))
    }
}
