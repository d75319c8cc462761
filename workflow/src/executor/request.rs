//! Request for a run: a workflow and its input, checked before anything starts.

use std::collections::BTreeMap;

use agenthub_sdk::runs::StepId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::strategy::Reused;

/// A request for a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunRequest {
    /// The workflow, as a file has it.
    pub workflow: Map<String, Value>,
    /// Its input.
    #[serde(default)]
    pub input: Map<String, Value>,
    /// The earlier run that it goes on from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub(super) retries: Option<Retried>,
}

/// An earlier run, of which what stands is not done again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Retried {
    /// Its id.
    pub(super) run: String,
    /// The step from which on all is done again.
    pub(super) from: Option<String>,
    /// Its steps that have ended.
    pub(super) steps: BTreeMap<StepId, Reused>,
}
