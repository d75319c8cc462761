//! Settings of the way to Kafka.

use std::path::PathBuf;

use agenthub_a2a::client::auth::SecretRef;
use serde::{Deserialize, Serialize};

/// Fields of it that were set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Kafka {
    /// Servers to begin with, `host:port`, with commas in between. Without them nothing goes over Kafka.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) servers: Option<String>,
    /// Protocol; `plaintext` if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) security: Option<Security>,
    /// Way in which the password is shown; `plain` if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) mechanism: Option<Mechanism>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) username: Option<String>,
    /// Place of the password: `env:NAME` or `file:PATH`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) password: Option<SecretRef>,
    /// Certificates of those who sign for servers, PEM; the system's if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ca: Option<PathBuf>,
    /// Certificate of this client, PEM.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) certificate: Option<PathBuf>,
    /// Key of this client, PEM.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<PathBuf>,
    /// Missing topics are made, which they are if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) make_topics: Option<bool>,
    /// Partitions of topics, at least.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) partitions: Option<u16>,
    /// Hours for which messages are kept, at least.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) retention_hours: Option<u32>,
    /// Copies of topics that are made; the servers' default if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) replication: Option<u16>,
}

/// Protocol of the servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Security {
    #[default]
    Plaintext,
    Tls,
    SaslPlaintext,
    SaslTls,
}

/// Way of SASL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Mechanism {
    #[default]
    Plain,
    #[serde(rename = "scram-sha-256")]
    ScramSha256,
    #[serde(rename = "scram-sha-512")]
    ScramSha512,
}

#[cfg(feature = "kafka")]
mod of_bus {
    use std::time::Duration;

    use agenthub_bus::kafka;
    use anyhow::{Context as _, ensure};

    use super::{Kafka, Mechanism, SecretRef, Security};

    const HOUR: Duration = Duration::from_secs(3600);

    impl Kafka {
        /// The settings as the bus has them, if servers are named.
        ///
        /// # Errors
        ///
        /// A setting lacks another one, or stands where it means nothing.
        pub(crate) fn of_bus(&self) -> anyhow::Result<Option<kafka::Settings>> {
            let Some(servers) = &self.servers else {
                return Ok(None);
            };
            let security = self.security.unwrap_or_default();
            let is_tls = matches!(security, Security::Tls | Security::SaslTls);
            let is_sasl = matches!(security, Security::SaslPlaintext | Security::SaslTls);
            ensure!(
                is_tls || (self.ca.is_none() && self.certificate.is_none() && self.key.is_none()),
                "certificates are for the kafka.security `tls` and `sasl_tls`"
            );
            ensure!(
                is_sasl || (self.username.is_none() && self.password.is_none()),
                "a login is for the kafka.security `sasl_plaintext` and `sasl_tls`"
            );
            let client = match (&self.certificate, &self.key) {
                (Some(certificate), Some(key)) => Some((certificate.clone(), key.clone())),
                (None, None) => None,
                _ => anyhow::bail!("kafka.certificate and kafka.key go together"),
            };
            let topics = kafka::Topics::default();
            Ok(Some(kafka::Settings {
                tls: is_tls.then(|| kafka::Tls {
                    ca: self.ca.clone(),
                    client,
                }),
                sasl: is_sasl.then(|| self.login()).transpose()?,
                topics: kafka::Topics {
                    make: self.make_topics.unwrap_or(topics.make),
                    partitions: self.partitions.map_or(topics.partitions, i32::from),
                    retention: match self.retention_hours {
                        Some(hours) => HOUR * hours,
                        None => topics.retention,
                    },
                    replication: self.replication.map(i32::from),
                },
                ..kafka::Settings::new(servers)
            }))
        }

        fn login(&self) -> anyhow::Result<kafka::Sasl> {
            let username = self.username.clone();
            let password = self.password.clone();
            Ok(kafka::Sasl {
                mechanism: match self.mechanism.unwrap_or_default() {
                    Mechanism::Plain => kafka::Mechanism::Plain,
                    Mechanism::ScramSha256 => kafka::Mechanism::ScramSha256,
                    Mechanism::ScramSha512 => kafka::Mechanism::ScramSha512,
                },
                username: username.context("kafka.username is missing")?,
                password: match password.context("kafka.password is missing")? {
                    SecretRef::Env(name) => kafka::Secret::Env(name),
                    SecretRef::File(path) => kafka::Secret::File(path),
                    other => anyhow::bail!("kafka.password is env:NAME or file:PATH, not {other}"),
                },
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::settings::Settings;

    #[cfg(feature = "kafka")]
    #[test]
    fn settings_become_those_of_the_bus() {
        use std::time::Duration;

        use agenthub_bus::kafka;

        let of = |text: &str| {
            let settings = Settings::of_text(text).expect("right");
            settings.kafka.of_bus()
        };
        assert_eq!(of("").expect("right"), None);
        let plain = of("[kafka]\nservers = 'a:1,b:2'\n").expect("right");
        assert_eq!(plain, Some(kafka::Settings::new("a:1,b:2")));
        let all = "[kafka]\nservers = 'a:1'\nsecurity = 'sasl_tls'\nmechanism = 'scram-sha-512'\nusername = 'u'\n\
                   password = 'env:P'\nca = 'ca.pem'\npartitions = 3\nretention_hours = 2\nreplication = 1\nmake_topics = false\n";
        let all = of(all).expect("right").expect("servers are named");
        let sasl = all.sasl.expect("a login");
        assert_eq!(sasl.mechanism, kafka::Mechanism::ScramSha512);
        assert_eq!(sasl.password, kafka::Secret::Env("P".into()));
        assert_eq!(all.tls.expect("TLS").ca, Some("ca.pem".into()));
        let topics = kafka::Topics {
            make: false,
            partitions: 3,
            retention: Duration::from_secs(7200),
            replication: Some(1),
        };
        assert_eq!(all.topics, topics);
        for (more, why) in [
            ("security = 'sasl_tls'", "kafka.username is missing"),
            ("username = 'u'", "a login is for"),
            ("ca = 'ca.pem'", "certificates are for"),
            ("security = 'tls'\nkey = 'k'", "go together"),
        ] {
            let error = of(&format!("[kafka]\nservers = 'a:1'\n{more}\n"));
            let error = error.expect_err(more).to_string();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn a_password_is_named_and_not_written_down() {
        let error = Settings::of_text("[kafka]\npassword = 'hunter2'\n");
        let error = error.expect_err("refused").to_string();
        assert!(error.contains("kafka.password"), "{error}");
        assert!(!error.contains("hunter2"), "{error}");
    }
}
