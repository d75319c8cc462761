//! Requests over HTTP: rate, errors and duration of each route.

use std::{sync::Arc, time::Instant};

use agenthub_access::ROUTES;
use agenthub_metrics::{Counter, Family, Histogram, Snapshot, bounds};
use agenthub_proto::trace::TraceContext;
use axum::{
    Router,
    extract::{Request, State},
    http::Method,
    middleware::{self, Next},
    response::Response,
};
use tracing::{Instrument, Level, Span};

use super::{
    names::{HTTP, HTTP_TIME},
    traced::{ids, trace},
};
use crate::Hub;

/// The most series by route: more than there are routes.
const SERIES: usize = 400;

/// Route of requests for what is not there.
const NO_ROUTE: &str = "none";

/// Requests, see the module.
#[derive(Debug)]
pub(crate) struct Requests {
    answered: Family<Counter>,
    time: Family<Histogram>,
}

impl Default for Requests {
    fn default() -> Self {
        Self {
            answered: Family::new(SERIES, Counter::default),
            time: Family::new(SERIES, || Histogram::new(&bounds::REQUESTS)),
        }
    }
}

impl Requests {
    pub(super) fn collect(&self, into: &mut Snapshot) {
        into.counters(&HTTP, &self.answered);
        into.histograms(&HTTP_TIME, &self.time);
    }
}

/// The routes, whose requests count among the hub's metrics.
pub fn measured(routes: Router, hub: &Hub) -> Router {
    let metrics = Arc::clone(hub.metrics());
    routes.layer(middleware::from_fn_with_state(metrics, measure))
}

async fn measure(
    State(metrics): State<Arc<super::Metrics>>,
    request: Request,
    next: Next,
) -> Response {
    let began = Instant::now();
    let method = name(request.method());
    let route = route(method, request.uri().path());
    let trace = trace(request.headers());
    let answer = next
        .run(request)
        .instrument(span(method, route, trace))
        .await;
    let code = answer.status();
    let took = began.elapsed();
    if tracing::enabled!(Level::DEBUG) {
        let (trace_id, span_id) = ids(trace);
        let ms = took.as_secs_f64() * 1e3;
        let code = code.as_u16();
        tracing::debug!(
            method,
            route,
            code,
            ms,
            trace_id,
            span_id,
            "a request is answered"
        );
    }
    let requests = &metrics.http;
    requests.answered.of(&[method, route, code.as_str()]).inc();
    let time = requests.time.of(&[method, route]);
    time.observe_traced(took, trace.map_or(0, |trace| trace.ids().0));
    answer
}

/// The span of the log's lines about a request; none of one without a trace.
fn span(method: &'static str, route: &'static str, trace: Option<TraceContext>) -> Span {
    match trace {
        None => Span::none(),
        Some(trace) => tracing::info_span!(
            "request",
            method,
            route,
            trace_id = trace.trace_id(),
            span_id = trace.span_id()
        ),
    }
}

/// The template of a path, as rights are given by it.
fn route(method: &str, path: &str) -> &'static str {
    let found = ROUTES.iter().find(|route| route.takes(method, path));
    found.map_or(NO_ROUTE, |route| route.path)
}

/// Name of a method: clients may write any.
fn name(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}
