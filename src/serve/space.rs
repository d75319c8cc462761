//! Namespaces beside `default`, behind the two addresses of a hub.

use agenthub_access::{Identities, Namespace};
use agenthub_broker::{ExtraServices, Hub, Namespaces, Settings as HubSettings, Space, Spaces};
use agenthub_page::Login;
use agenthub_proto::{
    grpc::InProcess,
    socket::in_process::{self, Offer},
};
use anyhow::Context;
use axum::Router;

use super::{
    DRAIN,
    doors::{Doors, Reached},
};
use crate::settings::Settings;

/// Opens namespaces on the addresses of a hub. Clones are the same.
#[derive(Clone, Debug)]
pub(crate) struct Opener {
    /// The hub of `default`, which tells of namespaces that cannot be opened.
    pub(super) hub: Hub,
    pub(super) spaces: Spaces,
    pub(super) routers: Namespaces<Router>,
    /// The port of gRPC.
    pub(super) port: u16,
    pub(super) login: Login,
    pub(super) identities: Identities,
}

/// A namespace that is served. [`shutdown`](Self::shutdown) it.
#[derive(Debug)]
pub(crate) struct ServedSpace {
    name: Namespace,
    opener: Opener,
    space: Space,
    doors: Doors,
    url: String,
    /// Its parts reach its hub over links in memory.
    _links: Offer,
}

impl Opener {
    /// Announces a namespace: until it is open, its callers are told to come again.
    pub(crate) fn announce(&self, name: &Namespace) {
        self.spaces.announce(name.as_str());
        self.routers.announce(name.as_str());
    }

    /// Tells whether a namespace can be opened, and if not, why.
    pub(crate) fn note(&self, name: &Namespace, trouble: Option<&str>) {
        self.hub.note_space(name.as_str(), trouble);
    }

    /// Says that all there are were announced.
    pub(crate) fn settle(&self) {
        self.routers.settle();
        self.spaces.settle();
    }

    /// Serves a namespace with a hub of its own: `others` on the address of gRPC, `runs` and pages on that of HTTP, and A2A on both.
    ///
    /// # Errors
    ///
    /// Its files cannot be used.
    pub(crate) async fn open(
        &self,
        name: &Namespace,
        settings: &Settings,
        others: ExtraServices,
        runs: Router,
        cortex: Option<InProcess>,
    ) -> anyhow::Result<ServedSpace> {
        let doors = Doors::new(settings, self.login.clone())?;
        let hub = HubSettings {
            drain: DRAIN,
            ..settings.hub_settings()
        };
        let others = doors.services(others);
        let space = self.spaces.open(name.as_str(), hub, others).await;
        let space = space.context("its hub cannot start")?;
        self.routers
            .open(name.as_str(), doors.router(space.hub(), runs));
        // No name that anything resolves: it stands for the links alone.
        let authority = format!("{name}.namespace.invalid:{}", self.port);
        let served = ServedSpace {
            url: format!("http://{authority}"),
            _links: in_process::offer(authority, space.links()),
            name: name.clone(),
            opener: self.clone(),
            space,
            doors,
        };
        let reached = Reached {
            url: &served.url,
            in_process: served.space.in_process(),
            port: self.port,
            cortex,
            namespace: name.as_str(),
            identities: self.identities.clone(),
        };
        match served.doors.open(reached).await {
            Ok(()) => Ok(served),
            Err(error) => {
                served.shutdown().await;
                Err(error)
            }
        }
    }

    /// Tells the callers of a namespace that it is gone, before it stops.
    pub(crate) fn part_with(&self, name: &Namespace) {
        self.identities.end_streams_of(name.as_str());
    }

    /// Serves a namespace no longer.
    pub(crate) fn close(&self, name: &Namespace) {
        self.routers.close(name.as_str());
        self.spaces.close(name.as_str());
    }
}

impl ServedSpace {
    /// The hub's address for the parts of this process that belong to the namespace.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The hub.
    pub(crate) fn hub(&self) -> &Hub {
        self.space.hub()
    }

    /// Ends it, within 3.75 s but for its last writes. Its callers are told that it is not there, unless it was [announced](Opener::announce) again.
    pub(crate) async fn shutdown(self) {
        self.doors.close().await;
        self.opener.close(&self.name);
        self.space.shutdown().await;
    }
}
