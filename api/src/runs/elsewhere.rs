//! Approvals of runs that other agents drive: they are in their journals, which are looked through once a second, however many watch.

use std::{
    collections::{HashSet, VecDeque},
    sync::Arc,
    time::Duration,
};

use agenthub_access::Caller;
use agenthub_cortex::CORTEX;
use futures_util::{Stream, stream};
use tokio::{
    sync::Mutex,
    time::{Instant, sleep_until},
};

use super::{
    Inner,
    resources::{ApprovalView, ListQuery, RunState, RunView},
    viewer::Viewer,
};

/// Interval at which the journals are looked through.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Runs with approvals that are read together, and the most of such pages, latest first.
const PAGE: u32 = 200;
const MAX_PAGES: usize = 5;

/// The last look through the journals, which all watchers share. Only watchers look, so that nothing is done where there are none.
#[derive(Debug, Default)]
pub(super) struct SharedLook(Mutex<Option<Look>>);

/// Approvals that waited when the journals were looked through.
#[derive(Clone, Debug)]
struct Look {
    begun: Instant,
    waiting: Arc<[ApprovalView]>,
}

impl SharedLook {
    /// A look that began after this time: the last one, or one that is made now. Those who come meanwhile wait for it.
    async fn after(&self, time: Instant, inner: &Inner) -> Look {
        let mut last = self.0.lock().await;
        if let Some(look) = last.as_ref().filter(|look| look.begun > time) {
            return look.clone();
        }
        let begun = Instant::now();
        let waiting = match inner.waiting_elsewhere().await {
            Some(waiting) => waiting.into(),
            None => last.take().map_or_else(Arc::default, |look| look.waiting),
        };
        let look = Look { begun, waiting };
        *last = Some(look.clone());
        look
    }
}

/// The approvals in the order in which they are found; with `follow` also those that come, until Cortex stops.
pub(super) fn approvals(
    inner: Arc<Inner>,
    follow: bool,
) -> impl Stream<Item = ApprovalView> + Send + 'static {
    let watch = ApprovalWatch {
        inner,
        found: VecDeque::new(),
        known: HashSet::new(),
        looked: None,
    };
    stream::unfold(watch, move |mut watch| async move {
        let closed = watch.inner.cortex.closed();
        loop {
            if let Some(next) = watch.found.pop_front() {
                return Some((next, watch));
            }
            let seen = match watch.looked {
                // What is listed first is no older than the request.
                None => Instant::now(),
                Some(_) if !follow => return None,
                Some(looked) => {
                    let next = sleep_until(looked + LOOK_AGAIN);
                    closed.run_until_cancelled(next).await?;
                    looked
                }
            };
            watch.look(seen).await;
        }
    })
}

struct ApprovalWatch {
    inner: Arc<Inner>,
    found: VecDeque<ApprovalView>,
    /// The digests of those that were given and still wait.
    known: HashSet<String>,
    /// Beginning of the last look.
    looked: Option<Instant>,
}

impl ApprovalWatch {
    async fn look(&mut self, seen: Instant) {
        let look = self.inner.elsewhere.after(seen, &self.inner).await;
        self.looked = Some(look.begun);
        let waiting = look.waiting.iter();
        let known = waiting.map(|approval| approval.digest.clone());
        let before = std::mem::replace(&mut self.known, known.collect());
        let is_news = |approval: &&ApprovalView| !before.contains(&approval.digest);
        self.found
            .extend(look.waiting.iter().filter(is_news).cloned());
    }
}

impl Inner {
    /// Approvals that wait in the journals of other agents, oldest first; `None` if they cannot be listed.
    async fn waiting_elsewhere(&self) -> Option<Vec<ApprovalView>> {
        let mut query = ListQuery {
            state: Some(RunState::AwaitingApproval),
            limit: Some(PAGE),
            ..ListQuery::default()
        };
        let everyone = Viewer(Caller::shared_anonymous());
        let mut runs = Vec::new();
        for _ in 0..MAX_PAGES {
            let page = match self.list(&everyone, query.clone()).await {
                Ok(page) => page,
                Err(error) => {
                    tracing::warn!(%error, "approvals of other agents cannot be listed");
                    return None;
                }
            };
            runs.extend(page.runs);
            if page.next.is_none() {
                break;
            }
            query.page_token = page.next;
        }
        let runs = runs.into_iter().filter(|run| run.agent != CORTEX);
        let of_run = |run: RunView| {
            let principal = run.on_behalf_of;
            run.approvals
                .into_iter()
                .map(move |approval| approval.on_behalf_of(&principal))
        };
        let mut waiting: Vec<ApprovalView> = runs.flat_map(of_run).collect();
        waiting.sort_by_key(|approval| approval.asked_at);
        Some(waiting)
    }
}
