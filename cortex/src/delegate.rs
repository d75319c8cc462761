//! Hands one task to one agent and waits for what becomes of it.

use std::time::Duration;

use agenthub_proto::a2a::TaskState;
use agenthub_sdk::{Delegation, Directory, Error, Outcome, Update};
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::{
    decision::TaskRequest,
    frame::{Frame, Handoff, Stage},
    origin::{CORTEX, Origin},
    outcome::{End, TaskOutcome},
    view::View,
};

/// A task on its way to an agent.
#[derive(Debug)]
pub(crate) struct DelegatedTask {
    pub(crate) request: TaskRequest,
    /// The user's words.
    pub(crate) words: String,
    pub(crate) context_id: String,
    /// The time for all of it.
    pub(crate) limit: Duration,
    /// How long an agent may be gone before the task is given up.
    pub(crate) away_grace: Duration,
    pub(crate) origin: Origin,
    pub(crate) view: View,
    pub(crate) cancel: CancellationToken,
}

impl DelegatedTask {
    /// Runs it. Always ends, with what became of the task: at the latest a moment after its limit. A task that is given up, or
    /// that waits for an answer, is cancelled.
    pub(crate) async fn run(self) -> TaskOutcome {
        let outcome = self.delegate().await;
        let text = match &outcome.end {
            End::Completed => "is done".to_owned(),
            End::WentAway => "went away".to_owned(),
            end => end.label().to_owned(),
        };
        self.show(Stage::Returned, text, "").await;
        outcome
    }

    async fn delegate(&self) -> TaskOutcome {
        let task_id = Uuid::now_v7().to_string();
        let deadline = Instant::now() + self.limit;
        self.show(Stage::Requested, String::new(), &task_id).await;
        let ended = tokio::select! {
            ended = self.send_and_wait(&task_id) => ended,
            () = self.cancel.cancelled() => Err(cancelled()),
            () = sleep_until(deadline) => Err(self.timed_out()),
        };
        let (outcome, is_open) = match ended {
            // The hub may be the first to see that the time is over.
            Ok(outcome) if outcome.state == TaskState::Failed && Instant::now() >= deadline => {
                (self.ended(self.timed_out()), false)
            }
            Ok(outcome) => (self.outcome(&outcome), outcome.state.is_interrupted()),
            Err(end) => (self.ended(end), true),
        };
        if is_open {
            self.give_up(&task_id).await;
        }
        outcome
    }

    async fn send_and_wait(&self, task_id: &str) -> Result<Outcome, End> {
        let delegation = self.delegation().task_id(task_id);
        let sent = self.origin.delegate(delegation).await;
        let mut pending = sent.map_err(|error| self.end_of(&error))?;
        self.show(Stage::Occurred, String::new(), task_id).await;

        let mut updates = pending.updates();
        let directory = self.origin.client().directory();
        let away = away(&directory, &self.request.target, self.away_grace);
        tokio::pin!(away);
        loop {
            tokio::select! {
                update = updates.next() => match update {
                    Some(update) => self.show_progress(&update, task_id).await,
                    None => break,
                },
                () = &mut away => return Err(End::WentAway),
            }
        }
        // The updates end with the outcome, so it is there.
        let outcome = pending.outcome().await;
        outcome.map_err(|error| self.end_of(&error))
    }

    /// Cancels a task whose outcome is not waited for, if the hub has it.
    async fn give_up(&self, task_id: &str) {
        let reason = "Cortex does not wait for it any longer";
        match self.origin.client().cancel_task(task_id, reason).await {
            Ok(_) | Err(Error::Conflict(_) | Error::NotFound(_)) => {}
            Err(error) => {
                tracing::warn!(task_id, %error, "a task that is given up could not be cancelled");
            }
        }
    }

    fn outcome(&self, outcome: &Outcome) -> TaskOutcome {
        let TaskRequest {
            target,
            task_type,
            correlation_id,
            ..
        } = &self.request;
        TaskOutcome::of(target, task_type, correlation_id, outcome)
    }

    fn delegation(&self) -> Delegation {
        let mut delegation = Delegation::to(&*self.request.target)
            .capability(&*self.request.task_type)
            .text(&*self.words)
            .context_id(&*self.context_id)
            .timeout(self.limit)
            .metadata("correlation_id", &*self.request.correlation_id);
        if let Some(payload) = &self.request.payload {
            delegation = delegation.payload(payload.clone());
        }
        delegation
    }

    fn ended(&self, end: End) -> TaskOutcome {
        let TaskRequest {
            target,
            task_type,
            correlation_id,
            ..
        } = &self.request;
        TaskOutcome::without_result(target, task_type, correlation_id, end)
    }

    fn timed_out(&self) -> End {
        End::TimedOut(self.limit.as_secs().max(1))
    }

    fn end_of(&self, error: &Error) -> End {
        match error {
            Error::DeadlineExceeded { .. } => self.timed_out(),
            Error::Cancelled(reason) => End::Cancelled(reason.clone()),
            Error::Lost { .. }
            | Error::Closed(_)
            | Error::NoHub { .. }
            | Error::Unavailable(_)
            | Error::Timeout(_) => End::Lost(error.to_string()),
            error => End::Failed(error.to_string()),
        }
    }

    async fn show_progress(&self, update: &Update, task_id: &str) {
        let Update::Status(update) = update else {
            return;
        };
        let Some(status) = &update.status else {
            return;
        };
        let text = status.text();
        if !status.state().is_terminal() && !text.is_empty() {
            self.show(Stage::Progress, text, task_id).await;
        }
    }

    async fn show(&self, stage: Stage, text: String, task_id: &str) {
        let agent = self.request.target.clone();
        let (from, to) = match stage {
            Stage::Requested | Stage::Occurred => (CORTEX.to_owned(), agent),
            Stage::Progress | Stage::Returned => (agent, CORTEX.to_owned()),
        };
        let handoff = Handoff {
            stage,
            from,
            to,
            task_id: task_id.to_owned(),
            text,
        };
        self.view.show(Frame::Handoff(handoff)).await;
    }
}

fn cancelled() -> End {
    End::Cancelled("the request was cancelled".to_owned())
}

/// Ends when the agent has been gone for as long as the grace.
async fn away(directory: &Directory, agent: &str, grace: Duration) {
    let mut changed = directory.changed();
    let is_here = || directory.get(agent).is_some_and(|entry| entry.online);
    loop {
        changed.mark_unchanged();
        if is_here() {
            if changed.changed().await.is_err() {
                return std::future::pending().await;
            }
            continue;
        }
        sleep(grace).await;
        if !is_here() {
            return;
        }
    }
}
