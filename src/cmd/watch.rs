//! Events as they come, until somebody stops it.

use agenthub_proto::agenthub::AgentEvent;
use agenthub_sdk::{Client, Connection, Error, EventStream};

use crate::{cli::Json, listing::watched::Watched, output, stop::Signals};

/// Prints the events of the streams that `open` opens after a position, one after the other as the hub comes back, until a signal comes or
/// an event `is_last`. What happened while the hub was away is caught up with. `opened` is called when a stream is there that goes on from
/// no other one, and says whether there is nothing to wait for.
pub(super) async fn run<F>(
    client: &Client,
    open: impl Fn(String) -> F,
    opened: impl AsyncFn() -> anyhow::Result<bool>,
    json: Json,
    is_last: impl Fn(&AgentEvent) -> bool,
) -> anyhow::Result<()>
where
    F: Future<Output = Result<EventStream, Error>>,
{
    let mut signals = Signals::new()?;
    let mut watched = Watched::default();
    let printed = async {
        let mut after = String::new();
        loop {
            let mut stream = match open(after.clone()).await {
                Ok(stream) => stream,
                // It is another log, or one that has forgotten what came behind that position.
                Err(Error::Invalid(why)) if !after.is_empty() => {
                    tracing::warn!(why, "what happened meanwhile is not known");
                    after.clear();
                    continue;
                }
                Err(error) if error.is_retryable() => {
                    back(client).await?;
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            if after.is_empty() && opened().await? {
                return Ok(());
            }
            stream.position().clone_into(&mut after);
            while let Some(event) = stream.next().await {
                let event = match event {
                    Ok(event) => event,
                    Err(error) => {
                        tracing::warn!(%error, "the stream ended");
                        break;
                    }
                };
                print(&event, json, &mut watched)?;
                stream.position().clone_into(&mut after);
                if is_last(&event) {
                    return Ok(());
                }
            }
            tracing::warn!("going on as soon as the hub is there");
            back(client).await?;
        }
    };
    tokio::select! {
        result = printed => result,
        _ = signals.next() => Ok(()),
    }
}

fn print(event: &AgentEvent, json: Json, watched: &mut Watched) -> std::io::Result<()> {
    match json.json {
        true => output::json(event),
        false => watched.lines(event).map_or(Ok(()), output::line),
    }
}

/// Waits until the connection has been broken and is there again.
async fn back(client: &Client) -> Result<(), Error> {
    /// A break that was over before it was noticed.
    const UNNOTICED: std::time::Duration = std::time::Duration::from_secs(1);
    let mut connection = client.connection();
    let broken = connection.wait_for(|c| !matches!(c, Connection::Connected { .. }));
    // Either way the next thing to wait for is a connection.
    let _ = tokio::time::timeout(UNNOTICED, broken).await;
    let closed = || Error::Closed("the client was closed".to_owned());
    let there = connection.wait_for(|c| !matches!(c, Connection::Reconnecting { .. }));
    match &*there.await.map_err(|_| closed())? {
        Connection::Closed { reason } => Err(Error::Closed(reason.clone())),
        Connection::Connected { .. } | Connection::Reconnecting { .. } => Ok(()),
    }
}
