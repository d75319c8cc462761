//! Clients of each system: those that users have, and some that only count. None decodes a message.

mod frames;
mod grpc;
mod http2;
mod hub;
mod nats;
mod nats_client;
mod redis;
mod scan;
mod tcp;

use std::{net::SocketAddr, sync::Arc};

use bytes::{Bytes, BytesMut};
use tokio::{io::AsyncWriteExt, net::tcp::OwnedWriteHalf, sync::mpsc, task::JoinSet};

use self::{hub::Deliveries, nats_client::StreamPublisher};
pub(super) use self::{
    hub::{EVENT, RESULT, each},
    nats_client::{connect as connect_to_nats, is_handled},
};
use super::{message::Template, system::System, tally::Tally};

/// Kind of client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Client {
    /// The usual client: tonic, or async-nats. Without one, the counting client.
    Real,
    /// Finds only the ends of messages, so that the server is the measured part.
    Counting,
}

impl Client {
    /// Display name.
    pub(super) fn name(self, system: System) -> &'static str {
        match (self, system.plain()) {
            (Self::Real, System::HubMemory | System::HubSynced) => "tonic",
            (Self::Real, System::NatsCore | System::JetStream) => "async-nats",
            _ => "one that counts",
        }
    }
}

/// Bytes of an event with a text of this size, the same in every system.
pub(super) fn event_bytes(text_bytes: usize) -> usize {
    Template::event(hub::PUBLISHER, text_bytes)
        .number(0, None)
        .len()
}

/// All readers, until dropped.
pub(super) type Readers = JoinSet<()>;

/// The publisher.
#[derive(Debug)]
pub(super) struct Publisher {
    system: System,
    template: Template,
    next: u64,
    buffer: BytesMut,
    out: Out,
}

#[derive(Debug)]
enum Out {
    Tcp(OwnedWriteHalf),
    Grpc(mpsc::Sender<Bytes>),
    Http2(Arc<http2::Writer>),
    Nats(async_nats::Client),
    JetStream(StreamPublisher),
}

/// Maximum messages per write.
pub(super) const BATCH: u64 = 64;

/// Starts this many subscribers of the system, each with its own connection.
///
/// # Errors
///
/// One of them cannot subscribe.
pub(super) async fn subscribe(
    (system, client): (System, Client),
    server: SocketAddr,
    count: usize,
    tally: &Arc<Tally>,
    readers: &mut Readers,
) -> anyhow::Result<()> {
    let is_tls = system.is_tls();
    let system = system.plain();
    for number in 0..count {
        let tally = Arc::clone(tally);
        match (system, client) {
            (System::HubMemory | System::HubSynced, _) => {
                let deliveries = Deliveries::new(system == System::HubSynced, tally);
                match client {
                    Client::Real => {
                        grpc::subscribe((server, is_tls), number, deliveries, readers).await?;
                    }
                    Client::Counting => {
                        http2::subscribe(server, number, deliveries, readers).await?;
                    }
                }
            }
            (System::NatsCore, Client::Real) => {
                nats_client::subscribe((server, is_tls), tally, readers).await?;
            }
            (System::NatsCore, Client::Counting) => nats::subscribe(server, tally, readers).await?,
            (System::JetStream, Client::Real) => {
                nats_client::consume(server, number, tally, readers).await?;
            }
            (System::JetStream, Client::Counting) => {
                nats::consume(server, number, tally, readers).await?;
            }
            (System::RedisPubSub, _) => redis::subscribe(server, tally, readers).await?,
            (System::RedisStreams, _) => redis::read(server, tally, readers).await?,
            (System::Floor, _) => tcp::subscribe(server, tally, readers).await?,
            (System::HubTls | System::NatsTls, _) => unreachable!("these are no plain systems"),
        }
    }
    Ok(())
}

impl Publisher {
    /// Connects. The tally counts its acknowledgements, if the system has them.
    ///
    /// # Errors
    ///
    /// The server refuses it.
    pub(super) async fn connect(
        (system, client): (System, Client),
        server: SocketAddr,
        text_bytes: usize,
        tally: &Arc<Tally>,
        readers: &mut Readers,
    ) -> anyhow::Result<Self> {
        let tally = Arc::clone(tally);
        let is_tls = system.is_tls();
        let system = system.plain();
        let out = match (system, client) {
            (System::HubMemory | System::HubSynced, Client::Counting) => {
                Out::Http2(http2::publisher(server, tally, readers).await?)
            }
            (System::HubMemory | System::HubSynced, Client::Real) => {
                Out::Grpc(grpc::publisher((server, is_tls), tally, readers).await?)
            }
            (System::NatsCore, Client::Real) => {
                Out::Nats(nats_client::publisher((server, is_tls)).await?)
            }
            (System::NatsCore, Client::Counting) => {
                Out::Tcp(nats::publisher(server, tally, readers).await?)
            }
            (System::JetStream, Client::Real) => {
                Out::JetStream(StreamPublisher::connect(server, tally, readers).await?)
            }
            (System::JetStream, Client::Counting) => {
                Out::Tcp(nats::stream_publisher(server, tally, readers).await?)
            }
            (System::RedisPubSub | System::RedisStreams, _) => {
                Out::Tcp(redis::publisher(server, tally, readers).await?)
            }
            (System::Floor, _) => Out::Tcp(tcp::publisher(server).await?),
            (System::HubTls | System::NatsTls, _) => unreachable!("these are no plain systems"),
        };
        let template = match system {
            System::HubMemory => hub::template(text_bytes, false),
            System::HubSynced => hub::template(text_bytes, true),
            _ => Template::event(hub::PUBLISHER, text_bytes),
        };
        Ok(Self {
            system,
            template,
            next: 0,
            buffer: BytesMut::new(),
            out,
        })
    }

    /// Number of published messages.
    pub(super) fn published(&self) -> u64 {
        self.next
    }

    /// Publishes messages, at least one and at most [`BATCH`]. Returns when the connection has taken them.
    ///
    /// # Errors
    ///
    /// The connection is closed.
    pub(super) async fn publish(&mut self, count: u64, stamp: Option<&str>) -> anyhow::Result<()> {
        for number in self.next..self.next + count {
            let message = self.template.number(number, stamp);
            match (&self.out, self.system) {
                (Out::Nats(client), _) => nats_client::publish(client, message).await?,
                (Out::JetStream(stream), _) => stream.publish(message).await?,
                (_, System::HubMemory | System::HubSynced) => {
                    if hub::is_full(&self.buffer, message) {
                        hub::end(&mut self.buffer);
                        self.out.write(self.buffer.split().freeze()).await?;
                    }
                    hub::frame(message, &mut self.buffer);
                }
                (_, System::NatsCore) => nats::frame(message, &mut self.buffer),
                (_, System::JetStream) => nats::stream_frame(message, &mut self.buffer),
                (_, System::RedisPubSub) => redis::publish_frame(message, &mut self.buffer),
                (_, System::RedisStreams) => redis::add_frame(message, &mut self.buffer),
                (_, System::Floor) => tcp::frame(message, &mut self.buffer),
                (_, System::HubTls | System::NatsTls) => {
                    unreachable!("these are no plain systems")
                }
            }
        }
        self.next += count;
        if let System::HubMemory | System::HubSynced = self.system {
            hub::end(&mut self.buffer);
        }
        self.out.write(self.buffer.split().freeze()).await
    }
}

impl Out {
    async fn write(&mut self, bytes: Bytes) -> anyhow::Result<()> {
        match self {
            Self::Tcp(stream) => stream.write_all(&bytes).await?,
            Self::Grpc(frames) => frames.send(bytes).await?,
            Self::Http2(writer) => writer.message(&bytes).await?,
            // They were given each message.
            Self::Nats(_) | Self::JetStream(_) => {}
        }
        Ok(())
    }
}
