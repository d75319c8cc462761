//! Kafka, where the settings name one.

mod sweeping;

use std::{path::absolute, sync::Arc};

use agenthub_bus::{Bus, Groups};
use agenthub_claims::ClaimStore;
use agenthub_sdk::durable::Journal;
use agenthub_terminal::usage::WrongUsage;
use agenthub_workflow::over_bus::{BusRoute, ResultReader};
use anyhow::Context as _;
use url::Url;

pub(crate) use self::sweeping::Sweeper;
use crate::settings::Settings;

/// A Kafka, and the store of what its messages name.
#[derive(Clone, Debug)]
pub(crate) struct Kafka {
    pub(crate) bus: Arc<dyn Bus>,
    pub(crate) groups: Arc<dyn Groups>,
    pub(crate) claims: ClaimStore,
    claims_days: Option<u32>,
}

/// The reader of results of a process's runs, and who looks after claim checks there. [`stop`](Self::stop) it.
#[derive(Debug)]
pub(crate) struct Results {
    reader: ResultReader,
    _sweeper: Sweeper,
}

impl Results {
    /// Stops reading.
    pub(crate) async fn stop(self) {
        self.reader.stop().await;
    }
}

impl Kafka {
    /// Connects to the servers that the settings name; `None` if they name none.
    ///
    /// # Errors
    ///
    /// No server answers within 10 s, the store cannot be opened, a setting is wrong, or this build has no Kafka.
    pub(crate) async fn connect(settings: &Settings) -> anyhow::Result<Option<Self>> {
        let Some((bus, groups)) = connected(settings).await? else {
            return Ok(None);
        };
        let url = claims_url(settings)?;
        let claims = ClaimStore::open(&url)
            .map_err(|error| WrongUsage(format!("the store of claim checks {url}: {error}")))?;
        Ok(Some(Self {
            bus,
            groups,
            claims,
            claims_days: settings.claims_days,
        }))
    }

    /// The way of steps to their agents.
    pub(crate) fn route(&self) -> BusRoute {
        BusRoute::new(Arc::clone(&self.bus), self.claims.clone())
    }

    /// Reads the results of this journal's runs into it. `instance` is its name among all journals.
    pub(crate) fn read_results(
        &self,
        route: &BusRoute,
        instance: &str,
        journal: Arc<dyn Journal>,
    ) -> Results {
        let group = format!("agenthub.results.{instance}");
        Results {
            reader: ResultReader::start(route, Arc::clone(&self.groups), group, journal),
            _sweeper: self.sweeper(),
        }
    }

    /// Removes old claim checks as long as it lives.
    pub(crate) fn sweeper(&self) -> Sweeper {
        Sweeper::start(&self.claims, self.claims_days)
    }
}

/// The Kafka that the settings name; `None` if they name none.
///
/// # Errors
///
/// No server answers within 10 s, or a setting is wrong.
#[cfg(feature = "kafka")]
pub(crate) async fn bus(settings: &Settings) -> anyhow::Result<Option<agenthub_bus::KafkaBus>> {
    let wrong = |error: anyhow::Error| WrongUsage(format!("in the settings: {error:#}"));
    let Some(kafka) = settings.kafka.of_bus().map_err(wrong)? else {
        return Ok(None);
    };
    let place = match &kafka.sasl {
        None => kafka.servers.clone(),
        Some(sasl) => format!("{} as {}", kafka.servers, sasl.username),
    };
    let bus = agenthub_bus::KafkaBus::connect(kafka).await;
    let bus = bus.with_context(|| format!("cannot use the Kafka at {place}"))?;
    Ok(Some(bus))
}

/// Error of a build without Kafka.
#[cfg(not(feature = "kafka"))]
pub(crate) const MISSING: &str =
    "this build has no Kafka: build it again with `cargo build --release --features kafka`";

#[cfg(feature = "kafka")]
async fn connected(settings: &Settings) -> anyhow::Result<Option<(Arc<dyn Bus>, Arc<dyn Groups>)>> {
    let bus = bus(settings).await?;
    Ok(
        bus.map(|bus| -> (Arc<dyn Bus>, Arc<dyn Groups>) {
            (Arc::new(bus.clone()), Arc::new(bus))
        }),
    )
}

#[cfg(not(feature = "kafka"))]
async fn connected(settings: &Settings) -> anyhow::Result<Option<(Arc<dyn Bus>, Arc<dyn Groups>)>> {
    match &settings.kafka.servers {
        None => Ok(None),
        Some(_) => Err(WrongUsage(MISSING.to_owned()).into()),
    }
}

/// URL of the store of claim checks: that of the settings, or a folder in the data folder.
fn claims_url(settings: &Settings) -> anyhow::Result<String> {
    if let Some(url) = &settings.claims {
        return Ok(url.clone());
    }
    let Some(data) = settings.data() else {
        let why =
            "with --ephemeral there is no folder for claim checks: name a store with --claims URL";
        return Err(WrongUsage(why.to_owned()).into());
    };
    let folder = absolute(data.join("claims"))
        .with_context(|| format!("the data folder {}", data.display()))?;
    let url = Url::from_directory_path(&folder);
    url.map(String::from)
        .map_err(|()| WrongUsage(format!("{} is no folder", folder.display())).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claim_checks_are_in_the_data_folder_or_where_the_settings_say() {
        let of = |text: &str| claims_url(&Settings::of_text(text).expect("right"));
        let own = of("data = '/a b'").expect("a folder");
        assert_eq!(own, "file:///a%20b/claims/");
        let named = of("claims = 's3://bucket/x'\nephemeral = true").expect("it is named");
        assert_eq!(named, "s3://bucket/x");
        let error = of("ephemeral = true").expect_err("nowhere").to_string();
        assert!(error.contains("--claims URL"), "{error}");
    }

    #[cfg(not(feature = "kafka"))]
    #[tokio::test]
    async fn without_the_feature_the_command_that_rebuilds_is_named() {
        let settings = Settings::of_text("[kafka]\nservers = 'a:1'").expect("right");
        let error = Kafka::connect(&settings).await.expect_err("it is missing");
        assert!(error.to_string().contains("--features kafka"), "{error}");
        assert_eq!(agenthub_terminal::usage::code_of(&error), 2);
    }
}
