//! Reading of runs from the journals.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use agenthub_sdk::runs::{
    Approval, Journal, RunId,
    journal::{self, Entry},
};
use tokio::time::timeout;

use super::{
    error::Error,
    folded::FoldedRun,
    resources::{ApprovalView, RunView},
};

/// Deadline for an answer of a journal.
pub(super) const ANSWER: Duration = Duration::from_secs(10);

/// The entries that are read at one time.
pub(super) const PAGE: usize = 128;

/// The runs that are over and of which it is known how they stand.
const MAX_OVER: usize = 512;

/// A journal, and whose runs are in it.
#[derive(Clone, Debug)]
pub(super) struct Shelf {
    pub(super) journal: Arc<dyn Journal>,
    pub(super) owner: String,
}

impl Shelf {
    /// At most this many entries behind one; none of a run that is not there.
    pub(super) async fn read(
        &self,
        run: &RunId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Entry>, Error> {
        match timeout(ANSWER, self.journal.read(run, after, limit)).await {
            Ok(Ok(entries)) => Ok(entries),
            Ok(Err(journal::JournalError::NotFound(_))) => Ok(Vec::new()),
            Ok(Err(error)) => Err(error.into()),
            Err(_) => Err(Error::Unavailable("the journal does not answer".to_owned())),
        }
    }

    /// The fold of a run's journal.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::Unavailable`].
    pub(super) async fn known(&self, run: &RunId) -> Result<FoldedRun, Error> {
        let first = self.read(run, 0, 1).await?.into_iter().next();
        let first = first.ok_or_else(|| Error::no_run(run.as_str()))?;
        let mut known = FoldedRun::new(run, &self.owner, &first)?;
        known.apply(&first);
        self.catch_up(run, &mut known).await?;
        Ok(known)
    }

    /// An approval that waits, as its run tells of it; nothing once it does not.
    pub(super) async fn approval(&self, run: &RunId, approval: &Approval) -> Option<ApprovalView> {
        let (mut views, principal) = match self.known(run).await {
            Ok(known) => (known.approvals().into_iter(), known.view().on_behalf_of),
            Err(error) => {
                tracing::warn!(%run, %error, "an approval cannot be shown");
                return None;
            }
        };
        let waiting = views.find(|view| view.digest == approval.digest)?;
        Some(waiting.on_behalf_of(&principal))
    }

    /// Takes in what happened since.
    pub(super) async fn catch_up(&self, run: &RunId, known: &mut FoldedRun) -> Result<(), Error> {
        loop {
            let entries = self.read(run, known.seq(), PAGE).await?;
            if entries.is_empty() {
                return Ok(());
            }
            for entry in &entries {
                known.apply(entry);
            }
        }
    }
}

/// Runs that are over do not change, so each is read once.
#[derive(Debug, Default)]
pub(super) struct EndedRuns(Mutex<HashMap<RunId, Arc<RunView>>>);

impl EndedRuns {
    pub(super) fn get(&self, run: &RunId) -> Option<RunView> {
        self.lock().get(run).map(|view| RunView::clone(view))
    }

    /// Keeps how a run stands, if it is over.
    pub(super) fn keep(&self, run: &RunId, view: &RunView) {
        if !view.state.is_over() {
            return;
        }
        let mut over = self.lock();
        if over.len() >= MAX_OVER {
            over.clear();
        }
        over.insert(run.clone(), Arc::new(view.clone()));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RunId, Arc<RunView>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
