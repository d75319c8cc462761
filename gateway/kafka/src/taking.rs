//! From Kafka to the hub: messages, and once the hub has them, the offsets behind them.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    time::{Duration, SystemTime},
};

use agenthub_bus::{
    BusError, NewRecord, Partition, Record,
    kafka::{Reader, Transactions},
};
use agenthub_sdk::Error as HubError;
use futures_util::{FutureExt, future::join_all};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::{
    connector::{BATCH, BATCH_BYTES, Connector, Error, LINGER, PAUSE},
    incoming::{Fate, Incoming, dead_letter, fate},
    metrics::{Asked, Taken, Way},
    positions::{self, Positions},
    recall,
    starting::start,
};

/// Interval at which further partitions are looked for, and a later position in the hub's log is written down, so that little of it is read after a crash.
const TIDYING: Duration = Duration::from_secs(30);

/// Interval at which it is said that Kafka is still waited for.
const REMINDER: Duration = Duration::from_secs(30);

/// Takes records in from where the positions are.
pub(crate) async fn run(
    connector: &Connector,
    writer: &Transactions,
    positions: Positions,
    stop: &CancellationToken,
) -> Result<(), Error> {
    let mut taking = Taking {
        connector,
        writer,
        offsets: positions.offsets,
        position: positions.recall.unwrap_or_default(),
        known: HashMap::new(),
    };
    let began = stop.run_until_cancelled(taking.begin()).await;
    match began {
        Some(began) => began?,
        None => return Ok(()),
    }
    loop {
        let (mut reader, partitions) = match taking.open().await {
            Ok(opened) => opened,
            Err(Error::Kafka(error @ BusError::Unavailable(_))) => {
                connector.metrics.again(Asked::Kafka);
                tracing::warn!(%error, "topics of Kafka cannot be read, and are tried again");
                match stop.run_until_cancelled(sleep(PAUSE)).await {
                    Some(()) => continue,
                    None => return Ok(()),
                }
            }
            Err(error) => return Err(error),
        };
        if taking.follow(&mut reader, partitions, stop).await? {
            return Ok(());
        }
    }
}

struct Taking<'a> {
    connector: &'a Connector,
    writer: &'a Transactions,
    /// The next record of each partition.
    offsets: BTreeMap<Partition, i64>,
    /// A position in the hub's log before everything that it has of later records.
    position: String,
    /// Messages that it has of these. The position stays before them until their records are counted.
    known: HashMap<String, (Partition, i64)>,
}

/// The hub's answer to a message.
enum Answer {
    /// It has it.
    Has,
    /// It does not take it.
    Refused(String),
}

impl Taking<'_> {
    /// Finds out what the hub has already.
    async fn begin(&mut self) -> Result<(), Error> {
        if self.position.is_empty() {
            self.position = recall::mark(&self.connector.client).await?.position;
            return self.write(Vec::new(), &[]).await;
        }
        self.recall().await
    }

    async fn recall(&mut self) -> Result<(), Error> {
        let offsets = &self.offsets;
        let is_counted = |partition: &Partition, offset: i64| {
            offsets.get(partition).is_some_and(|next| offset < *next)
        };
        let recalled = recall::since(&self.connector.client, &self.position, is_counted).await?;
        if let Some(why) = &recalled.gap {
            let name = &self.connector.rules.name;
            self.connector.metrics.gap(Way::In);
            tracing::error!(
                name,
                why,
                "the hub's log does not say which records it has: up to {BATCH} that are no tasks may come to it a second time"
            );
            self.position = recalled.position;
        }
        self.known = recalled.messages;
        Ok(())
    }

    /// Forgets messages whose records are counted.
    fn forget_counted(&mut self) {
        let offsets = &self.offsets;
        self.known.retain(|_, (partition, offset)| {
            offsets.get(partition).is_none_or(|next| *offset >= *next)
        });
    }

    /// Opens all partitions, each where it was left. Their number comes along.
    async fn open(&mut self) -> Result<(Reader, usize), Error> {
        let bus = &self.connector.bus;
        let mut from = Vec::new();
        for rule in &self.connector.rules.inward {
            let mut behind = 0;
            for extent in bus.extents(&rule.from).await? {
                let next = self.offsets.get(&extent.partition).copied();
                let start = start(next, extent.first, extent.end);
                if let Some(fault) = start.fault {
                    let Partition { topic, number } = &extent.partition;
                    tracing::error!(topic, partition = number, "{fault}");
                }
                self.offsets.insert(extent.partition.clone(), start.offset);
                behind += (extent.end - start.offset).max(0);
                from.push((extent.partition, start.offset));
            }
            self.connector.metrics.behind(&rule.from, behind);
        }
        self.forget_counted();
        let count = from.len();
        let name = &self.connector.rules.name;
        tracing::info!(name, partitions = count, "records of Kafka are taken in");
        Ok((bus.read(from)?, count))
    }

    /// The number of partitions. How far the connector is behind is noted.
    async fn partitions(&self) -> Result<usize, BusError> {
        let mut count = 0;
        for rule in &self.connector.rules.inward {
            let extents = self.connector.bus.extents(&rule.from).await?;
            count += extents.len();
            let behind = extents.iter().map(|extent| {
                let next = self.offsets.get(&extent.partition);
                (extent.end - next.copied().unwrap_or(extent.first)).max(0)
            });
            self.connector.metrics.behind(&rule.from, behind.sum());
        }
        Ok(count)
    }

    /// Takes in what comes. True once it is to stop; else partitions have changed.
    async fn follow(
        &mut self,
        reader: &mut Reader,
        partitions: usize,
        stop: &CancellationToken,
    ) -> Result<bool, Error> {
        let mut tidying = interval(TIDYING);
        tidying.set_missed_tick_behavior(MissedTickBehavior::Delay);
        tidying.reset();
        let mut said: Option<Instant> = None;
        loop {
            let first = tokio::select! {
                biased;
                () = stop.cancelled() => return Ok(true),
                _ = tidying.tick() => {
                    if self.partitions().await.is_ok_and(|count| count != partitions) {
                        return Ok(false);
                    }
                    // Nothing is on its way to the hub now.
                    if self.known.is_empty() {
                        self.position = recall::mark(&self.connector.client).await?.position;
                        self.write(Vec::new(), &[]).await?;
                    }
                    continue;
                }
                record = reader.next() => record,
            };
            let mut batch = Vec::new();
            let mut bytes = 0;
            let mut next = first;
            let until = Instant::now() + LINGER;
            let broke = loop {
                match next {
                    Ok(record) => {
                        bytes += weight(&record);
                        batch.push(record);
                    }
                    Err(error) => break Some(error),
                }
                if batch.len() >= BATCH || bytes >= BATCH_BYTES {
                    break None;
                }
                next = match reader.next().now_or_never() {
                    Some(next) => next,
                    None => match timeout_at(until, reader.next()).await {
                        Ok(next) => next,
                        Err(_) => break None,
                    },
                };
            };
            if !batch.is_empty() {
                self.take(&batch).await?;
            }
            match broke {
                None => {}
                Some(error @ BusError::Refused(_)) => {
                    tracing::warn!(%error, "partitions are opened again");
                    sleep(PAUSE).await;
                    return Ok(false);
                }
                Some(error) if said.is_none_or(|at| at.elapsed() >= REMINDER) => {
                    said = Some(Instant::now());
                    tracing::warn!(%error, "records wait for Kafka");
                }
                Some(_) => {}
            }
        }
    }

    /// Takes records in, for as long as that takes.
    async fn take(&mut self, batch: &[Record]) -> Result<(), Error> {
        let connector = self.connector;
        let metrics = &connector.metrics;
        metrics.begins(Way::In, batch.len());
        let source = self.connector.source();
        let mut dead = Vec::new();
        let mut left: Vec<(&Record, Box<Incoming>)> = Vec::new();
        for record in batch {
            let rule = self.connector.rules.inward.iter();
            let rule = rule
                .clone()
                .find(|rule| rule.from == record.partition.topic);
            let Some(rule) = rule else { continue };
            match fate(record, rule, &source) {
                Fate::Own => metrics.taken(&rule.from, Taken::Own),
                Fate::Misfit(why) => {
                    metrics.taken(&rule.from, Taken::PutAside);
                    dead.push(put_aside(record, &why));
                }
                Fate::Message(incoming) => left.push((record, incoming)),
            }
        }
        loop {
            left.retain(|(record, incoming)| {
                let is_known = self.known.contains_key(&incoming.message.message_id);
                if is_known {
                    metrics.taken(&record.partition.topic, Taken::Known);
                }
                !is_known
            });
            let (answers, failed) = self.publish(&left).await?;
            let mut at = 0;
            left.retain(|(record, _)| {
                let answer = &answers[at];
                at += 1;
                match answer {
                    None => return true,
                    Some(Answer::Has) => metrics.taken(&record.partition.topic, Taken::Published),
                    Some(Answer::Refused(why)) => {
                        metrics.taken(&record.partition.topic, Taken::PutAside);
                        dead.push(put_aside(record, why));
                    }
                }
                false
            });
            match failed {
                None => break,
                Some(error) => {
                    metrics.again(Asked::Hub);
                    tracing::warn!(%error, waiting = left.len(), "records wait for the hub");
                    sleep(PAUSE).await;
                    // It may be away for longer than it knows a message again.
                    self.recall().await?;
                }
            }
        }
        for record in batch {
            self.offsets
                .insert(record.partition.clone(), record.offset + 1);
        }
        self.forget_counted();
        self.write(dead, batch).await?;
        let times = batch.iter().filter_map(|record| record.timestamp_ms);
        let oldest = times.min().and_then(|ms| u64::try_from(ms).ok());
        let oldest = oldest.map(|ms| SystemTime::UNIX_EPOCH + Duration::from_millis(ms));
        self.connector.metrics.arrived(Way::In, oldest);
        Ok(())
    }

    /// Publishes messages, those of one conversation one after the other. The answers, and an error that may pass, by which some are missing.
    async fn publish(
        &self,
        left: &[(&Record, Box<Incoming>)],
    ) -> Result<(Vec<Option<Answer>>, Option<HubError>), Error> {
        let mut conversations: HashMap<&str, Vec<usize>> = HashMap::new();
        for (at, (_, incoming)) in left.iter().enumerate() {
            let context = &*incoming.message.context_id;
            conversations.entry(context).or_default().push(at);
        }
        let published = join_all(conversations.into_values().map(async |all| {
            let mut answers = Vec::with_capacity(all.len());
            for at in all {
                let Incoming { message, routing } = (*left[at].1).clone();
                let answer = match self.connector.client.publish(message, routing).await {
                    Ok(_) => Answer::Has,
                    Err(
                        error @ (HubError::Invalid(_)
                        | HubError::Conflict(_)
                        | HubError::NotFound(_)),
                    ) => Answer::Refused(error.to_string()),
                    Err(error) => return (answers, Some(error)),
                };
                answers.push((at, answer));
            }
            (answers, None)
        }));
        let mut answers: Vec<Option<Answer>> = left.iter().map(|_| None).collect();
        let mut failed = None;
        for (given, error) in published.await {
            for (at, answer) in given {
                answers[at] = Some(answer);
            }
            match error {
                Some(error) if !error.is_retryable() => return Err(error.into()),
                Some(error) => failed = Some(error),
                None => {}
            }
        }
        Ok((answers, failed))
    }

    /// Writes what is put aside, the offsets behind these records, and the position in the hub's log.
    async fn write(&self, mut records: Vec<NewRecord>, batch: &[Record]) -> Result<(), Error> {
        let topic = &self.connector.positions_topic;
        let touched: BTreeSet<&Partition> = batch.iter().map(|record| &record.partition).collect();
        for partition in touched {
            if let Some(offset) = self.offsets.get(partition) {
                records.push(positions::taken(topic, partition, *offset));
            }
        }
        records.push(positions::recall(topic, &self.position));
        self.connector.write(Way::In, self.writer, records).await
    }
}

fn put_aside(record: &Record, why: &str) -> NewRecord {
    let Partition { topic, number } = &record.partition;
    let offset = record.offset;
    tracing::warn!(
        topic,
        partition = number,
        offset,
        why,
        "a record is put aside"
    );
    dead_letter(record, why)
}

fn weight(record: &Record) -> usize {
    record.body.as_ref().map_or(0, |body| body.len())
}
