//! `agenthub broker`

use agenthub_terminal::{calls, flags::Serve, output, stop::Signals};
use axum::Router;
use tonic::service::Routes;

use crate::{
    banner::{Banner, Talk},
    logging::Target,
    serve::Serving,
    settings::Settings,
};

/// Runs the hub alone until it is told to stop.
pub(super) async fn run(args: &Serve, settings: &Settings) -> anyhow::Result<()> {
    let mut signals = Signals::new()?;
    let mut serving = Serving::start(settings, Routes::default(), Router::new()).await?;
    let banner = Banner {
        program: calls::program(),
        grpc: serving.grpc(),
        http: serving.http(),
        url: serving.url(),
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
    Ok(signals.leave(serving.shutdown()).await?)
}
