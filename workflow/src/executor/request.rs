//! Request for a run: a workflow and its input, checked before anything starts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A request for a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunRequest {
    /// The workflow, as a file has it.
    pub workflow: Map<String, Value>,
    /// Its input.
    #[serde(default)]
    pub input: Map<String, Value>,
}
