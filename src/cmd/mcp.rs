//! `agenthub mcp`

use std::{
    io::{self, IsTerminal},
    time::Duration,
};

use agenthub_mcp::server::{Server, Settings as Offer};
use agenthub_terminal::{output, stop::Signals};

use crate::{
    cli,
    http::{self, Bound},
    settings::Settings,
};

/// Serves the agents of the hub to MCP clients, until it is told to stop or its one client is gone.
pub(super) async fn run(args: &cli::Mcp, settings: &Settings) -> anyhow::Result<()> {
    let mut signals = Signals::new()?;
    let listening = match args.http {
        Some(address) => {
            http::check("--http", address, settings.insecure)?;
            Some(Bound::bind(address).await?)
        }
        None => None,
    };
    let offer = Offer {
        timeout: Duration::from_secs(args.timeout.into()),
        max_calls: args.max_calls.into(),
        ..Offer::new(&settings.hub)
    };
    let server = tokio::select! {
        started = Server::start(offer) => started?,
        _ = signals.next() => return Ok(()),
    };
    let Some(listening) = listening else {
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
        return Ok(left?);
    };
    let address = listening.address();
    let doors = listening.serve(server.router(address));
    output::line(format!(
        "the agents of {} are MCP tools at http://{address}/mcp (Ctrl-C stops it)",
        settings.hub
    ))?;
    signals.next().await;
    let leaving = async {
        tokio::join!(server.stop(), doors.shutdown());
    };
    Ok(signals.leave(leaving).await?)
}
