//! The connector: one client for HTTP, and one for gRPC.

use std::{
    fmt,
    sync::{Arc, OnceLock},
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Uri};
use http_body_util::Full;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::Client,
    rt::{TokioExecutor, TokioTimer},
};
use rustls::ClientConfig;
use tokio::time::timeout;

use crate::{
    Body, Error, Network, Reply,
    dial::{Dialer, Lookup, authority, system},
    error::root,
    tls,
};

/// Connections to one host that wait for further calls: as many as a bridge has calls at work, or it would connect for most of them.
const IDLE_PER_HOST: usize = 100;

/// Time after which a connection that waits is closed.
const IDLE: Duration = Duration::from_secs(30);

/// Time after which a connection of gRPC that says nothing is probed, and then given up.
const KEEP_ALIVE: Duration = Duration::from_secs(20);

/// A client of HTTP/2 alone, for gRPC: a `tower::Service` that `tonic` clients are made with. Its calls have no deadline of their own.
pub type Http2<B> = Client<HttpsConnector<Dialer>, B>;

/// Settings of a connector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Networks that are reached though they are not public.
    pub allow: Vec<Network>,
    /// Time to find a host and connect to it.
    pub connect: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            allow: Vec::new(),
            connect: Duration::from_secs(10),
        }
    }
}

/// Bounds of one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Time from the beginning to the headers of the answer.
    pub headers: Duration,
    /// Time for the body.
    pub body: Duration,
    /// Size of the body in bytes.
    pub size: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            headers: Duration::from_secs(30),
            body: Duration::from_secs(30),
            size: 8 * 1024 * 1024,
        }
    }
}

/// Calls addresses that others name. Clones share their connections.
#[derive(Clone)]
pub struct Connector {
    dialer: Dialer,
    tls: Arc<dyn Fn() -> ClientConfig + Send + Sync>,
    built: Arc<OnceLock<Built>>,
}

/// Made with the first call: it takes the certificates of this system, which not every process needs.
struct Built {
    tls: ClientConfig,
    http: Client<HttpsConnector<Dialer>, Full<Bytes>>,
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connector")
            .field("allow", &self.dialer.allow)
            .finish_non_exhaustive()
    }
}

impl Connector {
    /// A connector. Nothing is read or opened before it is used.
    pub fn new(settings: Settings) -> Self {
        Self::with(settings, system(), tls::config)
    }

    /// A connector with this TLS, without ALPN, and not with that of the system.
    pub fn with_tls(settings: Settings, tls: ClientConfig) -> Self {
        Self::with(settings, system(), move || tls.clone())
    }

    pub(crate) fn with(
        settings: Settings,
        lookup: Lookup,
        tls: impl Fn() -> ClientConfig + Send + Sync + 'static,
    ) -> Self {
        let dialer = Dialer {
            allow: Arc::from(settings.allow),
            connect: settings.connect,
            lookup,
        };
        Self {
            dialer,
            tls: Arc::new(tls),
            built: Arc::default(),
        }
    }

    fn built(&self) -> &Built {
        self.built.get_or_init(|| {
            let tls = (self.tls)();
            let https = HttpsConnectorBuilder::new()
                .with_tls_config(tls.clone())
                .https_or_http()
                .enable_http1()
                .enable_http2()
                .wrap_connector(self.dialer.clone());
            let http = Client::builder(TokioExecutor::new())
                .timer(TokioTimer::new())
                .pool_timer(TokioTimer::new())
                .pool_idle_timeout(IDLE)
                .pool_max_idle_per_host(IDLE_PER_HOST)
                .build(https);
            Built { tls, http }
        })
    }

    /// Calls, and reads the whole answer, whatever its status.
    ///
    /// # Errors
    ///
    /// See [`Error`].
    pub async fn request(
        &self,
        request: Request<Bytes>,
        limits: Limits,
    ) -> Result<Reply<Bytes>, Error> {
        let reply = self.open(request, limits.headers).await?;
        Ok(Reply {
            status: reply.status,
            headers: reply.headers,
            body: reply.body.collect(limits.size, limits.body).await?,
        })
    }

    /// Calls, and waits this long for the headers of the answer; the body is for the caller to read.
    ///
    /// # Errors
    ///
    /// See [`Error`].
    pub async fn open(
        &self,
        request: Request<Bytes>,
        headers: Duration,
    ) -> Result<Reply<Body>, Error> {
        let host = authority(request.uri());
        let called = self.built().http.request(request.map(Full::new));
        let answered = timeout(headers, called).await;
        let answered = answered.map_err(|_| Error::Deadline {
            host: host.clone(),
            what: "its answer",
            seconds: headers.as_secs(),
        })?;
        let (parts, incoming) = answered
            .map_err(|error| failed(&host, &error))?
            .into_parts();
        Ok(Reply {
            status: parts.status,
            headers: parts.headers,
            body: Body::new(incoming, host),
        })
    }

    /// Resolves the host of an address, and says whether it may be called. Nothing is sent.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`], [`Error::Unresolved`], [`Error::Deadline`].
    pub async fn check(&self, url: &Uri) -> Result<(), Error> {
        self.dialer.check(url).await
    }

    /// A client for gRPC, whose connections are checked alike.
    pub fn http2<B>(&self) -> Http2<B>
    where
        B: http_body::Body + Send,
        B::Data: Send,
    {
        let https = HttpsConnectorBuilder::new()
            .with_tls_config(self.built().tls.clone())
            .https_or_http()
            .enable_http2()
            .wrap_connector(self.dialer.clone());
        Client::builder(TokioExecutor::new())
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE)
            .http2_only(true)
            .http2_keep_alive_interval(KEEP_ALIVE)
            .http2_keep_alive_timeout(KEEP_ALIVE)
            .build(https)
    }
}

/// Protocol that a peer does not speak.
enum Unlike {
    Tls,
    Http,
}

/// The protocol that the peer does not speak, if that is the reason.
fn unlike(error: &(dyn std::error::Error + 'static)) -> Option<Unlike> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(rustls::Error::InvalidMessage(_)) = error.downcast_ref() {
            return Some(Unlike::Tls);
        }
        if error.downcast_ref().is_some_and(hyper::Error::is_parse) {
            return Some(Unlike::Http);
        }
        // An error of I/O leaves out, as its source, the error that it is made of.
        let made_of = error.downcast_ref().and_then(std::io::Error::get_ref);
        next = match made_of {
            Some(made_of) => Some(made_of),
            None => error.source(),
        };
    }
    None
}

/// The failure of a client, as callers see it.
fn failed(host: &str, error: &hyper_util::client::legacy::Error) -> Error {
    if let Some(ours) = Error::within(error) {
        return ours.clone();
    }
    let why = match unlike(error) {
        Some(Unlike::Tls) => {
            "what answers there speaks no TLS: is it an http:// address?".to_owned()
        }
        Some(Unlike::Http) => {
            "what answers there speaks no HTTP: is it an https:// address, or one of gRPC?"
                .to_owned()
        }
        None => root(error),
    };
    let host = host.to_owned();
    match error.is_connect() {
        true => Error::Unreachable { host, why },
        false => Error::Broken { host, why },
    }
}
