//! Agents that wait for this one, directly or through others, and so must not be asked by it.

use std::time::Duration;

use tokio::time::timeout;

use crate::{MAX_HOPS, TaskContext};

/// The orchestrator, which asks agents and is not asked by them.
const CORTEX: &str = "cortex";

/// Deadline for looking up the whole chain. What is not known by then is left to the bound on hops.
const DEADLINE: Duration = Duration::from_secs(2);

/// Ids of this agent, Cortex, and all on whose behalf this task was asked for.
pub(super) async fn excluded(task: &TaskContext) -> Vec<String> {
    let mut excluded = vec![task.client().agent_id().to_owned(), CORTEX.to_owned()];
    excluded.push(task.sender().to_owned());
    if timeout(DEADLINE, climb(task, &mut excluded)).await.is_err() {
        tracing::debug!("the chain of delegations could not be looked up in time");
    }
    excluded.retain(|id| !id.is_empty());
    excluded
}

/// Follows the tasks on whose behalf this one was asked for.
async fn climb(task: &TaskContext, excluded: &mut Vec<String>) {
    let mut parent = task.routing().parent_task_id.clone();
    for _ in 0..MAX_HOPS {
        if parent.is_empty() {
            return;
        }
        match task.client().task(&parent, -1).await {
            Ok(found) => {
                excluded.push(found.assignee().to_owned());
                excluded.push(found.requester().to_owned());
                parent = found.metadata_str("parent_task_id").to_owned();
            }
            Err(error) => {
                tracing::debug!(%error, parent, "a task further up is not known");
                return;
            }
        }
    }
}
