//! Finding the hub.

use std::time::Duration;

use agenthub_proto::socket::HubAddress;
use agenthub_sdk::{Client, Error, hub::ClientBuilder};
use tokio::{
    net::TcpStream,
    time::{Instant, sleep, timeout},
};
use uuid::Uuid;

/// The pause between two tries.
const PAUSE: Duration = Duration::from_millis(500);

/// Deadline for seeing that nobody listens.
const LOOK: Duration = Duration::from_secs(1);

/// Interval of the reminder that there is still no hub.
const REMINDER: Duration = Duration::from_secs(30);

/// A client for one command, under an id of its own if none is given.
pub async fn client(hub: &str, id: Option<&str>) -> Result<Client, Error> {
    builder(hub, id).connect().await
}

/// The same, with a directory of the agents that is kept up to date.
pub async fn watching(hub: &str, id: Option<&str>) -> Result<Client, Error> {
    builder(hub, id).watch_agents(true).connect().await
}

fn builder(hub: &str, id: Option<&str>) -> ClientBuilder {
    let client = Client::builder(hub);
    match id {
        Some(id) => client.agent_id(id),
        None => {
            let unique = Uuid::new_v4().simple().to_string();
            client.temporary_id(format!("cli-{}", &unique[..8]))
        }
    }
}

/// Tries until there is a hub, and says so when there is none.
///
/// # Errors
///
/// The server refuses us, or is no hub.
pub async fn until_there<T, F>(attempt: impl Fn() -> F) -> Result<T, Error>
where
    F: Future<Output = Result<T, Error>>,
{
    let mut said: Option<Instant> = None;
    loop {
        match attempt().await {
            Err(error) if error.is_out_of_reach() => {
                if said.is_none_or(|at| at.elapsed() >= REMINDER) {
                    said = Some(Instant::now());
                    tracing::warn!("waiting for the hub: {error}");
                }
                sleep(PAUSE).await;
            }
            other => return other,
        }
    }
}

/// True if anybody listens where the hub is expected.
pub async fn listens(hub: &str) -> bool {
    let Ok(address) = HubAddress::parse(hub) else {
        return false;
    };
    let connecting = TcpStream::connect(address.authority());
    matches!(timeout(LOOK, connecting).await, Ok(Ok(_)))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_missing_hub_is_waited_for_and_a_refusal_is_not() {
        let tries = Cell::new(0);
        let attempt = |last: Result<(), Error>| {
            tries.set(tries.get() + 1);
            let result = match tries.get() {
                100 => last,
                _ => Err(Error::NoHub {
                    url: "u".into(),
                    reason: "r".into(),
                }),
            };
            std::future::ready(result)
        };
        assert_eq!(until_there(|| attempt(Ok(()))).await, Ok(()));
        assert_eq!(tries.get(), 100);

        tries.set(0);
        let refused = Error::Refused("no".into());
        let result = until_there(|| attempt(Err(refused.clone()))).await;
        assert_eq!(result, Err(refused));
    }
}
