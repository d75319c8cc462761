//! The producer of messages, and a new one in its place when it can go on no more.

use std::sync::{PoisonError, RwLock};

use rdkafka::{
    ClientConfig,
    error::KafkaError,
    producer::{FutureProducer, Producer as _},
};
use tokio::task::spawn_blocking;

use super::{failure::failure, reaching::Complaints};
use crate::BusError;

/// A producer that is made anew. An idempotent one ends when it and the servers no longer agree on what it has sent.
pub(super) struct Producing {
    config: ClientConfig,
    complaints: Complaints,
    producer: RwLock<FutureProducer<Complaints>>,
}

impl Producing {
    /// # Errors
    ///
    /// The configuration is wrong.
    pub(super) fn new(config: ClientConfig) -> Result<Self, BusError> {
        let complaints = Complaints::default();
        let producer = config.create_with_context(complaints.clone());
        Ok(Self {
            producer: RwLock::new(producer.map_err(failure)?),
            config,
            complaints,
        })
    }

    pub(super) fn complaints(&self) -> &Complaints {
        &self.complaints
    }

    pub(super) fn producer(&self) -> FutureProducer<Complaints> {
        let producer = self.producer.read();
        producer.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The error of a publish. If the producer ended with it, the next publish has another one.
    pub(super) fn failed(&self, error: KafkaError) -> BusError {
        let producer = self.producer.write();
        let mut producer = producer.unwrap_or_else(PoisonError::into_inner);
        if let Some((code, why)) = producer.client().fatal_error() {
            tracing::warn!(%code, why, "the producer has ended, and is made anew");
            match self.config.create_with_context(self.complaints.clone()) {
                Ok(next) => {
                    let ended = std::mem::replace(&mut *producer, next);
                    // It waits for its threads.
                    spawn_blocking(move || drop(ended));
                }
                Err(error) => return failure(error),
            }
        }
        failure(error)
    }
}
