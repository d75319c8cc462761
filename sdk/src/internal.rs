//! For the macros and the other crates of this workspace. No part of the public API: it may change in any release.

pub use agenthub_models::{numerals, relevance};
pub use agenthub_runs::redact::{error as redacted, value as redacted_value};
pub use serde;

use agenthub_proto::agenthub::ChargeRequest;

use crate::client::within;
pub use crate::{
    agent::{FollowUp, follow_up, is_of_sdk},
    agent_tools::AgentTool,
    agents_at_work::{AgentsAtWork, SentAway, forget},
    contract::{Contract, contracts, known_as, task_type},
    delegation::span_of,
    gathering::{ANSWER_ARTIFACT, Gathering},
    outcome::assemble,
    unknown_agent::unknown_agent,
    who_is::{Identity, NotIdentified, WhoIs},
};

/// Charges a principal for models that a part of the hub used on its behalf without a task, and says what tokens and millionths of a dollar are left
/// of its day. Without any use, it asks whether something is left.
///
/// # Errors
///
/// [`Error::OverQuota`](crate::Error::OverQuota) if nothing is; the hub's refusal.
pub async fn charge(
    client: &crate::Client,
    principal: &str,
    used: agenthub_runs::Spent,
) -> Result<(Option<u64>, Option<u64>), crate::Error> {
    let request = ChargeRequest {
        principal: principal.to_owned(),
        tokens: used.tokens,
        cost_micros: used.cost_micros,
    };
    let left = within(client.calls().hub().charge(request)).await?;
    Ok((left.tokens_left, left.cost_micros_left))
}

/// Tells with the end of a task what its handler had models take for it elsewhere.
pub fn add_use(task: &crate::TaskContext, used: agenthub_runs::Spent) {
    task.add_use(used);
}

/// Position of a task's message in the hub's log; empty if it is not known, as for a run that is taken up.
pub fn position(task: &crate::TaskContext) -> &str {
    task.position()
}
