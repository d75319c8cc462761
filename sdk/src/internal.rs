//! For the macros and the other crates of this workspace. No part of the public API: it may change in any release.

pub use agenthub_models::{numerals, relevance};
pub use agenthub_runs::redact::{error as redacted, value as redacted_value};
pub use serde;

pub use crate::{
    agent::{FollowUp, follow_up, is_of_sdk},
    agent_tools::AgentTool,
    agents_at_work::{AgentsAtWork, SentAway},
    contract::{Contract, contracts, known_as, task_type},
    delegation::span_of,
    gathering::{ANSWER_ARTIFACT, Gathering},
    outcome::assemble,
    unknown_agent::unknown_agent,
};

/// Position of a task's message in the hub's log; empty if it is not known, as for a run that is taken up.
pub fn position(task: &crate::TaskContext) -> &str {
    task.position()
}
