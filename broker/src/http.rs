//! HTTP: its connections; health, readiness and metrics.

mod connections;
mod exchanges;
mod listening;
mod refusals;
mod timed;

use agenthub_metrics::{
    Snapshot,
    text::{Format, encode},
};
use axum::{
    Router,
    extract::State,
    http::{Extensions, HeaderMap, StatusCode, header},
    response::IntoResponse,
    routing::get,
};

use crate::{Caller, DEFAULT_NAMESPACE, Hub, metrics::collect_process};

pub use self::connections::serve;

/// `GET /health` (200 while the process lives; JSON on request), `GET /ready` (503 with the reason while the hub
/// drains, while its disk is full, and after a failure) and `GET /metrics`: OpenMetrics for who accepts it, with
/// exemplars, and the text of Prometheus for others.
pub fn router(hub: Hub) -> Router {
    Router::new()
        .route("/health", get(health))
        .route("/ready", get(ready))
        .route("/metrics", get(metrics))
        .with_state(hub)
}

async fn health(State(hub): State<Hub>, headers: HeaderMap) -> impl IntoResponse {
    let accepted = headers.get(header::ACCEPT).and_then(|a| a.to_str().ok());
    if !accepted.is_some_and(|a| a.contains("application/json")) {
        return "ok\n".into_response();
    }
    let closed = hub.closed_spaces().len();
    let health = serde_json::json!({
        "status": if closed == 0 { "healthy" } else { "degraded" },
        "closedNamespaces": closed,
        "version": env!("CARGO_PKG_VERSION"),
    });
    axum::Json(health).into_response()
}

async fn ready(State(hub): State<Hub>) -> impl IntoResponse {
    match not_ready(&hub) {
        Some(reason) => (StatusCode::SERVICE_UNAVAILABLE, format!("{reason}\n")),
        None => (StatusCode::OK, ready_words(hub.closed_spaces().len())),
    }
}

/// Words of a hub that is ready. Names and reasons are for who may see the hub's folder.
fn ready_words(closed: usize) -> String {
    match closed {
        0 => "ready\n".to_owned(),
        _ => format!(
            "ready, but namespaces cannot be opened: {closed}; `agenthub namespaces list` on the hub's machine says which, and why\n"
        ),
    }
}

fn not_ready(hub: &Hub) -> Option<String> {
    if hub.has_failed() {
        return Some("failed".to_owned());
    }
    if hub.is_draining() {
        return Some("draining".to_owned());
    }
    let accepted = hub.commits().latest().admit();
    accepted.err().map(|error| error.to_string())
}

async fn metrics(
    State(hub): State<Hub>,
    headers: HeaderMap,
    asked: Extensions,
) -> impl IntoResponse {
    let accepted = headers.get(header::ACCEPT).and_then(|a| a.to_str().ok());
    let format = Format::accepted(accepted);
    let mut metrics = Snapshot::default();
    hub.collect(&mut metrics);
    // What the process does for all namespaces is for operators of the first one.
    if Caller::of_request(&asked).namespace == DEFAULT_NAMESPACE {
        collect_process(&mut metrics);
    }
    let content_type = [(header::CONTENT_TYPE, format.content_type())];
    (content_type, encode(&metrics, format))
}
