//! A local collector that stores spans received over HTTP or gRPC, and metrics over HTTP.

use std::sync::{Arc, Mutex};

use axum::{Router, body::Bytes, extract::State, http::HeaderMap, routing::post};
use opentelemetry_proto::tonic::{
    collector::metrics::v1::{ExportMetricsServiceRequest, ExportMetricsServiceResponse},
    collector::trace::v1::{
        ExportTraceServiceRequest, ExportTraceServiceResponse,
        trace_service_server::{TraceService, TraceServiceServer},
    },
    common::v1::{KeyValue, any_value},
    metrics::v1::Metric,
    trace::v1::Span,
};
use prost::Message;
use tokio::{net::TcpListener, runtime::Runtime};
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status, transport::Server};

/// The collector. Dropping it closes its port.
pub(crate) struct Collector {
    pub(crate) url: String,
    kept: Received,
    _runtime: Runtime,
}

/// Received requests, with the value of the header `x-key`.
#[derive(Clone, Default)]
struct Received(
    Arc<Mutex<Vec<(ExportTraceServiceRequest, String)>>>,
    Arc<Mutex<Vec<ExportMetricsServiceRequest>>>,
);

impl Received {
    fn keep(&self, request: ExportTraceServiceRequest, key: Option<&[u8]>) {
        let key = String::from_utf8_lossy(key.unwrap_or_default()).into_owned();
        let mut kept = self.0.lock().expect("no panic while it is locked");
        kept.push((request, key));
    }
}

impl Collector {
    /// A collector for Protobuf over HTTP.
    pub(crate) fn over_http() -> Self {
        Self::start(|listener, kept| async move {
            let app = Router::new()
                .route("/v1/traces", post(export))
                .route("/v1/metrics", post(measure))
                .with_state(kept);
            axum::serve(listener, app).await.expect("it goes on");
        })
    }

    /// A collector for gRPC.
    pub(crate) fn over_grpc() -> Self {
        Self::start(|listener, kept| async move {
            let server = Server::builder().add_service(TraceServiceServer::new(kept));
            let incoming = TcpListenerStream::new(listener);
            let serving = server.serve_with_incoming(incoming).await;
            serving.expect("it goes on");
        })
    }

    /// A collector that accepts connections, and never answers.
    pub(crate) fn that_hangs() -> Self {
        Self::start(|listener, _| async move {
            let mut taken = Vec::new();
            while let Ok(connection) = listener.accept().await {
                taken.push(connection);
            }
        })
    }

    fn start<F>(serve: impl FnOnce(TcpListener, Received) -> F) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let runtime = Runtime::new().expect("threads");
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"));
        let listener = listener.expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let kept = Received::default();
        runtime.spawn(serve(listener, kept.clone()));
        Self {
            url: format!("http://{address}"),
            kept,
            _runtime: runtime,
        }
    }

    /// Received requests.
    pub(crate) fn requests(&self) -> Vec<(ExportTraceServiceRequest, String)> {
        let kept = self.kept.0.lock().expect("no panic while it is locked");
        kept.clone()
    }

    /// The metrics received last, by their names.
    pub(crate) fn metrics(&self) -> Vec<Metric> {
        let kept = self.kept.1.lock().expect("no panic while it is locked");
        let last = kept.last().cloned().unwrap_or_default();
        let resources = last.resource_metrics.into_iter();
        let scopes = resources.flat_map(|resource| resource.scope_metrics);
        scopes.flat_map(|scope| scope.metrics).collect()
    }

    /// Received spans.
    pub(crate) fn spans(&self) -> Vec<Span> {
        let requests = self.requests().into_iter();
        let resources = requests.flat_map(|(request, _)| request.resource_spans);
        let scopes = resources.flat_map(|resource| resource.scope_spans);
        scopes.flat_map(|scope| scope.spans).collect()
    }
}

async fn export(State(kept): State<Received>, headers: HeaderMap, body: Bytes) -> Vec<u8> {
    let request = ExportTraceServiceRequest::decode(body).expect("it is Protobuf");
    kept.keep(request, headers.get("x-key").map(|key| key.as_bytes()));
    ExportTraceServiceResponse::default().encode_to_vec()
}

async fn measure(State(kept): State<Received>, body: Bytes) -> Vec<u8> {
    let request = ExportMetricsServiceRequest::decode(body).expect("it is Protobuf");
    let mut all = kept.1.lock().expect("no panic while it is locked");
    all.push(request);
    ExportMetricsServiceResponse::default().encode_to_vec()
}

#[tonic::async_trait]
impl TraceService for Received {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        let key = request.metadata().get("x-key").cloned();
        let key = key.as_ref().map(|key| key.as_bytes());
        self.keep(request.into_inner(), key);
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

/// A text attribute.
pub(crate) fn text<'a>(attributes: &'a [KeyValue], key: &str) -> Option<&'a str> {
    match attribute(attributes, key)? {
        any_value::Value::StringValue(text) => Some(text),
        _ => None,
    }
}

/// A numeric attribute.
pub(crate) fn number(attributes: &[KeyValue], key: &str) -> Option<f64> {
    match attribute(attributes, key)? {
        any_value::Value::DoubleValue(number) => Some(*number),
        any_value::Value::IntValue(number) => Some(*number as f64),
        _ => None,
    }
}

fn attribute<'a>(attributes: &'a [KeyValue], key: &str) -> Option<&'a any_value::Value> {
    let found = attributes.iter().find(|attribute| attribute.key == key)?;
    found.value.as_ref()?.value.as_ref()
}
