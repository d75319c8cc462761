//! How an agent thinks.

use std::sync::Arc;

use agenthub_runs::tool_loop::ErrorMode;
use serde_json::Value;

use super::{Budget, Limits};
use crate::{
    Form, Peers, Tool,
    hooks::HookChain,
    model::{self, LanguageModel},
};

/// How a model leads an agent. [`AgentBuilder`](crate::AgentBuilder) has a method for each field.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolLoopSettings {
    /// Who the agent is and how it works, beyond what holds for all agents.
    pub instructions: String,
    /// How far one run may go.
    pub limits: Limits,
    /// What one run may use. What the requester granted limits it further.
    pub budget: Budget,
    /// How freely to choose words, from 0; the provider's own value if not given.
    pub temperature: Option<f64>,
    /// The longest answer of one turn, in tokens; the provider's own limit if not given.
    pub max_output_tokens: Option<u32>,
    /// What follows when an agent that was asked fails.
    pub on_failure: ErrorMode,
    /// What the journal says of each run besides. It is told to no model.
    pub about: Value,
}

/// What a builder was told of a model and what belongs to one.
#[derive(Clone, Debug, Default)]
pub(crate) struct ModelSettings {
    pub(crate) model: Option<Result<Arc<dyn LanguageModel>, model::Error>>,
    pub(crate) tools: Vec<Tool>,
    pub(crate) forms: Vec<(String, Arc<dyn Form>)>,
    pub(crate) settings: ToolLoopSettings,
    pub(crate) peers: Peers,
    pub(crate) hooks: HookChain,
}
