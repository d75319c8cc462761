//! Topics are there before they are used: missing ones are made, others are checked.

use std::{collections::HashSet, sync::Arc, time::Duration};

use rdkafka::{
    ClientConfig,
    admin::{
        AdminClient, AdminOptions, ConfigResource, NewTopic, ResourceSpecifier, TopicReplication,
    },
    client::DefaultClientContext,
    types::RDKafkaErrorCode as Code,
};
use tokio::{
    sync::{Mutex, MutexGuard},
    task::spawn_blocking,
    time::{Instant, sleep},
};

use super::{
    failure::{failure, lasts},
    settings::{ANSWER, Topics},
};
use crate::BusError;

/// Setting of a topic: milliseconds that messages are kept, or -1.
const RETENTION: &str = "retention.ms";

/// Pause before servers are asked again for a topic that they do not know yet.
const AGAIN: Duration = Duration::from_millis(50);

/// Setting of a topic: what becomes of old messages.
const CLEANUP: &str = "cleanup.policy";

/// The value of it by which the latest message of each key is kept for ever.
const COMPACT: &str = "compact";

/// The topics of which this process knows that they are right.
pub(super) struct KnownTopics {
    admin: Arc<AdminClient<DefaultClientContext>>,
    wanted: Topics,
    known: Mutex<HashSet<String>>,
}

impl KnownTopics {
    /// # Errors
    ///
    /// The configuration is wrong.
    pub(super) fn new(config: &ClientConfig, wanted: Topics) -> Result<Self, BusError> {
        Ok(Self {
            admin: Arc::new(config.create().map_err(failure)?),
            wanted,
            known: Mutex::default(),
        })
    }

    /// Makes or checks a topic, once.
    ///
    /// # Errors
    ///
    /// [`BusError::Refused`] for a topic that is not as wanted, or is missing and may not be made.
    pub(super) async fn ensure(&self, topic: &str) -> Result<(), BusError> {
        let mut known: MutexGuard<'_, _> = self.known.lock().await;
        if !known.contains(topic) {
            if !(self.wanted.make && self.make(topic).await?) {
                self.check(topic).await?;
            }
            known.insert(topic.to_owned());
        }
        Ok(())
    }

    /// Makes a topic that is missing. One that is there may be as it is.
    ///
    /// # Errors
    ///
    /// [`BusError::Refused`] for a topic that is missing and may not be made.
    pub(super) async fn ensure_there(&self, topic: &str) -> Result<(), BusError> {
        if self.wanted.make && self.make(topic).await? {
            return Ok(());
        }
        self.partitions(topic).await.map(drop)
    }

    /// Makes or checks a topic of one partition that keeps the latest message of each key for ever.
    ///
    /// # Errors
    ///
    /// As [`ensure`](Self::ensure).
    pub(super) async fn ensure_compacted(&self, topic: &str) -> Result<(), BusError> {
        if self.wanted.make {
            let new = self
                .new_topic(topic, 1)
                .set(CLEANUP, COMPACT)
                // Small segments, as the one that is written is not compacted.
                .set("segment.bytes", "16777216")
                .set("min.cleanable.dirty.ratio", "0.1");
            if self.create(&new).await? {
                return Ok(());
            }
        }
        let partitions = self.partitions(topic).await?;
        let policy = match self.wanted.make {
            true => self.setting(topic, CLEANUP).await?,
            false => None,
        };
        keeps_latest(topic, partitions, policy.as_deref()).map_err(BusError::Refused)
    }

    /// Makes a topic. False if it exists, or this client may not make any.
    async fn make(&self, topic: &str) -> Result<bool, BusError> {
        let retention = self.wanted.retention.as_millis().to_string();
        let new = self
            .new_topic(topic, self.wanted.partitions)
            .set(RETENTION, &retention);
        self.create(&new).await
    }

    fn new_topic<'a>(&self, topic: &'a str, partitions: i32) -> NewTopic<'a> {
        let replication = TopicReplication::Fixed(self.wanted.replication.unwrap_or(-1));
        NewTopic::new(topic, partitions, replication)
    }

    async fn create(&self, new: &NewTopic<'_>) -> Result<bool, BusError> {
        let topic = new.name;
        let made = self.admin.create_topics([new], &options()).await;
        match made {
            Ok(results) => match results.into_iter().next() {
                Some(Err((_, Code::TopicAlreadyExists | Code::TopicAuthorizationFailed))) => {
                    Ok(false)
                }
                // A cluster that is starting has fewer servers than its default asks for.
                Some(Err((_, code @ Code::InvalidReplicationFactor)))
                    if self.wanted.replication.is_none() =>
                {
                    let why = "fewer servers are there than the servers' default asks for; with fewer for good, give `replication`";
                    Err(BusError::Unavailable(format!(
                        "the topic {topic}: {code}: {why}"
                    )))
                }
                Some(Err((_, code))) => Err(refused(topic, code)),
                Some(Ok(_)) | None => Ok(true),
            },
            Err(error) => match error.rdkafka_error_code() {
                Some(Code::UnsupportedFeature | Code::ClusterAuthorizationFailed) => Ok(false),
                _ => Err(failure(error)),
            },
        }
    }

    async fn check(&self, topic: &str) -> Result<(), BusError> {
        let partitions = self.partitions(topic).await?;
        let retention = match self.wanted.make {
            true => self.setting(topic, RETENTION).await?,
            false => None,
        };
        self.wanted
            .fit(topic, partitions, retention.as_deref())
            .map_err(BusError::Refused)
    }

    /// Number of partitions of a topic. One that another client has made this moment is not known to all servers yet.
    async fn partitions(&self, topic: &str) -> Result<usize, BusError> {
        let deadline = Instant::now() + ANSWER;
        loop {
            match self.look(topic).await? {
                Err(code) if self.wanted.make && is_unknown(code) && Instant::now() < deadline => {
                    sleep(AGAIN).await;
                }
                found => return found.map_err(|code| refused(topic, code)),
            }
        }
    }

    /// Number of partitions of a topic, or the reason why there are none.
    async fn look(&self, topic: &str) -> Result<Result<usize, Code>, BusError> {
        let admin = Arc::clone(&self.admin);
        let name = topic.to_owned();
        blocking(move || {
            let metadata = admin.inner().fetch_metadata(Some(&name), ANSWER)?;
            let mut topics = metadata.topics().iter();
            let found = topics.find(|topic| topic.name() == name);
            Ok(match found.map(|topic| (topic, topic.error())) {
                Some((topic, None)) => Ok(topic.partitions().len()),
                Some((_, Some(error))) => Err(Code::from(error)),
                None => Err(Code::UnknownTopic),
            })
        })
        .await
    }

    /// A setting of a topic, if this client may know.
    async fn setting(&self, topic: &str, name: &str) -> Result<Option<String>, BusError> {
        let resource = ResourceSpecifier::Topic(topic);
        let described = self.admin.describe_configs([&resource], &options()).await;
        let value = |resource: ConfigResource| resource.get(name).and_then(|e| e.value.clone());
        match described.map(|all| all.into_iter().next()) {
            Ok(Some(Ok(resource))) => Ok(value(resource)),
            Ok(_) => Ok(None),
            Err(error) => match error.rdkafka_error_code() {
                Some(Code::UnsupportedFeature) => Ok(None),
                _ => Err(failure(error)),
            },
        }
    }
}

impl Topics {
    /// Says what is wrong with a topic that exists.
    fn fit(&self, topic: &str, partitions: usize, retention: Option<&str>) -> Result<(), String> {
        let wanted = usize::try_from(self.partitions).unwrap_or_default();
        if partitions < wanted {
            return Err(format!(
                "the topic {topic} has {partitions} partitions and is to have {wanted}: add some, or set fewer"
            ));
        }
        let Some(kept_ms) = retention.and_then(|text| text.parse::<i128>().ok()) else {
            return Ok(());
        };
        let wanted_ms = i128::try_from(self.retention.as_millis()).unwrap_or(i128::MAX);
        if kept_ms >= 0 && kept_ms < wanted_ms {
            return Err(format!(
                "the topic {topic} keeps messages for {kept_ms} ms and is to keep them for {wanted_ms} ms: raise its {RETENTION}, or set less"
            ));
        }
        Ok(())
    }
}

/// Says what is wrong with a topic that is to keep the latest message of each key.
fn keeps_latest(topic: &str, partitions: usize, policy: Option<&str>) -> Result<(), String> {
    if partitions != 1 {
        return Err(format!(
            "the topic {topic} has {partitions} partitions and is to have 1: remove it, so that it is made anew"
        ));
    }
    match policy {
        None | Some(COMPACT) => Ok(()),
        Some(policy) => Err(format!(
            "the topic {topic} has the {CLEANUP} {policy} and would lose what it is to keep: set {COMPACT}"
        )),
    }
}

fn options() -> AdminOptions {
    AdminOptions::new()
        .request_timeout(Some(ANSWER))
        .operation_timeout(Some(ANSWER))
}

fn is_unknown(code: Code) -> bool {
    matches!(code, Code::UnknownTopic | Code::UnknownTopicOrPartition)
}

fn refused(topic: &str, code: Code) -> BusError {
    match code {
        code if is_unknown(code) => BusError::Refused(format!(
            "the topic {topic} is missing, and is not made here: have it made"
        )),
        code if lasts(code) || code == Code::InvalidReplicationFactor => {
            BusError::Refused(format!("the topic {topic}: {code}"))
        }
        code => BusError::Unavailable(format!("the topic {topic}: {code}")),
    }
}

/// Runs what blocks where it may.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, rdkafka::error::KafkaError> + Send + 'static,
) -> Result<T, BusError> {
    match spawn_blocking(work).await {
        Ok(done) => done.map_err(failure),
        Err(error) => Err(BusError::Unavailable(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{MockKafka, Settings},
        *,
    };

    #[test]
    fn a_topic_that_would_lose_the_latest_messages_does_not_fit() {
        assert_eq!(keeps_latest("t", 1, Some("compact")), Ok(()));
        assert_eq!(keeps_latest("t", 1, None), Ok(()), "nobody says");
        let lossy = keeps_latest("t", 1, Some("compact,delete")).expect_err("it deletes");
        assert!(lossy.contains("compact,delete"), "{lossy}");
        let many = keeps_latest("t", 6, None).expect_err("no order");
        assert!(many.contains("has 6 partitions"), "{many}");
    }

    #[test]
    fn a_topic_with_fewer_partitions_or_a_shorter_memory_does_not_fit() {
        let wanted = Topics {
            partitions: 3,
            retention: Duration::from_secs(60),
            ..Topics::default()
        };
        let fit = |partitions, retention| wanted.fit("t", partitions, retention);
        assert_eq!(fit(3, Some("60000")), Ok(()));
        assert_eq!(fit(4, Some("-1")), Ok(()), "it keeps them for ever");
        assert_eq!(fit(3, None), Ok(()), "nobody says");
        let few = fit(2, None).expect_err("too few");
        assert!(few.contains("has 2 partitions and is to have 3"), "{few}");
        let short = fit(3, Some("59999")).expect_err("too short");
        assert!(
            short.contains("for 59999 ms and is to keep them for 60000 ms"),
            "{short}"
        );
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_topic_that_another_client_makes_is_waited_for() {
        let cluster = MockKafka::start();
        cluster.forget("t", true);
        let config = Settings::new(cluster.servers()).producer();
        let wanted = Topics::default();
        let topics = KnownTopics::new(&config.expect("right"), wanted);
        let topics = topics.expect("right");
        let found = tokio::spawn(async move { topics.partitions("t").await });
        // Time to look for it, in vain.
        sleep(AGAIN * 4).await;
        assert!(!found.is_finished());
        cluster.forget("t", false);
        assert_eq!(found.await.expect("no panic"), Ok(4));
    }
}
