//! Topics are there before they are used: missing ones are made, others are checked.

use std::{collections::HashSet, sync::Arc};

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
};

use super::{
    failure::{failure, lasts},
    settings::{ANSWER, Topics},
};
use crate::BusError;

/// Setting of a topic: milliseconds that messages are kept, or -1.
const RETENTION: &str = "retention.ms";

/// The topics of which this process knows that they are right.
pub(super) struct KnownTopics {
    admin: Arc<AdminClient<DefaultClientContext>>,
    wanted: Topics,
    known: Mutex<HashSet<String>>,
}

impl KnownTopics {
    /// Waits until a server answers.
    ///
    /// # Errors
    ///
    /// [`BusError`].
    pub(super) async fn connect(config: &ClientConfig, wanted: Topics) -> Result<Self, BusError> {
        let topics = Self {
            admin: Arc::new(config.create().map_err(failure)?),
            wanted,
            known: Mutex::default(),
        };
        let admin = Arc::clone(&topics.admin);
        blocking(move || admin.inner().fetch_metadata(None, ANSWER).map(drop)).await?;
        Ok(topics)
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

    /// Makes a topic. False if it exists, or this client may not make any.
    async fn make(&self, topic: &str) -> Result<bool, BusError> {
        let retention = self.wanted.retention.as_millis().to_string();
        let new = NewTopic::new(
            topic,
            self.wanted.partitions,
            TopicReplication::Fixed(self.wanted.replication.unwrap_or(-1)),
        )
        .set(RETENTION, &retention);
        let made = self.admin.create_topics([&new], &options()).await;
        match made {
            Ok(results) => match results.into_iter().next() {
                Some(Err((_, Code::TopicAlreadyExists | Code::TopicAuthorizationFailed))) => {
                    Ok(false)
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
        let admin = Arc::clone(&self.admin);
        let name = topic.to_owned();
        let found = blocking(move || {
            let metadata = admin.inner().fetch_metadata(Some(&name), ANSWER)?;
            let found = metadata.topics().iter().find(|topic| topic.name() == name);
            Ok(found.map(|topic| (topic.partitions().len(), topic.error().map(Code::from))))
        });
        let (partitions, error) = found.await?.unwrap_or((0, Some(Code::UnknownTopic)));
        if let Some(code) = error {
            return Err(refused(topic, code));
        }
        let retention = match self.wanted.make {
            true => self.retention(topic).await?,
            false => None,
        };
        self.wanted
            .fit(topic, partitions, retention.as_deref())
            .map_err(BusError::Refused)
    }

    /// How long a topic keeps messages, if this client may know.
    async fn retention(&self, topic: &str) -> Result<Option<String>, BusError> {
        let resource = ResourceSpecifier::Topic(topic);
        let described = self.admin.describe_configs([&resource], &options()).await;
        let value =
            |resource: ConfigResource| resource.get(RETENTION).and_then(|e| e.value.clone());
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

fn options() -> AdminOptions {
    AdminOptions::new()
        .request_timeout(Some(ANSWER))
        .operation_timeout(Some(ANSWER))
}

fn refused(topic: &str, code: Code) -> BusError {
    match code {
        Code::UnknownTopic | Code::UnknownTopicOrPartition => BusError::Refused(format!(
            "the topic {topic} is missing, and is not made here: have it made"
        )),
        code if lasts(code) || code == Code::InvalidReplicationFactor => {
            BusError::Refused(format!("the topic {topic}: {code}"))
        }
        code => BusError::Unavailable(format!("the topic {topic}: {code}")),
    }
}

/// Runs what blocks where it may.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, rdkafka::error::KafkaError> + Send + 'static,
) -> Result<T, BusError> {
    match spawn_blocking(work).await {
        Ok(done) => done.map_err(failure),
        Err(error) => Err(BusError::Unavailable(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

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
}
