//! Calls over gRPC: rate, errors and duration of each method.

use std::{
    collections::HashMap,
    convert::Infallible,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::{Duration, Instant},
};

use agenthub_access::{Rpc, SERVICES};
use agenthub_metrics::{Counter, Gauge, Histogram, Snapshot, bounds};
use agenthub_proto::trace::TraceContext;
use pin_project_lite::pin_project;
use tonic::{
    Code,
    body::Body,
    codegen::http::{Request, Response},
};
use tracing::{Level, Span};

use super::{
    names::{RPC, RPC_NOW, RPC_TIME},
    traced::{Said, ids, trace},
};

/// Duration from which on a call is logged without being asked for.
const LONG: Duration = Duration::from_secs(1);

/// Number of status codes.
const CODES: usize = 17;

/// Name of methods that the hub does not know, reflection and health among them.
const OTHERS: &str = "other";

/// Calls by method, of which there are as many as the hub serves.
#[derive(Debug)]
pub(crate) struct Calls {
    by_path: HashMap<&'static str, Arc<Method>>,
    others: Arc<Method>,
    in_flight: Gauge,
    said: Said,
}

#[derive(Debug)]
struct Method {
    name: &'static str,
    codes: [Counter; CODES],
    /// `None` of streams.
    time: Option<Histogram>,
}

impl Method {
    fn new(name: &'static str, is_stream: bool) -> Arc<Self> {
        Arc::new(Self {
            name,
            codes: Default::default(),
            time: (!is_stream).then(|| Histogram::new(&bounds::REQUESTS)),
        })
    }
}

impl Default for Calls {
    fn default() -> Self {
        let of = |rpc: &Rpc| {
            let name = rpc.path.trim_start_matches('/');
            (rpc.path, Method::new(name, rpc.is_stream))
        };
        Self {
            by_path: SERVICES.iter().map(of).collect(),
            others: Method::new(OTHERS, true),
            in_flight: Gauge::default(),
            said: Said::default(),
        }
    }
}

impl Calls {
    /// A call begins. Dropping what this returns counts it as cancelled.
    pub(crate) fn begin(self: &Arc<Self>, request: &Request<Body>) -> Call {
        self.in_flight.add(1);
        let method = self.by_path.get(request.uri().path());
        Call {
            method: Arc::clone(method.unwrap_or(&self.others)),
            calls: Arc::clone(self),
            began: Instant::now(),
            trace: trace(request.headers()),
            code: Code::Cancelled,
        }
    }

    /// Adds the values of the methods that were called.
    pub(super) fn collect(&self, into: &mut Snapshot) {
        into.known(&RPC);
        into.known(&RPC_TIME);
        into.number(&RPC_NOW, self.in_flight.get());
        for method in self.by_path.values().chain([&self.others]) {
            let mut was_called = false;
            for (code, counter) in method.codes.iter().enumerate() {
                let count = counter.get();
                if count > 0 {
                    was_called = true;
                    into.labelled(&RPC, &[method.name, code_name(code)], count);
                }
            }
            if let Some(time) = method.time.as_ref().filter(|_| was_called) {
                into.histogram(&RPC_TIME, &[method.name], time);
            }
        }
    }
}

/// Name of a status code.
fn code_name(code: usize) -> &'static str {
    const NAMES: [&str; CODES] = [
        "OK",
        "CANCELLED",
        "UNKNOWN",
        "INVALID_ARGUMENT",
        "DEADLINE_EXCEEDED",
        "NOT_FOUND",
        "ALREADY_EXISTS",
        "PERMISSION_DENIED",
        "RESOURCE_EXHAUSTED",
        "FAILED_PRECONDITION",
        "ABORTED",
        "OUT_OF_RANGE",
        "UNIMPLEMENTED",
        "INTERNAL",
        "UNAVAILABLE",
        "DATA_LOSS",
        "UNAUTHENTICATED",
    ];
    NAMES.get(code).copied().unwrap_or("UNKNOWN")
}

/// A call that has no answer so far.
#[derive(Debug)]
pub(crate) struct Call {
    method: Arc<Method>,
    calls: Arc<Calls>,
    began: Instant,
    trace: Option<TraceContext>,
    code: Code,
}

impl Call {
    /// The span of the log's lines about the call; none of a call without a trace.
    fn span(&self) -> Span {
        match self.trace {
            None => Span::none(),
            Some(trace) => tracing::info_span!(
                "call",
                method = self.method.name,
                trace_id = trace.trace_id(),
                span_id = trace.span_id()
            ),
        }
    }

    /// Logs how the call ended, at `debug`; some of those that took long also at `info`.
    fn log(&self, took: Duration) {
        let (method, code) = (self.method.name, code_name(index(self.code)));
        let is_slow =
            self.method.time.is_some() && took >= LONG && self.calls.said.is_next(self.began);
        if !is_slow && !tracing::enabled!(Level::DEBUG) {
            return;
        }
        let (trace_id, span_id) = ids(self.trace);
        let ms = took.as_secs_f64() * 1e3;
        match is_slow {
            true => tracing::info!(method, code, ms, trace_id, span_id, "a call took long"),
            false => tracing::debug!(method, code, ms, trace_id, span_id, "a call has ended"),
        }
    }

    /// The call has this answer. Errors are in its headers, unless it is a stream that ends with one.
    pub(crate) fn answered(mut self, answer: &Response<Body>) {
        let status = answer.headers().get("grpc-status");
        self.code = status.map_or(Code::Ok, |code| Code::from_bytes(code.as_bytes()));
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.calls.in_flight.add(-1);
        if let Some(counter) = self.method.codes.get(index(self.code)) {
            counter.inc();
        }
        let took = self.began.elapsed();
        if let Some(time) = &self.method.time {
            time.observe_traced(took, self.trace.map_or(0, |trace| trace.ids().0));
        }
        self.log(took);
    }
}

fn index(code: Code) -> usize {
    usize::try_from(i32::from(code)).unwrap_or_default()
}

pin_project! {
    /// The answer to a call, which is counted, in the call's span.
    pub struct Measured<F> {
        #[pin]
        answer: F,
        call: Option<Call>,
        span: Span,
    }
}

impl<F> Measured<F> {
    /// The answer, counted if there is a call to count.
    pub(crate) fn new(answer: F, call: Option<Call>) -> Self {
        let span = call.as_ref().map_or_else(Span::none, Call::span);
        Self { answer, call, span }
    }
}

impl<F> Future for Measured<F>
where
    F: Future<Output = Result<Response<Body>, Infallible>>,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let answer = ready!(this.span.in_scope(|| this.answer.poll(cx)));
        if let (Some(call), Ok(answer)) = (this.call.take(), &answer) {
            call.answered(answer);
        }
        Poll::Ready(answer)
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use agenthub_metrics::text::{Format, encode};
    use futures_util::FutureExt;
    use tonic::Status;

    use super::*;

    const PUBLISH: &str = "/agenthub.AgentHub/PublishMessage";

    fn request(path: &str) -> Request<Body> {
        let request = Request::builder().uri(path).header(
            "traceparent",
            "00-000000000000000000000000000000ab-00000000000000cd-01",
        );
        request.body(Body::empty()).expect("a request")
    }

    fn text(calls: &Calls) -> String {
        let mut snapshot = Snapshot::default();
        calls.collect(&mut snapshot);
        encode(&snapshot, Format::OpenMetrics)
    }

    /// spec: PRD-7
    #[test]
    fn calls_are_counted_by_method_and_code_with_the_trace_of_the_latest() {
        let calls = Arc::new(Calls::default());
        let call = |path: &str, answer: Response<Body>| {
            let call = calls.begin(&request(path));
            Measured::new(ready(Ok(answer)), Some(call))
                .now_or_never()
                .expect("it is there")
                .expect("an answer");
        };
        call(PUBLISH, Response::new(Body::empty()));
        call(PUBLISH, Status::not_found("nobody").into_http());
        for n in 0..1_000 {
            call(
                &format!("/nobody/Knows{n}"),
                Status::unimplemented("").into_http(),
            );
        }
        let given_up = Measured::new(
            pending::<Result<Response<Body>, Infallible>>(),
            Some(calls.begin(&request(PUBLISH))),
        );
        assert!(text(&calls).contains("agenthub_rpc_in_flight 1\n"));
        drop(given_up);
        let text = text(&calls);
        let of = |code: &str| {
            format!(
                "agenthub_rpc_calls_total{{method=\"agenthub.AgentHub/PublishMessage\",code=\"{code}\"}} 1"
            )
        };
        for line in [
            &of("OK"),
            &of("NOT_FOUND"),
            &of("CANCELLED"),
            "agenthub_rpc_calls_total{method=\"other\",code=\"UNIMPLEMENTED\"} 1000",
            "agenthub_rpc_in_flight 0",
            "agenthub_rpc_duration_seconds_count{method=\"agenthub.AgentHub/PublishMessage\"} 3",
        ] {
            assert!(text.lines().any(|l| l == line), "{line} in\n{text}");
        }
        let exemplar = "# {trace_id=\"000000000000000000000000000000ab\"}";
        assert!(text.contains(exemplar), "{text}");
    }
}
