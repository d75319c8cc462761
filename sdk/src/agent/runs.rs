//! The runs that an agent has in hand.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use agenthub_runs::{
    Driver, Journal, RunEvent, RunId, RunStarted,
    journal::{self, MemoryJournal},
};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::duty::{Duty, End};
use crate::{Agent, SpanSink, TaskContext};

/// Deadline for an answer of the journal.
pub(super) const ANSWER: Duration = Duration::from_secs(10);

/// The runs of one agent in this process. A journal knows a run by its driver, which is the whole agent: that none is driven twice in one
/// process is seen to here.
#[derive(Debug)]
pub(super) struct Runs {
    agent_id: String,
    instance_id: String,
    journal: Option<Arc<dyn Journal>>,
    spans: Option<Arc<dyn SpanSink>>,
    marks: Mutex<HashMap<RunId, Mark>>,
    pub(super) keep: Keep,
    pub(super) duty: Duty,
    /// Cancelled when the agent stops.
    pub(super) stop: CancellationToken,
}

/// Retention of runs that are over.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keep {
    /// All of them.
    pub(super) runs: Duration,
    /// Their beginning and their end, where that is longer.
    pub(super) outcomes: Duration,
}

impl Default for Keep {
    fn default() -> Self {
        Self {
            runs: Duration::from_secs(30 * 24 * 3600),
            outcomes: Duration::ZERO,
        }
    }
}

/// Mark of a run in this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    InHand,
    /// Not looked for any more, and taken in hand only if its message comes again.
    Abandoned,
}

impl Runs {
    pub(super) fn new(
        agent_id: &str,
        instance_id: &str,
        journal: Option<Arc<dyn Journal>>,
        spans: Option<Arc<dyn SpanSink>>,
        keep: Keep,
        duty: Duty,
        stop: CancellationToken,
    ) -> Arc<Self> {
        Arc::new(Self {
            agent_id: agent_id.to_owned(),
            instance_id: instance_id.to_owned(),
            journal,
            spans,
            marks: Mutex::default(),
            keep,
            duty,
            stop,
        })
    }

    /// Owner of the runs.
    pub(super) fn owner(&self) -> &str {
        &self.agent_id
    }

    /// The journal that runs are written down in.
    pub(super) fn journal(&self) -> Option<&Arc<dyn Journal>> {
        self.journal.as_ref()
    }

    /// Collector of the spans of runs.
    pub(super) fn spans(&self) -> Option<&Arc<dyn SpanSink>> {
        self.spans.as_ref()
    }

    /// True if runs survive this process.
    pub(super) fn is_durable(&self) -> bool {
        self.journal.as_ref().is_some_and(|j| j.is_durable())
    }

    /// The driver of a run. Without a journal each run has a journal of its own, which is gone with it.
    pub(super) fn driver(&self) -> Driver {
        let journal = match &self.journal {
            Some(journal) => Arc::clone(journal),
            None => Arc::new(MemoryJournal::default()),
        };
        let name = self.duty.execution().map(|execution| &*execution.driver);
        Driver::new(journal, name.unwrap_or(&self.instance_id))
    }

    /// The run of a message: the same however often it is delivered, and to whichever instance. Messages without a task are told apart by
    /// their events, as older clients make ids that repeat.
    pub(super) fn run_of(&self, context: &TaskContext, event: &str) -> RunId {
        let of = match context.task_id() {
            "" => event,
            task_id => task_id,
        };
        Agent::run_of(&self.agent_id, of, &context.message().message_id)
    }

    /// The beginning of a run, if it has one.
    ///
    /// # Errors
    ///
    /// The reason why that cannot be known.
    pub(super) async fn begun(
        &self,
        run: &RunId,
    ) -> Result<Option<RunStarted>, journal::JournalError> {
        let Some(journal) = &self.journal else {
            return Ok(None);
        };
        let first = match timeout(ANSWER, journal.read(run, 0, 1)).await {
            Ok(Ok(entries)) => entries.into_iter().next(),
            Ok(Err(journal::JournalError::NotFound(_))) => None,
            Ok(Err(error)) => return Err(error),
            Err(_) => {
                return Err(journal::JournalError::Unavailable(
                    "no answer in time".to_owned(),
                ));
            }
        };
        match first.map(|entry| entry.event) {
            None => Ok(None),
            Some(RunEvent::Started(started)) => Ok(Some(started)),
            Some(_) => Err(journal::JournalError::Unreadable {
                run: run.clone(),
                seq: 1,
                why: "it does not say how the run began".to_owned(),
            }),
        }
    }

    /// Takes a run in hand that was found, if this process has nothing to do with it already.
    pub(super) fn take(self: &Arc<Self>, run: &RunId) -> Option<HeldRun> {
        match self.lock().entry(run.clone()) {
            Entry::Occupied(_) => return None,
            Entry::Vacant(place) => place.insert(Mark::InHand),
        };
        Some(self.held(run))
    }

    /// Takes a run in hand whose message was delivered, if this process does not have it in hand already.
    pub(super) fn take_delivered(self: &Arc<Self>, run: &RunId) -> Option<HeldRun> {
        let before = self.lock().insert(run.clone(), Mark::InHand);
        (before != Some(Mark::InHand)).then(|| self.held(run))
    }

    /// True if it is in hand or was abandoned.
    pub(super) fn has(&self, run: &RunId) -> bool {
        self.lock().contains_key(run)
    }

    /// The runs in hand and those that were abandoned.
    pub(super) fn count(&self) -> usize {
        self.lock().len()
    }

    fn held(self: &Arc<Self>, run: &RunId) -> HeldRun {
        HeldRun {
            runs: Arc::clone(self),
            run: run.clone(),
            is_abandoned: false,
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RunId, Mark>> {
        self.marks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A run in hand; it no longer is when this is dropped.
#[derive(Debug)]
pub(super) struct HeldRun {
    runs: Arc<Runs>,
    run: RunId,
    is_abandoned: bool,
}

impl HeldRun {
    pub(super) fn run(&self) -> &RunId {
        &self.run
    }

    /// Gives the run up in this process, unless its message comes again.
    pub(super) fn abandon(&mut self) {
        self.is_abandoned = true;
    }
}

impl Drop for HeldRun {
    fn drop(&mut self) {
        let mut marks = self.runs.lock();
        let execution = self.runs.duty.execution();
        if let Some(execution) = execution.filter(|_| self.is_abandoned) {
            let why = "it was given up, or is another process's";
            execution.ends(End::Abandoned(why.to_owned()));
        }
        match self.is_abandoned {
            true => marks.insert(self.run.clone(), Mark::Abandoned),
            false => marks.remove(&self.run),
        };
    }
}
