//! The hub on its two addresses.

use std::{future::IntoFuture, net::SocketAddr, time::Duration};

use agenthub_broker::{Others, Server, Settings as HubSettings, Storage, http_router};
use anyhow::{Context, bail};
use tokio::{net::TcpListener, task::JoinHandle, time::timeout};
use tokio_util::sync::CancellationToken;

use crate::{listen::Listen, settings::Settings};

/// How long streams may take to end.
const DRAIN: Duration = Duration::from_secs(3);

/// How long requests of HTTP may take to end.
const HTTP_DRAIN: Duration = Duration::from_secs(1);

/// A hub that serves gRPC and HTTP. [`shutdown`](Self::shutdown) it; dropping it stops gRPC at once and HTTP never.
#[derive(Debug)]
pub(crate) struct Serving {
    server: Server,
    http: SocketAddr,
    stop: CancellationToken,
    serving: JoinHandle<std::io::Result<()>>,
}

impl Serving {
    /// Starts a hub that serves `others` on its gRPC address too.
    ///
    /// # Errors
    ///
    /// An address is taken, is not this machine's, or is open to others without that being wanted.
    pub(crate) async fn start(
        settings: &Settings,
        others: impl Into<Others>,
    ) -> anyhow::Result<Self> {
        for (flag, address) in [("--grpc", settings.grpc), ("--http", settings.http)] {
            check(flag, address, settings.insecure)?;
        }
        let http = TcpListener::bind(settings.http.0)
            .await
            .with_context(|| cannot_listen("--http", settings.http))?;
        let hub = HubSettings {
            storage: match settings.data() {
                Some(folder) => Storage::Folder(folder.to_owned()),
                None => Storage::Memory,
            },
            drain: DRAIN,
            ..HubSettings::default()
        };
        let server = Server::start(hub, settings.grpc.0, others)
            .await
            .context("the hub cannot start")?;
        let address = http.local_addr().context("the address of --http")?;
        let stop = CancellationToken::new();
        let serving = axum::serve(http, http_router(server.hub().clone()))
            .with_graceful_shutdown(stop.clone().cancelled_owned())
            .into_future();
        Ok(Self {
            serving: tokio::spawn(serving),
            http: address,
            server,
            stop,
        })
    }

    /// Where gRPC listens.
    pub(crate) fn grpc(&self) -> SocketAddr {
        self.server.address()
    }

    /// Where HTTP listens.
    pub(crate) fn http(&self) -> SocketAddr {
        self.http
    }

    /// The hub's address for programs on this machine.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", Listen(self.grpc()).dialable())
    }

    /// Waits until serving ends by itself, which it does not unless something is badly wrong.
    pub(crate) async fn failed(&mut self) -> anyhow::Error {
        let hub = self.server.hub().clone();
        let grpc = self.grpc();
        tokio::select! {
            reason = hub.log_failure() => anyhow::anyhow!(
                "the hub's log has failed ({reason}): see to the disk, then start the hub again"
            ),
            ended = self.server.failed() => match ended {
                Ok(()) => anyhow::anyhow!("the hub no longer listens on {grpc}"),
                Err(error) => anyhow::Error::new(error).context("the hub no longer listens"),
            },
        }
    }

    /// Drains the hub and ends, within 4 s.
    pub(crate) async fn shutdown(self) {
        self.server.shutdown().await;
        self.stop.cancel();
        let mut serving = self.serving;
        if timeout(HTTP_DRAIN, &mut serving).await.is_err() {
            serving.abort();
        }
    }
}

/// Refuses an address that others reach, unless that is wanted.
fn check(flag: &str, address: Listen, insecure: bool) -> anyhow::Result<()> {
    if insecure || address.0.ip().is_loopback() {
        return Ok(());
    }
    bail!(
        "{flag} {address} can be reached from other machines, and the hub does not check who calls: \
         listen on 127.0.0.1, or add --insecure if everyone on that network may do everything"
    )
}

fn cannot_listen(flag: &str, address: Listen) -> String {
    format!(
        "cannot listen on {address} ({flag}); if another program has it (another hub?), stop that, or choose \
         another address, with port 0 for any free one"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_machines_are_let_in_only_on_purpose() {
        let refused = |address: &str, insecure| {
            let address = address.parse().expect("an address");
            check("--grpc", address, insecure).is_err()
        };
        assert!(!refused("127.0.0.1:1", false));
        assert!(!refused("[::1]:1", false));
        assert!(refused("0.0.0.0:1", false));
        assert!(refused("[::]:1", false));
        assert!(refused("10.1.2.3:1", false));
        assert!(!refused("0.0.0.0:1", true));
    }
}
