//! The lag of a group, for tests that wait until all is committed.

use rdkafka::{
    ClientConfig, Offset, TopicPartitionList,
    consumer::{BaseConsumer, Consumer as _},
    error::KafkaResult,
};

use super::settings::ANSWER;

/// Number of messages of a topic that a group has not committed.
///
/// # Panics
///
/// The servers do not answer, or the topic is not there.
pub fn lag(servers: &str, group: &str, topic: &str) -> i64 {
    measured(servers, group, topic).expect("the servers answer")
}

fn measured(servers: &str, group: &str, topic: &str) -> KafkaResult<i64> {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", servers);
    let consumer: BaseConsumer = config.set("group.id", group).create()?;
    let metadata = consumer.fetch_metadata(Some(topic), ANSWER)?;
    let mut asked = TopicPartitionList::new();
    for partition in metadata
        .topics()
        .iter()
        .flat_map(|topic| topic.partitions())
    {
        asked.add_partition(topic, partition.id());
    }
    let mut lag = 0;
    for element in consumer.committed_offsets(asked, ANSWER)?.elements() {
        let (low, high) = consumer.fetch_watermarks(topic, element.partition(), ANSWER)?;
        lag += match element.offset() {
            Offset::Offset(committed) => high - committed,
            _ => high - low,
        };
    }
    Ok(lag)
}
