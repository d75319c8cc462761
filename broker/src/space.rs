//! Namespaces beside `default`: each is a hub of its own behind the address of a server.

use std::net::SocketAddr;

use agenthub_access::Identities;
use agenthub_proto::{grpc::InProcess, socket::Socket};
use tokio::{io::DuplexStream, sync::mpsc, time::timeout};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};
use tonic::service::Routes;

use crate::{
    ExtraServices, Gated, Hub, Namespaces, OpenError, Settings, binding,
    connections::{self, Links},
    server::{LINKS, Services, services, stall},
};

/// The namespaces of a server beside `default`. Clones are the same.
#[derive(Clone, Debug)]
pub struct Spaces {
    pub(crate) address: SocketAddr,
    pub(crate) identities: Identities,
    pub(crate) gated: Gated<Routes>,
    pub(crate) namespaces: Namespaces<Routes>,
}

impl Spaces {
    /// Announces a namespace: until it is open, its callers are told to come again.
    pub fn announce(&self, name: &str) {
        self.namespaces.announce(name);
    }

    /// Says that all there are were announced: callers of other ones need not come again.
    pub fn settle(&self) {
        self.namespaces.settle();
    }

    /// Starts a hub and serves it together with additional services to the callers of this namespace.
    ///
    /// # Errors
    ///
    /// Its log cannot be opened.
    pub async fn open(
        &self,
        name: &str,
        settings: Settings,
        others: ExtraServices,
    ) -> Result<Space, OpenError> {
        let hub = binding::in_folder(
            || Hub::start(settings.clone()),
            |e| matches!(e, OpenError::Locked(_)),
        );
        let hub = hub.await?;
        hub.is_at(self.address);
        let Services { front, routes, .. } = services(&hub, others, &self.identities).await;
        self.namespaces.open(name, routes);
        let identities = self.identities.clone();
        let calls = hub.metrics().calls.clone();
        Ok(Space::start(name, hub, self.gated.clone(), |stop| {
            connections::in_process(front, identities, name.into(), calls, stop)
        }))
    }

    /// Serves a namespace no longer: its callers are told that it is not there.
    pub fn close(&self, name: &str) {
        self.namespaces.close(name);
    }
}

/// A namespace that is served. [`shutdown`](Self::shutdown) it for a graceful end; dropping it ends links to it at once, and its hub.
#[derive(Debug)]
pub struct Space {
    hub: Hub,
    in_process: InProcess,
    links: mpsc::Sender<DuplexStream>,
    stop: CancellationToken,
    serving: AbortOnDropHandle<()>,
}

impl Space {
    fn start(
        name: &str,
        hub: Hub,
        gated: Gated<Routes>,
        in_process: impl FnOnce(CancellationToken) -> InProcess,
    ) -> Self {
        let stop = CancellationToken::new();
        let (sender, links) = mpsc::channel(LINKS);
        let links = Links {
            namespace: name.into(),
            links,
        };
        let nobody = tokio_stream::pending::<std::io::Result<Socket<DuplexStream>>>();
        let (stall, until) = (stall(&hub), stop.clone());
        let serving = connections::serve(nobody, None, Some(links), gated, stall, until);
        Self {
            hub,
            in_process: in_process(stop.clone()),
            links: sender,
            stop,
            serving: AbortOnDropHandle::new(tokio::spawn(serving)),
        }
    }

    /// The served hub.
    pub fn hub(&self) -> &Hub {
        &self.hub
    }

    /// The hub's service for clients in this process, see [`InProcess`]. It refuses calls once this has been shut down.
    pub fn in_process(&self) -> InProcess {
        self.in_process.clone()
    }

    /// Takes links in memory from parts of this process that belong to the namespace, to be
    /// [offered](agenthub_proto::socket::in_process::offer) to them.
    pub fn links(&self) -> mpsc::Sender<DuplexStream> {
        self.links.clone()
    }

    /// Ends every stream with a reason on which clients reconnect, and waits for that, for at most [`Settings::drain`](crate::Settings::drain). It is served until it is
    /// [closed](Spaces::close).
    pub async fn shutdown(self) {
        self.hub.drain();
        self.stop.cancel();
        // The rest ends when the handle is dropped.
        let _ = timeout(self.hub.settings().drain, self.serving).await;
        self.hub.stop().await;
    }
}
