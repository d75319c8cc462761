//! Events as they come, until somebody stops it.

use std::time::Duration;

use agenthub_proto::agenthub::AgentEvent;
use agenthub_sdk::{
    Client, Error,
    hub::{Connection, EventStream},
};

use tokio::sync::watch;

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
        closed = told_of_breaks(client.connection()) => Err(closed.into()),
        _ = signals.next() => Ok(()),
    }
}

/// Logs when the hub is away, until the connection is closed for good. Returns the reason.
async fn told_of_breaks(mut connection: watch::Receiver<Connection>) -> Error {
    let mut away = false;
    loop {
        match &*connection.borrow_and_update() {
            Connection::Reconnecting { .. } if !away => {
                tracing::warn!("the stream ended; going on as soon as the hub is there");
                away = true;
            }
            Connection::Reconnecting { .. } => {}
            Connection::Connected { .. } => away = false,
            Connection::Closed { reason } => return Error::Closed(reason.clone()),
        }
        if connection.changed().await.is_err() {
            return Error::Closed("the client was closed".to_owned());
        }
    }
}

fn print(event: &AgentEvent, json: Json, watched: &mut Watched) -> std::io::Result<()> {
    match json.json {
        true => output::json(event),
        false => watched.lines(event).map_or(Ok(()), output::line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Issue 25: a watcher whose hub refuses it for good has not ended well, whoever hears of it first.
    #[tokio::test]
    async fn a_connection_that_is_closed_for_good_is_an_error() {
        let connected = Connection::Connected {
            incarnation: "1".to_owned(),
        };
        let (state, connection) = watch::channel(connected);
        let told = tokio::spawn(told_of_breaks(connection));
        let reason = "its token is revoked".to_owned();
        state.send_replace(Connection::Reconnecting {
            reason: reason.clone(),
        });
        tokio::task::yield_now().await;
        state.send_replace(Connection::Closed { reason });
        drop(state);
        let error = told.await.expect("it ends");
        assert!(error.to_string().contains("revoked"), "{error}");
    }
}
