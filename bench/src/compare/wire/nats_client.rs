//! NATS with its usual client, async-nats, with the settings that measured best here.
//!
//! Nothing is flushed explicitly: the library writes as soon as its connection permits, and joins messages that arrive
//! meanwhile.

use std::{net::SocketAddr, sync::Arc};

use agenthub_sdk::proto::tls::ClientTls;
use anyhow::{Context as _, bail};
use async_nats::{
    Client, ConnectOptions, Message, RequestErrorKind, Subject,
    jetstream::{
        self,
        consumer::{DeliverPolicy, push},
        context::{Context, PublishAckFuture},
        stream,
    },
};
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use tokio::sync::mpsc;

use super::Readers;
use crate::compare::{message::TOPIC, tally::Tally};

/// Messages queued for writing; the library's default is 2,048.
const UNWRITTEN: usize = 8_192;

/// Messages queued for a subscriber, after which the library drops some; its default. Larger than all windows of the
/// measurements.
const UNREAD: usize = 64 * 1024;

/// Bytes per read: the library's maximum.
const READ: u16 = u16::MAX;

/// Maximum awaited acknowledgements; larger than all windows of the measurements.
const UNANSWERED: usize = 4_096;

/// Name of the stream, and prefix of its delivery subjects, before the consumer's number.
const STREAM: &str = "BENCH";
const DELIVERIES: &str = "deliveries";

/// Messages that a stream retains.
const KEPT: i64 = 1_000_000;

/// A connection that publishes, and has no replies.
pub(super) async fn publisher(server: (SocketAddr, bool)) -> anyhow::Result<Client> {
    connected(server).await
}

/// Publishes one message, written when the connection permits.
pub(super) async fn publish(client: &Client, message: &[u8]) -> anyhow::Result<()> {
    let message = Bytes::copy_from_slice(message);
    Ok(client.publish(Subject::from_static(TOPIC), message).await?)
}

/// Starts a subscriber of NATS core; reads from the return on.
pub(super) async fn subscribe(
    server: (SocketAddr, bool),
    tally: Arc<Tally>,
    readers: &mut Readers,
) -> anyhow::Result<()> {
    let client = connected(server).await?;
    let messages = client.subscribe(Subject::from_static(TOPIC)).await?;
    is_handled(&client).await?;
    readers.spawn(count(messages, client, tally));
    Ok(())
}

/// Waits until the server has processed everything so far, subscriptions included: it answers a later request then.
pub(in crate::compare) async fn is_handled(client: &Client) -> anyhow::Result<()> {
    match client.request("nobody", Bytes::new()).await {
        Err(error) if error.kind() == RequestErrorKind::NoResponders => Ok(()),
        answer => bail!("somebody answers for nobody: {answer:?}"),
    }
}

/// Publishes into a stream. Its acknowledgements are awaited, and counted, in order.
#[derive(Debug)]
pub(super) struct StreamPublisher {
    context: Context,
    unanswered: mpsc::Sender<PublishAckFuture>,
}

impl StreamPublisher {
    pub(super) async fn connect(
        server: SocketAddr,
        tally: Arc<Tally>,
        readers: &mut Readers,
    ) -> anyhow::Result<Self> {
        let context = jetstream::new(connect(server).await?);
        make_stream(&context).await?;
        let (unanswered, mut answers) = mpsc::channel::<PublishAckFuture>(UNANSWERED);
        readers.spawn(async move {
            while let Some(answer) = answers.recv().await {
                // A missing acknowledgement blocks the measurement, which then fails.
                if answer.await.is_err() {
                    return;
                }
                tally.acknowledged(1);
            }
        });
        Ok(Self {
            context,
            unanswered,
        })
    }

    pub(super) async fn publish(&self, message: &[u8]) -> anyhow::Result<()> {
        let message = Bytes::copy_from_slice(message);
        let publishing = self
            .context
            .publish(Subject::from_static(TOPIC), message)
            .await?;
        let sent = self.unanswered.send(publishing).await;
        sent.ok().context("a publish was not acknowledged")
    }
}

/// Starts an ordered push consumer, without acknowledgements. It measured as the fastest way to read a whole stream: a
/// plain push consumer without acknowledgements took more CPU time per delivery, and an ordered pull consumer delivered
/// less.
pub(super) async fn consume(
    server: SocketAddr,
    number: usize,
    tally: Arc<Tally>,
    readers: &mut Readers,
) -> anyhow::Result<()> {
    let client = connect(server).await?;
    let context = jetstream::new(client.clone());
    let stream = make_stream(&context).await?;
    let config = push::OrderedConfig {
        deliver_subject: format!("{DELIVERIES}.{number}"),
        deliver_policy: DeliverPolicy::New,
        ..push::OrderedConfig::default()
    };
    let messages = stream.create_consumer(config).await?.messages().await?;
    let messages = messages.filter_map(async |message| message.ok().map(|m| m.message));
    readers.spawn(count(Box::pin(messages), client, tally));
    Ok(())
}

/// A connection with the settings that measured best.
pub(in crate::compare) async fn connect(server: SocketAddr) -> anyhow::Result<Client> {
    connected((server, false)).await
}

/// The same with a server that may speak TLS.
async fn connected((server, is_tls): (SocketAddr, bool)) -> anyhow::Result<Client> {
    let mut options = ConnectOptions::new()
        .client_capacity(UNWRITTEN)
        .subscription_capacity(UNREAD)
        .read_buffer_capacity(READ)
        .skip_subject_validation(true)
        // A server that is gone does not come back.
        .max_reconnects(1);
    if is_tls {
        options = options.require_tls(true);
        if let [Some(ca), ..] = ClientTls::of_process().files() {
            options = options.add_root_certificates(ca.clone());
        }
    }
    Ok(options.connect(server.to_string()).await?)
}

/// Creates the stream, which may exist already.
async fn make_stream(context: &Context) -> anyhow::Result<stream::Stream> {
    let config = stream::Config {
        name: STREAM.to_owned(),
        subjects: vec![TOPIC.to_owned()],
        storage: stream::StorageType::File,
        max_messages: KEPT,
        ..stream::Config::default()
    };
    Ok(context.get_or_create_stream(config).await?)
}

/// Counts messages, as many at a time as are available.
async fn count(messages: impl Stream<Item = Message> + Unpin, client: Client, tally: Arc<Tally>) {
    // Dropping it would close the connection.
    let _client = client;
    let mut messages = messages.ready_chunks(super::BATCH as usize);
    while let Some(messages) = messages.next().await {
        for message in &messages {
            tally.message(&message.payload);
        }
        tally.delivered(messages.len() as u64);
    }
}
