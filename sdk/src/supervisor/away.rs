//! Who has gone.

use std::time::Duration;

use tokio::time::sleep;

use crate::Directory;

/// Ends when the agent has been gone for as long as the grace. For an agent that nobody is named by, never.
pub(super) async fn gone(directory: &Directory, agent: &str, grace: Duration) {
    if agent.is_empty() {
        return std::future::pending().await;
    }
    // `id@version` is the agent's as well.
    let id = agent.split('@').next().unwrap_or(agent);
    let is_here = || {
        let is_online = |id| directory.get(id).is_some_and(|entry| entry.online);
        is_online(agent) || is_online(id)
    };
    let mut changed = directory.changed();
    loop {
        changed.mark_unchanged();
        if is_here() {
            if changed.changed().await.is_err() {
                return std::future::pending().await;
            }
            continue;
        }
        sleep(grace).await;
        if !is_here() {
            return;
        }
    }
}
