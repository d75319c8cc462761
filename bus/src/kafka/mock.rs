//! A Kafka in a test's own process.

use std::fmt;

use rdkafka::{mocking::MockCluster, producer::DefaultProducerContext};

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
