//! What follows when an agent that was asked fails.

use serde::{Deserialize, Serialize};

/// What follows when an agent that was asked does not complete its task. What goes wrong with the agent's own tools is told to the model
/// in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorMode {
    /// The model is told, and decides.
    #[default]
    Tell,
    /// The run fails at once with that agent's name and error; the other agents are called back.
    FailFast,
    /// The model is told and the others go on; the outcome names what failed, and has what the agents gave as data.
    Continue,
}

impl ErrorMode {
    pub(super) fn is_tell(&self) -> bool {
        *self == Self::Tell
    }
}
