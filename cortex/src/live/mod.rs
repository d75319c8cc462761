//! The runs that are live in this process: one registry, behind one lock.
//!
//! A run *comes* from when somebody asks for it until its journal has its beginning (`coming.rs`), is *live* until its journal has its end, and then
//! *over*. Meanwhile it may be the active run of its thread (`threads.rs`), have watchers (`watching.rs`), and ask people (`approvals.rs`). The
//! registry learns of beginnings, events and ends from the journal, which it stands around ([`WatchedJournal`]). What it has of a run goes when the run
//! is over and nobody watches it: it holds no more runs than come, are driven, hold a thread or are watched, each of which has a bound.
//!
//! Everything else that is known of runs is read from their journals.

mod approvals;
mod coming;
mod threads;
mod watching;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use agenthub_sdk::runs::RunId;
use tokio::sync::watch;

use approvals::Question;
pub use coming::{Begun, Coming, StartError};
pub(crate) use coming::{Place, Stage};
pub(crate) use threads::Active;
pub use watching::Watched;
pub(crate) use watching::WatchedJournal;

/// The runs that are live in this process. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct LiveRuns(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    state: Mutex<State>,
    /// The questions that were ever asked.
    asked: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct State {
    runs: HashMap<RunId, Live>,
    /// The active run of each thread.
    threads: HashMap<String, RunId>,
    /// The questions that wait, in the order in which they were asked.
    questions: BTreeMap<u64, (RunId, String)>,
    /// The runs that come.
    coming: HashSet<RunId>,
}

/// A run that is live in this process.
#[derive(Debug, Default)]
struct Live {
    /// Set until the run has begun, or does not.
    coming: Option<Coming>,
    /// The thread whose active run it is, and how many guards say so.
    thread: Option<(String, usize)>,
    /// The place of the last event, for those who watch.
    last: watch::Sender<u64>,
    /// By the approval's id.
    questions: BTreeMap<String, Question>,
}

impl Live {
    fn is_idle(&self) -> bool {
        self.coming.is_none()
            && self.thread.is_none()
            && self.questions.is_empty()
            && self.last.receiver_count() == 0
    }
}

impl LiveRuns {
    fn lock(&self) -> MutexGuard<'_, State> {
        let state = &self.0.state;
        state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn run(&mut self, run: &RunId) -> &mut Live {
        self.runs.entry(run.clone()).or_default()
    }

    /// Forgets a run that has nothing to do here any more.
    fn settle(&mut self, run: &RunId) {
        if self.runs.get(run).is_some_and(Live::is_idle) {
            self.runs.remove(run);
        }
    }

    /// The run is over, whoever says otherwise: its thread is free.
    fn over(&mut self, run: &RunId) {
        self.free_thread(run);
        self.settle(run);
    }
}
