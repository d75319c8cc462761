//! State of a run, as lists show it: from what its journal keeps beside the events, and a few of these: the first one, the last one of a
//! run that is over, and the questions to people that are open. However long the journal is, no other is read.

use agenthub_cortex::{ChatTurn, phase_of};
use agenthub_sdk::runs::{
    RunEvent, StepRequest, Strategy,
    journal::{Entry, ListedRun, State, Summary},
};

use super::{
    error::Error,
    folded::begun,
    reading::Shelf,
    resources::{ApprovalView, RunState, RunView},
};

impl Shelf {
    /// The run of a row.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::Unavailable`].
    pub(super) async fn sketch(&self, listed: &ListedRun) -> Result<RunView, Error> {
        let first = self.at(listed, 1).await?;
        let mut view = begun(&listed.run, &self.owner, &first)?;
        let summary = listed.summary.clone().unwrap_or_default();
        let is_over = listed.state != State::Working;
        if is_over {
            let last = self.at(listed, listed.last).await?;
            if let RunEvent::Ended { outcome, at_ms, .. } = &last.event {
                view.end(outcome, *at_ms);
            }
        } else {
            for place in summary.pending_approvals() {
                let asked = self.at(listed, place).await?;
                view.approvals.extend(asked_for(&view.id, &asked));
            }
        }
        view.state = state_of(listed);
        view.phase = phase(listed, &summary);
        view.tokens = summary.spent.tokens;
        view.tokens_estimated = summary.spent.is_estimated;
        view.calls = summary.spent.calls;
        if view.mode == "app" {
            view.depth = rounds(&view).unwrap_or(summary.round);
        }
        Ok(view)
    }

    async fn at(&self, listed: &ListedRun, place: u64) -> Result<Entry, Error> {
        let entries = self.read(&listed.run, place.saturating_sub(1), 1).await?;
        let entry = entries.into_iter().next();
        entry.ok_or_else(|| Error::no_run(listed.run.as_str()))
    }
}

/// State of the run of a row.
pub(super) fn state_of(listed: &ListedRun) -> RunState {
    let summary = listed.summary.as_ref();
    let waits = || summary.is_some_and(Summary::asks);
    match (listed.state, summary.and_then(|summary| summary.stopping)) {
        (State::Completed, _) => RunState::Completed,
        (State::Failed, _) => RunState::Failed,
        (State::Cancelled, _) => RunState::Cancelled,
        (State::Working, Some(State::Cancelled)) => RunState::Cancelling,
        (State::Working, None) if waits() => RunState::AwaitingApproval,
        (State::Working, _) => RunState::Working,
    }
}

/// Chat turns note no phase: it follows from the question that the model was asked last.
fn phase(listed: &ListedRun, summary: &Summary) -> String {
    let question = summary.question.as_ref();
    match question.filter(|_| listed.strategy == ChatTurn.name()) {
        Some(question) => phase_of(question).name().to_owned(),
        None => summary.phase.clone(),
    }
}

/// Number of rounds, as the bundle says.
pub(super) fn rounds(view: &RunView) -> Option<u32> {
    let rounds = view.result.as_ref()?.pointer("/quality/depth")?;
    rounds
        .as_u64()
        .and_then(|rounds| u32::try_from(rounds).ok())
}

fn asked_for(run: &str, asked: &Entry) -> Option<ApprovalView> {
    match &asked.event {
        RunEvent::StepBegun {
            what: StepRequest::ApprovalAsked(approval),
            at_ms,
            ..
        } => Some(ApprovalView::of(run, approval, *at_ms)),
        _ => None,
    }
}
