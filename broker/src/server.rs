//! The hub's server: gRPC with health and reflection, and graceful shutdown.

use std::{future::ready, io, net::SocketAddr, time::Duration};

use agenthub_access::{DEFAULT_NAMESPACE, Identities};
use agenthub_proto::{
    agenthub::{
        access_server::{self, AccessServer},
        agent_hub_server,
    },
    grpc::InProcess,
    socket::Socket,
};
use futures_util::future::BoxFuture;
use tokio::{
    io::{AsyncRead, AsyncWrite, DuplexStream},
    sync::mpsc,
    time::timeout,
};
use tokio_stream::{Stream, StreamExt, wrappers::TcpListenerStream};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};
use tonic::service::Routes;
use tonic_health::{ServingStatus, pb::health_server, server::HealthReporter};

use crate::{
    ExtraServices, Gated, Hub, OpenError, Settings, Tls, binding,
    connections::{self, Links},
    gate,
    grpc::{AccessService, Front},
    limits::MESSAGE_BYTES,
    namespaces::{Namespaces, Served},
    reflection,
    space::Spaces,
};

/// Links in memory that wait to be accepted.
pub(crate) const LINKS: usize = 64;

/// Maximum size of a request: a frame of several publishes.
const REQUEST_BYTES: usize = 8 * MESSAGE_BYTES;

/// Errors of starting a server.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {}", reason(source))]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The reason.
        source: io::Error,
    },
    /// The log cannot be opened.
    #[error(transparent)]
    Log(#[from] OpenError),
}

fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            "another program listens there (another hub?); stop it, or choose another address, with port 0 for any free one"
                .to_owned()
        }
        _ => error.to_string(),
    }
}

/// A hub that serves gRPC. Call [`shutdown`](Self::shutdown) for a graceful end; dropping it stops serving at once.
#[derive(Debug)]
pub struct Server {
    hub: Hub,
    front: Front,
    identities: Identities,
    address: SocketAddr,
    health: HealthReporter,
    stop: CancellationToken,
    links: Option<mpsc::Sender<DuplexStream>>,
    spaces: Spaces,
    serving: AbortOnDropHandle<()>,
}

impl Server {
    /// Starts a hub and serves it on `address`, with port 0 for any free port, together with additional services.
    ///
    /// # Errors
    ///
    /// [`StartError::Listen`] if the address is taken or is not local.
    pub async fn start(
        settings: Settings,
        address: SocketAddr,
        others: impl Into<ExtraServices>,
    ) -> Result<Self, StartError> {
        Self::listening(settings, address, others.into(), None).await
    }

    /// Starts a hub and serves it with TLS. Its own parts may use [links](Self::links).
    ///
    /// # Errors
    ///
    /// [`StartError::Listen`] if the address is taken or is not local.
    pub async fn start_with_tls(
        settings: Settings,
        address: SocketAddr,
        others: impl Into<ExtraServices>,
        tls: Tls,
    ) -> Result<Self, StartError> {
        Self::listening(settings, address, others.into(), Some(tls)).await
    }

    /// An object and not generic, so that what serves TCP is compiled here, with the optimisation of this crate: generic functions are
    /// compiled with the caller's, and so is the body of an async function, where it is polled.
    fn listening(
        settings: Settings,
        address: SocketAddr,
        others: ExtraServices,
        tls: Option<Tls>,
    ) -> BoxFuture<'static, Result<Self, StartError>> {
        Box::pin(Self::listen(settings, address, others, tls))
    }

    async fn listen(
        settings: Settings,
        address: SocketAddr,
        others: ExtraServices,
        tls: Option<Tls>,
    ) -> Result<Self, StartError> {
        let listen = |source| StartError::Listen { address, source };
        // Refuses connections until the log is read: a peer that waited in the queue would have given up by then, and
        // its stream would replace the one that it has opened meanwhile.
        let socket = binding::bind(&settings.storage, || ready(binding::socket(address))).await;
        let socket = socket.map_err(listen)?;
        let bound = socket.local_addr().map_err(listen)?;
        let hub = binding::in_folder(
            || Hub::start(settings.clone()),
            |e| matches!(e, OpenError::Locked(_)),
        );
        let hub = hub.await?;
        let listener = socket.listen(binding::BACKLOG).map_err(listen)?;
        let incoming = TcpListenerStream::new(listener).map(|stream| Socket::tcp(stream?));
        Ok(Self::serve(hub, bound, incoming, others, tls).await)
    }

    /// Serves a hub over connections of any kind that the caller accepts, together with additional services. `address`
    /// is returned by [`address`](Self::address).
    pub async fn over<I, S>(
        hub: Hub,
        address: SocketAddr,
        incoming: I,
        others: impl Into<ExtraServices>,
    ) -> Self
    where
        I: Stream<Item = io::Result<S>> + Send + 'static,
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let incoming = incoming.map(|stream| stream.map(Socket::new));
        Self::serve(hub, address, incoming, others.into(), None).await
    }

    async fn serve<I, S>(
        hub: Hub,
        address: SocketAddr,
        incoming: I,
        others: ExtraServices,
        tls: Option<Tls>,
    ) -> Self
    where
        I: Stream<Item = io::Result<Socket<S>>> + Send + 'static,
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        hub.is_at(address);
        let identities = others.identities.clone();
        let identities = identities.unwrap_or_else(Identities::none);
        let Services {
            front,
            health,
            routes,
        } = services(&hub, others, &identities).await;
        let stop = CancellationToken::new();
        let (links, sender) = match &tls {
            None => (None, None),
            Some(_) => {
                let (sender, links) = mpsc::channel(LINKS);
                let namespace = DEFAULT_NAMESPACE.into();
                (Some(Links { namespace, links }), Some(sender))
            }
        };
        let namespaces = Namespaces::default();
        let gated = Gated::new(
            routes,
            Served::default_namespace(),
            namespaces.clone(),
            identities.clone(),
        )
        .counted(hub.metrics().calls.clone());
        let spaces = Spaces {
            address,
            identities: identities.clone(),
            gated: gated.clone(),
            namespaces,
        };
        hub.spawn(gate::watch(identities.clone()));
        let serving = connections::serve(incoming, tls, links, gated, stall(&hub), stop.clone());
        hub.spawn(say_failed(hub.clone(), health.clone()));
        Self {
            hub,
            front,
            identities,
            address,
            health,
            stop,
            links: sender,
            spaces,
            serving: AbortOnDropHandle::new(tokio::spawn(serving)),
        }
    }

    /// The namespaces beside `default`.
    pub fn spaces(&self) -> &Spaces {
        &self.spaces
    }

    /// The address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The served hub.
    pub fn hub(&self) -> &Hub {
        &self.hub
    }

    /// The hub's service for clients in this process, see [`InProcess`]. It refuses calls once the server has been shut down.
    pub fn in_process(&self) -> InProcess {
        connections::in_process(
            self.front.clone(),
            self.identities.clone(),
            DEFAULT_NAMESPACE.into(),
            self.hub.metrics().calls.clone(),
            self.stop.clone(),
        )
    }

    /// With TLS, takes links in memory from parts of this process, to be
    /// [offered](agenthub_proto::socket::in_process::offer) to them.
    pub fn links(&self) -> Option<mpsc::Sender<DuplexStream>> {
        self.links.clone()
    }

    /// Waits until serving ends by itself, which happens only if no connection can be accepted any more.
    pub async fn failed(&mut self) {
        // A panic ends serving, too.
        let _ = (&mut self.serving).await;
    }

    /// Reports NOT_SERVING, ends every stream with a reason on which clients reconnect, and waits for that, for at most
    /// [`Settings::drain`].
    pub async fn shutdown(self) {
        say_not_serving(&self.health).await;
        self.hub.drain();
        self.stop.cancel();
        // The rest ends when the handle is dropped.
        let _ = timeout(self.hub.settings().drain, self.serving).await;
        self.hub.stop().await;
    }
}

/// The services of one hub.
pub(crate) struct Services {
    pub(crate) front: Front,
    health: HealthReporter,
    pub(crate) routes: Routes,
}

pub(crate) async fn services(
    hub: &Hub,
    others: ExtraServices,
    identities: &Identities,
) -> Services {
    hub.know(identities.clone());
    let (health, health_service) = tonic_health::server::health_reporter();
    health.set_serving::<Front>().await;
    let ExtraServices {
        routes,
        names,
        descriptors,
        identities: _,
    } = others;
    // The descriptors include more services than are served here.
    let ours = [
        agent_hub_server::SERVICE_NAME,
        access_server::SERVICE_NAME,
        health_server::SERVICE_NAME,
    ];
    let front = Front::new(hub.clone(), REQUEST_BYTES);
    let routes = routes
        .add_service(front.clone())
        .add_service(AccessServer::new(AccessService::new(
            hub.clone(),
            identities.clone(),
        )))
        .add_service(health_service);
    let routes = reflection::serve(routes, [&ours, &*names].concat(), descriptors);
    Services {
        front,
        health,
        routes: routes.prepare(),
    }
}

/// Time after which a call ends whose peer reads nothing: later than the hub's own limit, which reports the reason.
pub(crate) fn stall(hub: &Hub) -> Duration {
    2 * hub.settings().stream_stall
}

async fn say_not_serving(health: &HealthReporter) {
    let all = "";
    health
        .set_service_status(all, ServingStatus::NotServing)
        .await;
    health.set_not_serving::<Front>().await;
}

/// Reports NOT_SERVING once the hub has failed, until the process ends.
async fn say_failed(hub: Hub, health: HealthReporter) {
    let failure = hub.failed().await;
    tracing::error!("{failure}");
    say_not_serving(&health).await;
}
