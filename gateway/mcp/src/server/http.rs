//! Streamable HTTP.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    Router,
    extract::{Request, State},
    http::{Method, StatusCode},
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse, Response},
};
use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig, StreamableHttpService,
    session::local::{LocalSessionManager, SessionConfig},
};

use super::{Shared, handler::Handler};

/// Path of the endpoint.
const PATH: &str = "/mcp";

/// The clients at a time that have a session, as those of the protocol before 2026-07-28 do.
const MAX_SESSIONS: usize = 1_000;

/// Time for which a session is kept in which nothing happens.
const IDLE: Duration = Duration::from_secs(6 * 60 * 60);

/// The longest request, in bytes: what the hub takes as a message, and some more.
const MAX_BODY: usize = 2 * 1024 * 1024;

/// The header that names a session.
const SESSION: &str = "mcp-session-id";

/// `/mcp`, for a server that listens at this address.
pub(super) fn router(shared: &Arc<Shared>, address: SocketAddr) -> Router {
    let mut sessions = LocalSessionManager::default();
    let idle = IDLE.max(shared.settings.timeout + Duration::from_secs(60));
    sessions.session_config = SessionConfig::default();
    sessions.session_config.keep_alive = Some(idle);
    let sessions = Arc::new(sessions);
    let for_each = Arc::clone(shared);
    let service = StreamableHttpService::new(
        move || Ok(Handler::new(&for_each)),
        Arc::clone(&sessions),
        guarded(address)
            .with_cancellation_token(shared.stop.child_token())
            .with_max_request_body_bytes(MAX_BODY),
    );
    Router::new()
        .route_service(PATH, service)
        .layer(from_fn_with_state(sessions, bounded))
}

/// Guard of the endpoint. On loopback those may ask who call it by a name of this machine, so that no page can lead here under a name of its own;
/// elsewhere its names are not known. Pages of browsers may not ask, unless they are of this address.
fn guarded(address: SocketAddr) -> StreamableHttpServerConfig {
    let config = StreamableHttpServerConfig::default().enforce_origin_validation();
    if !address.ip().is_loopback() {
        return config.disable_allowed_hosts();
    }
    let port = address.port();
    let own = ["localhost", "127.0.0.1", "[::1]"];
    let hosts = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
    config
        .with_allowed_hosts(hosts.into_iter().chain([address.ip().to_string()]))
        .with_allowed_origins(own.map(|host| format!("http://{host}:{port}")))
}

/// Refuses a session too many.
async fn bounded(
    State(sessions): State<Arc<LocalSessionManager>>,
    request: Request,
    next: Next,
) -> Response {
    let begins = request.method() == Method::POST && !request.headers().contains_key(SESSION);
    if begins && sessions.sessions.read().await.len() >= MAX_SESSIONS {
        let told = format!(
            "{MAX_SESSIONS} clients have a session, which is the most at a time: end one of them (DELETE {PATH}), or try later"
        );
        return (StatusCode::SERVICE_UNAVAILABLE, told).into_response();
    }
    next.run(request).await
}
