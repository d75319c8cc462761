//! The contract on Kafka: on the mock cluster of librdkafka, and on the real one that `AGENTHUB_TEST_KAFKA` names.

use std::env;

use super::*;
use crate::contract;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kafka_keeps_the_promises_of_a_bus() {
    let cluster = MockKafka::start();
    let settings = Settings {
        // It knows nothing of making topics, and has each that is asked for.
        topics: Topics {
            make: false,
            partitions: 2,
            ..Topics::default()
        },
        ..Settings::new(cluster.servers())
    };
    let bus = KafkaBus::connect(settings).await.expect("it is there");
    contract::keeps_its_promises(&bus, &bus).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_real_kafka_keeps_the_promises_of_a_bus() {
    let Ok(servers) = env::var("AGENTHUB_TEST_KAFKA") else {
        return;
    };
    let bus = KafkaBus::connect(Settings::new(servers))
        .await
        .expect("it is there");
    contract::keeps_its_promises(&bus, &bus).await;
}
