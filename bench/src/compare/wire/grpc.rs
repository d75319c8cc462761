//! The hub, over `Connect`. Frames are neither decoded nor built field by field: what is counted is found by its tags.

use std::{net::SocketAddr, sync::Arc};

use agenthub_sdk::proto::agenthub::{
    Ack, AgentFrame, Credit, Durability, EventKind, Filter, Hello, Lifetime, Subscription,
};
use anyhow::Context as _;
use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use prost::{
    Message as _,
    encoding::{
        DecodeContext, WireType, decode_key, decode_varint, encode_key, encode_varint, skip_field,
    },
};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{
    Request, Status, Streaming,
    codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder},
    codegen::http::uri::PathAndQuery,
    transport::Endpoint,
};

use super::Readers;
use crate::compare::{
    message::{TOPIC, Template},
    tally::Tally,
};

/// Who publishes.
pub(in crate::compare) const PUBLISHER: &str = "publisher";

const CONNECT: &str = "/agenthub.AgentHub/Connect";

/// Fields of the frames (`connect.proto`) and of an event (`events.proto`).
const PUBLISH: u32 = 2;
const EVENT: u32 = 3;
const RESULT: u32 = 4;
const POSITION: u32 = 40;

/// The deliveries that a subscriber allows at a time, and after how many it allows as many more.
const CREDIT: u32 = 32_768;
const AGAIN: u32 = 8_192;

/// What a connection buffers, in bytes: what the SDK has.
const STREAM_WINDOW: u32 = 4 << 20;
const CONNECTION_WINDOW: u32 = 8 << 20;

/// Frames that wait for the transport.
const QUEUE: usize = 4;

/// A subscriber with a subscription of its own for [`TOPIC`].
pub(super) async fn subscribe(
    server: SocketAddr,
    number: usize,
    acknowledges: bool,
    tally: Arc<Tally>,
    readers: &mut Readers,
) -> anyhow::Result<()> {
    let subscription = Subscription {
        name: "bench".to_owned(),
        lifetime: Lifetime::Instance.into(),
        filter: Some(Filter {
            kinds: vec![EventKind::Message.into()],
            types: vec![TOPIC.to_owned()],
            ..Filter::default()
        }),
        credit: CREDIT,
        ..Subscription::default()
    };
    let (frames, mut from_hub) =
        connect(server, hello(&format!("s{number}"), Some(subscription))).await?;
    readers.spawn(async move {
        let (mut used, mut handled) = (0, Vec::new());
        while let Ok(Some(frame)) = from_hub.message().await {
            let mut count = 0;
            each(&frame, EVENT, |event| {
                count += 1;
                tally.message(event);
                if acknowledges {
                    handled.extend(position(event));
                }
            });
            tally.delivered(u64::from(count));
            used += count;
            if used < AGAIN && handled.is_empty() {
                continue;
            }
            let mut answer = AgentFrame::default();
            if used >= AGAIN {
                answer.credit.push(Credit {
                    subscription: 0,
                    messages: std::mem::take(&mut used),
                });
            }
            if !handled.is_empty() {
                answer.ack.push(Ack {
                    subscription: 0,
                    position: std::mem::take(&mut handled),
                });
            }
            if frames.send(answer.encode_to_vec().into()).await.is_err() {
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
    let (frames, mut from_hub) = connect(server, hello(PUBLISHER, None)).await?;
    readers.spawn(async move {
        while let Ok(Some(frame)) = from_hub.message().await {
            let mut count = 0;
            each(&frame, RESULT, |_| count += 1);
            tally.acknowledged(count);
        }
    });
    Ok(frames)
}

/// What is published.
pub(super) fn template(text_bytes: usize, is_synced: bool) -> Template {
    let durability = match is_synced {
        true => Durability::Unspecified,
        false => Durability::Memory,
    };
    Template::publish(PUBLISHER, text_bytes, durability)
}

/// One publish as a part of a frame.
pub(super) fn frame(publish: &[u8], buffer: &mut BytesMut) {
    encode_key(PUBLISH, WireType::LengthDelimited, buffer);
    encode_varint(publish.len() as u64, buffer);
    buffer.put_slice(publish);
}

fn hello(agent: &str, subscription: Option<Subscription>) -> Hello {
    Hello {
        protocol_version: 1,
        agent_id: agent.to_owned(),
        instance_id: agent.to_owned(),
        subscription: subscription.into_iter().collect(),
        topics: match agent {
            PUBLISHER => Vec::new(),
            _ => vec![TOPIC.to_owned()],
        },
        ..Hello::default()
    }
}

async fn connect(
    server: SocketAddr,
    hello: Hello,
) -> anyhow::Result<(mpsc::Sender<Bytes>, Streaming<Bytes>)> {
    let channel = Endpoint::from_shared(format!("http://{server}"))?
        .tcp_nodelay(true)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .connect()
        .await?;
    let mut client = tonic::client::Grpc::new(channel).max_decoding_message_size(usize::MAX);
    client.ready().await?;
    let (frames, to_hub) = mpsc::channel(QUEUE);
    let first = AgentFrame {
        hello: Some(hello),
        ..AgentFrame::default()
    };
    frames
        .try_send(first.encode_to_vec().into())
        .context("a channel has room")?;
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

/// Each value of a field that has a length.
fn each(message: &[u8], field: u32, mut take: impl FnMut(&[u8])) {
    let mut rest = message;
    while let Ok((tag, kind)) = decode_key(&mut rest) {
        if tag == field && kind == WireType::LengthDelimited {
            let Some(length) = decode_varint(&mut rest)
                .ok()
                .and_then(|n| usize::try_from(n).ok())
            else {
                return;
            };
            let Some((value, after)) = rest.split_at_checked(length) else {
                return;
            };
            take(value);
            rest = after;
        } else if skip_field(kind, tag, &mut rest, DecodeContext::default()).is_err() {
            return;
        }
    }
}

fn position(event: &[u8]) -> Option<String> {
    let mut found = None;
    each(event, POSITION, |value| {
        found = std::str::from_utf8(value).ok().map(str::to_owned);
    });
    found
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

#[cfg(test)]
mod tests {
    use agenthub_sdk::proto::agenthub::{AgentEvent, HubFrame};

    use super::*;

    #[test]
    fn events_and_their_positions_are_found_by_their_tags() {
        let event = |position: &str| AgentEvent {
            event_id: "e".to_owned(),
            position: position.to_owned(),
            ..AgentEvent::default()
        };
        let frame = HubFrame {
            event: vec![event("p1"), event("p2")],
            publish_credit: 7,
            ..HubFrame::default()
        };
        let mut found = Vec::new();
        each(&frame.encode_to_vec(), EVENT, |event| {
            found.extend(position(event))
        });
        assert_eq!(found, ["p1", "p2"]);
    }
}
