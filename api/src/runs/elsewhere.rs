//! Approvals of runs that other agents drive: they are in their journals, which are looked through once a second.

use std::{
    collections::{HashSet, VecDeque},
    sync::Arc,
    time::Duration,
};

use agenthub_cortex::CORTEX;
use futures_util::{Stream, stream};
use tokio::time::sleep;

use super::{
    Inner,
    view::{ApprovalView, ListQuery, RunState},
};

/// Interval at which the journals are looked through.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// The most runs that are looked at.
const MAX_RUNS: u32 = 200;

/// The approvals in the order in which they are found; with `follow` also those that come, until Cortex stops.
pub(super) fn approvals(
    inner: Arc<Inner>,
    follow: bool,
) -> impl Stream<Item = ApprovalView> + Send + 'static {
    let state = ApprovalWatch {
        inner,
        found: VecDeque::new(),
        known: HashSet::new(),
        has_looked: false,
    };
    stream::unfold(state, move |mut looking| async move {
        let closed = looking.inner.cortex.closed();
        loop {
            if let Some(next) = looking.found.pop_front() {
                return Some((next, looking));
            }
            let is_over = looking.has_looked
                && (!follow
                    || closed
                        .run_until_cancelled(sleep(LOOK_AGAIN))
                        .await
                        .is_none());
            if is_over {
                return None;
            }
            looking.look().await;
        }
    })
}

struct ApprovalWatch {
    inner: Arc<Inner>,
    found: VecDeque<ApprovalView>,
    /// The digests of those that were given and still wait.
    known: HashSet<String>,
    has_looked: bool,
}

impl ApprovalWatch {
    async fn look(&mut self) {
        self.has_looked = true;
        let query = ListQuery {
            state: Some(RunState::AwaitingApproval),
            limit: Some(MAX_RUNS),
            ..ListQuery::default()
        };
        let waiting = match self.inner.list(query).await {
            Ok(page) => page.runs.into_iter().filter(|run| run.agent != CORTEX),
            Err(error) => {
                tracing::warn!(%error, "approvals of other agents cannot be listed");
                return;
            }
        };
        let mut waiting: Vec<ApprovalView> = waiting.flat_map(|run| run.approvals).collect();
        waiting.sort_by_key(|approval| approval.asked_at);
        let known = waiting.iter().map(|approval| approval.digest.clone());
        let before = std::mem::replace(&mut self.known, known.collect());
        let news = waiting.into_iter();
        self.found
            .extend(news.filter(|approval| !before.contains(&approval.digest)));
    }
}
