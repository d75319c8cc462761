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
    reading::{EndedRuns, Shelf},
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

    /// The same; of a run that is over, the journal is read once.
    ///
    /// # Errors
    ///
    /// As [`sketch`](Self::sketch).
    pub(super) async fn sketch_once(
        &self,
        listed: &ListedRun,
        ended: &EndedRuns,
    ) -> Result<RunView, Error> {
        if listed.state != State::Working
            && let Some(view) = ended.get(&listed.run)
        {
            return Ok(view);
        }
        let view = self.sketch(listed).await?;
        ended.keep(&listed.run, &view);
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

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use agenthub_sdk::runs::{
        Budget, Journal, RunId, RunOutcome, RunStarted, Spent,
        journal::{Claim, Filter, MemoryJournal},
    };
    use serde_json::Value;

    use super::*;

    fn shelf(journal: MemoryJournal) -> Shelf {
        Shelf {
            journal: Arc::new(journal),
            owner: String::new(),
        }
    }

    /// Issue 26, cost: a page that is open reads nothing of runs that are over.
    #[tokio::test]
    async fn the_journal_of_a_run_that_is_over_is_read_once() {
        let started = RunEvent::Started(RunStarted {
            strategy: "tool_loop".to_owned(),
            input: Value::Null,
            thread: String::new(),
            origin: Value::Null,
            budget: Budget::default(),
            deadline_ms: None,
            at_ms: 0,
        });
        let over = RunEvent::Ended {
            outcome: RunOutcome::Failed {
                error: "it broke".to_owned(),
            },
            spent: Spent::default(),
            at_ms: 5,
        };
        let journal = MemoryJournal::default();
        let claim = Claim {
            driver: "d",
            lease: Duration::from_secs(60),
        };
        let (ended, entries) = (RunId::new("over"), [started.clone(), over]);
        let added = journal.add(&ended, "o", &entries).await;
        added.expect("it is new");
        let working = RunId::new("working");
        let opened = journal.open(&working, "o", claim, &[started]).await;
        opened.expect("it is new");
        let filter = Filter {
            limit: 9,
            ..Filter::default()
        };
        let listed = journal.list(&filter).await.expect("they are there");
        assert_eq!(listed.len(), 2);
        let (there, gone) = (shelf(journal), shelf(MemoryJournal::default()));
        let ended = EndedRuns::default();
        for row in &listed {
            let first = there.sketch_once(row, &ended).await.expect("it is read");
            let again = gone.sketch_once(row, &ended).await;
            match row.state {
                State::Working => assert!(again.is_err(), "it may have changed"),
                _ => assert_eq!(again.expect("it is known").state, first.state),
            }
        }
    }
}
