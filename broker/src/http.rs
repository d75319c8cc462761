//! Health, readiness and metrics over HTTP.

use axum::{
    Router,
    extract::State,
    http::{StatusCode, header},
    response::IntoResponse,
    routing::get,
};

use crate::{Hub, metrics::render};

/// `GET /health` (the process lives), `GET /ready` (503 while it drains, and once it has failed) and `GET /metrics` (OpenMetrics).
pub fn router(hub: Hub) -> Router {
    Router::new()
        .route("/health", get(|| async { "ok\n" }))
        .route("/ready", get(ready))
        .route("/metrics", get(metrics))
        .with_state(hub)
}

async fn ready(State(hub): State<Hub>) -> impl IntoResponse {
    if hub.has_failed() {
        (StatusCode::SERVICE_UNAVAILABLE, "failed\n")
    } else if hub.is_draining() {
        (StatusCode::SERVICE_UNAVAILABLE, "draining\n")
    } else {
        (StatusCode::OK, "ready\n")
    }
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
