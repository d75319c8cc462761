//! The hub on its two addresses.

use std::{net::SocketAddr, time::Duration};

use agenthub_broker::{ExtraServices, Server, Settings as HubSettings, http_router};
use agenthub_terminal::Listen;
use anyhow::Context;
use axum::Router;

use crate::{
    http::{Bound, HttpServer, check},
    open_files,
    settings::Settings,
};

/// How long streams may take to end.
const DRAIN: Duration = Duration::from_secs(3);

/// A hub that serves gRPC and HTTP. [`shutdown`](Self::shutdown) it; dropping it stops gRPC at once and HTTP never.
#[derive(Debug)]
pub(crate) struct Serving {
    server: Server,
    http: HttpServer,
}

impl Serving {
    /// Starts a hub that serves `others` on its gRPC address too, and `pages` on that of HTTP.
    ///
    /// # Errors
    ///
    /// An address is taken, is not this machine's, or is open to others without that being wanted.
    pub(crate) async fn start(
        settings: &Settings,
        others: impl Into<ExtraServices>,
        pages: Router,
    ) -> anyhow::Result<Self> {
        for (flag, address) in [("--grpc", settings.grpc), ("--http", settings.http)] {
            check(flag, address, settings.insecure)?;
        }
        open_files::allow_most();
        let hub = HubSettings {
            drain: DRAIN,
            ..settings.hub_settings()
        };
        let http = Bound::bind_for(settings.http, &hub.storage).await?;
        let server = Server::start(hub, settings.grpc.0, others)
            .await
            .context("the hub cannot start")?;
        let router = http_router(server.hub().clone()).merge(pages);
        Ok(Self {
            http: http.serve(router),
            server,
        })
    }

    /// Where gRPC listens.
    pub(crate) fn grpc(&self) -> SocketAddr {
        self.server.address()
    }

    /// Where HTTP listens.
    pub(crate) fn http(&self) -> SocketAddr {
        self.http.address()
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
            failure = hub.failed() => failure.into(),
            () = self.server.failed() => anyhow::anyhow!("the hub no longer listens on {grpc}"),
        }
    }

    /// Drains the hub and ends, within 4 s.
    pub(crate) async fn shutdown(self) {
        self.server.shutdown().await;
        self.http.shutdown().await;
    }
}
