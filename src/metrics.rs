//! Metrics of a process without a hub, where Prometheus can read them.

use std::sync::Arc;

use agenthub_broker::{Namespaces, Served, collect_process, gated, watch};
use agenthub_metrics::{
    Snapshot,
    text::{Format, encode},
};
use agenthub_terminal::output;
use axum::{
    Router,
    extract::State,
    http::{HeaderMap, header},
    response::IntoResponse,
    routing::get,
};
use tokio_util::task::AbortOnDropHandle;

use crate::{
    http::{self, Bound, HttpServer},
    settings::Settings,
};

/// Adds what a process measures besides its runs and topics.
pub(crate) type Collect = Arc<dyn Fn(&mut Snapshot) + Send + Sync>;

/// The address of a process's metrics, if it has one. [`close`](Self::close) it.
pub(crate) struct Metrics {
    server: HttpServer,
    /// Notices changed identities.
    _identities: AbortOnDropHandle<()>,
    /// Keys of issuers elsewhere.
    _keys: AbortOnDropHandle<()>,
}

impl Metrics {
    /// Serves the metrics where the settings say, for who may operate a hub of this folder.
    ///
    /// # Errors
    ///
    /// The address is taken, is not this machine's, or is open to others without that being wanted.
    pub(crate) async fn serve(
        settings: &Settings,
        collect: Collect,
    ) -> anyhow::Result<Option<Self>> {
        let Some(address) = settings.metrics else {
            return Ok(None);
        };
        let identities = settings.identities()?;
        http::check(
            "--metrics",
            address,
            settings.insecure,
            identities.is_open(),
        )?;
        http::warn_of_plain_text("--metrics", address, identities.is_open());
        let others = Namespaces::default();
        others.settle();
        let router = gated(
            router(collect),
            Served::default_namespace(),
            others,
            identities.clone(),
        );
        let server = Bound::at("--metrics", address).await?.serve(router, None);
        output::aside(format!("metrics: http://{}/metrics", server.address()));
        Ok(Some(Self {
            server,
            _keys: settings.keep_keys(&identities),
            _identities: AbortOnDropHandle::new(tokio::spawn(watch(identities))),
        }))
    }

    /// Ends within 1 s.
    pub(crate) async fn close(of: Option<Self>) {
        if let Some(metrics) = of {
            metrics.server.shutdown().await;
        }
    }
}

/// `GET /metrics`, and `GET /health` for who looks whether the process lives.
fn router(collect: Collect) -> Router {
    Router::new()
        .route("/metrics", get(metrics))
        .route("/health", get(async || "ok\n"))
        .with_state(collect)
}

async fn metrics(State(collect): State<Collect>, headers: HeaderMap) -> impl IntoResponse {
    let accepted = headers.get(header::ACCEPT).and_then(|a| a.to_str().ok());
    let format = Format::accepted(accepted);
    let mut metrics = Snapshot::default();
    collect(&mut metrics);
    collect_process(&mut metrics);
    let content_type = [(header::CONTENT_TYPE, format.content_type())];
    (content_type, encode(&metrics, format))
}
