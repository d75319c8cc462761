//! A connection to a host, of which every address is asked about before it is connected to.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use futures_util::future::BoxFuture;
use http::Uri;
use hyper_util::rt::TokioIo;
use tokio::{
    net::{TcpStream, lookup_host},
    time::{Instant, timeout_at},
};
use tower::Service;

use crate::{
    Error, Network,
    error::CONNECTION,
    reachable::{Refusal, may_reach},
};

/// The most addresses of a host that are looked at.
const MAX_ADDRESSES: usize = 64;

/// Addresses of a host and port.
pub(crate) type Lookup =
    Arc<dyn Fn(String, u16) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> + Send + Sync>;

/// Connects to hosts. Clones are the same.
#[derive(Clone)]
pub struct Dialer {
    pub(crate) allow: Arc<[Network]>,
    pub(crate) connect: Duration,
    pub(crate) lookup: Lookup,
}

/// The names of this system.
pub(crate) fn system() -> Lookup {
    Arc::new(|host, port| {
        Box::pin(async move {
            let found = lookup_host((host, port)).await?;
            Ok(found.take(MAX_ADDRESSES).collect())
        })
    })
}

impl Dialer {
    /// Resolves the host of an address, and says whether it may be connected to.
    pub(crate) async fn check(&self, uri: &Uri) -> Result<(), Error> {
        let deadline = Instant::now() + self.connect;
        self.find(uri, deadline).await.map(drop)
    }

    /// The addresses of a host that may be reached, the first one last.
    async fn find(&self, uri: &Uri, deadline: Instant) -> Result<Vec<SocketAddr>, Error> {
        let host = uri.host().unwrap_or_default();
        let default = if uri.scheme_str() == Some("https") {
            443
        } else {
            80
        };
        let port = uri.port_u16().unwrap_or(default);
        let found = timeout_at(deadline, self.resolve(host, port)).await;
        let found = found.map_err(|_| self.late(uri))??;
        self.reachable(host, found)
    }

    fn late(&self, uri: &Uri) -> Error {
        Error::Deadline {
            host: authority(uri),
            what: CONNECTION,
            seconds: self.connect.as_secs(),
        }
    }

    async fn dial(self, uri: Uri) -> Result<TokioIo<TcpStream>, Error> {
        let host = authority(&uri);
        let deadline = Instant::now() + self.connect;
        let mut left = self.find(&uri, deadline).await?;
        let mut why = String::new();
        while let Some(address) = left.pop() {
            // Those that are left have the rest of the time between them.
            let now = Instant::now();
            let share = deadline.saturating_duration_since(now) / (left.len() as u32 + 1);
            match timeout_at(now + share, TcpStream::connect(address)).await {
                Ok(Ok(stream)) => {
                    // Small requests are not held back for larger ones.
                    let _ = stream.set_nodelay(true);
                    return Ok(TokioIo::new(stream));
                }
                Ok(Err(error)) => why = error.to_string(),
                Err(_) if left.is_empty() && why.is_empty() => return Err(self.late(&uri)),
                Err(_) => {}
            }
        }
        Err(Error::Unreachable { host, why })
    }

    async fn resolve(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, Error> {
        let literal = host.trim_start_matches('[').trim_end_matches(']');
        if let Ok(address) = literal.parse::<IpAddr>() {
            return Ok(vec![(address, port).into()]);
        }
        let unresolved = |why: String| Error::Unresolved {
            host: host.to_owned(),
            why,
        };
        let found = (self.lookup)(host.to_owned(), port).await;
        let found = found.map_err(|error| unresolved(error.to_string()))?;
        match found.is_empty() {
            true => Err(unresolved("its name leads nowhere".to_owned())),
            false => Ok(found),
        }
    }

    /// The addresses that may be reached, the first one last.
    fn reachable(&self, host: &str, found: Vec<SocketAddr>) -> Result<Vec<SocketAddr>, Error> {
        let mut refused: Option<(IpAddr, Refusal)> = None;
        let mut reachable = Vec::new();
        for address in found.into_iter().take(MAX_ADDRESSES).rev() {
            match may_reach(address.ip(), &self.allow) {
                Ok(()) => reachable.push(address),
                Err(refusal) => refused = Some((address.ip(), refusal)),
            }
        }
        match refused {
            Some((address, refusal)) if reachable.is_empty() => Err(Error::Refused {
                host: host.to_owned(),
                address,
                refusal,
            }),
            _ => Ok(reachable),
        }
    }
}

/// Host of an address, with its port if that is not the scheme's own.
pub(crate) fn authority(uri: &Uri) -> String {
    let host = uri.host().unwrap_or_default();
    match uri.port_u16() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

impl Service<Uri> for Dialer {
    type Response = TokioIo<TcpStream>;
    type Error = Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        Box::pin(self.clone().dial(uri))
    }
}
