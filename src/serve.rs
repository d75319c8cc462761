//! The hub on its two addresses.

mod doors;
mod space;

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use agenthub_access::{DEFAULT_NAMESPACE, Identities};
use agenthub_broker::{ExtraServices, Namespaces, Served, Server, Settings as HubSettings, gated};
use agenthub_page::Login;
use agenthub_proto::{
    bearer::Bearer,
    grpc::InProcess,
    socket::in_process::{self, Offer},
};
use agenthub_sdk::durable::Telemetry;
use agenthub_terminal::Listen;
use anyhow::Context;
use axum::Router;
use tokio_util::task::AbortOnDropHandle;

use self::doors::{Doors, Reached};
pub(crate) use self::space::{Opener, ServedSpace};
use crate::{
    http::{Bound, HttpServer, check, warn_of_plain_text},
    open_files,
    settings::Settings,
};

/// Time for streams to end.
const DRAIN: Duration = Duration::from_millis(2_250);

/// A hub that serves gRPC and HTTP. [`shutdown`](Self::shutdown) it; dropping it stops gRPC at once and HTTP never.
#[derive(Debug)]
pub(crate) struct Serving {
    server: Server,
    http: HttpServer,
    doors: Doors,
    routers: Namespaces<Router>,
    login: Login,
    identities: Identities,
    is_tls: bool,
    /// With TLS, the parts of this process reach the hub over links in memory.
    _links: Option<Offer>,
    token_file: Option<PathBuf>,
    /// Keys of issuers elsewhere.
    _keys: AbortOnDropHandle<()>,
}

impl Serving {
    /// Starts a hub that serves `others` on its gRPC address too, `runs` and pages on that of HTTP, and A2A on both. The pages ask `cortex`, if
    /// there is one.
    ///
    /// # Errors
    ///
    /// An address is taken, is not this machine's, or is open to others without that being wanted.
    pub(crate) async fn start(
        settings: &Settings,
        others: impl Into<ExtraServices>,
        runs: Router,
        cortex: Option<InProcess>,
    ) -> anyhow::Result<Self> {
        let identities = settings.identities()?;
        for (flag, address) in [("--grpc", settings.grpc), ("--http", settings.http)] {
            check(flag, address, settings.insecure, identities.is_open())?;
        }
        let tls = settings.tls.open()?;
        let is_tls = tls.is_some();
        if !is_tls {
            warn_of_plain_text("--grpc", settings.grpc, identities.is_open());
            warn_of_plain_text("--http", settings.http, identities.is_open());
        }
        // The parts of this process that call the hub over its address.
        Bearer::new(identities.own_token().secret())?.set_for_process();
        open_files::allow_most();
        let hub = HubSettings {
            drain: DRAIN,
            ..settings.hub_settings()
        };
        let http = Bound::bind_for(settings.http, &hub.storage).await?;
        let login = settings.login(&identities);
        let doors = Doors::new(settings, login.clone())?;
        let others = doors.services(others.into());
        let others = others.guarded_by(identities.clone());
        let server = match tls.clone() {
            None => Server::start(hub, settings.grpc.0, others).await,
            Some(tls) => Server::start_with_tls(hub, settings.grpc.0, others, tls).await,
        };
        let server = server.context("the hub cannot start")?;
        identities
            .keep_own_token()
            .context("cannot keep the hub's own token")?;
        let links = server.links();
        let dialable = Listen(server.address()).dialable().to_string();
        let links = links.map(|links| in_process::offer(dialable, links));
        let routers = Namespaces::default();
        let router = gated(
            doors.router(server.hub(), runs),
            Served::default_namespace(),
            routers.clone(),
            identities.clone(),
        );
        let serving = Self {
            token_file: identities.own_token_file().map(Into::into),
            _keys: settings.keep_keys(&identities),
            http: http.serve(router, tls),
            server,
            doors,
            routers,
            login,
            identities,
            is_tls,
            _links: links,
        };
        let reached = Reached {
            url: &serving.url(),
            in_process: serving.server.in_process(),
            port: serving.grpc().port(),
            cortex,
            namespace: DEFAULT_NAMESPACE,
            identities: serving.identities.clone(),
        };
        serving.doors.open(reached).await?;
        Ok(serving)
    }

    /// Opens namespaces beside `default` on both addresses.
    pub(crate) fn opener(&self) -> Opener {
        Opener {
            hub: self.server.hub().clone(),
            spaces: self.server.spaces().clone(),
            routers: self.routers.clone(),
            port: self.grpc().port(),
            login: self.login.clone(),
            identities: self.identities.clone(),
        }
    }

    /// Has the hub's metrics sent to where spans are.
    pub(crate) fn measure(&self, telemetry: &Telemetry) {
        let hub = self.server.hub().clone();
        telemetry.measure(move |metrics| hub.collect(metrics));
    }

    /// Identities of those who call.
    pub(crate) fn identities(&self) -> &Identities {
        &self.identities
    }

    /// Address of gRPC.
    pub(crate) fn grpc(&self) -> SocketAddr {
        self.server.address()
    }

    /// Address of HTTP.
    pub(crate) fn http(&self) -> SocketAddr {
        self.http.address()
    }

    /// The file with the token of the hub's own parts, if there is a folder.
    pub(crate) fn token_file(&self) -> Option<PathBuf> {
        self.token_file.clone()
    }

    /// The hub's address for programs on this machine.
    pub(crate) fn url(&self) -> String {
        let scheme = self.scheme();
        format!("{scheme}://{}", Listen(self.grpc()).dialable())
    }

    /// The scheme of both addresses.
    pub(crate) fn scheme(&self) -> &'static str {
        match self.is_tls {
            true => "https",
            false => "http",
        }
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

    /// Ends A2A streams and push notifications, drains the hub and ends, within 3.75 s but for its last writes.
    pub(crate) async fn shutdown(self) {
        self.doors.close().await;
        tokio::join!(self.server.shutdown(), self.http.shutdown());
    }
}
