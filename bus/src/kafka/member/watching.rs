//! A member watches its partitions, and those that nobody has.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError, atomic::Ordering},
    time::{Duration, Instant},
};

use agenthub_metrics::topics;
use rdkafka::{
    consumer::{BaseConsumer, Consumer as _},
    error::KafkaResult,
};
use tokio::time::sleep;

use super::Member;
use crate::{
    BusError, Partition,
    kafka::{
        settings::{ANSWER, MEMBER},
        standing::{GivenUp, Looks, Standing},
        topics::blocking,
        unowned::unowned,
    },
};

/// The most partitions that cannot be asked about before a look is over. Those that have a leader are not to wait for those that have none.
const MOST_UNKNOWN: usize = 3;

/// Deadline of a question about a partition or a group.
const QUESTION: Duration = Duration::from_secs(3);

/// Times after which a member looks whether its partitions stand still, and gives itself up for one that does.
#[derive(Clone, Debug)]
pub(in crate::kafka) struct Watch {
    pub(in crate::kafka) look: Duration,
    /// Time for which messages wait before the first member gives itself up; later ones are more patient.
    pub(in crate::kafka) patience: Duration,
    /// Members that gave themselves up, by their groups.
    pub(in crate::kafka) given_up: Arc<Mutex<BTreeMap<String, GivenUp>>>,
}

impl Default for Watch {
    fn default() -> Self {
        Self {
            look: Duration::from_secs(10),
            patience: Duration::from_secs(30),
            given_up: Arc::default(),
        }
    }
}

impl Watch {
    /// Does something with those of a group that gave themselves up.
    fn given_up<T>(&self, group: &str, with: impl FnOnce(&mut GivenUp) -> T) -> T {
        let given_up = self.given_up.lock();
        let mut given_up = given_up.unwrap_or_else(PoisonError::into_inner);
        with(given_up.entry(group.to_owned()).or_default())
    }
}

impl Member {
    /// Waits until a partition stands still. Meanwhile, has partitions assigned that nobody has.
    pub(super) async fn watch(self: &Arc<Self>, watch: Watch) -> Standing {
        let (mut looks, mut is_told) = (Looks::default(), false);
        let mut unowned_before = BTreeSet::new();
        let group = &self.consumer.context().group;
        let patience = watch.given_up(group, |before| {
            before.patience(watch.patience, Instant::now())
        });
        loop {
            sleep(watch.look).await;
            let positions = self.shared.positions().clone();
            let had_no_room = self.shared.had_no_room.swap(false, Ordering::AcqRel);
            let mut unknown = 0;
            for (partition, next) in looks.unmoved(positions, had_no_room) {
                let (first, end) = match self.extent(&partition).await {
                    Ok(extent) => extent,
                    Err(error) => {
                        unknown += 1;
                        // Said once for each time that Kafka or a partition is away.
                        if !is_told {
                            let Partition { topic, number } = &partition;
                            tracing::warn!(topic, partition = number, %error, "a partition cannot be looked at: what is in it waits");
                        }
                        is_told = true;
                        if unknown == MOST_UNKNOWN {
                            break;
                        }
                        continue;
                    }
                };
                let read = (next.max(first), end);
                let standing = looks.ends(&partition, read, Instant::now(), patience);
                if let Some(standing) = standing {
                    watch.given_up(group, |before| before.note(Instant::now()));
                    topics::of_process().stands_still(group, &standing.partition.topic);
                    return standing;
                }
            }
            is_told &= unknown > 0;
            // Only who is back under its name can leave a partition to nobody.
            if self.config.get(MEMBER).is_some() {
                let unowned = self.unowned().await.unwrap_or_default();
                if !unowned.is_empty() && unowned == unowned_before {
                    self.share_anew(&unowned).await;
                }
                unowned_before = unowned;
            }
        }
    }

    /// Offsets of the first record of a partition, and behind its last one.
    async fn extent(self: &Arc<Self>, partition: &Partition) -> Result<(i64, i64), BusError> {
        let member = Arc::clone(self);
        let Partition { topic, number } = partition.clone();
        blocking(move || member.consumer.fetch_watermarks(&topic, number, QUESTION)).await
    }

    /// The partitions of the group's topics that no member has.
    async fn unowned(self: &Arc<Self>) -> Result<BTreeSet<Partition>, BusError> {
        let member = Arc::clone(self);
        blocking(move || {
            let (consumer, context) = (&member.consumer, member.consumer.context());
            let mut partitions = BTreeSet::new();
            for topic in &context.topics {
                let metadata = consumer.fetch_metadata(Some(topic), QUESTION)?;
                let found = metadata.topics().iter();
                let numbers = found.flat_map(|topic| topic.partitions());
                partitions.extend(numbers.map(|of| Partition {
                    topic: topic.clone(),
                    number: of.id(),
                }));
            }
            let groups = consumer.fetch_group_list(Some(&context.group), QUESTION)?;
            let Some(group) = groups.groups().first() else {
                return Ok(BTreeSet::new());
            };
            let members = group.members().iter();
            let assignments = members.filter_map(|member| member.assignment());
            Ok(unowned(group.state(), partitions, assignments))
        })
        .await
    }

    /// Has the group share its partitions anew: a member without a name comes and goes.
    async fn share_anew(&self, unowned: &BTreeSet<Partition>) {
        let context = self.consumer.context();
        let (group, topics) = (context.group.clone(), context.topics.clone());
        let partitions: Vec<String> = unowned
            .iter()
            .map(|Partition { topic, number }| format!("{topic}/{number}"))
            .collect();
        tracing::warn!(
            group,
            ?partitions,
            "no member of the group has these partitions: it is made to share them anew"
        );
        let mut config = self.config.clone();
        config.remove(MEMBER);
        let comes_and_goes = blocking(move || {
            let guest: BaseConsumer = config.create()?;
            let topics: Vec<&str> = topics.iter().map(|topic| &**topic).collect();
            guest.subscribe(&topics)?;
            let until = Instant::now() + ANSWER;
            while Instant::now() < until && is_without(&guest)? {
                // What comes is not taken: it is for the next one.
                let _ = guest.poll(Duration::from_millis(100));
            }
            Ok(())
        });
        if let Err(error) = comes_and_goes.await {
            tracing::warn!(group, %error, "the group cannot be made to share its partitions anew at present");
        }
    }
}

/// True if a member has no partition so far.
fn is_without(member: &BaseConsumer) -> KafkaResult<bool> {
    Ok(member.assignment()?.count() == 0)
}
