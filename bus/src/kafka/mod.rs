//! Topics on Apache Kafka.
//!
//! A group is a consumer group. What a member acknowledges is committed by partition, up to the first message that is still out
//! (`outstanding.rs`).

mod failure;
mod member;
mod outstanding;
mod settings;
mod topics;
mod wire;

#[cfg(any(test, feature = "testing"))]
mod mock;
#[cfg(test)]
mod tests;

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use rdkafka::producer::{FutureProducer, FutureRecord};

#[cfg(any(test, feature = "testing"))]
pub use mock::MockKafka;
pub use settings::{Mechanism, Sasl, Secret, Settings, Tls, Topics};

use crate::{Bus, BusError, Consumer, Group, Groups, Message};
use failure::failure;
use topics::KnownTopics;

/// The bus and the groups that a Kafka is. Cheap to clone; the clones share the connections.
#[derive(Clone)]
pub struct KafkaBus {
    settings: Settings,
    producer: FutureProducer,
    topics: Arc<KnownTopics>,
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
        let producer: FutureProducer = config.create().map_err(failure)?;
        let topics = KnownTopics::connect(&config, settings.topics.clone()).await?;
        Ok(Self {
            settings,
            producer,
            topics: Arc::new(topics),
        })
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
        let mut sent = Vec::with_capacity(messages.len());
        for message in messages {
            let record = FutureRecord::to(topic)
                .key(&*message.key)
                .payload(&*message.body)
                .headers(wire::headers(message));
            // Each is in the producer's queue before the next one.
            sent.push(
                self.producer
                    .send_result(record)
                    .map_err(|(error, _)| failure(error))?,
            );
        }
        for delivered in sent {
            let gone = |_| BusError::Unavailable("the producer has ended".to_owned());
            delivered
                .await
                .map_err(gone)?
                .map_err(|(error, _)| failure(error))?;
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
        member::join(&self.settings.member(&group.name)?, group)
    }
}
