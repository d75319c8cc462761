//! Runs: started, watched, answered and called back, whoever serves them.
//!
//! Whoever asks for a run gives a brief, with which Cortex begins it ([`Handle::start`]). What is told of runs comes from their
//! journals alone: how a run stands (`folded.rs`, in lists `sketched.rs`), who handed what to whom (`graph.rs`), and what it shows
//! (`following.rs`), so that a reader who comes late, or after a restart, sees the same.
//!
//! `folded.rs` and `graph.rs` are pure.

mod deciding;
mod elsewhere;
mod error;
mod folded;
mod following;
mod graph;
mod listing;
mod merging;
mod reading;
mod resources;
mod results;
mod sketched;
mod steps;
mod workflow_steps;
mod workflows;

use std::sync::Arc;

use agenthub_cortex::{
    Asked, CORTEX, Handle, Started,
    brief::{Brief, Budget, Constraints},
};
use agenthub_sdk::{
    TraceContext,
    proto::cortex as pb,
    runs::{Decision, RunId},
};
use futures_util::{
    Stream, StreamExt, TryStreamExt,
    future::{Either, ready},
    stream,
};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

pub(crate) use error::Error;
pub(crate) use resources::{
    ApprovalView, GraphView, ListQuery, PlanView, RunPage, RunState, RunView, StartedRun, timestamp,
};

pub(crate) use steps::StepView;
pub(crate) use workflows::WorkflowRequest;

use elsewhere::SharedLook;
use following::Following;
use reading::{EndedRuns, Shelf};

/// A request for a run.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum StartRequest {
    /// An objective is reached.
    Brief(Box<Brief>),
    /// A workflow is carried out.
    Workflow(Box<WorkflowRequest>),
}

/// The runs of a Cortex, and those of other agents whose journals it has. Clones are the same.
#[derive(Clone, Debug)]
pub struct Runs(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    cortex: Handle,
    /// Cortex's own journal.
    home: Shelf,
    over: EndedRuns,
    elsewhere: SharedLook,
}

impl Runs {
    /// The runs of this Cortex.
    pub fn of(cortex: Handle) -> Self {
        let home = Shelf {
            journal: Arc::clone(cortex.journal()),
            owner: CORTEX.to_owned(),
        };
        Self(Arc::new(Inner {
            cortex,
            home,
            over: EndedRuns::default(),
            elsewhere: SharedLook::default(),
        }))
    }

    /// The Cortex whose runs they are.
    pub(crate) fn cortex(&self) -> &Handle {
        &self.0.cortex
    }

    /// Starts a run, and returns when it has begun or after 5 s. It goes on whether or not anybody watches, also when this is dropped.
    /// The same `key` (an idempotency key of at most 255 bytes) and brief start one run, however often they come. `trace` is where who
    /// asks is in their trace; the run begins one where they are in none.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`], [`Error::ThreadBusy`], [`Error::KeyReused`], [`Error::Refused`], [`Error::Unavailable`].
    pub(crate) async fn start(
        &self,
        brief: Brief,
        key: Option<&str>,
        trace: Option<TraceContext>,
    ) -> Result<StartedRun, Error> {
        let asked = Asked {
            brief,
            key: key.map(str::to_owned),
            resumes: None,
            trace,
        };
        self.0.begin(asked).await
    }

    /// Starts a run of a workflow, as [`start`](Self::start) does of a brief.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`], [`Error::KeyReused`], [`Error::Unavailable`].
    pub(crate) async fn carry_out(
        &self,
        asked: WorkflowRequest,
        key: Option<&str>,
        trace: Option<TraceContext>,
    ) -> Result<StartedRun, Error> {
        self.0.carry_out(asked, key, trace).await
    }

    /// A run.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::Unavailable`].
    pub(crate) async fn get(&self, id: &str) -> Result<RunView, Error> {
        self.0.get(id).await
    }

    /// Runs, latest first.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`], [`Error::Unavailable`].
    pub(crate) async fn list(&self, query: ListQuery) -> Result<RunPage, Error> {
        self.0.list(query).await
    }

    /// All frames of a run behind the one with the number `after`, then those that come; ends behind the last one of the run. Frames
    /// are read as they are asked for, so a slow reader holds nothing up; an error is the last item. Of a run that is on its way it returns when
    /// that has begun or after 5 s; the frames wait for the beginning then.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::Unavailable`].
    pub(crate) async fn frames(
        &self,
        id: &str,
        after: u64,
    ) -> Result<impl Stream<Item = Result<pb::Frame, Error>> + Send + 'static + use<>, Error> {
        let run = RunId::new(id);
        let live = self.0.cortex.live();
        if let Some(coming) = live.coming(&run) {
            coming.begun().await?;
        }
        let following = match live.coming(&run) {
            None => Either::Left(ready(Ok(self.0.follow(id, after).await?))),
            Some(late) => {
                let (inner, id) = (Arc::clone(&self.0), id.to_owned());
                Either::Right(async move {
                    late.over().await?;
                    inner.follow(&id, after).await
                })
            }
        };
        Ok(stream::once(following)
            .map_ok(Following::stream)
            .try_flatten())
    }

    /// The plan of a run.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], also for a run without a plan; [`Error::Unavailable`].
    pub(crate) async fn plan(&self, id: &str) -> Result<PlanView, Error> {
        let (shelf, run) = self.0.find(id).await?;
        let plan = shelf.known(&run).await?.plan();
        plan.ok_or_else(|| Error::NotFound {
            what: "plan of run",
            id: id.to_owned(),
        })
    }

    /// The graph of handoffs.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::Unavailable`].
    pub(crate) async fn graph(&self, id: &str) -> Result<GraphView, Error> {
        let (shelf, run) = self.0.find(id).await?;
        Ok(shelf.known(&run).await?.graph())
    }

    /// The steps of a run, attempt by attempt, in the order in which they began.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::Unavailable`].
    pub(crate) async fn steps(&self, id: &str) -> Result<Vec<StepView>, Error> {
        self.0.steps(id).await
    }

    /// Starts a workflow again that has ended, as another run: from a step, or with another input. The same `key` and request start one run,
    /// however often they come.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::Active`], [`Error::Unsuitable`] for a run of another kind, and those of [`carry_out`](Self::carry_out).
    pub(crate) async fn retry(
        &self,
        id: &str,
        differences: (Option<String>, Option<Map<String, Value>>),
        key: Option<&str>,
    ) -> Result<StartedRun, Error> {
        self.0.retry(id, differences, key).await
    }

    /// Calls a run back. Returns when it is told to stop, or has stopped.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::NotActive`], [`Error::Unsuitable`] for a run that has no task, [`Error::Unavailable`].
    pub(crate) async fn cancel(&self, id: &str, reason: &str) -> Result<RunView, Error> {
        self.0.cancel(id, reason).await
    }

    /// Goes on from the plan and the results of a run that is over, as a run of its own in the same thread. What is given stands in place of
    /// what the run had.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::Active`], [`Error::Unsuitable`] for a run without a plan, and those of [`start`](Self::start).
    pub(crate) async fn resume(
        &self,
        id: &str,
        constraints: Option<Constraints>,
        budget: Option<Budget>,
    ) -> Result<StartedRun, Error> {
        self.0
            .resume(
                id,
                constraints.unwrap_or_default(),
                budget.unwrap_or_default(),
            )
            .await
    }

    /// Answers what a run asks a person for. Returns when the answer is written down, for which it waits 5 s.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] for the run, [`Error::NotPending`] for the approval, [`Error::Unavailable`] where nobody drives the run yet, or the
    /// answer is not written down in time.
    pub(crate) async fn decide(
        &self,
        id: &str,
        approval: &str,
        decision: Decision,
    ) -> Result<RunView, Error> {
        self.0.decide(id, approval, decision).await
    }

    /// The approvals that wait for an answer; with `follow` also those that come.
    pub(crate) fn approvals(
        &self,
        follow: bool,
    ) -> impl Stream<Item = ApprovalView> + Send + 'static + use<> {
        let home = self.0.home.clone();
        let asked = self.0.cortex.live().questions(follow);
        let own = asked.filter_map(move |(run, approval)| {
            let home = home.clone();
            async move { home.approval(&run, &approval).await }
        });
        stream::select(own, elsewhere::approvals(Arc::clone(&self.0), follow))
    }

    /// Adds what became of a run's result: numbers by name, at most 64. What is given later stands in place of what was given before.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::Active`], [`Error::Invalid`], [`Error::Unavailable`].
    pub(crate) async fn record(
        &self,
        id: &str,
        metrics: Map<String, Value>,
    ) -> Result<RunView, Error> {
        self.0.record(id, metrics).await
    }
}

impl Inner {
    /// Starts a run, or finds the one that was started under the same key.
    async fn begin(&self, asked: Asked) -> Result<StartedRun, Error> {
        let Started {
            run,
            coming,
            is_new,
        } = self.cortex.start(asked).await?;
        let run = match self.get(run.as_str()).await {
            Err(Error::NotFound { .. }) => RunView::coming(&run, &coming),
            run => run?,
        };
        Ok(StartedRun { run, is_new })
    }
}
