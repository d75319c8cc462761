//! Topics on Apache Kafka.
//!
//! A group is a consumer group. What a member acknowledges is committed by partition, up to the first message that is still out
//! (`outstanding.rs`).

mod failure;
mod member;
mod outstanding;
mod partitions;
mod producing;
mod reaching;
mod settings;
mod standing;
mod topics;
mod transactions;
mod unowned;
mod wire;

#[cfg(feature = "testing")]
mod lag;
#[cfg(any(test, feature = "testing"))]
mod mock;
#[cfg(test)]
mod tests;
#[cfg(all(test, feature = "kafka-tls"))]
mod tls_tests;

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use rdkafka::producer::FutureRecord;

#[cfg(feature = "testing")]
pub use lag::lag;
#[cfg(any(test, feature = "testing"))]
pub use mock::MockKafka;
pub use partitions::{Extent, Reader};
pub use settings::{Mechanism, Sasl, Secret, Settings, Tls, Topics};
pub use transactions::Transactions;

use crate::{Bus, BusError, Consumer, Group, Groups, Message};
use member::Watch;
use producing::Producing;
use reaching::reach;
use standing::GivenUp;
use topics::KnownTopics;

/// The bus and the groups that a Kafka is. Cheap to clone; the clones share the connections.
#[derive(Clone)]
pub struct KafkaBus {
    settings: Settings,
    producing: Arc<Producing>,
    topics: Arc<KnownTopics>,
    given_up: Arc<Mutex<BTreeMap<String, GivenUp>>>,
}

impl KafkaBus {
    /// Connects, and waits until a server answers, 10 s at most.
    ///
    /// # Errors
    ///
    /// [`BusError::Unavailable`] if no server answers; [`BusError::Refused`] if this build or this machine lacks something that the settings
    /// ask for, or the servers do not take the login.
    pub async fn connect(settings: Settings) -> Result<Self, BusError> {
        let config = settings.producer()?;
        let producing = Producing::new(config.clone())?;
        reach(&producing.producer(), producing.complaints()).await?;
        let topics = KnownTopics::new(&config, settings.topics.clone())?;
        Ok(Self {
            settings,
            producing: Arc::new(producing),
            topics: Arc::new(topics),
            given_up: Arc::default(),
        })
    }

    /// Makes a topic that is missing. One that is there may be as it is.
    ///
    /// # Errors
    ///
    /// [`BusError::Refused`] for a topic that is missing and may not be made.
    pub async fn ensure_there(&self, topic: &str) -> Result<(), BusError> {
        self.topics.ensure_there(topic).await
    }

    /// Makes a topic of one partition that keeps the latest message of each key for ever, or checks that it is one.
    ///
    /// # Errors
    ///
    /// [`BusError::Refused`] for a topic that is another one, or is missing and may not be made.
    pub async fn ensure_compacted(&self, topic: &str) -> Result<(), BusError> {
        self.topics.ensure_compacted(topic).await
    }
}

impl fmt::Debug for KafkaBus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KafkaBus")
            .field("servers", &self.settings.servers)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Bus for KafkaBus {
    async fn publish(&self, topic: &str, messages: &[Message]) -> Result<(), BusError> {
        self.topics.ensure(topic).await?;
        let producer = self.producing.producer();
        let mut sent = Vec::with_capacity(messages.len());
        for message in messages {
            let record = FutureRecord::to(topic)
                .key(&*message.key)
                .payload(&*message.body)
                .headers(wire::headers(message));
            // Each is in the producer's queue before the next one.
            let queued = producer.send_result(record);
            sent.push(queued.map_err(|(error, _)| self.producing.failed(error))?);
        }
        for delivered in sent {
            let gone = |_| BusError::Unavailable("the producer has ended".to_owned());
            delivered
                .await
                .map_err(gone)?
                .map_err(|(error, _)| self.producing.failed(error))?;
        }
        Ok(())
    }
}

#[async_trait]
impl Groups for KafkaBus {
    async fn join(&self, group: Group) -> Result<Consumer, BusError> {
        for topic in &group.topics {
            self.topics.ensure(topic).await?;
        }
        let watch = Watch {
            given_up: Arc::clone(&self.given_up),
            ..Watch::default()
        };
        member::join(&self.settings.member(&group)?, group, watch)
    }
}
