//! `agenthub agent`

use agenthub_agents::echo;
use anyhow::bail;

use crate::{connect::until_there, output, stop::Signals};

/// Runs the echo agent until it is told to stop.
pub(super) async fn echo(name: &str, hub: &str) -> anyhow::Result<()> {
    let mut signals = Signals::new()?;
    let agent = tokio::select! {
        started = until_there(|| echo::agent(name).start(hub)) => started?,
        _ = signals.next() => return Ok(()),
    };
    output::line(format!("{name} is connected to {hub} (Ctrl-C stops it)"))?;
    let closed = tokio::select! {
        _ = signals.next() => None,
        reason = agent.closed() => Some(reason),
    };
    signals.leave(agent.stop()).await;
    match closed {
        None => Ok(()),
        Some(reason) => bail!("the hub closed the connection for good: {reason}"),
    }
}
