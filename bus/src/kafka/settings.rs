//! Settings of the way to Kafka.

use std::{
    env, fmt, fs,
    path::{Path, PathBuf},
    time::Duration,
};

use rdkafka::{ClientConfig, config::RDKafkaLogLevel};

use crate::{BusError, Group};

/// Deadline of everything that is asked of Kafka but publishing.
pub(super) const ANSWER: Duration = Duration::from_secs(10);

/// Deadline of a publish, with all tries.
const PUBLISH: Duration = Duration::from_secs(20);

/// Time after which the servers take an open transaction back, so that readers of committed records go on.
const TRANSACTION: Duration = Duration::from_secs(60);

/// Setting of a member of a group: its name.
pub(super) const MEMBER: &str = "group.instance.id";

/// Address and manners of a Kafka.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Servers to begin with, `host:port`, with commas in between.
    pub servers: String,
    /// TLS, if it is spoken.
    pub tls: Option<Tls>,
    /// Login, if there is one.
    pub sasl: Option<Sasl>,
    /// What topics are to be like.
    pub topics: Topics,
}

impl Settings {
    /// Settings without TLS and login.
    pub fn new(servers: impl Into<String>) -> Self {
        Self {
            servers: servers.into(),
            tls: None,
            sasl: None,
            topics: Topics::default(),
        }
    }
}

/// What topics are to be like. Those that are missing are made so; others are checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topics {
    /// Missing topics are made. If not, whoever runs the servers makes them, and decides how long messages are kept.
    pub make: bool,
    /// Partitions, at least: so many members of a group can share a topic.
    pub partitions: i32,
    /// Time that messages are kept, at least.
    pub retention: Duration,
    /// Copies of a topic that is made; the servers' default if not given.
    pub replication: Option<i32>,
}

impl Default for Topics {
    /// Missing topics are made, with six partitions; messages are kept for a week.
    fn default() -> Self {
        Self {
            make: true,
            partitions: 6,
            retention: Duration::from_secs(7 * 24 * 3600),
            replication: None,
        }
    }
}

/// TLS. Certificates and keys are PEM files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tls {
    /// The certificates of those who sign for servers; the system's if not given.
    pub ca: Option<PathBuf>,
    /// Certificate and key of this client, if the servers want one.
    pub client: Option<(PathBuf, PathBuf)>,
}

/// A login.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sasl {
    /// The way in which the password is shown.
    pub mechanism: Mechanism,
    /// The user.
    pub username: String,
    /// The user's password.
    pub password: Secret,
}

/// Way of SASL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mechanism {
    /// The password itself; only over TLS does nobody else see it.
    Plain,
    /// SCRAM with SHA-256.
    ScramSha256,
    /// SCRAM with SHA-512.
    ScramSha512,
}

impl Mechanism {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Plain, Self::ScramSha256, Self::ScramSha512];

    /// Its registered name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "PLAIN",
            Self::ScramSha256 => "SCRAM-SHA-256",
            Self::ScramSha512 => "SCRAM-SHA-512",
        }
    }
}

/// Place of a secret. It is read when a connection is made, and shown nowhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Secret {
    /// A variable of the environment.
    Env(String),
    /// A file. A line break at its end does not belong to the secret.
    File(PathBuf),
}

impl Secret {
    /// The secret.
    ///
    /// # Errors
    ///
    /// [`BusError::Refused`] names the place where there is none.
    fn read(&self) -> Result<String, BusError> {
        let secret = match self {
            Self::Env(name) => env::var(name).map_err(|_| "which is not set".to_owned()),
            Self::File(path) => fs::read_to_string(path).map_err(|error| error.to_string()),
        };
        let secret = secret.map(|secret| secret.trim_end_matches(['\r', '\n']).to_owned());
        match secret {
            Ok(secret) if !secret.is_empty() => Ok(secret),
            Ok(_) => Err(format!("{self}, which is empty")),
            Err(why) => Err(format!("{self}: {why}")),
        }
        .map_err(|why| BusError::Refused(format!("the password of Kafka is to be in {why}")))
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Env(name) => write!(f, "the variable {name}"),
            Self::File(path) => write!(f, "{}", path.display()),
        }
    }
}

impl Settings {
    /// The configuration of any client.
    ///
    /// # Errors
    ///
    /// [`BusError::Refused`]: this build or this machine lacks something that the settings ask for.
    fn client(&self) -> Result<ClientConfig, BusError> {
        let mut config = ClientConfig::new();
        config
            .set("bootstrap.servers", &self.servers)
            .set("client.id", "agenthub")
            .set("socket.timeout.ms", ms(ANSWER))
            .set("socket.connection.setup.timeout.ms", ms(ANSWER))
            .set("reconnect.backoff.max.ms", "2000")
            .set("log.connection.close", "false")
            .set_log_level(RDKafkaLogLevel::Warning);
        let needs_tls = self.tls.is_some()
            || self
                .sasl
                .as_ref()
                .is_some_and(|sasl| sasl.mechanism != Mechanism::Plain);
        if needs_tls && !cfg!(feature = "kafka-tls") {
            return Err(BusError::Refused(
                "this build has neither TLS nor SCRAM for Kafka: build it again with `cargo build --release --features kafka-tls`".to_owned(),
            ));
        }
        config.set(
            "security.protocol",
            match (&self.tls, &self.sasl) {
                (None, None) => "plaintext",
                (Some(_), None) => "ssl",
                (None, Some(_)) => "sasl_plaintext",
                (Some(_), Some(_)) => "sasl_ssl",
            },
        );
        if let Some(tls) = &self.tls {
            if let Some(ca) = &tls.ca {
                readable("kafka.ca", ca)?;
                config.set("ssl.ca.location", ca.to_string_lossy());
            }
            if let Some((certificate, key)) = &tls.client {
                readable("kafka.certificate", certificate)?;
                readable("kafka.key", key)?;
                config
                    .set("ssl.certificate.location", certificate.to_string_lossy())
                    .set("ssl.key.location", key.to_string_lossy());
            }
        }
        if let Some(sasl) = &self.sasl {
            config
                .set("sasl.mechanism", sasl.mechanism.name())
                .set("sasl.username", &sasl.username)
                .set("sasl.password", sasl.password.read()?);
        }
        Ok(config)
    }

    /// The configuration of the producer: what it says is published is on all replicas in sync, once and in order.
    ///
    /// # Errors
    ///
    /// As [`client`](Self::client).
    pub(super) fn producer(&self) -> Result<ClientConfig, BusError> {
        let mut config = self.client()?;
        config
            .set("enable.idempotence", "true")
            .set("acks", "all")
            .set("message.timeout.ms", ms(PUBLISH))
            .set("request.timeout.ms", ms(ANSWER))
            .set("linger.ms", "2")
            .set("queue.buffering.max.messages", "10000")
            .set("queue.buffering.max.kbytes", "65536")
            .set("compression.type", "lz4")
            // As Java clients have it, so that a key's messages are together, whoever publishes them.
            .set("partitioner", "murmur2_random");
        Ok(config)
    }

    /// The configuration of a producer of transactions.
    ///
    /// # Errors
    ///
    /// As [`client`](Self::client).
    pub(super) fn transactional_producer(&self, id: &str) -> Result<ClientConfig, BusError> {
        let mut config = self.producer()?;
        config
            .set("transactional.id", id)
            .set("transaction.timeout.ms", ms(TRANSACTION));
        Ok(config)
    }

    /// The configuration of a reader that keeps its place itself.
    ///
    /// # Errors
    ///
    /// As [`client`](Self::client).
    pub(super) fn reader(&self) -> Result<ClientConfig, BusError> {
        let mut config = self.client()?;
        config
            // The client wants one, and nothing is stored under it.
            .set("group.id", "agenthub.readers")
            .set("enable.auto.commit", "false")
            .set("enable.auto.offset.store", "false")
            .set("enable.partition.eof", "true")
            .set("auto.offset.reset", "error")
            .set("allow.auto.create.topics", "false")
            .set("isolation.level", "read_committed")
            .set("fetch.wait.max.ms", "100")
            .set("queued.max.messages.kbytes", "16384");
        Ok(config)
    }

    /// The configuration of a member of a group: what is stored as done is committed within a fifth of a second.
    ///
    /// # Errors
    ///
    /// As [`client`](Self::client).
    pub(super) fn member(&self, group: &Group) -> Result<ClientConfig, BusError> {
        let mut config = self.client()?;
        if let Some(member) = &group.member {
            config.set(MEMBER, member);
        }
        config
            .set("group.id", &group.name)
            .set("enable.auto.commit", "true")
            .set("auto.commit.interval.ms", "200")
            .set("enable.auto.offset.store", "false")
            .set("auto.offset.reset", "earliest")
            .set("allow.auto.create.topics", "false")
            .set("partition.assignment.strategy", "cooperative-sticky")
            .set("session.timeout.ms", "10000")
            .set("heartbeat.interval.ms", "3000")
            .set("isolation.level", "read_committed")
            .set("fetch.wait.max.ms", "100")
            .set("queued.max.messages.kbytes", "16384")
            // They say how far the group is behind.
            .set("statistics.interval.ms", "5000");
        Ok(config)
    }
}

/// Refuses a file that cannot be read: the library does not name it.
fn readable(setting: &str, file: &Path) -> Result<(), BusError> {
    let refused = |error| {
        let file = file.display();
        BusError::Refused(format!(
            "{setting} names {file}, which cannot be read: {error}"
        ))
    };
    fs::File::open(file).map(drop).map_err(refused)
}

fn ms(time: Duration) -> String {
    time.as_millis().to_string()
}
