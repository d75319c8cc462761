//! Conductors, which make runs of messages.

use std::{fmt, sync::Arc};

use agenthub_proto::a2a::{Message, Part, Role};
use agenthub_runs::{Budget, RunId, RunOutcome, Strategy, World};
use serde_json::Value;

use crate::{Failure, ForkChanges, Reply, TaskContext};

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

    /// The input of a fork of one of its runs, which had the input `recorded`. Takes no changes by default. The fork has been begun like any
    /// other run, with what it finds in its message; of that, this takes the place.
    ///
    /// # Errors
    ///
    /// There will be no fork; its task ends so.
    fn fork(&self, recorded: Value, changes: &ForkChanges) -> Result<Value, Failure> {
        let strategy = self.strategy().name();
        let taken = [
            ("model", changes.model.is_some()),
            ("instructions", changes.instructions.is_some()),
            ("input", changes.input.is_some()),
        ];
        match taken.iter().find(|(_, is_given)| *is_given) {
            Some((field, _)) => {
                let why =
                    format!("a fork of a run by the strategy {strategy} takes no other {field}");
                Err(Failure::rejected(why).at(*field))
            }
            None => Ok(recorded),
        }
    }

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
