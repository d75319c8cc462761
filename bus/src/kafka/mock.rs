//! A Kafka in a test's own process.

use std::fmt;

use rdkafka::{
    mocking::MockCluster,
    producer::DefaultProducerContext,
    types::{RDKafkaApiKey, RDKafkaRespErr},
};

/// The mock cluster of librdkafka, with one server. It knows nothing of making topics, and has each that is asked for, with four partitions.
pub struct MockKafka(MockCluster<'static, DefaultProducerContext>);

impl MockKafka {
    /// Starts it. It ends when it is dropped.
    ///
    /// # Panics
    ///
    /// It cannot be started.
    pub fn start() -> Self {
        Self(MockCluster::new(1).expect("a mock cluster"))
    }

    /// Has it not know a topic, or know it again.
    ///
    /// # Panics
    ///
    /// It has ended.
    pub fn forget(&self, topic: &str, is_forgotten: bool) {
        let error = match is_forgotten {
            true => RDKafkaRespErr::RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART,
            false => RDKafkaRespErr::RD_KAFKA_RESP_ERR_NO_ERROR,
        };
        self.0.topic_error(topic, error).expect("it is there");
    }

    /// Has it refuse to be read from, or end with that.
    pub fn refuse_reading(&self, is_refused: bool) {
        let refused = RDKafkaRespErr::RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR;
        match is_refused {
            true => self
                .0
                .request_errors(RDKafkaApiKey::Fetch, &[refused; 10_000]),
            false => self.0.clear_request_errors(RDKafkaApiKey::Fetch),
        }
    }

    /// Has it not say what groups have committed, or end with that.
    pub fn refuse_offsets(&self, is_refused: bool) {
        let refused = RDKafkaRespErr::RD_KAFKA_RESP_ERR_NOT_COORDINATOR;
        match is_refused {
            true => self
                .0
                .request_errors(RDKafkaApiKey::OffsetFetch, &[refused; 1_000]),
            false => self.0.clear_request_errors(RDKafkaApiKey::OffsetFetch),
        }
    }

    /// Has it refuse what is published next, as if it missed something before that.
    pub fn miss_once(&self) {
        let missed = RDKafkaRespErr::RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER;
        self.0.request_errors(RDKafkaApiKey::Produce, &[missed]);
    }

    /// Makes a topic with so many partitions.
    ///
    /// # Panics
    ///
    /// It is there.
    pub fn make_topic(&self, topic: &str, partitions: i32) {
        let made = self.0.create_topic(topic, partitions, 1);
        made.expect("there is no topic of that name");
    }

    /// Its address.
    pub fn servers(&self) -> String {
        self.0.bootstrap_servers()
    }
}

impl fmt::Debug for MockKafka {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MockKafka").finish_non_exhaustive()
    }
}
