//! Runs over HTTP: requests, answers as JSON, frames as server-sent events, and the OpenAPI document of it all.
//!
//! `runs.rs` and `watching.rs` answer; what they need of a request is read in `body.rs`, `key.rs` and `accept.rs`. Whatever goes wrong is a problem
//! (`problem.rs`). `guard.rs` keeps pages of other sites out, and `openapi.rs` makes the document from the routes themselves. What runs do is in
//! `crate::runs`.

mod accept;
mod asking;
mod body;
mod events;
mod frame;
mod guard;
mod key;
mod openapi;
mod problem;
mod runs;
mod watching;

use std::{
    sync::{Arc, LazyLock},
    time::Duration,
};

use axum::{
    Router,
    extract::{OriginalUri, Request, State},
    http::{HeaderValue, header},
    middleware::{self, Next},
    response::{IntoResponse, Response},
};
use tokio::{sync::SetOnce, time::timeout};
use tokio_util::sync::CancellationToken;
use tower::{ServiceExt, service_fn};
use utoipa_axum::{router::OpenApiRouter, routes};

pub use agenthub_sdk::proto::browser::Hosts;

use self::problem::{Kind, Problem};
use crate::runs::Runs;

/// Everything is served below this path.
const BASE: &str = "/v1";

/// Time for which those who want events wait for a Cortex.
const ARRIVAL: Duration = Duration::from_secs(5);

/// Runs over HTTP.
///
/// A server can have its [router](Self::router) before there is a Cortex: until it is [opened](Self::open), requests are answered with 503. Clones
/// are the same.
#[derive(Clone, Debug, Default)]
pub struct Http(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    runs: SetOnce<Runs>,
    closing: CancellationToken,
}

impl Http {
    /// Lets these runs, and their Cortex, answer. Only the first ones do.
    pub fn open(&self, runs: &Runs) {
        // An error says that there are some already.
        let _ = self.0.runs.set(runs.clone());
    }

    /// Ends the streams of events, so that their clients come back where they find a server, and answers requests with 503. The runs
    /// go on.
    pub fn close(&self) {
        self.0.closing.cancel();
    }

    /// The routes, all below `/v1`. `hosts` are the names under which the server is called.
    pub fn router(&self, hosts: Hosts) -> Router {
        let http = self.clone();
        // With the routes comes what the document says of them: they are made when somebody asks.
        let router = Arc::new(LazyLock::new(move || {
            let (router, _) = routes().split_for_parts();
            router
                .fallback(no_such_path)
                .method_not_allowed_fallback(method_not_allowed)
                .layer(middleware::from_fn_with_state(hosts, guarded))
                .with_state(http)
        }));
        let answer = move |request: Request| Router::clone(&router).oneshot(request);
        Router::new().nest_service(BASE, service_fn(answer))
    }

    fn runs(&self) -> Result<&Runs, Problem> {
        if self.0.closing.is_cancelled() {
            return Err(Kind::Unavailable.with("Cortex is about to stop: try again in a moment"));
        }
        self.0.runs.get().ok_or_else(|| {
            Kind::Unavailable.with("Cortex is not connected to its hub yet: try again in a moment")
        })
    }

    /// The runs, for somebody who would not come back: browsers take an error in place of events for good.
    async fn runs_soon(&self) -> Result<&Runs, Problem> {
        tokio::select! {
            _ = timeout(ARRIVAL, self.0.runs.wait()) => {}
            () = self.0.closing.cancelled() => {}
        }
        self.runs()
    }

    fn closing(&self) -> CancellationToken {
        self.0.closing.clone()
    }
}

/// Every route, each with what the document says of it.
fn routes() -> OpenApiRouter<Http> {
    OpenApiRouter::default()
        .routes(routes!(runs::start, runs::list))
        .routes(routes!(runs::get))
        .routes(routes!(watching::events))
        .routes(routes!(watching::plan))
        .routes(routes!(watching::graph))
        .routes(routes!(watching::steps))
        .routes(routes!(runs::cancel))
        .routes(routes!(runs::decide))
        .routes(routes!(runs::resume))
        .routes(routes!(runs::retry))
        .routes(routes!(runs::fork))
        .routes(routes!(watching::journal))
        .routes(routes!(watching::moment))
        .routes(routes!(runs::record))
        .routes(routes!(openapi::document))
        .routes(routes!(openapi::page))
}

/// Answers what may be asked, and says in each problem what it was about.
async fn guarded(
    State(hosts): State<Hosts>,
    OriginalUri(uri): OriginalUri,
    request: Request,
    next: Next,
) -> Response {
    let mut response = match guard::check(hosts, request.method(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    };
    if let Some(problem) = response.extensions_mut().remove::<Problem>() {
        response = problem.at(uri.path()).into_response();
    } else if response.status().is_client_error() {
        // From what reads the path.
        let problem = Kind::InvalidParameter.with("the path cannot be read");
        response = problem.at(uri.path()).into_response();
    }
    let headers = response.headers_mut();
    let no_store = HeaderValue::from_static("no-store");
    headers.entry(header::CACHE_CONTROL).or_insert(no_store);
    let no_sniff = HeaderValue::from_static("nosniff");
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, no_sniff);
    response
}

async fn no_such_path() -> Problem {
    Kind::NoSuchPath.with(format!("{BASE}/docs shows what is served"))
}

async fn method_not_allowed() -> Problem {
    Kind::MethodNotAllowed.with("the header `Allow` of this answer says which it takes")
}
