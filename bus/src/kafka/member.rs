//! A member of a consumer group.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError, Weak,
    atomic::{AtomicBool, Ordering},
};

use rdkafka::{
    ClientConfig, ClientContext, Message as _, Offset, TopicPartitionList,
    consumer::{BaseConsumer, Consumer as _, ConsumerContext, Rebalance, StreamConsumer},
    error::{KafkaError, KafkaResult},
    message::BorrowedMessage,
};
use tokio::{
    sync::{Notify, mpsc},
    task::{JoinSet, spawn_blocking},
    time::timeout,
};

use super::{
    failure::{failure, lasts},
    outstanding::{Outstanding, Partition, Ticket},
    settings::ANSWER,
    wire,
};
use crate::{BusError, Consumer, Delivery, Group};

/// What the member and the callbacks of its client share.
#[derive(Debug, Default)]
struct Shared {
    outstanding: Mutex<Outstanding>,
    /// True while as many messages are out as may be.
    is_full: AtomicBool,
    acknowledged: Notify,
}

impl Shared {
    fn outstanding(&self) -> MutexGuard<'_, Outstanding> {
        self.outstanding
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

struct Context(Arc<Shared>);

impl ClientContext for Context {}

impl ConsumerContext for Context {
    fn pre_rebalance(&self, _: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        if let Rebalance::Revoke(revoked) = rebalance {
            let mut outstanding = self.0.outstanding();
            for element in revoked.elements() {
                outstanding.revoke(&Partition {
                    topic: element.topic().to_owned(),
                    number: element.partition(),
                });
            }
            self.0.acknowledged.notify_one();
        }
    }

    fn post_rebalance(&self, consumer: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        if let Rebalance::Assign(assigned) = rebalance
            && self.0.is_full.load(Ordering::Acquire)
            && let Err(error) = consumer.pause(assigned)
        {
            tracing::warn!(%error, "partitions that came cannot be paused");
        }
    }
}

/// A consumer of a group, with what it has out.
struct Member {
    consumer: StreamConsumer<Context>,
    shared: Arc<Shared>,
    in_flight: usize,
}

/// Joins a group. The topics are there.
///
/// # Errors
///
/// The configuration is wrong.
pub(super) fn join(config: &ClientConfig, group: Group) -> Result<Consumer, BusError> {
    let shared = Arc::new(Shared::default());
    let context = Context(Arc::clone(&shared));
    let consumer: StreamConsumer<Context> = config.create_with_context(context).map_err(failure)?;
    let topics: Vec<&str> = group.topics.iter().map(|topic| &**topic).collect();
    consumer.subscribe(&topics).map_err(failure)?;
    let in_flight = group.in_flight.max(1);
    let member = Arc::new(Member {
        consumer,
        shared,
        in_flight,
    });
    // One more for the word that it is over.
    let (sender, deliveries) = mpsc::channel(in_flight + 1);
    let mut pumping = JoinSet::new();
    pumping.spawn(Arc::clone(&member).pump(sender));
    Ok(Consumer::new(deliveries, async move {
        pumping.shutdown().await;
        let left = spawn_blocking(move || drop(member));
        if timeout(ANSWER, left).await.is_err() {
            tracing::warn!(
                group = group.name,
                "the group was not told in time that a member leaves"
            );
        }
    }))
}

impl Member {
    /// Takes messages out while there is room for them. The client is always polled, as it answers its group that way.
    async fn pump(self: Arc<Self>, deliveries: mpsc::Sender<Result<Delivery, BusError>>) {
        loop {
            if let Err(error) = self.make_way() {
                let _ = deliveries.try_send(Err(failure(error)));
                return;
            }
            tokio::select! {
                () = self.shared.acknowledged.notified() => {}
                () = deliveries.closed() => return,
                record = self.consumer.recv() => match record {
                    // There is room, as it would be paused.
                    Ok(record) => {
                        let _ = deliveries.try_send(Ok(self.take(&record)));
                    }
                    Err(error) if has_ended(&error) => {
                        let _ = deliveries.try_send(Err(failure(error)));
                        return;
                    }
                    Err(error) => tracing::warn!(%error, "a member of a group waits for Kafka"),
                },
            }
        }
    }

    /// Pauses all partitions while as many messages are out as may be.
    fn make_way(&self) -> KafkaResult<()> {
        let is_full = self.shared.outstanding().len() >= self.in_flight;
        if self.shared.is_full.swap(is_full, Ordering::AcqRel) != is_full {
            let assigned = self.consumer.assignment()?;
            match is_full {
                true => self.consumer.pause(&assigned)?,
                false => self.consumer.resume(&assigned)?,
            }
        }
        Ok(())
    }

    fn take(self: &Arc<Self>, record: &BorrowedMessage<'_>) -> Delivery {
        let partition = Partition {
            topic: record.topic().to_owned(),
            number: record.partition(),
        };
        let ticket = self.shared.outstanding().take(partition, record.offset());
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
    error
        .rdkafka_error_code()
        .is_some_and(|code| lasts(code) || matches!(code, rdkafka::types::RDKafkaErrorCode::Fatal))
}
