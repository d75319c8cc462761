//! `agenthub mcp`

use std::{
    io::{self, IsTerminal},
    sync::Arc,
    time::Duration,
};

use agenthub_mcp::server::{Door, DoorSettings, Server, Settings as Offer};
use agenthub_terminal::{Listen, output, stop::Signals};

use crate::{
    cli,
    http::{self, Bound},
    metrics::Metrics,
    settings::Settings,
};

/// Serves the agents of the hub to MCP clients, until it is told to stop or its one client is gone.
pub(super) async fn run(args: &cli::Mcp, settings: &Settings) -> anyhow::Result<()> {
    let signals = Signals::new()?;
    let metrics = Metrics::serve(settings, Arc::new(|_| ())).await?;
    let offer = Offer {
        timeout: Duration::from_secs(args.timeout.into()),
        max_calls: args.max_calls.into(),
        ..Offer::new(&settings.hub)
    };
    let served = match args.http {
        None => over_stdio(offer, signals).await,
        Some(address) => over_http(args, address, offer, settings, signals).await,
    };
    Metrics::close(metrics).await;
    served
}

/// Serves the client that has started this process, in the name of this process.
async fn over_stdio(offer: Offer, mut signals: Signals) -> anyhow::Result<()> {
    let server = tokio::select! {
        started = Server::start(offer) => started?,
        _ = signals.next() => return Ok(()),
    };
    if io::stdin().is_terminal() {
        output::aside(
            "waiting for an MCP client on standard input; clients start this by themselves: `agenthub mcp --help` tells how (Ctrl-C stops it)",
        );
    }
    let served = tokio::select! {
        served = server.serve_stdio() => served,
        _ = signals.next() => Ok(()),
    };
    let left = signals.leave(server.stop()).await;
    served?;
    Ok(left?)
}

/// Serves many clients, each in its own name.
async fn over_http(
    args: &cli::Mcp,
    address: Listen,
    offer: Offer,
    settings: &Settings,
    mut signals: Signals,
) -> anyhow::Result<()> {
    let tls = settings.tls.open()?;
    let listening = Bound::bind(address).await?;
    let (issuers, scopes) = settings.authorization_servers();
    let door = DoorSettings {
        address: listening.address(),
        is_tls: tls.is_some(),
        public_url: args.public_url.clone(),
        issuers,
        scopes,
        needs_identity: !address.0.ip().is_loopback() && !settings.insecure,
    };
    let scheme = match tls {
        Some(_) => "https",
        None => "http",
    };
    let door = Door::open(offer, door)?;
    let is_open = tokio::select! {
        // While there is no hub, nobody is let in.
        is_open = door.is_hub_open() => is_open.unwrap_or_default(),
        _ = signals.next() => return Ok(()),
    };
    http::check("--http", address, settings.insecure, is_open)?;
    if tls.is_none() {
        http::warn_of_plain_text("--http", address, is_open);
    }
    let address = listening.address();
    let serving = listening.serve(door.router(), tls);
    output::line(format!(
        "the agents of {} are MCP tools at {scheme}://{address}/mcp (Ctrl-C stops it)",
        settings.hub
    ))?;
    signals.next().await;
    let leaving = async {
        tokio::join!(door.stop(), serving.shutdown());
    };
    Ok(signals.leave(leaving).await?)
}
