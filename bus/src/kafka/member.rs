//! A member of a consumer group.

mod watching;

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use agenthub_metrics::topics;
use rdkafka::{
    ClientConfig, ClientContext, Message as _, Offset, Statistics, TopicPartitionList,
    consumer::{BaseConsumer, Consumer as _, ConsumerContext, Rebalance, StreamConsumer},
    error::{KafkaError, KafkaResult},
    message::BorrowedMessage,
    types::RDKafkaErrorCode as Code,
};
use tokio::{
    sync::{
        Notify,
        mpsc::{self, error::TrySendError},
    },
    task::{JoinSet, spawn_blocking},
    time::{sleep, timeout},
};

use super::{
    failure::{failure, lasts},
    outstanding::{Outstanding, Ticket},
    settings::ANSWER,
    standing::Position,
    wire,
};
use crate::{BusError, Consumer, Delivery, Group, Partition};
pub(super) use watching::Watch;

/// Time for which a client is not polled when it is full. Pausing it would be at once, but forgets what was fetched ahead, which must be fetched again.
pub(super) const PATIENCE: Duration = Duration::from_millis(250);

/// Interval at which other references to a member are counted.
const LOOK: Duration = Duration::from_millis(10);

/// What the member and the callbacks of its client share.
#[derive(Debug, Default)]
struct Shared {
    outstanding: Mutex<Outstanding>,
    /// Positions of the partitions that are assigned, as the client said last.
    positions: Mutex<BTreeMap<Partition, Position>>,
    /// True while partitions are paused, as many messages being out as may be.
    is_paused: AtomicBool,
    /// True if there was no room for a message since the last look.
    had_no_room: AtomicBool,
    acknowledged: Notify,
}

impl Shared {
    fn positions(&self) -> MutexGuard<'_, BTreeMap<Partition, Position>> {
        self.positions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn outstanding(&self) -> MutexGuard<'_, Outstanding> {
        self.outstanding
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

struct Context {
    shared: Arc<Shared>,
    group: String,
    topics: Vec<String>,
}

impl ClientContext for Context {
    /// Notes how far the group is behind in the partitions of this member, and their positions.
    fn stats(&self, statistics: Statistics) {
        let mut positions = BTreeMap::new();
        for topic in &self.topics {
            let partitions = statistics.topics.get(topic).into_iter();
            let partitions = partitions.flat_map(|topic| topic.partitions.values());
            // Not known of those that others have.
            let lag = partitions
                .clone()
                .map(|partition| partition.consumer_lag.max(0));
            topics::of_process().behind(&self.group, topic, lag.sum());
            for partition in partitions.filter(|partition| partition.desired) {
                let of = Partition {
                    topic: topic.clone(),
                    number: partition.partition,
                };
                positions.insert(of, Position::of(partition));
            }
        }
        *self.shared.positions() = positions;
    }
}

impl ConsumerContext for Context {
    fn pre_rebalance(&self, _: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        if let Rebalance::Revoke(revoked) = rebalance {
            let mut outstanding = self.shared.outstanding();
            for element in revoked.elements() {
                outstanding.revoke(&Partition {
                    topic: element.topic().to_owned(),
                    number: element.partition(),
                });
            }
            self.shared.acknowledged.notify_one();
        }
    }

    fn post_rebalance(&self, consumer: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        let Rebalance::Assign(assigned) = rebalance else {
            return;
        };
        // The client takes one for paused that went while it was.
        let taken = match self.shared.is_paused.load(Ordering::Acquire) {
            true => consumer.pause(assigned),
            false => consumer.resume(assigned),
        };
        if let Err(error) = taken {
            tracing::warn!(%error, "partitions that came can be neither paused nor read");
        }
    }
}

/// A consumer of a group, with what it has out.
struct Member {
    consumer: StreamConsumer<Context>,
    config: ClientConfig,
    shared: Arc<Shared>,
    in_flight: usize,
}

/// Joins a group. The topics are there.
///
/// # Errors
///
/// The configuration is wrong.
pub(super) fn join(
    config: &ClientConfig,
    group: Group,
    watch: Watch,
) -> Result<Consumer, BusError> {
    let shared = Arc::new(Shared::default());
    let context = Context {
        shared: Arc::clone(&shared),
        group: group.name.clone(),
        topics: group.topics.clone(),
    };
    let consumer: StreamConsumer<Context> = config.create_with_context(context).map_err(failure)?;
    let topics: Vec<&str> = group.topics.iter().map(|topic| &**topic).collect();
    consumer.subscribe(&topics).map_err(failure)?;
    let in_flight = group.in_flight.max(1);
    let member = Arc::new(Member {
        consumer,
        config: config.clone(),
        shared,
        in_flight,
    });
    // One more for the word that it is over.
    let (sender, deliveries) = mpsc::channel(in_flight + 1);
    let mut pumping = JoinSet::new();
    pumping.spawn(Arc::clone(&member).run(sender, watch));
    Ok(Consumer::new(deliveries, async move {
        pumping.shutdown().await;
        let left = spawn_blocking(move || drop_last(member));
        if timeout(ANSWER, left).await.is_err() {
            tracing::warn!(
                group = group.name,
                "the group was not told in time that a member leaves"
            );
        }
    }))
}

/// Drops a member once no other reference is left: its drop leaves the group. Questions to Kafka hold one until they are answered.
fn drop_last<T>(mut member: Arc<T>) {
    while let Err(shared) = Arc::try_unwrap(member) {
        member = shared;
        thread::sleep(LOOK);
    }
}

impl Member {
    /// Takes messages out until the membership is over, and says why it is.
    async fn run(
        self: Arc<Self>,
        deliveries: mpsc::Sender<Result<Delivery, BusError>>,
        watch: Watch,
    ) {
        let over = tokio::select! {
            () = deliveries.closed() => return,
            error = self.pump(&deliveries) => failure(error),
            standing = self.watch(watch) => BusError::Unavailable(standing.to_string()),
        };
        let _ = deliveries.try_send(Err(over));
    }

    /// Takes messages out while there is room for them. The client is polled but for short times, as it answers its group that way.
    async fn pump(
        self: &Arc<Self>,
        deliveries: &mpsc::Sender<Result<Delivery, BusError>>,
    ) -> KafkaError {
        loop {
            // What was delivered of partitions that have gone is out no more, and may still be in the queue.
            let is_full =
                self.shared.outstanding().len() >= self.in_flight || deliveries.capacity() <= 1;
            let is_paused = self.shared.is_paused.load(Ordering::Acquire);
            self.shared.had_no_room.fetch_or(is_full, Ordering::AcqRel);
            if is_paused
                && !is_full
                && let Err(error) = self.pause(false)
            {
                return error;
            }
            let is_polled = is_paused || !is_full;
            tokio::select! {
                () = self.shared.acknowledged.notified() => {}
                () = sleep(PATIENCE), if is_full => if !is_paused && let Err(error) = self.pause(true) {
                    return error;
                },
                record = self.consumer.recv(), if is_polled => match record {
                    Ok(record) => {
                        let sent = deliveries.try_send(Ok(self.take(&record)));
                        if let Err(TrySendError::Full(_)) = sent {
                            // The client may deliver although it is paused. The next member gets the message.
                            return KafkaError::MessageConsumption(Code::QueueFull);
                        }
                    }
                    Err(error) if has_ended(&error) || leaves_out(&error) => return error,
                    Err(error) => tracing::warn!(%error, "a member of a group waits for Kafka"),
                },
            }
        }
    }

    /// Pauses all partitions, or has them go on.
    fn pause(&self, is_paused: bool) -> KafkaResult<()> {
        self.shared.is_paused.store(is_paused, Ordering::Release);
        let assigned = self.consumer.assignment()?;
        match is_paused {
            true => self.consumer.pause(&assigned),
            false => self.consumer.resume(&assigned),
        }
    }

    fn take(self: &Arc<Self>, record: &BorrowedMessage<'_>) -> Delivery {
        let partition = Partition {
            topic: record.topic().to_owned(),
            number: record.partition(),
        };
        let (mut outstanding, offset) = (self.shared.outstanding(), record.offset());
        let (topic, number) = (record.topic(), partition.number);
        match outstanding.next(&partition) {
            None => tracing::debug!(topic, number, offset, "a partition is read from here on"),
            Some(next) if next < offset => {
                tracing::debug!(
                    topic,
                    number,
                    next,
                    offset,
                    "there is no message in between"
                );
            }
            Some(_) => {}
        }
        let ticket = outstanding.take(partition, offset);
        drop(outstanding);
        let member = Arc::downgrade(self);
        Delivery::new(record.topic().to_owned(), wire::read(record), move || {
            acknowledge(&member, &ticket);
        })
    }
}

/// Has an acknowledgement committed with the next ones.
fn acknowledge(member: &Weak<Member>, ticket: &Ticket) {
    let Some(member) = member.upgrade() else {
        return;
    };
    let mut outstanding = member.shared.outstanding();
    if let Some(offset) = outstanding.acknowledge(ticket) {
        let Partition { topic, number } = ticket.partition();
        let mut offsets = TopicPartitionList::new();
        // In the lock, so that a lower one does not follow a higher one.
        let stored = offsets
            .add_partition_offset(topic, *number, Offset::Offset(offset))
            .and_then(|()| member.consumer.store_offsets(&offsets));
        if let Err(error) = stored {
            tracing::debug!(%error, topic, "a message is delivered again, as its partition has gone");
        }
    }
    drop(outstanding);
    member.shared.acknowledged.notify_one();
}

/// True if a member gets nothing more after this error.
fn has_ended(error: &KafkaError) -> bool {
    matches!(error, KafkaError::MessageConsumptionFatal(_))
        || error.rdkafka_error_code().is_some_and(lasts)
}

/// True if the client does not know where partitions begin, and does not ask again: it never reads them.
///
/// Source: librdkafka#5586
fn leaves_out(error: &KafkaError) -> bool {
    error.rdkafka_error_code() == Some(Code::NotCoordinator)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_leaves_when_its_last_question_is_answered() {
        let member = Arc::new(());
        let (asking, left) = (Arc::clone(&member), Arc::downgrade(&member));
        let question = thread::spawn(move || {
            thread::sleep(LOOK * 5);
            drop(asking);
        });
        drop_last(member);
        assert_eq!(left.strong_count(), 0);
        question.join().expect("it is answered");
    }
}
