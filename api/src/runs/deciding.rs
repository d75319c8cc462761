//! Decisions on a run: answering approvals, calling it back, going on from it.

use std::{sync::Arc, time::Duration};

use agenthub_cortex::{
    Asked, CORTEX,
    brief::{Brief, Budget, Constraints},
};
use agenthub_sdk::{
    Error as HubError,
    runs::{Decision, RunId},
};
use tokio::time::timeout;

use super::{
    Inner,
    error::Error,
    folded::FoldedRun,
    reading::Shelf,
    resources::{RunState, RunView, StartedRun},
};

/// Deadline for the journal to have what was done.
const WRITTEN: Duration = Duration::from_secs(5);

impl Inner {
    /// Calls a run back.
    pub(super) async fn cancel(&self, id: &str, reason: &str) -> Result<RunView, Error> {
        let view = self.get(id).await?;
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
        let stopped = self.until(id, |known| {
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
        self.get(id).await
    }

    /// Answers an approval.
    pub(super) async fn decide(
        &self,
        id: &str,
        approval: &str,
        decision: Decision,
    ) -> Result<RunView, Error> {
        let (shelf, run) = self.find(id).await?;
        let not_pending = || Error::NotPending {
            run: id.to_owned(),
            approval: approval.to_owned(),
        };
        let own = self.cortex.live();
        let is_elsewhere = !own.answer(&run, approval, decision.clone());
        if is_elsewhere {
            if !shelf.known(&run).await?.waits_for(approval) {
                return Err(not_pending());
            }
            if shelf.owner.is_empty() || shelf.owner == CORTEX {
                return Err(Error::Unavailable(format!("nobody drives run {id} yet")));
            }
            let operator = self.cortex.client().operator();
            let sent = operator.decide(&shelf.owner, &run, approval, decision.clone());
            sent.await
                .map_err(|error| Error::Unavailable(error.to_string()))?;
        }
        let written = self.until(id, |known| !known.waits_for(approval));
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
        if is_elsewhere && shelf.known(&run).await?.decided(approval) != Some(&decision) {
            return Err(not_pending());
        }
        self.get(id).await
    }

    /// Waits until this is so.
    async fn until(&self, id: &str, is_so: impl Fn(&FoldedRun) -> bool) -> Result<(), Error> {
        let mut watched = self.cortex.live().watch(&RunId::new(id));
        let (shelf, run, mut known) = loop {
            match self.known(id).await {
                Ok(known) => break known,
                // It has not begun.
                Err(Error::NotFound { .. })
                    if self.cortex.live().coming(&RunId::new(id)).is_some() =>
                {
                    watched.more_than(0).await;
                }
                Err(error) => return Err(error),
            }
        };
        while !is_so(&known) {
            watched.more_than(known.seq()).await;
            shelf.catch_up(&run, &mut known).await?;
        }
        Ok(())
    }

    async fn known(&self, id: &str) -> Result<(Shelf, RunId, FoldedRun), Error> {
        let (shelf, run) = self.find(id).await?;
        let known = shelf.known(&run).await?;
        Ok((shelf, run, known))
    }

    /// Goes on from a run that is over.
    pub(super) async fn resume(
        self: &Arc<Self>,
        id: &str,
        constraints: Constraints,
        budget: Budget,
    ) -> Result<StartedRun, Error> {
        let view = self.get(id).await?;
        if !view.state.is_over() {
            return Err(Error::Active {
                run: id.to_owned(),
                state: view.state.label().to_owned(),
            });
        }
        let (_, _, known) = self.known(id).await?;
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
