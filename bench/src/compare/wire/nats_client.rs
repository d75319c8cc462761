//! NATS as its users speak with it: through async-nats, whose settings are those that measured best here.
//!
//! Nothing is flushed by hand: the library writes whatever waits as soon as its connection takes it, and what comes meanwhile in one piece.

use std::{net::SocketAddr, sync::Arc};

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

/// Messages that wait to be written; the library's own choice is 2,048.
const UNWRITTEN: usize = 8_192;

/// Messages that wait to be taken by a subscriber, after which the library drops some; its own choice. No window of a measurement is as wide.
const UNREAD: usize = 64 * 1024;

/// What the library reads at a time, in bytes: its most.
const READ: u16 = u16::MAX;

/// Acknowledgements that are waited for; more than any window of a measurement.
const UNANSWERED: usize = 4_096;

/// The stream that is published into, and where what it delivers goes, before the consumer's number.
const STREAM: &str = "BENCH";
const DELIVERIES: &str = "deliveries";

/// What a stream keeps, in messages.
const KEPT: i64 = 1_000_000;

/// A connection that publishes, and answers nothing.
pub(super) async fn publisher(server: SocketAddr) -> anyhow::Result<Client> {
    connect(server).await
}

/// One message, which is written when the connection takes it.
pub(super) async fn publish(client: &Client, message: &[u8]) -> anyhow::Result<()> {
    let message = Bytes::copy_from_slice(message);
    Ok(client.publish(Subject::from_static(TOPIC), message).await?)
}

/// A subscriber of NATS core, which reads when this returns.
pub(super) async fn subscribe(
    server: SocketAddr,
    tally: Arc<Tally>,
    readers: &mut Readers,
) -> anyhow::Result<()> {
    let client = connect(server).await?;
    let messages = client.subscribe(Subject::from_static(TOPIC)).await?;
    is_handled(&client).await?;
    readers.spawn(count(messages, client, tally));
    Ok(())
}

/// Waits until the server has handled what was said so far, subscriptions included: then it answers what is said after it.
pub(in crate::compare) async fn is_handled(client: &Client) -> anyhow::Result<()> {
    match client.request("nobody", Bytes::new()).await {
        Err(error) if error.kind() == RequestErrorKind::NoResponders => Ok(()),
        answer => bail!("somebody answers for nobody: {answer:?}"),
    }
}

/// Publishes into a stream. Its acknowledgements are awaited, and counted, in the order of what they acknowledge.
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
                // Without the acknowledgement the measurement gets stuck, and says so.
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

/// An ordered push consumer, which needs no acknowledgements. Of what a stream offers to one who reads all of it, it measured as the fastest: a
/// plain push consumer without acknowledgements took the server more time for each delivery, an ordered pull consumer delivered less.
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

/// A connection, with settings that measured best.
pub(in crate::compare) async fn connect(server: SocketAddr) -> anyhow::Result<Client> {
    let options = ConnectOptions::new()
        .client_capacity(UNWRITTEN)
        .subscription_capacity(UNREAD)
        .read_buffer_capacity(READ)
        .skip_subject_validation(true)
        // A server that is gone stays so.
        .max_reconnects(1);
    Ok(options.connect(server.to_string()).await?)
}

/// The stream, which may be there already.
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

/// Counts what comes, as many at a time as are there.
async fn count(messages: impl Stream<Item = Message> + Unpin, client: Client, tally: Arc<Tally>) {
    // Whoever drops it closes the connection.
    let _client = client;
    let mut messages = messages.ready_chunks(super::BATCH as usize);
    while let Some(messages) = messages.next().await {
        for message in &messages {
            tally.message(&message.payload);
        }
        tally.delivered(messages.len() as u64);
    }
}
