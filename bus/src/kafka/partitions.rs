//! Partitions that are read from a place that the reader keeps itself.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    time::{Duration, Instant},
};

use bytes::Bytes;
use rdkafka::{
    Message as _, Offset, TopicPartitionList,
    consumer::{BaseConsumer, Consumer as _, StreamConsumer},
    error::{KafkaError, KafkaResult},
    message::{BorrowedMessage, Headers as _},
    types::RDKafkaErrorCode as Code,
};

use super::{KafkaBus, failure::failure, settings::ANSWER, topics::blocking};
use crate::{BusError, Header, Partition, Record};

/// Longest time without a record in which a topic is read to its end.
const SILENCE: Duration = Duration::from_secs(30);

/// Extent of a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The partition.
    pub partition: Partition,
    /// Offset of its first record.
    pub first: i64,
    /// Offset behind its last record.
    pub end: i64,
}

/// A reader of committed records. Dropping it ends it.
pub struct Reader {
    consumer: StreamConsumer,
}

impl KafkaBus {
    /// The partitions of a topic, and how far they reach.
    ///
    /// # Errors
    ///
    /// [`BusError::Unavailable`], also for a topic that is missing.
    pub async fn extents(&self, topic: &str) -> Result<Vec<Extent>, BusError> {
        let consumer: BaseConsumer = self.settings.reader()?.create().map_err(failure)?;
        let topic = topic.to_owned();
        blocking(move || {
            let numbers = partitions_of(&consumer, &topic)?;
            let extent = |number| {
                let (first, end) = consumer.fetch_watermarks(&topic, number, ANSWER)?;
                Ok(Extent {
                    partition: Partition {
                        topic: topic.clone(),
                        number,
                    },
                    first,
                    end,
                })
            };
            numbers.into_iter().map(extent).collect()
        })
        .await
    }

    /// The latest committed record of each key of a topic that is made for that ([`ensure_compacted`](Self::ensure_compacted)).
    ///
    /// # Errors
    ///
    /// [`BusError::Unavailable`].
    pub async fn latest(&self, topic: &str) -> Result<BTreeMap<String, Bytes>, BusError> {
        let consumer: BaseConsumer = self.settings.reader()?.create().map_err(failure)?;
        let topic = topic.to_owned();
        blocking(move || {
            let mut left: BTreeSet<i32> = partitions_of(&consumer, &topic)?.into_iter().collect();
            let mut from = TopicPartitionList::new();
            for number in &left {
                from.add_partition_offset(&topic, *number, Offset::Beginning)?;
            }
            consumer.assign(&from)?;
            let mut latest = BTreeMap::new();
            let mut until = Instant::now() + SILENCE;
            while !left.is_empty() {
                match consumer.poll(Duration::from_millis(100)) {
                    Some(Ok(record)) => {
                        until = Instant::now() + SILENCE;
                        let key = String::from_utf8_lossy(record.key().unwrap_or_default());
                        match record.payload() {
                            Some(body) => {
                                latest.insert(key.into_owned(), Bytes::copy_from_slice(body))
                            }
                            None => latest.remove(&*key),
                        };
                    }
                    Some(Err(KafkaError::PartitionEOF(number))) => {
                        left.remove(&number);
                    }
                    None if Instant::now() < until => {}
                    None => return Err(KafkaError::MessageConsumption(Code::OperationTimedOut)),
                    // A server that is away is looked for again.
                    Some(Err(_)) if Instant::now() < until => {}
                    Some(Err(error)) => return Err(error),
                }
            }
            Ok(latest)
        })
        .await
    }

    /// Reads partitions, each from an offset on.
    ///
    /// # Errors
    ///
    /// [`BusError`].
    pub fn read(
        &self,
        from: impl IntoIterator<Item = (Partition, i64)>,
    ) -> Result<Reader, BusError> {
        let consumer: StreamConsumer = self.settings.reader()?.create().map_err(failure)?;
        let mut partitions = TopicPartitionList::new();
        for (Partition { topic, number }, offset) in from {
            partitions
                .add_partition_offset(&topic, number, Offset::Offset(offset))
                .map_err(failure)?;
        }
        consumer.assign(&partitions).map_err(failure)?;
        Ok(Reader { consumer })
    }
}

impl Reader {
    /// Waits for the next record. Cancel-safe.
    ///
    /// # Errors
    ///
    /// [`BusError::Unavailable`] if Kafka is away at present: it goes on when it is asked again. [`BusError::Refused`] if a partition no longer has
    /// the next record, or this reader may not read it.
    pub async fn next(&mut self) -> Result<Record, BusError> {
        loop {
            match self.consumer.recv().await {
                Ok(record) => return Ok(read(&record)),
                Err(KafkaError::PartitionEOF(_)) => {}
                Err(error) if is_out_of_range(&error) => {
                    return Err(BusError::Refused(format!(
                        "a partition no longer has the record that is next: {error}"
                    )));
                }
                Err(error) => return Err(failure(error)),
            }
        }
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").finish_non_exhaustive()
    }
}

fn partitions_of(consumer: &BaseConsumer, topic: &str) -> KafkaResult<Vec<i32>> {
    let metadata = consumer.fetch_metadata(Some(topic), ANSWER)?;
    let found = metadata.topics().iter().find(|found| found.name() == topic);
    let missing = KafkaError::MetadataFetch(Code::UnknownTopicOrPartition);
    let found = found.ok_or_else(|| missing.clone())?;
    if let Some(code) = found.error() {
        return Err(KafkaError::MetadataFetch(code.into()));
    }
    let numbers: Vec<i32> = found.partitions().iter().map(|p| p.id()).collect();
    match numbers.is_empty() {
        true => Err(missing),
        false => Ok(numbers),
    }
}

fn is_out_of_range(error: &KafkaError) -> bool {
    matches!(
        error.rdkafka_error_code(),
        Some(Code::AutoOffsetReset | Code::OffsetOutOfRange)
    )
}

fn read(record: &BorrowedMessage<'_>) -> Record {
    let headers = record
        .headers()
        .into_iter()
        .flat_map(|headers| headers.iter());
    Record {
        partition: Partition {
            topic: record.topic().to_owned(),
            number: record.partition(),
        },
        offset: record.offset(),
        timestamp_ms: record.timestamp().to_millis(),
        key: record.key().map(Bytes::copy_from_slice),
        headers: headers
            .map(|header| Header {
                name: header.key.to_owned(),
                value: Bytes::copy_from_slice(header.value.unwrap_or_default()),
            })
            .collect(),
        body: record.payload().map(Bytes::copy_from_slice),
    }
}
