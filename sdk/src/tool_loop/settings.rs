//! Settings of an agent with a model.

use std::sync::Arc;

use agenthub_runs::tool_loop::ErrorMode;
use serde_json::Value;

use super::{Budget, Limits};
use crate::{
    Form, Peers, Tool,
    hooks::HookChain,
    model::{self, LanguageModel},
};

/// Settings of an agent with a model. [`AgentBuilder`](crate::AgentBuilder) has a method for each field.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolLoopSettings {
    /// Instructions for the model, beyond what holds for all agents.
    pub instructions: String,
    /// Limits of one run.
    pub limits: Limits,
    /// Budget of one run. What the requester granted limits it further.
    pub budget: Budget,
    /// Temperature, from 0; the provider's own value if not given.
    pub temperature: Option<f64>,
    /// The longest answer of one turn, in tokens; the provider's own limit if not given.
    pub max_output_tokens: Option<u32>,
    /// Reaction to the failure of an agent that was asked.
    pub on_failure: ErrorMode,
    /// Extra data in the journal of each run. It is told to no model.
    pub about: Value,
}

/// A builder's model, and the settings that belong to one.
#[derive(Clone, Debug, Default)]
pub(crate) struct ModelSettings {
    pub(crate) model: Option<Result<Arc<dyn LanguageModel>, model::ModelError>>,
    pub(crate) tools: Vec<Tool>,
    pub(crate) forms: Vec<(String, Arc<dyn Form>)>,
    pub(crate) settings: ToolLoopSettings,
    pub(crate) peers: Peers,
    pub(crate) hooks: HookChain,
}
