//! Topics on Apache Kafka.
//!
//! A group is a consumer group. What a member acknowledges is committed by partition, up to the first message that is still out
//! (`outstanding.rs`).

mod failure;
mod member;
mod outstanding;
mod partitions;
mod producer;
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
use rdkafka::{error::KafkaError, producer::FutureRecord};

#[cfg(feature = "testing")]
pub use lag::lag;
#[cfg(any(test, feature = "testing"))]
pub use mock::MockKafka;
pub use partitions::{Extent, Reader};
pub use settings::{Mechanism, Sasl, Secret, Settings, Tls, Topics};
pub use transactions::Transactions;

use crate::{Bus, BusError, Consumer, Group, Groups, Message};
use failure::failure;
use member::Watch;
use producer::CurrentProducer;
use reaching::reach;
use standing::GivenUp;
use topics::KnownTopics;

/// The bus and the groups that a Kafka is. Cheap to clone; the clones share the connections.
#[derive(Clone)]
pub struct KafkaBus {
    settings: Settings,
    producer: Arc<CurrentProducer>,
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
        let producer = CurrentProducer::new(config.clone())?;
        reach(&producer.get(), producer.complaints()).await?;
        let topics = KnownTopics::new(&config, settings.topics.clone())?;
        Ok(Self {
            settings,
            producer: Arc::new(producer),
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
        let failed = |error| {
            self.producer.replace_if_ended();
            failure(error)
        };
        let queued: Result<Vec<_>, KafkaError> = {
            let producer = self.producer.get();
            let queued = messages.iter().map(|message| {
                let record = FutureRecord::to(topic)
                    .key(&*message.key)
                    .payload(&*message.body)
                    .headers(wire::headers(message));
                producer.send_result(record).map_err(|(error, _)| error)
            });
            // Each is in the producer's queue before the next one.
            queued.collect()
        };
        for delivered in queued.map_err(failed)? {
            let gone = |_| BusError::Unavailable("the producer has ended".to_owned());
            delivered
                .await
                .map_err(gone)?
                .map_err(|(error, _)| failed(error))?;
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
