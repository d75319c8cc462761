//! Runs: started, watched, answered and called back, whoever serves them.
//!
//! Whoever asks for a run gives a brief, with which Cortex begins it ([`Handle::start`]). What is told of runs comes from their
//! journals alone: how a run stands (`folded.rs`, in lists `sketched.rs`), who handed what to whom (`graph.rs`), and what it shows
//! (`following.rs`), so that a reader who comes late, or after a restart, sees the same.
//!
//! `folded.rs` and `graph.rs` are pure.

mod asking;
mod deciding;
mod elsewhere;
mod error;
mod folded;
mod following;
mod forking;
mod graph;
mod listing;
mod merging;
mod moments;
mod reading;
mod recent;
mod resources;
mod results;
mod sketched;
mod standing;
mod steps;
mod viewer;
mod workflow_steps;
mod workflows;

use std::sync::Arc;

use agenthub_access::Caller;
use agenthub_cortex::{
    Asked, CORTEX, Handle, Started,
    brief::{Brief, Budget, Constraints},
};
use agenthub_sdk::{
    TraceContext,
    durable::ForkChanges,
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

pub(crate) use error::{Decided, Error};
pub(crate) use resources::{
    ApprovalView, GraphView, ListQuery, PlanView, RunLimits, RunPage, RunState, RunView,
    StartedRun, timestamp,
};

pub(crate) use moments::{EventPage, EventView, MomentView};
pub(crate) use steps::{StepCounts, StepKind, StepQuery, StepView};
pub(crate) use workflows::WorkflowRequest;

use elsewhere::SharedLook;
use following::Following;
use reading::{EndedRuns, Shelf};
use recent::RecentRuns;
use viewer::Viewer;

/// A request for a run.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum StartRequest {
    /// An objective is reached.
    Brief(Box<Brief>),
    /// A workflow is carried out.
    Workflow(Box<WorkflowRequest>),
}

/// The runs of a Cortex, and those of other agents whose journals it has, as a caller sees them. Clones are the same.
#[derive(Clone, Debug)]
pub struct Runs(Arc<Inner>, Viewer);

#[derive(Debug)]
struct Inner {
    cortex: Handle,
    /// Cortex's own journal.
    home: Shelf,
    over: EndedRuns,
    /// The same as lists show them.
    sketches: EndedRuns,
    recent: RecentRuns,
    elsewhere: SharedLook,
}

impl Runs {
    /// The runs of this Cortex, as whoever may do everything sees them.
    pub fn of(cortex: Handle) -> Self {
        let home = Shelf {
            journal: Arc::clone(cortex.journal()),
            owner: CORTEX.to_owned(),
        };
        let inner = Inner {
            cortex,
            home,
            over: EndedRuns::default(),
            sketches: EndedRuns::default(),
            recent: RecentRuns::default(),
            elsewhere: SharedLook::default(),
        };
        Self(Arc::new(inner), Viewer(Caller::shared_anonymous()))
    }

    /// The same runs as this caller sees them, who starts runs on its own behalf.
    pub(crate) fn seen_by(&self, caller: Arc<Caller>) -> Self {
        Self(Arc::clone(&self.0), Viewer(caller))
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
            on_behalf_of: self.1.principal().to_owned(),
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
        self.0.carry_out(&self.1, asked, key, trace).await
    }

    /// A run.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::Invalid`] if several runs begin with the id, [`Error::Unavailable`].
    pub(crate) async fn get(&self, id: &str) -> Result<RunView, Error> {
        // What is over is kept, so that it is read once.
        let over = self.0.over.get(&RunId::new(id));
        if let Some(view) = over.filter(|_| self.1.sees_all()) {
            return Ok(view);
        }
        let found = self.0.find_for(&self.1, id).await?;
        let view = self.0.view_of(&found).await?;
        match self.1.sees(&view.on_behalf_of) {
            true => Ok(view),
            false => Err(Error::no_run(id)),
        }
    }

    /// Runs, latest first.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`], [`Error::Unavailable`].
    pub(crate) async fn list(&self, query: ListQuery) -> Result<RunPage, Error> {
        self.0.list(&self.1, query).await
    }

    /// All frames of a run behind the one with the number `after`, then those that come; ends behind the last one of the run. Frames
    /// are read as they are asked for, so a slow reader holds nothing up; an error is the last item. Of a run that is on its way it returns when
    /// that has begun or after 5 s; the frames wait for the beginning then.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::Invalid`] if several runs begin with the id, [`Error::Unavailable`].
    pub(crate) async fn frames(
        &self,
        id: &str,
        after: u64,
    ) -> Result<impl Stream<Item = Result<pb::Frame, Error>> + Send + 'static + use<>, Error> {
        let found = self.0.find_for(&self.1, id).await?;
        let live = self.0.cortex.live();
        if let Some(coming) = live.coming(&found.run) {
            coming.begun().await?;
        }
        let following = match live.coming(&found.run) {
            None => Either::Left(ready(Ok(self.0.follow(&found, after).await?))),
            Some(late) => {
                let inner = Arc::clone(&self.0);
                Either::Right(async move {
                    late.over().await?;
                    inner.follow(&found, after).await
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
    /// [`Error::NotFound`], also for a run without a plan; [`Error::Invalid`] if several runs begin with the id, [`Error::Unavailable`].
    pub(crate) async fn plan(&self, id: &str) -> Result<PlanView, Error> {
        let found = self.0.find_for(&self.1, id).await?;
        let (shelf, run) = self.0.recorded(&found).await?;
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
    /// [`Error::NotFound`], [`Error::Invalid`] if several runs begin with the id, [`Error::Unavailable`].
    pub(crate) async fn graph(&self, id: &str) -> Result<GraphView, Error> {
        let found = self.0.find_for(&self.1, id).await?;
        let (shelf, run) = self.0.recorded(&found).await?;
        Ok(shelf.known(&run).await?.graph())
    }

    /// The steps of a run, attempt by attempt, in the order in which they began, and the token of the next page if there is one.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::Invalid`] if several runs begin with the id, or for a wrong page; [`Error::Unavailable`].
    pub(crate) async fn steps(
        &self,
        id: &str,
        query: &StepQuery,
    ) -> Result<(Vec<StepView>, Option<String>), Error> {
        let found = self.0.find_for(&self.1, id).await?;
        self.0.steps(&found, query).await
    }

    /// Starts a workflow again that has ended, as another run: from a step, or with another input. The same `key` and request start one run,
    /// however often they come.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::Invalid`] if several runs begin with the id, [`Error::Active`], [`Error::Unsuitable`] for a run of another kind, and those of [`carry_out`](Self::carry_out).
    pub(crate) async fn retry(
        &self,
        id: &str,
        differences: (Option<String>, Option<Map<String, Value>>),
        key: Option<&str>,
    ) -> Result<StartedRun, Error> {
        let found = self.0.find_for(&self.1, id).await?;
        self.0.retry(&self.1, &found, differences, key).await
    }

    /// Starts a run that begins with what another had recorded up to its event number `at`. The same `key` and request start one run, however often
    /// they come.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::Invalid`] where it cannot be forked so, [`Error::Unsuitable`], [`Error::KeyReused`], [`Error::Unavailable`].
    pub(crate) async fn fork(
        &self,
        id: &str,
        (at, changes): (u64, ForkChanges),
        key: Option<&str>,
    ) -> Result<StartedRun, Error> {
        let found = self.0.find_for(&self.1, id).await?;
        self.0.fork(&self.1, &found, (at, changes), key).await
    }

    /// The events of a run behind the one with the number `after`, in order: at most 500, 100 if no `limit` is given.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::Invalid`], [`Error::Unavailable`].
    pub(crate) async fn events(
        &self,
        id: &str,
        after: u64,
        limit: Option<u32>,
    ) -> Result<EventPage, Error> {
        let found = self.0.find_for(&self.1, id).await?;
        self.0.events(&found, after, limit).await
    }

    /// A run as it stood when the event with this number was recorded; 0 is the last one. With `most` it has at most so many attempts of each step of
    /// the plan, and no graph.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::Invalid`], [`Error::Unavailable`].
    pub(crate) async fn moment(
        &self,
        id: &str,
        number: u64,
        most: Option<usize>,
    ) -> Result<MomentView, Error> {
        let found = self.0.find_for(&self.1, id).await?;
        self.0.moment(&found, number, most).await
    }

    /// Calls a run back. Returns when it is told to stop, or has stopped.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::Invalid`] if several runs begin with the id, [`Error::NotActive`], [`Error::Unsuitable`] for a run that has no task, [`Error::Unavailable`].
    pub(crate) async fn cancel(&self, id: &str, reason: &str) -> Result<RunView, Error> {
        let found = self.0.find_for(&self.1, id).await?;
        self.0.cancel(&found, reason).await
    }

    /// Goes on from the plan and the results of a run that is over, as a run of its own in the same thread. What is given stands in place of
    /// what the run had.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::Invalid`] if several runs begin with the id, [`Error::Active`], [`Error::Unsuitable`] for a run without a plan, and those of [`start`](Self::start).
    pub(crate) async fn resume(
        &self,
        id: &str,
        constraints: Option<Constraints>,
        budget: Option<Budget>,
    ) -> Result<StartedRun, Error> {
        let found = self.0.find_for(&self.1, id).await?;
        self.0
            .resume(
                &self.1,
                &found,
                constraints.unwrap_or_default(),
                budget.unwrap_or_default(),
            )
            .await
    }

    /// Answers what a run asks a person for. Returns when the answer is written down, for which it waits 5 s, after up to 4 s for a run that was taken up after a crash to ask again.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] for the run, [`Error::Denied`] where the caller may not answer, [`Error::NotPending`] for the approval, [`Error::Invalid`] if several runs begin with the id, [`Error::Unavailable`] where nobody drives the run yet, or the
    /// answer is not written down in time.
    pub(crate) async fn decide(
        &self,
        id: &str,
        approval: &str,
        decision: Decision,
    ) -> Result<RunView, Error> {
        let (found, is_seen) = self.0.find_to_answer(&self.1, id).await?;
        let decision = match self.1.principal() {
            "" => decision,
            // Whatever the request says of who decides.
            principal => Decision {
                by: principal.to_owned(),
                ..decision
            },
        };
        let view = self.0.decide(&found, approval, decision).await?;
        Ok(match is_seen {
            true => view,
            false => view.but_its_state(),
        })
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
        let viewer = self.1.clone();
        stream::select(own, elsewhere::approvals(Arc::clone(&self.0), follow))
            .filter(move |approval| ready(viewer.answers(&approval.on_behalf_of)))
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
        let found = self.0.find_for(&self.1, id).await?;
        self.0.record(&found, metrics).await
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
