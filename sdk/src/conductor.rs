//! Conductors, which make runs of messages.

use std::{fmt, sync::Arc};

use agenthub_proto::a2a::{Message, Part, Role};
use agenthub_runs::{Budget, RunId, RunOutcome, Strategy, World};
use serde_json::Value;

use crate::{Failure, Reply, TaskContext};

/// Makes runs of an agent's messages. The SDK keeps their journal, takes up what another process left, hands cancellation on, and
/// tells the requester how a run ended.
pub trait Conductor: fmt::Debug + Send + Sync {
    /// The strategy of the runs.
    fn strategy(&self) -> &dyn Strategy;

    /// The beginning of this message's run. Called in the order of the mailbox within a conversation, one at a time, so it is quick.
    ///
    /// # Errors
    ///
    /// There will be no run; the task ends so.
    fn begin(&self, task: &TaskContext) -> Result<Beginning, Failure>;

    /// The world in which the run acts. Called right after [`begin`](Self::begin), or in the process that takes the run up.
    /// [`World::conclude`] is called before the requester is told, with the same result.
    fn world(&self, task: &TaskContext, run: &RunId) -> Arc<dyn World>;

    /// Attributes of the spans of its runs.
    fn identity(&self) -> Identity {
        Identity::default()
    }

    /// The answer to the requester: the text, and what it lacks if it lacks something.
    ///
    /// # Errors
    ///
    /// The task was not completed.
    fn reply(&self, _task: &TaskContext, outcome: &RunOutcome) -> Result<Reply, Failure> {
        match outcome {
            RunOutcome::Completed { text, .. } => {
                let mut message = Message::new(Role::Agent, text);
                let shortfall = outcome.shortfall().map(|shortfall| shortfall.to_json());
                message.content.extend(shortfall.as_ref().map(Part::data));
                Ok(message.into())
            }
            RunOutcome::Failed { error } => Err(Failure::failed(error)),
            RunOutcome::Cancelled { reason } => Err(Failure::cancelled(reason)),
        }
    }
}

/// Attributes of spans and log lines of a run that its journal does not have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// The model that is asked, as `provider/model`; empty if none is.
    pub model: String,
    /// The name of the workflow that a run is; empty where it is an agent at work.
    pub workflow: String,
}

/// Beginning of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Beginning {
    /// Input of the strategy.
    pub input: Value,
    /// Budget of the run; what the requester granted limits it further.
    pub budget: Budget,
}
