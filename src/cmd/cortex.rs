//! `agenthub cortex`

use std::time::Duration;

use agenthub_cortex::{CORTEX, Cortex, Running, Settings as CortexSettings};
use agenthub_sdk::{Client, Connection};
use anyhow::bail;
use tokio::time::timeout;

use crate::{
    connect::until_there, journal::Kept, model, output, settings::Settings, stop::Signals,
};

/// How long turns at work may take when Cortex stops.
const DRAIN: Duration = Duration::from_secs(3);

/// Runs Cortex alone until it is told to stop.
pub(super) async fn run(settings: &Settings) -> anyhow::Result<()> {
    let mut signals = Signals::new()?;
    let model = model::model(&settings.model).await?;
    let name = model.name().to_owned();
    let kept = Kept::open(settings.data(), CORTEX).await?;
    let cortex = lasting(CortexSettings::new(&settings.hub, model), &kept);
    let cortex = tokio::select! {
        started = until_there(|| Cortex::start(cortex.clone())) => started?,
        _ = signals.next() => return Ok(()),
    };
    let model = model::described(&name);
    output::line(format!(
        "{CORTEX} is connected to {}; model: {model}",
        settings.hub
    ))?;
    let closed = tokio::select! {
        _ = signals.next() => None,
        reason = closed(cortex.client()) => Some(reason),
    };
    signals.leave(stop(cortex)).await;
    match closed {
        None => Ok(()),
        Some(reason) => bail!("the hub closed the connection for good: {reason}"),
    }
}

/// Cortex with a journal, so that the next one goes on where this one was stopped or died.
pub(super) fn lasting(cortex: CortexSettings, kept: &Kept) -> CortexSettings {
    CortexSettings {
        journal: kept.journal.clone(),
        instance_id: Some(kept.instance.clone()),
        ..cortex
    }
}

/// Stops Cortex, and breaks off what takes too long.
pub(super) async fn stop(cortex: Running) {
    if timeout(DRAIN, cortex.stop()).await.is_err() {
        tracing::warn!("turns at work were broken off");
    }
}

async fn closed(client: &Client) -> String {
    let mut connection = client.connection();
    loop {
        if let Connection::Closed { reason } = &*connection.borrow_and_update() {
            return reason.clone();
        }
        if connection.changed().await.is_err() {
            return "the client was closed".to_owned();
        }
    }
}
