//! HTTP: its connections; health, readiness and metrics.

mod listening;

use std::{future::IntoFuture, io};

use axum::{
    Router,
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::IntoResponse,
    routing::get,
};

use tokio::{net::TcpListener, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use self::listening::Listening;
use crate::{Hub, metrics::render};

/// Serves HTTP within bounds until `stop`, and then for as long as requests take: 2,048 connections at a time, each of which ends once it
/// has made no progress for 60 s. It is compiled here, with the optimisation of this crate.
pub fn serve(
    listener: TcpListener,
    router: Router,
    stop: CancellationToken,
) -> JoinHandle<io::Result<()>> {
    let serving = axum::serve(Listening::new(listener), router)
        .with_graceful_shutdown(stop.cancelled_owned())
        .into_future();
    tokio::spawn(serving)
}

/// `GET /health` (200 while the process lives; JSON on request), `GET /ready` (503 with the reason while the hub
/// drains, while its disk is full, and after a failure) and `GET /metrics` (OpenMetrics).
pub fn router(hub: Hub) -> Router {
    Router::new()
        .route("/health", get(health))
        .route("/ready", get(ready))
        .route("/metrics", get(metrics))
        .with_state(hub)
}

async fn health(headers: HeaderMap) -> impl IntoResponse {
    let accepted = headers.get(header::ACCEPT).and_then(|a| a.to_str().ok());
    if !accepted.is_some_and(|a| a.contains("application/json")) {
        return "ok\n".into_response();
    }
    let health = serde_json::json!({
        "status": "healthy",
        "version": env!("CARGO_PKG_VERSION"),
    });
    axum::Json(health).into_response()
}

async fn ready(State(hub): State<Hub>) -> impl IntoResponse {
    match not_ready(&hub) {
        Some(reason) => (StatusCode::SERVICE_UNAVAILABLE, format!("{reason}\n")),
        None => (StatusCode::OK, "ready\n".to_owned()),
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

async fn metrics(State(hub): State<Hub>) -> impl IntoResponse {
    if hub.has_failed() {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    }
    let content_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    (
        [(header::CONTENT_TYPE, content_type)],
        render(hub.counters(), hub.gauges()),
    )
        .into_response()
}
