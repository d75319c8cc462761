//! The runs that an agent has in hand.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use agenthub_runs::{
    Driver, Journal, RunEvent, RunId, Started,
    journal::{self, MemoryJournal},
};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::TaskContext;

/// How long the journal may take to answer.
pub(super) const ANSWER: Duration = Duration::from_secs(10);

/// The runs of one agent in this process. A journal knows a run by its driver, which is the whole agent: that none is driven twice in one
/// process is seen to here.
#[derive(Debug)]
pub(super) struct Runs {
    agent_id: String,
    instance_id: String,
    journal: Option<Arc<dyn Journal>>,
    in_hand: Mutex<HashSet<RunId>>,
    /// Cancelled when the agent stops.
    pub(super) stop: CancellationToken,
}

impl Runs {
    pub(super) fn new(
        agent_id: &str,
        instance_id: &str,
        journal: Option<Arc<dyn Journal>>,
        stop: CancellationToken,
    ) -> Arc<Self> {
        Arc::new(Self {
            agent_id: agent_id.to_owned(),
            instance_id: instance_id.to_owned(),
            journal,
            in_hand: Mutex::default(),
            stop,
        })
    }

    /// Who the runs belong to.
    pub(super) fn owner(&self) -> &str {
        &self.agent_id
    }

    /// The journal that runs survive in.
    pub(super) fn journal(&self) -> Option<&Arc<dyn Journal>> {
        self.journal.as_ref()
    }

    /// Whether runs survive this process.
    pub(super) fn is_durable(&self) -> bool {
        self.journal.is_some()
    }

    /// What drives a run. Without a journal each has one of its own, which is gone with it.
    pub(super) fn driver(&self) -> Driver {
        let journal = match &self.journal {
            Some(journal) => Arc::clone(journal),
            None => Arc::new(MemoryJournal::default()),
        };
        Driver::new(journal, &*self.instance_id)
    }

    /// The run of a message: the same however often it is delivered, and to whichever instance. Messages without a task are told apart by
    /// their events, as older clients make ids that repeat.
    pub(super) fn run_of(&self, context: &TaskContext, event: &str) -> RunId {
        let of = match context.task_id() {
            "" => event,
            task_id => task_id,
        };
        RunId::of(&[&self.agent_id, of, &context.message().message_id])
    }

    /// How a run began, if it did.
    ///
    /// # Errors
    ///
    /// Why that cannot be known.
    pub(super) async fn begun(&self, run: &RunId) -> Result<Option<Started>, journal::Error> {
        let Some(journal) = &self.journal else {
            return Ok(None);
        };
        let first = match timeout(ANSWER, journal.read(run, 0, 1)).await {
            Ok(Ok(entries)) => entries.into_iter().next(),
            Ok(Err(journal::Error::NotFound(_))) => None,
            Ok(Err(error)) => return Err(error),
            Err(_) => return Err(journal::Error::Unavailable("no answer in time".to_owned())),
        };
        Ok(first.and_then(|entry| match entry.event {
            RunEvent::Started(started) => Some(started),
            _ => None,
        }))
    }

    /// Takes a run in hand, if this process does not have it in hand already.
    pub(super) fn take(self: &Arc<Self>, run: &RunId) -> Option<Held> {
        self.lock().insert(run.clone()).then(|| Held {
            runs: Arc::clone(self),
            run: run.clone(),
            is_abandoned: false,
        })
    }

    pub(super) fn has(&self, run: &RunId) -> bool {
        self.lock().contains(run)
    }

    /// The runs in hand.
    pub(super) fn count(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<RunId>> {
        self.in_hand.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A run in hand; it no longer is when this is dropped.
#[derive(Debug)]
pub(super) struct Held {
    runs: Arc<Runs>,
    run: RunId,
    is_abandoned: bool,
}

impl Held {
    pub(super) fn run(&self) -> &RunId {
        &self.run
    }

    /// This process does not take it in hand again.
    pub(super) fn abandon(mut self) {
        self.is_abandoned = true;
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if !self.is_abandoned {
            self.runs.lock().remove(&self.run);
        }
    }
}
