//! The connector.

use std::{
    collections::BTreeSet,
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use agenthub_bus::{BusError, KafkaBus, NewRecord, kafka::Transactions, messages::dead_letters};
use agenthub_metrics::Snapshot;
use agenthub_sdk::{Client, hub::Connection};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::{
    metrics::{Metrics, Way},
    mirroring,
    outgoing::source,
    positions::Positions,
    settings::Rules,
    taking,
};

/// Records, or events, that are carried at once, at most.
pub(crate) const BATCH: usize = 500;

/// Bytes of them, after which no further one is waited for.
pub(crate) const BATCH_BYTES: usize = 4 << 20;

/// Time for which further ones are waited for.
pub(crate) const LINGER: Duration = Duration::from_millis(5);

/// Pause before the hub is asked again.
pub(crate) const PAUSE: Duration = Duration::from_secs(1);

/// Time that what is on its way has to arrive when the connector stops.
const GRACE: Duration = Duration::from_secs(3);

/// Reason for which a connector ends, or does not begin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Kafka refuses something for good.
    #[error(transparent)]
    Kafka(#[from] BusError),
    /// The hub refuses something for good.
    #[error(transparent)]
    Hub(#[from] agenthub_sdk::Error),
    /// Another connector has its place, or its place cannot be held.
    #[error(
        "the connector {name} writes nothing more: {why}. One connector of a name works at a time, and the latest one goes on; if no other one runs, start it again"
    )]
    Ended {
        /// Its name.
        name: String,
        /// The error of its last write.
        why: String,
    },
    /// The positions cannot be read.
    #[error(
        "the positions of the connector are on the topic {topic}, but {why}: give the connector another name, or remove that record"
    )]
    Positions {
        /// The topic of its positions.
        topic: String,
        /// Content of it.
        why: String,
    },
}

/// A connector. It carries nothing before it is [run](Self::run).
pub struct Connector {
    pub(crate) bus: KafkaBus,
    pub(crate) client: Client,
    pub(crate) rules: Rules,
    pub(crate) positions_topic: String,
    out: Option<Transactions>,
    inward: Option<Transactions>,
    positions: Positions,
    pub(crate) metrics: Arc<Metrics>,
    /// `ce_source` of the hub, as of its last connection.
    source: Mutex<String>,
}

impl Connector {
    /// Takes the place of the connector of this name, and reads where that stood. Topics that are missing are made. The client has the
    /// [id](Rules::agent_id) of the connector.
    ///
    /// # Errors
    ///
    /// [`Error::Kafka`] if a topic is missing and may not be made, or Kafka is away; [`Error::Positions`].
    pub async fn start(bus: KafkaBus, client: Client, rules: Rules) -> Result<Self, Error> {
        let topic = rules.positions_topic();
        bus.ensure_compacted(&topic).await?;
        let named = rules.out.iter().map(|rule| rule.to.clone());
        let from = rules.inward.iter().map(|rule| rule.from.clone());
        let dead = rules.inward.iter().map(|rule| dead_letters(&rule.from));
        for topic in named.chain(from).chain(dead).collect::<BTreeSet<_>>() {
            bus.ensure_there(&topic).await?;
        }
        let writer = async |way: &str| {
            let id = format!("agenthub.connect.{}.{way}", rules.name);
            bus.transactions(&id).await
        };
        // An earlier connector of this name writes nothing from here on, so that the positions stand still.
        let out = match rules.out.is_empty() {
            true => None,
            false => Some(writer("out").await?),
        };
        let inward = match rules.inward.is_empty() {
            true => None,
            false => Some(writer("in").await?),
        };
        let latest = bus.latest(&topic).await?;
        let positions = Positions::read(&latest).map_err(|why| Error::Positions {
            topic: topic.clone(),
            why,
        })?;
        Ok(Self {
            bus,
            client,
            rules,
            positions_topic: topic,
            out,
            inward,
            positions,
            metrics: Arc::default(),
            source: Mutex::default(),
        })
    }

    /// Adds the connector's metrics to others.
    pub fn collector(&self) -> impl Fn(&mut Snapshot) + Send + Sync + 'static {
        let metrics = Arc::clone(&self.metrics);
        move |into| metrics.collect(into)
    }

    /// Carries until it is told to stop, over breaks and restarts of hub and Kafka. What is on its way has 3 s then; the next connector of the
    /// name carries the rest.
    ///
    /// # Errors
    ///
    /// [`Error`], for what does not pass.
    pub async fn run(&self, stop: &CancellationToken) -> Result<(), Error> {
        let out = async {
            match &self.out {
                Some(writer) => {
                    mirroring::run(self, writer, self.positions.out.clone(), stop).await
                }
                None => Ok(()),
            }
        };
        let inward = async {
            match &self.inward {
                Some(writer) => taking::run(self, writer, self.positions.clone(), stop).await,
                None => Ok(()),
            }
        };
        let mut carrying = Box::pin(async { tokio::try_join!(out, inward).map(drop) });
        tokio::select! {
            ended = &mut carrying => ended,
            () = stop.cancelled() => timeout(GRACE, carrying).await.unwrap_or_else(|_| {
                tracing::warn!("what is on its way is left to the next start");
                Ok(())
            }),
        }
    }

    /// Writes records in one transaction.
    pub(crate) async fn write(
        &self,
        way: Way,
        writer: &Transactions,
        records: Vec<NewRecord>,
    ) -> Result<(), Error> {
        let topics: Vec<String> = records.iter().map(|record| record.topic.clone()).collect();
        let began = Instant::now();
        let written = writer.write(records).await;
        written.map_err(|error| Error::Ended {
            name: self.rules.name.clone(),
            why: error.to_string(),
        })?;
        let others = topics.iter().map(String::as_str);
        let others = others.filter(|topic| *topic != self.positions_topic);
        self.metrics.written(way, others, began.elapsed());
        Ok(())
    }

    /// `ce_source` of the hub; while it is away, that of before.
    pub(crate) fn source(&self) -> String {
        let mut last = self.source.lock().unwrap_or_else(PoisonError::into_inner);
        if let Connection::Connected { incarnation } = &*self.client.connection().borrow() {
            *last = source(incarnation);
        }
        last.clone()
    }
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connector")
            .field("rules", &self.rules)
            .field("positions", &self.positions)
            .finish_non_exhaustive()
    }
}
