//! The steps of runs that hand work to agents: sent again after a crash they are the same, and what became of them is learned
//! wherever it happened meanwhile.

mod relaying;
mod shown;

use std::time::{Duration, SystemTime};

use agenthub_proto::{
    a2a::{Part, TaskState, TaskStatus},
    agenthub::{AgentEventMetadata, Publish, TaskStatusUpdateEvent, publish::Payload},
};
use agenthub_runs::{DelegationResult, EffectFailure, SentHandoff};
use tokio::time::{sleep, timeout};

use self::{relaying::Relayed, shown::Shown};

use crate::{
    Client, Delegation, Error, MAX_HOPS, Outcome, Pending, TaskContext, Updates,
    connection::{Scope, publish},
    correlation,
    delegation::span_of,
    pending::watch::HISTORY,
};

/// Deadline for learning that a task which was called back has ended.
const RECALL: Duration = Duration::from_secs(13);

/// Deadline for room for the last word on such a task.
const LAST_WORD: Duration = Duration::from_secs(1);

/// Pause before the hub is asked again.
const ASK_AGAIN: Duration = Duration::from_millis(200);

/// Work that an agent has, or had, on behalf of a run. Dropping it ends the watching, not the task.
#[derive(Debug)]
pub struct HandedOver {
    pending: Pending,
    delegation: Delegation,
    /// Handed over before, perhaps, so that not all of it was seen here.
    again: bool,
    task: Option<TaskContext>,
    /// Its questions go to the requester of `task`.
    relays: bool,
    shown: Option<Shown>,
}

impl TaskContext {
    /// Hands over what a step of this task's run sends out: in its conversation, on its behalf and as part of its trace. Returns when
    /// the hub has it. In a run that was taken up it may be there already: it is known by its ids then, and its outcome is the same.
    ///
    /// Dropping the future does not take it back; [`recall`](Self::recall) does.
    ///
    /// # Errors
    ///
    /// The hub's refusal.
    pub async fn hand_over(&self, sent: &SentHandoff) -> Result<HandedOver, EffectFailure> {
        let mut delegation = Delegation::of(sent)
            .hops(self.routing().hops.saturating_add(1))
            .parent_task_id(self.task_id())
            .on_behalf_of(self.on_behalf_of())
            .metadata(correlation::KEY, self.correlation_id())
            .trace(self.trace().at_span(span_of(&sent.message_id)));
        if !self.context_id().is_empty() {
            delegation = delegation.context_id(self.context_id());
        }
        if sent.handoff.files {
            delegation = delegation.content(self.message().files().cloned());
        }
        let handed = self.client().hand_over(delegation, self.is_taken_up());
        Ok(handed.await?.on_behalf_of(self))
    }

    /// Calls back what a step handed over, as [`Client::recall`].
    pub async fn recall(&self, sent: &SentHandoff) {
        let reason = self.may_publish().err().map(|error| error.to_string());
        let reason = reason
            .as_deref()
            .unwrap_or("it is not waited for any longer");
        self.client().recall(&sent.task_id, reason).await;
    }
}

/// True if a quota refuses a handover that there is time to wait for.
fn waits_for(error: &Error, left: Duration) -> bool {
    !error.is_used_up() && error.retry_after().is_some_and(|after| after < left)
}

impl Client {
    /// Hands over what a step of a run sends out, see [`Delegation::of`]. Returns when the hub has it. `again` says that it may have been
    /// handed over before.
    ///
    /// # Errors
    ///
    /// The hub's refusal.
    pub async fn hand_over(
        &self,
        delegation: Delegation,
        again: bool,
    ) -> Result<HandedOver, EffectFailure> {
        if delegation.hops > MAX_HOPS {
            let error = Error::TooManyHops {
                task_id: delegation.parent_task_id,
                max: MAX_HOPS,
            };
            return Err(EffectFailure::lasting(error.to_string()));
        }
        let handed = loop {
            match self.delegate_step(&delegation, again).await {
                Err(error) if waits_for(&error, delegation.left(self.now())) => {
                    sleep(error.pause(ASK_AGAIN)).await;
                }
                handed => break handed,
            }
        };
        match handed {
            Ok(pending) => Ok(HandedOver {
                pending,
                delegation,
                again,
                task: None,
                relays: false,
                shown: None,
            }),
            Err(Error::Closed(_)) => never().await,
            Err(error) if error.is_retryable() && !error.is_used_up() => {
                Err(EffectFailure::passing(error.to_string()))
            }
            Err(error) => Err(EffectFailure::lasting(error.to_string())),
        }
    }

    /// Cancels a task that was handed over, and waits until it has ended: until its agent has confirmed that it stopped, or the hub no
    /// longer waits for that. Takes at most 14 s; then the hub is told to end it at once, as soon as it can be told. Fine for a task that
    /// has ended, or that the hub never got.
    pub async fn recall(&self, task_id: &str, reason: &str) {
        if timeout(RECALL, self.stop_task(task_id, reason))
            .await
            .is_err()
        {
            tracing::warn!(
                task_id,
                "a task was called back, but is not known to have ended"
            );
            // The message that makes the task may go out when the hub is back: this goes out behind it.
            let posted = self.link().post(self.end_of(task_id), Scope::Any);
            if !matches!(timeout(LAST_WORD, posted).await, Ok(Ok(()))) {
                tracing::warn!(task_id, "the hub cannot be told that it is called back");
            }
        }
    }

    async fn stop_task(&self, task_id: &str, reason: &str) {
        loop {
            let stopped = match self.cancel_task(task_id, reason).await {
                Err(Error::NotFound(_)) => self.stop_what_is_on_its_way(task_id).await,
                stopped => stopped.map(|task| task.state().is_terminal()),
            };
            match stopped {
                Ok(true) | Err(Error::Conflict(_) | Error::NotFound(_) | Error::Closed(_)) => {
                    return;
                }
                Ok(false) => {}
                Err(error) => tracing::debug!(task_id, %error, "not cancelled yet"),
            }
            sleep(ASK_AGAIN).await;
        }
    }

    /// The message that makes the task may still be under way: this follows it on the same stream.
    async fn stop_what_is_on_its_way(&self, task_id: &str) -> Result<bool, Error> {
        let link = self.link();
        let told = link.publish_one(self.end_of(task_id), Scope::Any, Self::CALL_DEADLINE);
        told.await.map(|_| true)
    }

    /// Ends a task of this client's at once.
    fn end_of(&self, task_id: &str) -> Publish {
        let status = TaskStatus {
            state: TaskState::Cancelled.into(),
            ..Default::default()
        };
        let update = TaskStatusUpdateEvent {
            task_id: task_id.to_owned(),
            status: Some(status),
            r#final: true,
            ..Default::default()
        };
        let routing = AgentEventMetadata {
            from_agent_id: self.agent_id().to_owned(),
            ..Default::default()
        };
        publish(Payload::StatusUpdate(update), routing)
    }
}

impl HandedOver {
    /// Names the task that waits for it: while it [waits](Self::ended), the task lends its place among the deliveries in hand of its agent.
    /// Work that is handed over by [`TaskContext::hand_over`] has it already.
    #[must_use]
    pub fn on_behalf_of(mut self, task: &TaskContext) -> Self {
        self.task = Some(task.clone());
        self
    }

    /// Passes questions of the agent (INPUT_REQUIRED, AUTH_REQUIRED) on to the requester of the task that waits for it, and the answers back,
    /// while it is [waited for](Self::ended). Each is asked once, over crashes of this process, too. Meanwhile the time of the agent's task goes on.
    #[must_use]
    pub fn relaying_questions(mut self) -> Self {
        self.relays = true;
        self
    }

    /// Updates of the agent, in order, see [`Pending::updates`]. What it showed before the run was taken up is not among them.
    pub fn updates(&mut self) -> Updates {
        let (shown, updates) = Shown::new();
        self.shown = Some(shown);
        updates
    }

    /// Waits for what becomes of it. An agent that asks back is called back where there is nobody to answer. Does not return once the
    /// connection is closed for good: the run goes on in another process. Dropping the future ends the waiting, not the task.
    pub async fn ended(self) -> DelegationResult {
        let Self {
            pending,
            delegation,
            again,
            task,
            relays,
            mut shown,
        } = self;
        let client = pending.client.clone();
        let task_id = pending.task_id.clone();
        let _lent = match &task {
            Some(task) => task.lend_slot().await,
            None => None,
        };
        let mut outcome = outcome_of(pending, &mut shown).await;
        if let Ok(seen) = &mut outcome
            && again
            && let Ok(task) = client.task(&task_id, HISTORY).await
        {
            let spent = seen.spent;
            *seen = Outcome::of(&task);
            seen.spent = spent.or(seen.spent);
        }
        while let Ok(asked) = &outcome
            && asked.state.is_interrupted()
        {
            let relayed = match &task {
                Some(task) if relays => relaying::relay(task, &client, &delegation, asked).await,
                Some(_) | None => Ok(Relayed::Nobody),
            };
            outcome = match relayed {
                Ok(Relayed::Outcome(outcome)) => Ok(*outcome),
                Ok(Relayed::Waits(pending)) => outcome_of(*pending, &mut shown).await,
                Ok(Relayed::Nobody) | Err(Error::Cancelled(_)) => {
                    let why = "nobody can answer the question";
                    client.recall(&task_id, why).await;
                    break;
                }
                Err(Error::Closed(_)) => return never().await,
                Err(error) => {
                    let why = "the question could not be passed on";
                    client.recall(&task_id, why).await;
                    Err(error)
                }
            };
        }
        delegated(&delegation, outcome, client.now())
    }
}

/// Waits for the outcome; for ever once the connection is closed for good.
async fn outcome_of(pending: Pending, shown: &mut Option<Shown>) -> Result<Outcome, Error> {
    let outcome = match shown {
        Some(shown) => shown.follow(pending).await,
        None => pending.outcome().await,
    };
    match outcome {
        Err(Error::Closed(_)) => never().await,
        outcome => outcome,
    }
}

/// Report on work that has ended, or of which nothing more will be known.
fn delegated(
    delegation: &Delegation,
    outcome: Result<Outcome, Error>,
    now: SystemTime,
) -> DelegationResult {
    let is_late = delegation.deadline.is_some_and(|at| at <= now);
    let agent = delegation.agent.split('@').next().unwrap_or_default();
    let without = |state: &str, error: String| DelegationResult {
        agent: agent.to_owned(),
        state: state.to_owned(),
        error,
        ..DelegationResult::default()
    };
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(error @ Error::DeadlineExceeded { .. }) => {
            return without("timed-out", error.to_string());
        }
        Err(Error::Cancelled(reason)) => return without("cancelled", reason),
        Err(error) if is_late => return without("timed-out", error.to_string()),
        Err(error) => return without("lost", error.to_string()),
    };
    let state = match outcome.state {
        // The hub may be the first to see that the time is over.
        TaskState::Failed if is_late => "timed-out",
        TaskState::AuthRequired => TaskState::InputRequired.label(),
        state => state.label(),
    };
    let parts = outcome.artifacts.iter().flat_map(|a| &a.parts);
    let message = outcome.message.iter().flat_map(|m| &m.content);
    DelegationResult {
        agent: match outcome.agent.is_empty() {
            true => agent.to_owned(),
            false => outcome.agent,
        },
        state: state.to_owned(),
        text: outcome.text,
        data: parts.chain(message).filter_map(Part::as_data).collect(),
        error: outcome.error,
        spent: outcome.spent,
        model: outcome.model,
    }
}

/// The connection is closed for good: what a step would say is for another process to find out.
async fn never<T>() -> T {
    std::future::pending().await
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Issue 25: the SDK comes back after the time that it is told, if there is time for it.
    #[test]
    fn a_handover_waits_for_a_quota_that_has_room_in_time() {
        let second = Duration::from_secs(1);
        let of = |retry_after| Error::OverQuota {
            reason: "no room".to_owned(),
            retry_after,
        };
        assert!(waits_for(&of(Some(2 * second)), 10 * second));
        assert!(
            !waits_for(&of(Some(2 * second)), second),
            "it would be late"
        );
        assert!(
            !waits_for(&of(Some(61 * second)), 1000 * second),
            "another day"
        );
        assert!(!waits_for(&of(None), 10 * second), "nobody knows when");
        assert!(!waits_for(&Error::Busy("no room".to_owned()), 10 * second));
    }
}
