//! State of a run: the fold of its journal, for those who ask.

use std::collections::BTreeMap;

use agenthub_cortex::{
    Asked, CORTEX, ChatTurn, Coming, Frames, Orchestrator, WorkState, answered,
    brief::{Brief, Mode},
    reached,
};
use agenthub_sdk::{
    Agent,
    runs::{
        Approval, Decision, Facts, RunEvent, RunId, RunOutcome, Shortfall, Spent, StepId,
        StepRequest, StepResult, Strategy, journal::Entry, model::Undone,
    },
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    error::Error,
    graph::{self, GraphView},
    resources::{ApprovalView, ForkedView, PlanView, RunLimits, RunState, RunView, StepStanding},
    sketched::rounds,
    workflow_steps::WorkflowSteps,
    workflows::MODE,
};

/// The fold of a run's journal, as far as it was read.
#[derive(Debug)]
pub(super) struct FoldedRun {
    view: RunView,
    /// The last entry that was taken in.
    seq: u64,
    frames: Frames,
    facts: Facts,
    /// The usage that its end states.
    spent: Spent,
    graph: graph::Fold,
    waiting: BTreeMap<StepId, (Approval, u64)>,
    /// Answers of persons and their times, by the approval's id.
    decided: BTreeMap<String, (Decision, u64)>,
    /// The steps of a workflow.
    workflow: WorkflowSteps,
}

impl FoldedRun {
    /// State before the first entry, of a run that begins with it. `owner` is the run's agent.
    ///
    /// # Errors
    ///
    /// The entry does not say how a run begins.
    pub(super) fn new(run: &RunId, owner: &str, first: &Entry) -> Result<Self, Error> {
        let view = begun(run, owner, first)?;
        Ok(Self {
            frames: Frames::new(run.as_str(), &view.thread_id, owner),
            graph: graph::Fold::new(owner),
            view,
            seq: 0,
            facts: Facts::default(),
            spent: Spent::default(),
            waiting: BTreeMap::new(),
            decided: BTreeMap::new(),
            workflow: WorkflowSteps::default(),
        })
    }

    /// Takes in what happened next.
    pub(super) fn apply(&mut self, entry: &Entry) {
        self.seq = entry.seq;
        self.facts.apply(&entry.event);
        self.graph.apply(&entry.event);
        self.workflow.apply(&entry.event);
        self.frames.of(entry);
        match &entry.event {
            RunEvent::StepBegun {
                step,
                what: StepRequest::ApprovalAsked(approval),
                at_ms,
                ..
            } => {
                let asked = (approval.clone(), *at_ms);
                self.waiting.insert(step.clone(), asked);
            }
            RunEvent::StepEnded {
                step,
                result,
                at_ms,
                ..
            } => {
                let asked = self.waiting.remove(step);
                if let (Some((asked, _)), StepResult::Decided(decision)) = (asked, result) {
                    self.decided.insert(asked.id, (decision.clone(), *at_ms));
                }
            }
            RunEvent::Ended {
                outcome,
                spent,
                at_ms,
            } => {
                self.spent = *spent;
                self.view.end(outcome, *at_ms);
            }
            _ => {}
        }
    }

    /// The last entry that was taken in.
    pub(super) fn seq(&self) -> u64 {
        self.seq
    }

    /// True if it waits for this approval.
    pub(super) fn waits_for(&self, approval: &str) -> bool {
        self.waiting.values().any(|(asked, _)| asked.id == approval)
    }

    /// A person's answer to an approval and its time, if there is one.
    pub(super) fn decided(&self, approval: &str) -> Option<&(Decision, u64)> {
        self.decided.get(approval)
    }

    /// The brief of an app run.
    pub(super) fn brief(&self) -> Option<Brief> {
        let input = Brief::deserialize(&self.facts.input()["brief"]);
        input.ok().filter(|_| self.view.mode == "app")
    }

    /// The run as it stands.
    pub(super) fn view(&self) -> RunView {
        // Of an old run only its beginning and its end are left.
        let spent = match self.facts.spent() {
            spent if spent == Spent::default() => self.spent,
            spent => spent,
        };
        let is_app = self.view.mode == "app";
        RunView {
            state: self.state(),
            phase: self.frames.phase().to_owned(),
            depth: match is_app {
                true => rounds(&self.view).unwrap_or_else(|| reached(&self.facts).depth),
                false => 0,
            },
            tokens: spent.tokens,
            tokens_estimated: spent.is_estimated,
            calls: spent.calls,
            approvals: self.approvals(),
            ..self.view.clone()
        }
    }

    fn state(&self) -> RunState {
        match (self.facts.ended(), self.facts.stopping()) {
            (Some(RunOutcome::Completed { .. }), _) => RunState::Completed,
            (Some(RunOutcome::Failed { .. }), _) => RunState::Failed,
            (Some(RunOutcome::Cancelled { .. }), _) => RunState::Cancelled,
            (None, Some(RunOutcome::Cancelled { .. })) => RunState::Cancelling,
            (None, None) if !self.waiting.is_empty() => RunState::AwaitingApproval,
            (None, _) => RunState::Working,
        }
    }

    /// The approvals that it waits for.
    pub(super) fn approvals(&self) -> Vec<ApprovalView> {
        let waiting = self.waiting.values();
        waiting
            .map(|(approval, at_ms)| ApprovalView::of(&self.view.id, approval, *at_ms))
            .collect()
    }

    /// The graph of handoffs.
    pub(super) fn graph(&self) -> GraphView {
        self.graph.view()
    }

    /// The latest score of each step that was reviewed.
    pub(super) fn scores(&self) -> BTreeMap<String, f64> {
        self.graph.scores()
    }

    /// The plan; nothing for a run that has none.
    pub(super) fn plan(&self) -> Option<PlanView> {
        if self.view.mode == MODE {
            return self.workflow.plan(self.facts.input());
        }
        let reached = (self.view.mode == "app").then(|| reached(&self.facts))?;
        let ready = reached.ready();
        let is_over = self.facts.ended().is_some();
        let is_refused = |step: &str| reached.steps.get(step).is_some_and(|work| work.is_refused);
        let standing = |step: &str| match reached.steps.get(step).map(|work| work.state) {
            None if is_over => StepStanding::NotReached,
            None if ready.iter().any(|ready| ready == step) => StepStanding::Ready,
            None => StepStanding::Waiting,
            // What was out at the end was called back.
            Some(WorkState::AwaitingApproval | WorkState::Working) if is_over => {
                StepStanding::Cancelled
            }
            Some(WorkState::AwaitingApproval) => StepStanding::AwaitingApproval,
            Some(WorkState::Working) => StepStanding::Working,
            Some(WorkState::Completed) => StepStanding::Completed,
            Some(WorkState::Failed | WorkState::Skipped) if is_refused(step) => {
                StepStanding::Refused
            }
            Some(WorkState::Failed) => StepStanding::Failed,
            Some(WorkState::Skipped) => StepStanding::Skipped,
        };
        let names = reached.plan.steps.keys().map(|name| name.as_str());
        Some(PlanView {
            version: reached.version,
            states: names
                .map(|name| (name.to_owned(), standing(name)))
                .collect(),
            plan: json!(reached.plan),
        })
    }
}

/// A run at its beginning, as this entry has it. `owner` is whose run it is.
///
/// # Errors
///
/// The entry does not say how a run begins.
pub(super) fn begun(run: &RunId, owner: &str, first: &Entry) -> Result<RunView, Error> {
    let RunEvent::Started(started) = &first.event else {
        let why = format!("the journal of run {run} does not say how it began");
        return Err(Error::Unavailable(why));
    };
    let message = Agent::message_of(started);
    let asked = message.as_ref().and_then(Asked::of);
    let text = |pointer: &str| {
        let text = started.input.pointer(pointer).and_then(Value::as_str);
        text.map(str::to_owned)
    };
    let is_app = started.strategy == Orchestrator::NAME;
    let is_chat = started.strategy == ChatTurn.name()
        || asked.as_ref().is_some_and(|a| a.brief.mode == Mode::Chat);
    let said = message.as_ref().map(|message| message.text());
    let objective = text("/brief/objective").or(said.filter(|said| !said.trim().is_empty()));
    let objective = objective.or_else(|| text("/workflow/name"));
    Ok(RunView {
        id: run.to_string(),
        mode: match (is_app, is_chat) {
            (true, _) => "app".to_owned(),
            (_, true) => "chat".to_owned(),
            _ => started.strategy.clone(),
        },
        agent: asked
            .as_ref()
            .and_then(|asked| asked.brief.agent.clone())
            .unwrap_or_else(|| owner.to_owned()),
        thread_id: started.thread.clone(),
        state: RunState::Working,
        objective: objective.or_else(|| text("/words")).unwrap_or_default(),
        created_at: started.at_ms,
        task_id: message.map(|m| m.task_id).unwrap_or_default(),
        parent_task_id: Agent::parent_of(started),
        on_behalf_of: started.on_behalf_of().to_owned(),
        resumes: text("/resumes"),
        series: text("/brief/series").unwrap_or_default(),
        forked: Agent::fork_of(started).map(|fork| ForkedView {
            run: fork.run.to_string(),
            at: fork.at,
        }),
        budget: RunLimits {
            tokens: started.budget.tokens,
            calls: started.budget.calls,
            time_ms: started.budget.time_ms,
        },
        ..RunView::default()
    })
}

impl RunView {
    /// A run that comes.
    pub(super) fn coming(run: &RunId, coming: &Coming) -> Self {
        let brief = &coming.asked.brief;
        Self {
            id: run.to_string(),
            mode: brief.mode.label().to_owned(),
            agent: brief.agent.clone().unwrap_or_else(|| CORTEX.to_owned()),
            thread_id: coming.thread.clone(),
            state: RunState::Submitted,
            objective: brief.objective.clone(),
            created_at: coming.at_ms,
            task_id: coming.task_id.to_string(),
            on_behalf_of: coming.asked.on_behalf_of.clone(),
            resumes: coming.asked.resumes.clone(),
            series: brief.series.clone().unwrap_or_default(),
            ..Self::default()
        }
    }

    /// The same without anything but its state, for who may not see it.
    pub(super) fn but_its_state(self) -> Self {
        Self {
            id: self.id,
            state: self.state,
            created_at: self.created_at,
            ended_at: self.ended_at,
            ..Self::default()
        }
    }

    /// Takes in how it ended.
    pub(super) fn end(&mut self, outcome: &RunOutcome, at_ms: u64) {
        self.ended_at = Some(at_ms);
        match outcome {
            RunOutcome::Completed { text, data, .. } => {
                let shortfall = outcome.shortfall();
                self.undone = match data.get("bundle") {
                    Some(bundle) => left_open(bundle),
                    None => shortfall.as_ref().map(Shortfall::extent),
                };
                let bundle = data.get("bundle").cloned();
                self.result = bundle.or_else(|| Some(answered(text, shortfall.as_ref())));
            }
            RunOutcome::Failed { error } => self.error = Some(error.clone()),
            RunOutcome::Cancelled { reason } => self.error = Some(reason.clone()),
        }
    }
}

/// Extent of what a bundle leaves open: all if nothing was made, a part if its constraints are not met or some of the payload was not
/// taken.
fn left_open(bundle: &Value) -> Option<Undone> {
    let quality = &bundle["quality"];
    let is_all_taken = quality["notTaken"].as_array().is_none_or(Vec::is_empty);
    match (
        quality["made"] != false,
        quality["met"] == true && is_all_taken,
    ) {
        (false, _) => Some(Undone::All),
        (true, false) => Some(Undone::Part),
        (true, true) => None,
    }
}

impl ApprovalView {
    /// The same of a run that is on behalf of this principal.
    pub(super) fn on_behalf_of(self, principal: &str) -> Self {
        Self {
            on_behalf_of: principal.to_owned(),
            ..self
        }
    }

    /// An approval of this run, asked then.
    pub(super) fn of(run: &str, approval: &Approval, asked_at: u64) -> Self {
        Self {
            id: approval.id.clone(),
            run_id: run.to_owned(),
            step: approval.subject.clone(),
            agent: approval.agent.clone(),
            capability: approval.capability.clone(),
            arguments: approval.arguments.clone(),
            digest: approval.digest.clone(),
            asked_at,
            on_behalf_of: String::new(),
        }
    }
}
