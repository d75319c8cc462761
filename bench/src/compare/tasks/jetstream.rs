//! Requests and answers over JetStream, through async-nats. Each is stored in a stream of the file store.
//!
//! A request is published, and its acknowledgement awaited; a worker takes it from a durable consumer, publishes the
//! answer, awaits that acknowledgement too, and acknowledges the request. The answer is read from an ordered consumer.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use anyhow::{Context as _, bail};
use async_nats::{
    HeaderMap,
    jetstream::{
        self, Context, Message,
        consumer::{AckPolicy, DeliverPolicy, pull, push},
        stream,
    },
};
use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _};
use tokio::{sync::oneshot, task::JoinSet};

use super::{Request, TEXT_BYTES, request, text};
use crate::compare::wire::connect_to_nats;

const REQUESTS: &str = "REQUESTS";
const ANSWERS: &str = "ANSWERS";

/// Header with the subject for the answer.
const ANSWER_TO: &str = "Answer-To";

/// Name of the requester.
const REQUESTER: &str = "requester";

/// Messages that a stream retains.
const KEPT: i64 = 1_000_000;

/// A requester and a chain of workers, each with its own connection.
#[derive(Debug)]
pub(super) struct StreamWorkers {
    requester: Requester,
    _chain: JoinSet<()>,
}

impl StreamWorkers {
    /// Connects a requester and a chain of workers.
    ///
    /// # Errors
    ///
    /// The server refuses one of them.
    pub(super) async fn connect(
        server: SocketAddr,
        hops: usize,
        in_flight: usize,
    ) -> anyhow::Result<Self> {
        let context = jetstream::new(connect_to_nats(server).await?);
        make_stream(&context, REQUESTS, "requests.*").await?;
        make_stream(&context, ANSWERS, "answers.*.*").await?;
        let mut chain = JoinSet::new();
        for hop in 1..=hops {
            let next = match hop < hops {
                true => Some(Requester::connect(server, &format!("worker-{hop}"), hop + 1).await?),
                false => None,
            };
            let worker = Worker::connect(server, hop, next).await?;
            chain.spawn(worker.work(in_flight));
        }
        Ok(Self {
            requester: Requester::connect(server, REQUESTER, 1).await?,
            _chain: chain,
        })
    }

    pub(super) fn request(&self) -> Request {
        let (requester, text) = (self.requester.clone(), Bytes::from(text('q')));
        request(move || {
            let (requester, text) = (requester.clone(), text.clone());
            async move {
                match requester.ask(text).await?.len() {
                    TEXT_BYTES => Ok(()),
                    bytes => bail!("JetStream: an answer has {bytes} bytes"),
                }
            }
        })
    }
}

/// Publishes requests, and passes each answer to its waiter.
#[derive(Clone, Debug)]
struct Requester {
    context: Context,
    name: Arc<str>,
    /// The next hop.
    hop: usize,
    next: Arc<AtomicU64>,
    waiting: Arc<Mutex<HashMap<String, oneshot::Sender<Bytes>>>>,
    _reading: Arc<JoinSet<()>>,
}

impl Requester {
    async fn connect(server: SocketAddr, name: &str, hop: usize) -> anyhow::Result<Self> {
        let context = jetstream::new(connect_to_nats(server).await?);
        let config = push::OrderedConfig {
            deliver_subject: format!("deliveries.{name}"),
            filter_subject: format!("answers.{name}.*"),
            deliver_policy: DeliverPolicy::New,
            ..push::OrderedConfig::default()
        };
        let answers = context.get_stream(ANSWERS).await?;
        let mut answers = answers.create_consumer(config).await?.messages().await?;
        let waiting: Arc<Mutex<HashMap<String, oneshot::Sender<Bytes>>>> = Arc::default();
        let known = Arc::clone(&waiting);
        let mut reading = JoinSet::new();
        reading.spawn(async move {
            while let Some(Ok(answer)) = answers.next().await {
                let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(waits) = known.remove(answer.subject.as_str()) {
                    // A waiter that is gone has failed already.
                    let _ = waits.send(answer.payload.clone());
                }
            }
        });
        Ok(Self {
            context,
            name: name.into(),
            hop,
            next: Arc::default(),
            waiting,
            _reading: Arc::new(reading),
        })
    }

    async fn ask(&self, text: Bytes) -> anyhow::Result<Bytes> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let answer_to = format!("answers.{}.{number}", self.name);
        let (answered, answer) = oneshot::channel();
        self.waiting
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(answer_to.clone(), answered);
        let mut headers = HeaderMap::new();
        headers.insert(ANSWER_TO, answer_to);
        let subject = format!("requests.{}", self.hop);
        let publishing = self.context.publish_with_headers(subject, headers, text);
        publishing.await?.await?;
        answer.await.context("nobody reads the answers any more")
    }
}

/// Takes requests, and answers them.
struct Worker {
    context: Context,
    requests: pull::Stream,
    next: Option<Requester>,
}

impl Worker {
    async fn connect(
        server: SocketAddr,
        hop: usize,
        next: Option<Requester>,
    ) -> anyhow::Result<Self> {
        let context = jetstream::new(connect_to_nats(server).await?);
        let config = pull::Config {
            durable_name: Some(format!("worker-{hop}")),
            filter_subject: format!("requests.{hop}"),
            ack_policy: AckPolicy::Explicit,
            ..pull::Config::default()
        };
        let requests = context.get_stream(REQUESTS).await?;
        let requests = requests.create_consumer(config).await?.messages().await?;
        Ok(Self {
            context,
            requests,
            next,
        })
    }

    /// Answers requests with this concurrency.
    async fn work(self, in_flight: usize) {
        let Self {
            context,
            requests,
            next,
        } = self;
        // The requester notices a missing answer.
        let _ = requests
            .map_err(anyhow::Error::from)
            .try_for_each_concurrent(in_flight, |request| {
                answer(&context, request, next.as_ref())
            })
            .await;
    }
}

async fn answer(
    context: &Context,
    request: Message,
    next: Option<&Requester>,
) -> anyhow::Result<()> {
    let headers = request.headers.as_ref();
    let to = headers.and_then(|headers| headers.get(ANSWER_TO));
    let to = to.context("nobody waits for it")?.to_string();
    let text = match next {
        Some(next) => next.ask(request.payload.clone()).await?,
        None => Bytes::from(text('a')),
    };
    context.publish(to, text).await?.await?;
    let acknowledged = request.ack().await;
    acknowledged.map_err(|error| anyhow::anyhow!("the request is not acknowledged: {error}"))
}

async fn make_stream(context: &Context, name: &str, subjects: &str) -> anyhow::Result<()> {
    let config = stream::Config {
        name: name.to_owned(),
        subjects: vec![subjects.to_owned()],
        storage: stream::StorageType::File,
        max_messages: KEPT,
        ..stream::Config::default()
    };
    context.get_or_create_stream(config).await?;
    Ok(())
}
