//! Forks of runs, as they are asked for: in the metadata of a message that is otherwise the one that the run began with.

use std::sync::Arc;

use agenthub_proto::a2a::Message;
use agenthub_runs::{RunId, RunStarted};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Agent, TaskContext,
    model::{Completion, DeltaSink, LanguageModel, ModelError, Request, named},
};

/// Field of a message's metadata.
const FORK: &str = "agenthub.fork";

/// A request for a fork of a run: a run that begins with what the other had recorded up to one of its events.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ForkRequest {
    /// The run.
    pub run: RunId,
    /// Number of the event in its journal, from 1.
    pub at: u64,
    /// Differences from the run.
    #[serde(flatten)]
    pub changes: ForkChanges,
}

/// Differences of a fork from its run. They affect what comes after the event.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ForkChanges {
    /// Another model, as `provider/model`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Other instructions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// Another input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
}

impl ForkRequest {
    /// The request in a message; `None` in one that asks for no fork.
    pub fn of(message: &Message) -> Option<Self> {
        serde_json::from_str(message.metadata_str(FORK)).ok()
    }

    /// The message, asking for this fork of its run.
    #[must_use]
    pub fn in_message(&self, message: Message) -> Message {
        // As a text, because numbers in metadata lose digits.
        let written = serde_json::to_string(self).expect("it has only texts, numbers and JSON");
        message.with_metadata(FORK, written)
    }
}

impl Agent {
    /// The request that a run was forked by; `None` of a run that is no fork.
    pub fn fork_of(started: &RunStarted) -> Option<ForkRequest> {
        ForkRequest::of(&Self::message_of(started)?)
    }
}

impl TaskContext {
    /// The request for a fork in its message.
    pub fn fork(&self) -> Option<ForkRequest> {
        ForkRequest::of(self.message())
    }

    /// The model that a run of this task asks: that of its fork if it names one, else `own`.
    pub fn model_of_run(&self, own: &Arc<dyn LanguageModel>) -> Arc<dyn LanguageModel> {
        match self.fork().and_then(|fork| fork.changes.model) {
            Some(name) if name != own.name() => {
                named(&name).unwrap_or_else(|error| Arc::new(Missing { name, error }))
            }
            _ => Arc::clone(own),
        }
    }
}

/// Stands in for a model that this process cannot ask, such as one whose key it lacks: each answer is that error.
#[derive(Debug)]
struct Missing {
    name: String,
    error: ModelError,
}

#[async_trait]
impl LanguageModel for Missing {
    fn name(&self) -> &str {
        &self.name
    }

    async fn complete(&self, _: Request, _: DeltaSink) -> Result<Completion, ModelError> {
        Err(self.error.clone())
    }
}
