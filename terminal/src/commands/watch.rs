//! Events as they come, until somebody stops it.

use std::time::Duration;

use agenthub_proto::agenthub::AgentEvent;
use agenthub_sdk::{
    Client, Error,
    hub::{Connection, EventStream},
};

use crate::{flags::Json, listing::watched::Watched, output, stop::Signals};

/// Prints the events of a subscription until a signal comes or an event `is_last`. What happened while the hub was away is caught up with,
/// however long that takes. `opened` is called when the subscription has begun and when it has a gap, and says whether there is nothing to
/// wait for.
pub(super) async fn run(
    client: &Client,
    stream: EventStream,
    opened: impl AsyncFn() -> anyhow::Result<bool>,
    json: Json,
    is_last: impl Fn(&AgentEvent) -> bool,
) -> anyhow::Result<()> {
    let mut signals = Signals::new()?;
    let mut watched = Watched::default();
    let mut stream = stream.patience(Duration::MAX);
    let printed = async {
        if opened().await? {
            return Ok(());
        }
        while let Some(event) = stream.next().await {
            match event {
                Ok(event) => {
                    print(&event, json, &mut watched)?;
                    if is_last(&event) {
                        break;
                    }
                }
                Err(error @ Error::Missed(_)) => {
                    tracing::warn!(%error, "what happened meanwhile is not known");
                    if opened().await? {
                        break;
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    };
    tokio::select! {
        result = printed => result,
        () = told_of_breaks(client) => Ok(()),
        _ = signals.next() => Ok(()),
    }
}

/// Says when the hub is away. Never returns before the client is closed for good.
async fn told_of_breaks(client: &Client) {
    let mut connection = client.connection();
    loop {
        let broken = connection.wait_for(|c| matches!(c, Connection::Reconnecting { .. }));
        if broken.await.is_err() {
            return;
        }
        tracing::warn!("the stream ended; going on as soon as the hub is there");
        let back = connection.wait_for(|c| !matches!(c, Connection::Reconnecting { .. }));
        if back.await.is_err() {
            return;
        }
    }
}

fn print(event: &AgentEvent, json: Json, watched: &mut Watched) -> std::io::Result<()> {
    match json.json {
        true => output::json(event),
        false => watched.lines(event).map_or(Ok(()), output::line),
    }
}
