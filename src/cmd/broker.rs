//! `agenthub broker`

use agenthub_sdk::durable::Telemetry;
use agenthub_terminal::{calls, flags::Serve, output, stop::Signals};
use axum::Router;
use tonic::service::Routes;

use crate::{
    banner::{Banner, Talk},
    logging::Target,
    reaching::Reaching,
    serve::Serving,
    settings::Settings,
    spaces::{Inhabitants, Spaces},
};

/// Runs the hub alone until it is told to stop.
pub(super) async fn run(args: &Serve, settings: &Settings) -> anyhow::Result<()> {
    let mut signals = Signals::new()?;
    let telemetry = Telemetry::start()?;
    let mut serving = Serving::start(settings, Routes::default(), Router::new(), None).await?;
    serving.measure(&telemetry);
    let spaces = Spaces::start(&serving, settings, Inhabitants::Nobody).await;
    spaces.measure(&telemetry);
    let banner = Banner {
        program: calls::program(),
        grpc: serving.grpc(),
        http: serving.http(),
        url: serving.url(),
        reaching: Reaching::to(settings, serving.identities().is_open()),
        model: None,
        agents: Vec::new(),
        data: settings.data().map(Into::into),
        log: Target::Stderr,
        talk: Talk::Elsewhere,
    };
    match args.json {
        true => output::line(banner.json().to_string())?,
        false => output::line(banner.text())?,
    }
    tokio::select! {
        _ = signals.next() => {}
        error = serving.failed() => return Err(error),
    }
    let leaving = async {
        spaces.stop().await;
        tokio::join!(serving.shutdown(), telemetry.stop());
    };
    Ok(signals.leave(leaving).await?)
}
