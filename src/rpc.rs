//! gRPC on an address of its own, for what is not served by a hub.

use std::{net::SocketAddr, time::Duration};

use agenthub_access::Identities;
use agenthub_broker::{Gated, Namespaces, Served, Tls, serve_services};
use agenthub_terminal::Listen;
use anyhow::Context;
use tokio::{net::TcpListener, task::JoinHandle, time::timeout};
use tokio_util::sync::CancellationToken;
use tonic::service::Routes;

use crate::http::cannot_listen;

/// Time for calls to end.
const DRAIN: Duration = Duration::from_secs(1);

/// A server of gRPC. [`shutdown`](Self::shutdown) it; dropping it does not stop it.
#[derive(Debug)]
pub(crate) struct RpcServer {
    address: SocketAddr,
    stop: CancellationToken,
    serving: JoinHandle<()>,
}

/// Serves these services to callers of one namespace, with TLS if given.
///
/// # Errors
///
/// The address is taken by somebody else, or is not this machine's.
pub(crate) async fn serve(
    address: Listen,
    services: Routes,
    served: Served,
    identities: Identities,
    tls: Option<Tls>,
) -> anyhow::Result<RpcServer> {
    let problem = || cannot_listen("--grpc", address);
    let listener = TcpListener::bind(address.0).await.with_context(problem)?;
    let bound = listener.local_addr().context("the address of --grpc")?;
    let stop = CancellationToken::new();
    let others = Namespaces::default();
    others.settle();
    let services = Gated::new(services.prepare(), served, others, identities);
    Ok(RpcServer {
        address: bound,
        serving: serve_services(listener, services, tls, stop.clone()),
        stop,
    })
}

impl RpcServer {
    /// Address on which it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Takes no more calls, and ends within 1 s.
    pub(crate) async fn shutdown(self) {
        self.stop.cancel();
        let mut serving = self.serving;
        if timeout(DRAIN, &mut serving).await.is_err() {
            serving.abort();
        }
    }
}
