//! HTTP on one address.

use std::{future::ready, net::SocketAddr, time::Duration};

use agenthub_api::Hosts;
use agenthub_broker::{Storage, Tls, listen, serve_http};
use agenthub_terminal::{Listen, output};
use anyhow::{Context, bail};
use axum::Router;
use tokio::{net::TcpListener, task::JoinHandle, time::timeout};
use tokio_util::sync::CancellationToken;

/// Time for requests to end.
const DRAIN: Duration = Duration::from_secs(1);

/// An address that is taken but not served yet: connections wait.
#[derive(Debug)]
pub(crate) struct Bound {
    listener: TcpListener,
    address: SocketAddr,
}

/// A server of HTTP. [`shutdown`](Self::shutdown) it; dropping it does not stop it.
#[derive(Debug)]
pub(crate) struct HttpServer {
    address: SocketAddr,
    stop: CancellationToken,
    serving: JoinHandle<()>,
}

impl Bound {
    /// Takes an address.
    ///
    /// # Errors
    ///
    /// See [`bind_for`](Self::bind_for).
    pub(crate) async fn bind(address: Listen) -> anyhow::Result<Self> {
        Self::bind_for(address, &Storage::Memory).await
    }

    /// Takes an address for a hub that has its log there.
    ///
    /// # Errors
    ///
    /// It is taken by somebody else, or is not this machine's.
    pub(crate) async fn bind_for(address: Listen, storage: &Storage) -> anyhow::Result<Self> {
        Self::take("--http", address, storage).await
    }

    /// Takes an address that this flag names.
    ///
    /// # Errors
    ///
    /// See [`bind_for`](Self::bind_for).
    pub(crate) async fn at(flag: &str, address: Listen) -> anyhow::Result<Self> {
        Self::take(flag, address, &Storage::Memory).await
    }

    async fn take(flag: &str, address: Listen, storage: &Storage) -> anyhow::Result<Self> {
        let listener = agenthub_broker::bind(storage, || ready(listen(address.0)))
            .await
            .with_context(|| cannot_listen(flag, address))?;
        let address = listener
            .local_addr()
            .with_context(|| format!("the address of {flag}"))?;
        Ok(Self { listener, address })
    }

    /// Its address.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves from here on, with TLS if given.
    pub(crate) fn serve(self, router: Router, tls: Option<Tls>) -> HttpServer {
        let stop = CancellationToken::new();
        HttpServer {
            address: self.address,
            serving: serve_http(self.listener, router, tls, stop.clone()),
            stop,
        }
    }
}

impl HttpServer {
    /// Address on which it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Takes no more connections, and ends within 1 s.
    pub(crate) async fn shutdown(self) {
        self.stop.cancel();
        let mut serving = self.serving;
        if timeout(DRAIN, &mut serving).await.is_err() {
            serving.abort();
        }
    }
}

/// The names under which a server on this address is called.
pub(crate) fn hosts(address: Listen) -> Hosts {
    match address.0.ip().is_loopback() {
        true => Hosts::Local,
        false => Hosts::Any,
    }
}

/// Warns of tokens that other machines may see on their way to this address, which has no TLS.
pub(crate) fn warn_of_plain_text(flag: &str, address: Listen, is_open: bool) {
    if !address.0.ip().is_loopback() && !is_open {
        output::alarm(&format!(
            "WARNING: {flag} {address} is open to other machines without TLS: whoever sees that network sees tokens and messages."
        ));
    }
}

/// Refuses an address that others reach, unless callers need an identity, or that is wanted; then it warns of it.
///
/// # Errors
///
/// Others reach it, nobody's identity is checked, and that is not wanted.
pub(crate) fn check(
    flag: &str,
    address: Listen,
    insecure: bool,
    is_open: bool,
) -> anyhow::Result<()> {
    if address.0.ip().is_loopback() || !is_open {
        return Ok(());
    }
    if insecure {
        output::alarm(&format!(
            "WARNING: --insecure opens {flag} {address} to other machines, and nobody's identity is checked. Whoever reaches it can read every \
             message, act in any agent's name, spend the model's tokens and stop the work."
        ));
        return Ok(());
    }
    bail!(
        "{flag} {address} can be reached from other machines, and the hub does not check who calls: \
         issue a token first (agenthub tokens issue NAME --role admin), listen on 127.0.0.1, or add --insecure if everyone on that network may do \
         everything"
    )
}

/// Error where an address cannot be had.
pub(crate) fn cannot_listen(flag: &str, address: Listen) -> String {
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
        let refused = |address: &str, insecure, is_open| {
            let address = address.parse().expect("an address");
            check("--grpc", address, insecure, is_open).is_err()
        };
        assert!(!refused("127.0.0.1:1", false, true));
        assert!(!refused("[::1]:1", false, true));
        assert!(refused("0.0.0.0:1", false, true));
        assert!(refused("[::]:1", false, true));
        assert!(refused("10.1.2.3:1", false, true));
        assert!(!refused("0.0.0.0:1", true, true));
        assert!(!refused("10.1.2.3:1", false, false));
    }
}
