//! How each system is spoken with: clients that count and do not decode.

pub(super) mod grpc;
mod nats;
mod redis;
mod scan;
mod tcp;

use std::{net::SocketAddr, sync::Arc};

use bytes::{Bytes, BytesMut};
use tokio::{io::AsyncWriteExt, net::tcp::OwnedWriteHalf, sync::mpsc, task::JoinSet};

use super::{message::Template, system::System, tally::Tally};

/// Who speaks with a system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Client {
    /// What users have: tonic, and async-nats. Where there is none of the kind, the one that counts.
    Real,
    /// One that finds where a message ends and no more, so that the server is what is measured.
    Counting,
}

/// Everything that reads, until it is dropped.
pub(super) type Readers = JoinSet<()>;

/// What publishes.
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
}

/// The most messages that go out in one piece.
pub(super) const BATCH: u64 = 64;

/// Has so many subscribers of the system read, each over a connection of its own.
///
/// # Errors
///
/// One of them cannot subscribe.
pub(super) async fn subscribe(
    (system, _): (System, Client),
    server: SocketAddr,
    count: usize,
    tally: &Arc<Tally>,
    readers: &mut Readers,
) -> anyhow::Result<()> {
    for number in 0..count {
        let tally = Arc::clone(tally);
        match system {
            System::HubMemory | System::HubSynced => {
                let is_synced = system == System::HubSynced;
                grpc::subscribe(server, number, is_synced, tally, readers).await?;
            }
            System::NatsCore => nats::subscribe(server, tally, readers).await?,
            System::JetStream => nats::consume(server, number, tally, readers).await?,
            System::RedisPubSub => redis::subscribe(server, tally, readers).await?,
            System::RedisStreams => redis::read(server, tally, readers).await?,
            System::Floor => tcp::subscribe(server, tally, readers).await?,
        }
    }
    Ok(())
}

impl Publisher {
    /// Connects. Its acknowledgements, where the system has them, are counted by the tally.
    ///
    /// # Errors
    ///
    /// The server does not take it.
    pub(super) async fn connect(
        (system, _): (System, Client),
        server: SocketAddr,
        text_bytes: usize,
        tally: &Arc<Tally>,
        readers: &mut Readers,
    ) -> anyhow::Result<Self> {
        let tally = Arc::clone(tally);
        let out = match system {
            System::HubMemory | System::HubSynced => {
                Out::Grpc(grpc::publisher(server, tally, readers).await?)
            }
            System::NatsCore => Out::Tcp(nats::publisher(server, tally, readers).await?),
            System::JetStream => Out::Tcp(nats::stream_publisher(server, tally, readers).await?),
            System::RedisPubSub | System::RedisStreams => {
                Out::Tcp(redis::publisher(server, tally, readers).await?)
            }
            System::Floor => Out::Tcp(tcp::publisher(server).await?),
        };
        let template = match system {
            System::HubMemory => grpc::template(text_bytes, false),
            System::HubSynced => grpc::template(text_bytes, true),
            _ => Template::event(grpc::PUBLISHER, text_bytes),
        };
        Ok(Self {
            system,
            template,
            next: 0,
            buffer: BytesMut::new(),
            out,
        })
    }

    /// How many were published.
    pub(super) fn published(&self) -> u64 {
        self.next
    }

    /// Publishes so many messages, at most [`BATCH`]. Returns when the connection has taken them.
    ///
    /// # Errors
    ///
    /// The connection is gone.
    pub(super) async fn publish(&mut self, count: u64, stamp: Option<&str>) -> anyhow::Result<()> {
        for number in self.next..self.next + count {
            let message = self.template.number(number, stamp);
            match self.system {
                System::HubMemory | System::HubSynced => grpc::frame(message, &mut self.buffer),
                System::NatsCore => nats::frame(message, &mut self.buffer),
                System::JetStream => nats::stream_frame(message, &mut self.buffer),
                System::RedisPubSub => redis::publish_frame(message, &mut self.buffer),
                System::RedisStreams => redis::add_frame(message, &mut self.buffer),
                System::Floor => tcp::frame(message, &mut self.buffer),
            }
        }
        self.next += count;
        let bytes = self.buffer.split().freeze();
        match &mut self.out {
            Out::Tcp(stream) => stream.write_all(&bytes).await?,
            Out::Grpc(frames) => frames.send(bytes).await?,
        }
        Ok(())
    }
}
