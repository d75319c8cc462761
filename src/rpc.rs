//! gRPC on an address of its own, for what is not served by a hub.

use std::{net::SocketAddr, time::Duration};

use agenthub_terminal::Listen;
use anyhow::Context;
use tokio::{net::TcpListener, task::JoinHandle, time::timeout};
use tokio_util::sync::CancellationToken;
use tonic::{
    service::Routes,
    transport::{self, Server, server::TcpIncoming},
};

use crate::http::cannot_listen;

/// Time for calls to end.
const DRAIN: Duration = Duration::from_secs(1);

/// Interval at which a silent connection is asked whether it is still there, and the time it has to say so.
const KEEPALIVE: Duration = Duration::from_secs(20);

/// A server of gRPC. [`shutdown`](Self::shutdown) it; dropping it does not stop it.
#[derive(Debug)]
pub(crate) struct RpcServer {
    address: SocketAddr,
    stop: CancellationToken,
    serving: JoinHandle<Result<(), transport::Error>>,
}

/// Serves these services.
///
/// # Errors
///
/// The address is taken by somebody else, or is not this machine's.
pub(crate) async fn serve(address: Listen, services: Routes) -> anyhow::Result<RpcServer> {
    let problem = || cannot_listen("--grpc", address);
    let listener = TcpListener::bind(address.0).await.with_context(problem)?;
    let bound = listener.local_addr().context("the address of --grpc")?;
    let stop = CancellationToken::new();
    let serving = Server::builder()
        .http2_keepalive_interval(Some(KEEPALIVE))
        .http2_keepalive_timeout(Some(KEEPALIVE))
        .add_routes(services)
        .serve_with_incoming_shutdown(
            TcpIncoming::from(listener).with_nodelay(Some(true)),
            stop.clone().cancelled_owned(),
        );
    Ok(RpcServer {
        address: bound,
        stop,
        serving: tokio::spawn(serving),
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
