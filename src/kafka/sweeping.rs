//! Claim checks go when their days are over.

use std::time::Duration;

use agenthub_claims::ClaimStore;
use tokio::{task::JoinSet, time::interval};

/// Days for which claim checks are kept if nothing else was said.
const DAYS: u32 = 30;

const DAY: Duration = Duration::from_secs(24 * 3600);

/// Time between two sweeps.
const HOUR: Duration = Duration::from_secs(3600);

/// Objects that are removed in one go.
const AT_ONCE: usize = 1_000;

/// Removes claim checks that are older than the retention, every hour, as long as it lives. Any number of processes may do so in one store.
#[derive(Debug)]
pub(crate) struct Sweeper {
    _sweeping: JoinSet<()>,
}

impl Sweeper {
    /// Sweeps a store, now and every hour; never, where objects are kept for ever.
    pub(crate) fn start(claims: &ClaimStore, days: Option<u32>) -> Self {
        let mut sweeping = JoinSet::new();
        if let Some(retention) = retention(days) {
            let claims = claims.clone();
            sweeping.spawn(async move {
                let mut hours = interval(HOUR);
                loop {
                    hours.tick().await;
                    sweep(&claims, retention).await;
                }
            });
        }
        Self {
            _sweeping: sweeping,
        }
    }
}

/// The retention of so many days; `None` for ever.
fn retention(days: Option<u32>) -> Option<Duration> {
    match days.unwrap_or(DAYS) {
        0 => None,
        days => Some(DAY * days),
    }
}

async fn sweep(claims: &ClaimStore, retention: Duration) {
    let mut removed = 0;
    loop {
        match claims.sweep(retention, AT_ONCE, |_| false).await {
            Ok(swept) => {
                removed += swept.removed;
                if swept.is_done {
                    break;
                }
            }
            Err(error) => {
                tracing::warn!(%error, "old claim checks are left until the next hour");
                break;
            }
        }
    }
    if removed > 0 {
        tracing::info!(removed, "old claim checks are removed");
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[tokio::test]
    async fn claim_checks_of_days_that_are_over_are_removed_and_no_others() {
        let folder = tempfile::tempdir().expect("a folder");
        let url = format!("file://{}", folder.path().display());
        let claims = ClaimStore::open(&url).expect("a store");
        let text = "text/plain".parse().expect("a content type");
        let fresh = claims.put("fresh".into(), &text).await.expect("it is put");
        let old = folder.path().join("2020-01-01");
        fs::create_dir(&old).expect("a folder");
        let name = format!("{}.5", "ab".repeat(32));
        fs::write(old.join(name), "stale").expect("a file");
        let sweeper = Sweeper::start(&claims, None);
        let gone = async {
            while old.exists() {
                tokio::task::yield_now().await;
            }
        };
        let gone = tokio::time::timeout(Duration::from_secs(20), gone).await;
        gone.expect("it is removed");
        drop(sweeper);
        let kept = claims.get(&fresh.to_string(), 100).await;
        assert_eq!(kept.expect("it is kept"), "fresh");
    }

    #[test]
    fn days_are_thirty_or_as_said_and_zero_is_for_ever() {
        assert_eq!(retention(None), Some(DAY * 30));
        assert_eq!(retention(Some(2)), Some(DAY * 2));
        assert_eq!(retention(Some(0)), None);
    }
}
