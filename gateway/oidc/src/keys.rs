//! Keys of issuers, kept up to date.

use std::time::Duration;

use agenthub_access::{Identities, Issuer, KeySet};
use agenthub_outbound::Connector;
use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};

use crate::{
    discovery::discover,
    fetching::{Error, address, get, shown},
};

/// Time after which a failed fetch is tried again; it doubles with each failure.
const FIRST_RETRY: Duration = Duration::from_secs(1);

/// Longest time between two tries.
const LAST_RETRY: Duration = Duration::from_secs(60);

/// Interval of looking whether a token has named a key that is not known.
const LOOK: Duration = Duration::from_millis(200);

/// Fetches the keys of all issuers until it is dropped: at the start, at intervals, and when a token names one that is not known. The keys that
/// there are stay while an issuer is away.
pub async fn keep_keys(identities: Identities, connector: Connector) {
    let mut keeping = JoinSet::new();
    for issuer in identities.issuers() {
        keeping.spawn(keep(issuer.clone(), connector.clone()));
    }
    while keeping.join_next().await.is_some() {}
}

async fn keep(issuer: Issuer, connector: Connector) {
    let name = issuer.settings().name.clone();
    let refresh = Duration::from_secs(issuer.settings().refresh_seconds);
    let mut retry = FIRST_RETRY;
    loop {
        issuer.begin_fetch();
        let wait = match fetch(&issuer, &connector).await {
            Ok(keys) => {
                issuer.set_keys(keys);
                retry = FIRST_RETRY;
                refresh
            }
            Err(error) => {
                let what = match issuer.keys() {
                    None => "nobody comes in with its tokens until then",
                    Some(_) => "those of before stay",
                };
                tracing::warn!(
                    issuer = name,
                    "cannot fetch the keys of an issuer, {what}: {error}"
                );
                let wait = retry.min(refresh);
                retry = (retry * 2).min(LAST_RETRY);
                wait
            }
        };
        let until = Instant::now() + wait;
        while Instant::now() < until && !issuer.is_due() {
            sleep(LOOK.min(until.saturating_duration_since(Instant::now()))).await;
        }
    }
}

/// Fetches the keys of an issuer.
///
/// # Errors
///
/// They cannot be had, or are none.
async fn fetch(issuer: &Issuer, connector: &Connector) -> Result<KeySet, Error> {
    let settings = issuer.settings();
    let url = match &settings.jwks {
        Some(url) => address(url, &settings.issuer)?,
        None => discover(connector, &settings.issuer).await?.keys,
    };
    let body = get(connector, &url).await?;
    KeySet::read(&body).map_err(|error| Error::Answer {
        url: shown(&url),
        why: error.to_string(),
    })
}
