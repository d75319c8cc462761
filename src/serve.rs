//! The hub on its two addresses.

use std::{net::SocketAddr, time::Duration};

use agenthub_a2a::{
    FILE_DESCRIPTOR_SET, Gateway,
    outside::{OutsideAgents, Settings as OutsideSettings},
};
use agenthub_broker::{ExtraServices, Server, Settings as HubSettings, http_router};
use agenthub_sdk::Client;
use agenthub_terminal::Listen;
use anyhow::Context;
use axum::Router;
use tokio::time::timeout;

use crate::{
    http::{Bound, HttpServer, check},
    open_files,
    settings::Settings,
};

/// Time for streams to end.
const DRAIN: Duration = Duration::from_secs(3);

/// Time for agents elsewhere to leave.
const LEAVE: Duration = Duration::from_secs(2);

/// A hub that serves gRPC and HTTP. [`shutdown`](Self::shutdown) it; dropping it stops gRPC at once and HTTP never.
#[derive(Debug)]
pub(crate) struct Serving {
    server: Server,
    http: HttpServer,
    a2a: Gateway,
    outside: OutsideAgents,
}

impl Serving {
    /// Starts a hub that serves `others` on its gRPC address too, and `pages` on that of HTTP, and A2A on both.
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
        let a2a = Gateway::new(settings.gateway()?);
        let outside = OutsideAgents::new(OutsideSettings {
            connector: settings.outbound.connector(),
            folder: settings.data().map(Into::into),
        });
        let others = others
            .into()
            .with(a2a.service(), FILE_DESCRIPTOR_SET)
            .with(outside.service(), FILE_DESCRIPTOR_SET);
        let server = Server::start(hub, settings.grpc.0, others)
            .await
            .context("the hub cannot start")?;
        let router = http_router(server.hub().clone())
            .merge(pages)
            .merge(a2a.router());
        let serving = Self {
            http: http.serve(router),
            server,
            a2a,
            outside,
        };
        let port = serving.grpc().port();
        let client = Client::builder(serving.url()).in_process(serving.server.in_process());
        let opened = serving.a2a.open(client, Some(port)).await;
        opened.context("the A2A gateway cannot start")?;
        let opened = serving.outside.open(&serving.url()).await;
        opened.context("agents elsewhere cannot come to the hub")?;
        Ok(serving)
    }

    /// Address of gRPC.
    pub(crate) fn grpc(&self) -> SocketAddr {
        self.server.address()
    }

    /// Address of HTTP.
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

    /// Ends A2A streams and push notifications, drains the hub and ends, within 8 s.
    pub(crate) async fn shutdown(self) {
        let left = timeout(LEAVE, self.outside.close());
        if tokio::join!(left, self.a2a.close()).0.is_err() {
            tracing::warn!("agents elsewhere did not leave in time");
        }
        self.server.shutdown().await;
        self.http.shutdown().await;
    }
}
