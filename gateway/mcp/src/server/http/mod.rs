//! Streamable HTTP: each request is made in the name of who sends it.
//!
//! The hub names the sender by the token that the request shows (`callers.rs`), so that nobody can do more here than there. A refusal says why, and
//! where tokens come from (`refusal.rs`, `resource.rs`). Sessions are those of one principal (`sessions.rs`).

mod callers;
mod refusal;
mod resource;
mod sessions;
mod shown;

use std::{net::SocketAddr, sync::Arc};

use agenthub_sdk::{Error, internal::NotIdentified};
use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    http::{HeaderValue, header},
    response::{IntoResponse as _, Response},
    routing::{any, get},
};
use futures_util::StreamExt as _;
use rmcp::transport::streamable_http_server::StreamableHttpServerConfig;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use self::{
    callers::{Admitted, Callers},
    refusal::Refusal,
    resource::Resource,
    shown::Shown,
};
use super::{Settings, drain};

/// Path of the endpoint.
const PATH: &str = "/mcp";

/// The longest request, in bytes: what the hub takes as a message, and some more.
const MAX_BODY: usize = 2 * 1024 * 1024;

/// Settings of a door.
#[derive(Clone, Debug)]
pub struct DoorSettings {
    /// The address that it listens on.
    pub address: SocketAddr,
    /// True if it speaks TLS.
    pub is_tls: bool,
    /// The URL by which callers know the endpoint, if it is not the `Host` that they send.
    pub public_url: Option<String>,
    /// Issuers of tokens that the hub takes beside its own, as `iss` has them.
    pub issuers: Vec<String>,
    /// Scopes that tokens of these issuers need.
    pub scopes: Vec<String>,
    /// Serves nobody without an identity, also where the hub needs none.
    pub needs_identity: bool,
}

/// Serves the agents of a hub as MCP tools to many clients, each in its own name. [`stop`](Self::stop) it; dropping it breaks off.
#[derive(Debug)]
pub struct Door {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    callers: Callers,
    resource: Resource,
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl Door {
    /// A door to the hub of these settings. Needs a tokio runtime.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidUrl`]: no hub can ever be there.
    pub fn open(settings: Settings, door: DoorSettings) -> Result<Self, Error> {
        let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
        let config = guarded(&door).with_max_request_body_bytes(MAX_BODY);
        let needs_identity = door.needs_identity;
        let callers = Callers::open(settings, config, needs_identity, &stop, &tasks)?;
        Ok(Self {
            inner: Arc::new(Inner {
                callers,
                resource: Resource::new(door, PATH),
                stop,
                tasks,
            }),
        })
    }

    /// True if the hub needs no identities, so that everybody may do everything; `None` if it cannot be asked now.
    pub async fn is_hub_open(&self) -> Option<bool> {
        match self.inner.callers.who().shows(None).await {
            Ok(identity) => Some(identity.is_anonymous),
            Err(NotIdentified::Unknown(_) | NotIdentified::Denied(_)) => Some(false),
            Err(NotIdentified::Unavailable(_)) => None,
        }
    }

    /// Its routes: the endpoint at `/mcp`, and what RFC 9728 tells about it. On loopback only names of this machine are answered; pages
    /// that a browser shows are not answered anywhere, unless they are of this address.
    pub fn router(&self) -> Router {
        let well_known = resource::WELL_KNOWN;
        Router::new()
            .route(PATH, any(serve))
            .route(well_known, get(describe))
            .route(&format!("{well_known}{PATH}"), get(describe))
            .with_state(Arc::clone(&self.inner))
    }

    /// Ends all clients, calls back what they asked for, which may take 4 s, and leaves the hub.
    pub async fn stop(&self) {
        let inner = &self.inner;
        inner.stop.cancel();
        drain(&inner.tasks).await;
        inner.callers.close().await;
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.inner.stop.cancel();
    }
}

/// Guard of the endpoint. On loopback those may ask who call it by a name of this machine, so that no page can lead here under a name of its own;
/// elsewhere its names are not known. Pages of browsers may not ask, unless they are of this address.
fn guarded(door: &DoorSettings) -> StreamableHttpServerConfig {
    let config = StreamableHttpServerConfig::default().enforce_origin_validation();
    if !door.address.ip().is_loopback() {
        return config.disable_allowed_hosts();
    }
    let (scheme, port) = (door.scheme(), door.address.port());
    let own = ["localhost", "127.0.0.1", "[::1]"];
    let hosts = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
    let hosts = hosts.into_iter().chain([door.address.ip().to_string()]);
    config
        .with_allowed_hosts(hosts.chain(door.public_host()))
        .with_allowed_origins(own.map(|host| format!("{scheme}://{host}:{port}")))
}

impl DoorSettings {
    fn scheme(&self) -> &'static str {
        match self.is_tls {
            true => "https",
            false => "http",
        }
    }

    /// The host of the public URL.
    fn public_host(&self) -> Option<String> {
        let url: http::Uri = self.public_url.as_ref()?.parse().ok()?;
        url.host().map(str::to_owned)
    }
}

/// Serves a request in the name of who sends it, for as long as the hub serves that caller.
async fn serve(State(door): State<Arc<Inner>>, request: Request) -> Response {
    let place = door.resource.at(&request);
    match in_name(&door, request).await {
        Ok(answer) => answer,
        Err(refusal) => refusal.answer(&place),
    }
}

async fn in_name(door: &Inner, mut request: Request) -> Result<Response, Refusal> {
    let shown = Shown::of(request.headers());
    let Admitted {
        caller,
        sessions,
        in_use,
    } = door.callers.admit(shown).await?;
    // Nobody needs it any more, and nothing that is logged of the request is to have it.
    request.headers_mut().remove(header::AUTHORIZATION);
    request.extensions_mut().insert(Arc::clone(&caller));
    if sessions::may_begin(&request) && sessions.is_full().await {
        return Err(Refusal::TooManySessions(sessions.most()));
    }
    let answer = tokio::select! {
        answer = sessions.serve(request) => answer,
        () = caller.ended() => return Err(Refusal::Ended),
    };
    Ok(answer.map(|body| {
        let frames = body.into_data_stream();
        let ended = async move { caller.ended().await };
        Body::from_stream(frames.take_until(Box::pin(ended)).map(move |frame| {
            let _ = &in_use;
            frame
        }))
    }))
}

/// Tells what RFC 9728 has about the endpoint.
async fn describe(State(door): State<Arc<Inner>>, request: Request) -> Response {
    let headers = [
        (
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/json"),
        ),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    let document = door.resource.at(&request).document();
    (headers, document.to_string()).into_response()
}
