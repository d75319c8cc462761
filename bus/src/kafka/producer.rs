//! The producer of messages, and a new one in its place when it can go on no more.

use std::sync::{PoisonError, RwLock};

use rdkafka::{
    ClientConfig,
    producer::{FutureProducer, Producer as _},
};
use tokio::task::spawn_blocking;

use super::{failure::failure, reaching::Complaints};
use crate::BusError;

/// The producer, which is replaced when it has ended. An idempotent one ends when it and the servers no longer agree on what it has sent.
pub(super) struct CurrentProducer {
    config: ClientConfig,
    complaints: Complaints,
    producer: RwLock<FutureProducer<Complaints>>,
}

impl CurrentProducer {
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

    /// The producer, not to be held over an `await`: the last clone waits for its threads when it is dropped.
    pub(super) fn get(&self) -> FutureProducer<Complaints> {
        let producer = self.producer.read();
        producer.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Makes another producer if this one has ended. The next publish has it.
    pub(super) fn replace_if_ended(&self) {
        let producer = self.producer.write();
        let mut producer = producer.unwrap_or_else(PoisonError::into_inner);
        let Some((code, why)) = producer.client().fatal_error() else {
            return;
        };
        match self.config.create_with_context(self.complaints.clone()) {
            Ok(next) => {
                tracing::warn!(%code, why, "the producer has ended, and is made anew");
                let ended = std::mem::replace(&mut *producer, next);
                // Its drop waits for its threads.
                spawn_blocking(move || drop(ended));
            }
            Err(error) => {
                tracing::warn!(%code, why, %error, "the producer has ended, and cannot be made anew at present");
            }
        }
    }
}
