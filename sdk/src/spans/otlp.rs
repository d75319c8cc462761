//! Spans of runs and metrics, sent to an OpenTelemetry collector where the environment names one.
//!
//! The variables are OpenTelemetry's own: `OTEL_EXPORTER_OTLP_ENDPOINT` (or `…_TRACES_ENDPOINT`, `…_METRICS_ENDPOINT`) turns it on, and with it those for
//! protocol, headers, timeout, service name, resource and batches are read. Spans wait in a bounded queue and go out in batches from a
//! thread of their own, so that a collector that is slow or away never holds up a run: what finds no room is dropped.

mod destination;
mod metrics;
mod points;

use std::{
    borrow::Cow,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, SystemTime},
};

use agenthub_metrics::Snapshot;
use agenthub_runs::spans::{self, Kind, Span, Value, conventions};
use opentelemetry::{
    InstrumentationScope, KeyValue, SpanId, TraceFlags, TraceId,
    trace::{Event, SpanContext, SpanKind, Status, TraceState},
};
use opentelemetry_otlp::{ExporterBuildError, SpanExporter as Otlp};
use opentelemetry_sdk::{
    Resource,
    error::OTelSdkResult,
    trace::{BatchSpanProcessor, SpanData, SpanEvents, SpanExporter, SpanLinks, SpanProcessor},
};
use tokio::task::spawn_blocking;

use self::{destination::Destination, metrics::Metrics};
use super::SpanSink;
use crate::{AgentBuilder, redact};

/// Time for waiting spans to go out at the end.
const LAST: Duration = Duration::from_secs(2);

/// Name of this program, where nothing else was said.
const SERVICE: &str = "agenthub";

/// The variables that turn it on.
const ENDPOINTS: [&str; 2] = [
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
];

/// Exporter of spans and metrics to the collector that the environment names, if it names one. Clones share it. [`stop`](Self::stop) it;
/// otherwise spans that wait and the last metrics may be lost.
#[derive(Clone, Debug, Default)]
pub struct Telemetry {
    spans: Option<Arc<Sender>>,
    metrics: Option<Arc<Metrics>>,
}

/// Errors of a collector's settings.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// Spans cannot be sent there.
    #[error("spans cannot be sent to where {variable} says")]
    Spans {
        /// The variable with the address.
        variable: &'static str,
        /// The reason.
        source: ExporterBuildError,
    },
    /// Metrics cannot be sent there.
    #[error("metrics cannot be sent to where {variable} says: {why}")]
    Metrics {
        /// The variable with the address.
        variable: &'static str,
        /// The reason.
        why: String,
    },
    /// A variable has a value that is none.
    #[error("{variable} has to be {wanted}")]
    Value {
        /// The variable.
        variable: &'static str,
        /// Allowed values.
        wanted: &'static str,
    },
}

impl Telemetry {
    /// Reads the environment. Call it in the runtime.
    ///
    /// # Errors
    ///
    /// An address is named that is none.
    pub fn start() -> Result<Self, TelemetryError> {
        let env = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let metrics = Destination::read(&env)
            .map_err(|(variable, wanted)| TelemetryError::Value { variable, wanted })?;
        let spans = wanted(&env);
        if spans.is_none() && metrics.is_none() {
            return Ok(Self::default());
        }
        install_tls();
        let resource = Resource::builder();
        let resource = match env("OTEL_SERVICE_NAME") {
            None if !env("OTEL_RESOURCE_ATTRIBUTES")
                .is_some_and(|a| a.contains("service.name=")) =>
            {
                resource.with_service_name(SERVICE)
            }
            _ => resource,
        };
        let resource = resource.build();
        let spans = match spans {
            None => None,
            Some(variable) => {
                let exporter = Otlp::builder()
                    .build()
                    .map_err(|source| TelemetryError::Spans { variable, source })?;
                tracing::info!(variable, "spans are sent to a collector");
                Some(Arc::new(Sender::new(exporter, &resource)))
            }
        };
        let metrics = metrics
            .map(|to| Metrics::start(to, &resource))
            .transpose()?;
        Ok(Self {
            spans,
            metrics: metrics.map(Arc::new),
        })
    }

    /// Sends these metrics too, beside those of the process's runs.
    pub fn measure(&self, add: impl Fn(&mut Snapshot) + Send + Sync + 'static) {
        if let Some(metrics) = &self.metrics {
            metrics.add(Arc::new(add));
        }
    }

    /// Endpoint of spans, if there is one.
    pub fn sink(&self) -> Option<Arc<dyn SpanSink>> {
        let sender = self.spans.clone()?;
        Some(sender)
    }

    /// The agent, with the spans of its runs put there.
    pub fn of(&self, agent: AgentBuilder) -> AgentBuilder {
        match self.sink() {
            Some(spans) => agent.spans(spans),
            None => agent,
        }
    }

    /// Sends what waits, for at most 2 s.
    pub async fn stop(&self) {
        let metrics = async {
            if let Some(metrics) = &self.metrics {
                metrics.stop().await;
            }
        };
        let spans = async {
            let Some(sender) = self.spans.clone() else {
                return;
            };
            let stopped = spawn_blocking(move || sender.processor.shutdown_with_timeout(LAST));
            if !matches!(stopped.await, Ok(Ok(()))) {
                tracing::warn!("not all spans went out before the end");
            }
        };
        tokio::join!(metrics, spans);
    }
}

/// The variable that says that spans are to be sent, if one does.
fn wanted(env: &dyn Fn(&str) -> Option<String>) -> Option<&'static str> {
    let is = |name: &str, value: &str| env(name).is_some_and(|v| v.eq_ignore_ascii_case(value));
    if is("OTEL_SDK_DISABLED", "true") || is("OTEL_TRACES_EXPORTER", "none") {
        return None;
    }
    ENDPOINTS.into_iter().find(|name| env(name).is_some())
}

/// Sends spans to a collector in batches.
struct Sender {
    processor: BatchSpanProcessor,
    scope: InstrumentationScope,
}

impl Sender {
    fn new(exporter: impl SpanExporter + 'static, resource: &Resource) -> Self {
        let exporter = Watched {
            exporter,
            is_failing: AtomicBool::new(false),
        };
        let mut processor = BatchSpanProcessor::builder(exporter).build();
        processor.set_resource(resource);
        let scope = InstrumentationScope::builder(SERVICE)
            .with_version(env!("CARGO_PKG_VERSION"))
            .with_schema_url(conventions::SCHEMA_URL)
            .build();
        Self { processor, scope }
    }
}

impl SpanSink for Sender {
    fn emit(&self, span: Span) {
        self.processor.on_end(data(span, &self.scope));
    }
}

impl fmt::Debug for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sender")
    }
}

/// Says once that sending fails, and once that it works again.
#[derive(Debug)]
struct Watched<E> {
    exporter: E,
    is_failing: AtomicBool,
}

impl<E: SpanExporter> SpanExporter for Watched<E> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let result = self.exporter.export(batch).await;
        let was_failing = self.is_failing.swap(result.is_err(), Ordering::Relaxed);
        match &result {
            Err(error) if !was_failing => {
                let error = redact::error(&error.to_string());
                tracing::warn!(error, "spans cannot be sent and are dropped until they can");
            }
            Ok(()) if was_failing => tracing::info!("spans are sent again"),
            _ => {}
        }
        result
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.exporter.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}

/// The span as OpenTelemetry has it.
fn data(span: Span, scope: &InstrumentationScope) -> SpanData {
    let mut events = SpanEvents::default();
    events.events = span.events.into_iter().map(event).collect();
    SpanData {
        span_context: SpanContext::new(
            TraceId::from(span.trace_id),
            SpanId::from(span.span_id),
            TraceFlags::SAMPLED,
            false,
            TraceState::default(),
        ),
        parent_span_id: span.parent.map_or(SpanId::INVALID, |p| p.span_id.into()),
        parent_span_is_remote: span.parent.is_some_and(|p| p.is_remote),
        span_kind: match span.kind {
            Kind::Internal => SpanKind::Internal,
            Kind::Client => SpanKind::Client,
        },
        name: Cow::Owned(span.name),
        start_time: time(span.start_ms),
        end_time: time(span.end_ms),
        attributes: attributes(span.attributes),
        dropped_attributes_count: 0,
        events,
        links: SpanLinks::default(),
        status: match span.error {
            Some(error) => Status::error(error.message),
            None => Status::Unset,
        },
        instrumentation_scope: scope.clone(),
    }
}

fn event(event: spans::Event) -> Event {
    let attributes = attributes(event.attributes);
    Event::new(event.name, time(event.at_ms), attributes, 0)
}

fn attributes(attributes: Vec<(&'static str, Value)>) -> Vec<KeyValue> {
    let attribute = |(key, value)| match value {
        Value::Bool(value) => KeyValue::new(key, value),
        Value::Int(value) => KeyValue::new(key, value),
        Value::Float(value) => KeyValue::new(key, value),
        Value::Text(value) => KeyValue::new(key, value),
    };
    attributes.into_iter().map(attribute).collect()
}

fn time(ms: u64) -> SystemTime {
    let since = Duration::from_millis(ms);
    SystemTime::UNIX_EPOCH
        .checked_add(since)
        .unwrap_or(SystemTime::UNIX_EPOCH)
}

/// Collectors are reached over TLS where their address says so.
fn install_tls() {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // Somebody else may be quicker, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
}
