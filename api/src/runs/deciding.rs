//! Decisions on a run: answering approvals, calling it back, going on from it.

use std::{sync::Arc, time::Duration};

use agenthub_cortex::{
    Asked, CORTEX,
    brief::{Brief, Budget, Constraints},
};
use agenthub_sdk::{Error as HubError, runs::Decision};
use tokio::time::timeout;

use super::{
    Inner,
    error::{Decided, Error},
    folded::FoldedRun,
    resources::{RunState, RunView, StartedRun, timestamp},
    viewer::{FoundRun, Viewer},
};

/// Deadline for the journal to have what was done.
const WRITTEN: Duration = Duration::from_secs(5);

/// Time for an answer that was taken to be in the journal, and for a run to ask again that is taken up after a crash.
const ON_ITS_WAY: Duration = Duration::from_secs(4);

/// The run does not wait for the approval, and who decided it if anybody did.
fn not_pending(known: &FoldedRun, approval: &str) -> Error {
    let decided = known.decided(approval).map(|(decision, at_ms)| {
        let answer = if decision.approved {
            "allowed"
        } else {
            "refused"
        };
        Decided {
            answer,
            by: decision.by.clone(),
            at: timestamp(at_ms / 1_000 * 1_000).to_string(),
        }
    });
    Error::NotPending {
        run: known.view().id,
        approval: approval.to_owned(),
        decided,
    }
}

impl Inner {
    /// Calls a run back.
    pub(super) async fn cancel(&self, found: &FoundRun, reason: &str) -> Result<RunView, Error> {
        let view = self.view_of(found).await?;
        let id = found.run.as_str();
        match view.state {
            RunState::Cancelled | RunState::Cancelling => return Ok(view),
            state if state.is_over() => {
                return Err(Error::NotActive {
                    run: id.to_owned(),
                    state: state.label().to_owned(),
                });
            }
            _ => {}
        }
        if view.task_id.is_empty() {
            let why = format!("run {id} has no task that could be called back");
            return Err(Error::Unsuitable(why));
        }
        // The hub answers when the agent has stopped, which who asks need not wait for.
        let client = self.cortex.client().clone();
        let (task_id, reason) = (view.task_id.clone(), reason.to_owned());
        let (said, told) = tokio::sync::oneshot::channel();
        self.cortex.keep(async move {
            let cancelled = client.cancel_task(&task_id, &reason).await;
            // Who asked may be gone.
            let _ = said.send(cancelled.map(drop));
        });
        let stopped = self.until(found, |known| {
            let state = known.view().state;
            state.is_over() || state == RunState::Cancelling
        });
        tokio::select! {
            stopped = timeout(WRITTEN, stopped) => match stopped {
                // It was called back before it began, and never does.
                Ok(Err(Error::NotFound { .. })) => {
                    return Ok(RunView {
                        state: RunState::Cancelled,
                        ..view
                    });
                }
                Ok(stopped) => stopped?,
                Err(_) => {}
            },
            refused = refused(told) => match refused {
                HubError::Conflict(_) | HubError::NotFound(_) => {}
                error => return Err(Error::Unavailable(error.to_string())),
            },
        }
        self.view_of(found).await
    }

    /// Answers an approval.
    pub(super) async fn decide(
        &self,
        found: &FoundRun,
        approval: &str,
        decision: Decision,
    ) -> Result<RunView, Error> {
        let (shelf, run) = self.recorded(found).await?;
        let id = run.as_str();
        let own = self.cortex.live();
        let is_elsewhere = !own.answer(&run, approval, decision.clone());
        if is_elsewhere {
            let known = shelf.known(&run).await?;
            if !known.waits_for(approval) {
                return Err(not_pending(&known, approval));
            }
            if shelf.owner.is_empty() || shelf.owner == CORTEX {
                let answered = self.until(found, |known| !known.waits_for(approval));
                tokio::select! {
                    answered = timeout(ON_ITS_WAY, answered) => {
                        return Err(match answered {
                            Ok(Ok(())) => not_pending(&shelf.known(&run).await?, approval),
                            _ => Error::Unavailable(format!("nobody drives run {id} yet")),
                        });
                    }
                    () = own.asks(&run, approval) => {
                        // Where another answer is before this one, the journal says so.
                        own.answer(&run, approval, decision.clone());
                    }
                }
            } else {
                let operator = self.cortex.client().operator();
                let sent = operator.decide(&shelf.owner, &run, approval, decision.clone());
                sent.await
                    .map_err(|error| Error::Unavailable(error.to_string()))?;
            }
        }
        let written = self.until(found, |known| !known.waits_for(approval));
        match timeout(WRITTEN, written).await {
            Ok(written) => written?,
            Err(_) => {
                let why = format!(
                    "the decision is not written down yet: ask again whether run {id} still waits for {approval}"
                );
                return Err(Error::Unavailable(why));
            }
        }
        // Another answer may have reached the agent before.
        if is_elsewhere {
            let known = shelf.known(&run).await?;
            let decided = known.decided(approval).map(|(decided, _)| decided);
            if decided != Some(&decision) {
                return Err(not_pending(&known, approval));
            }
        }
        self.view_of(found).await
    }

    /// Waits until this is so.
    async fn until(
        &self,
        found: &FoundRun,
        is_so: impl Fn(&FoldedRun) -> bool,
    ) -> Result<(), Error> {
        let (shelf, run) = self.once_begun(found).await?;
        let mut watched = self.cortex.live().watch(&run);
        let mut known = shelf.known(&run).await?;
        while !is_so(&known) {
            watched.more_than(known.seq()).await;
            shelf.catch_up(&run, &mut known).await?;
        }
        Ok(())
    }

    /// Goes on from a run that is over.
    pub(super) async fn resume(
        self: &Arc<Self>,
        viewer: &Viewer,
        found: &FoundRun,
        constraints: Constraints,
        budget: Budget,
    ) -> Result<StartedRun, Error> {
        let view = self.view_of(found).await?;
        let id = found.run.as_str();
        if !view.state.is_over() {
            return Err(Error::Active {
                run: id.to_owned(),
                state: view.state.label().to_owned(),
            });
        }
        let (shelf, run) = self.recorded(found).await?;
        let known = shelf.known(&run).await?;
        let Some(before) = known.brief() else {
            let why = format!("run {id} has no plan to go on from");
            return Err(Error::Unsuitable(why));
        };
        let brief = Brief {
            constraints: constraints.over(before.constraints.clone()),
            budget: budget.over(before.budget),
            thread_id: Some(view.thread_id),
            ..before
        };
        brief.check()?;
        let asked = Asked {
            brief,
            key: None,
            resumes: Some(id.to_owned()),
            on_behalf_of: viewer.principal().to_owned(),
            trace: None,
        };
        self.begin(asked).await
    }
}

/// Waits until the hub refuses; for ever if it does not.
async fn refused(told: tokio::sync::oneshot::Receiver<Result<(), HubError>>) -> HubError {
    match told.await {
        Ok(Err(error)) => error,
        Ok(Ok(())) | Err(_) => std::future::pending().await,
    }
}
