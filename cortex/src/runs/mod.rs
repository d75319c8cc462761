//! Runs: started, watched, answered and called back, whoever serves them.

mod brief;
mod error;
mod graph;
mod view;

use std::sync::Arc;

use agenthub_sdk::{
    Client,
    proto::cortex as pb,
    runs::{Decision, Journal},
};
use futures_util::Stream;
use serde_json::{Map, Value};

pub(crate) use brief::{Brief, Budget, Constraints, Mode};
pub(crate) use error::Error;
pub(crate) use view::{
    ApprovalView, GraphView, ListQuery, PlanView, RunPage, RunState, RunView, StartedRun,
    StepStanding, timestamp,
};

use crate::shared::Shared;

/// The id under which Cortex asks itself for runs: no agent takes messages of its own.
pub(crate) const RUNS: &str = "cortex_runs";

/// The runs of this Cortex, and those of others that it can read. Clones are the same.
#[derive(Clone, Debug)]
pub(crate) struct Runs(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    shared: Arc<Shared>,
    client: Client,
    journal: Arc<dyn Journal>,
}

impl Runs {
    pub(crate) fn new(shared: Arc<Shared>, client: Client, journal: Arc<dyn Journal>) -> Self {
        Self(Arc::new(Inner {
            shared,
            client,
            journal,
        }))
    }

    /// Starts a run, and returns when it has begun or after 5 s. It goes on whether or not anybody watches, also when this is dropped.
    /// The same `key` (an idempotency key of at most 255 bytes) and brief start one run, however often they come.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`], [`Error::ThreadBusy`], [`Error::KeyReused`], [`Error::Refused`], [`Error::Unavailable`].
    pub(crate) async fn start(&self, brief: Brief, key: Option<&str>) -> Result<StartedRun, Error> {
        brief.check()?;
        let _ = key;
        Err(Error::Unavailable("not yet".to_owned()))
    }

    /// A run.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::Unavailable`].
    pub(crate) async fn get(&self, id: &str) -> Result<RunView, Error> {
        Err(Error::no_run(id))
    }

    /// Runs, latest first.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`], [`Error::Unavailable`].
    pub(crate) async fn list(&self, _query: ListQuery) -> Result<RunPage, Error> {
        Ok(RunPage::default())
    }

    /// All frames of a run behind the one with the number `after`, then those that come; ends behind the last one of the run. Frames
    /// are read as they are asked for.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::Unavailable`].
    pub(crate) async fn frames(
        &self,
        id: &str,
        _after: u64,
    ) -> Result<impl Stream<Item = Result<pb::Frame, Error>> + Send + 'static, Error> {
        self.get(id).await?;
        Ok(futures_util::stream::empty())
    }

    /// The plan of a run.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], also for a run without a plan; [`Error::Unavailable`].
    pub(crate) async fn plan(&self, id: &str) -> Result<PlanView, Error> {
        Err(Error::no_run(id))
    }

    /// Who handed what to whom.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::Unavailable`].
    pub(crate) async fn graph(&self, id: &str) -> Result<GraphView, Error> {
        Err(Error::no_run(id))
    }

    /// Calls a run back. Returns when it is told to stop.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::NotActive`], [`Error::Unavailable`].
    pub(crate) async fn cancel(&self, id: &str, _reason: &str) -> Result<RunView, Error> {
        Err(Error::no_run(id))
    }

    /// Goes on from the plan and the results of a run that is over, as a run of its own in the same thread.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::Active`], [`Error::Unsuitable`] for a run without a plan, and those of [`start`](Self::start).
    pub(crate) async fn resume(
        &self,
        id: &str,
        _constraints: Option<Constraints>,
        _budget: Option<Budget>,
    ) -> Result<StartedRun, Error> {
        Err(Error::no_run(id))
    }

    /// Answers what a run asks a person for.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] for the run, [`Error::NotPending`] for the approval, [`Error::Unavailable`] where nobody drives the run yet.
    pub(crate) async fn decide(
        &self,
        id: &str,
        _approval: &str,
        _decision: Decision,
    ) -> Result<RunView, Error> {
        Err(Error::no_run(id))
    }

    /// The approvals that wait for an answer; with `follow` also those that come.
    pub(crate) fn approvals(
        &self,
        _follow: bool,
    ) -> impl Stream<Item = ApprovalView> + Send + 'static {
        futures_util::stream::empty()
    }

    /// Adds what became of a run's result: numbers by name.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::Active`], [`Error::Invalid`], [`Error::Unavailable`].
    pub(crate) async fn record(
        &self,
        id: &str,
        _metrics: Map<String, Value>,
    ) -> Result<RunView, Error> {
        Err(Error::no_run(id))
    }
}
