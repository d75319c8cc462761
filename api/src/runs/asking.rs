//! Runs that are asked for with a message to the agent that will have them.

use std::time::{Duration, SystemTime};

use agenthub_cortex::{CORTEX, StartError};
use agenthub_sdk::{
    Error as HubError, Failure, Message,
    proto::{a2a::TaskState, agenthub::AgentEventMetadata},
    runs::RunId,
};
use tokio::time::{Instant, sleep};

use super::{
    Inner,
    error::Error,
    resources::{RunState, RunView, StartedRun},
};

/// Deadline for the run to begin.
const BEGINNING: Duration = Duration::from_secs(5);

/// Pause between looks whether it has begun.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// A run to ask for.
#[derive(Debug)]
pub(super) struct AskedRun {
    pub(super) message: Message,
    pub(super) routing: AgentEventMetadata,
    /// The run that the agent makes of the message.
    pub(super) run: RunId,
    /// The run as it is told of while it has not begun.
    pub(super) view: RunView,
    /// Its idempotency key, of which the ids follow.
    pub(super) key: Option<String>,
}

/// The reason why an agent makes no run of a message, and the field that it is because of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) why: String,
    pub(super) field: Option<String>,
}

impl From<&Failure> for Refusal {
    fn from(failure: &Failure) -> Self {
        Self {
            why: failure.to_string(),
            field: failure.field().map(str::to_owned),
        }
    }
}

impl Inner {
    /// Sends the message. Returns when the run has begun or after 5 s. `refused` makes an error of the reason why there is none.
    ///
    /// # Errors
    ///
    /// The one that `refused` makes, [`Error::KeyReused`], [`Error::Unavailable`].
    pub(super) async fn ask_for(
        &self,
        asked: AskedRun,
        refused: impl Fn(Refusal) -> Error,
    ) -> Result<StartedRun, Error> {
        let client = self.cortex.client();
        let task_id = asked.message.task_id.clone();
        let (key, run) = (asked.key, asked.run);
        if asked.routing.to_agent_id == CORTEX {
            // An agent takes no messages of its own.
            match self.cortex.begin_of(asked.message, asked.routing).await {
                Ok(()) => {}
                Err(StartError::Refused(failure)) => {
                    return Err(refused(Refusal::from(&failure)));
                }
                Err(error) => return Err(not_begun(error, key, &run)),
            }
        } else {
            match client.publish(asked.message, asked.routing).await {
                Ok(_) => {}
                Err(HubError::Invalid(why)) => return Err(refused(Refusal { why, field: None })),
                Err(error) => return Err(not_begun(error.into(), key, &run)),
            }
        }
        let begin = Instant::now();
        loop {
            match self.get(run.as_str()).await {
                Ok(run) => return Ok(StartedRun { run, is_new: true }),
                Err(Error::NotFound { .. }) => {}
                Err(error) => return Err(error),
            }
            match client.task(&task_id, 1).await {
                Ok(task) if task.state() == TaskState::Rejected => {
                    return Err(refused(Refusal {
                        field: Failure::field_of(&task).map(str::to_owned),
                        why: task.status.map(|status| status.text()).unwrap_or_default(),
                    }));
                }
                Ok(_) | Err(HubError::NotFound(_)) => {}
                Err(error) if error.is_retryable() => {}
                Err(error) => return Err(Error::Unavailable(error.to_string())),
            }
            if begin.elapsed() > BEGINNING {
                let run = asked.view;
                return Ok(StartedRun { run, is_new: true });
            }
            sleep(LOOK_AGAIN).await;
        }
    }
}

/// The error of a run that does not begin. The hub knows a message of a try that was refused, of which there is no run.
fn not_begun(error: StartError, key: Option<String>, run: &RunId) -> Error {
    match (error, key) {
        (StartError::Conflict(_), Some(key)) => Error::KeyReused {
            key,
            run: run.to_string(),
        },
        (error, _) => error.into(),
    }
}

/// A run of this mode and agent that has not begun.
pub(super) fn submitted(
    run: &RunId,
    (mode, agent): (&str, &str),
    task_id: &str,
    objective: &str,
) -> RunView {
    RunView {
        id: run.to_string(),
        mode: mode.to_owned(),
        agent: agent.to_owned(),
        thread_id: task_id.to_owned(),
        state: RunState::Submitted,
        created_at: now_ms(),
        objective: objective.to_owned(),
        task_id: task_id.to_owned(),
        ..RunView::default()
    }
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_request_under_the_key_of_a_refused_one_is_a_conflict() {
        let conflict = || StartError::from(HubError::Conflict("published before".to_owned()));
        let run = RunId::new("r");
        let error = not_begun(conflict(), Some("k".to_owned()), &run);
        assert!(matches!(error, Error::KeyReused { .. }), "{error}");
        let error = not_begun(conflict(), None, &run);
        assert!(matches!(error, Error::Refused(_)), "{error}");
        let busy = StartError::from(HubError::Busy("full".to_owned()));
        let error = not_begun(busy, Some("k".to_owned()), &run);
        assert!(matches!(error, Error::Unavailable(_)), "{error}");
    }
}
