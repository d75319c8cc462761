//! Metrics, sent to an OpenTelemetry collector at an interval.

use std::{fmt, sync::Arc, time::SystemTime};

use agenthub_metrics::{Snapshot, runs, topics};
use agenthub_runs::spans::conventions;
use opentelemetry_proto::tonic::{
    collector::metrics::v1::{
        ExportMetricsServiceRequest, metrics_service_client::MetricsServiceClient,
    },
    common::v1::InstrumentationScope,
};
use opentelemetry_sdk::Resource;
use prost::Message;
use reqwest::header::CONTENT_TYPE;
use tokio::{
    sync::Mutex,
    time::{Instant, MissedTickBehavior, interval_at},
};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};
use tonic::{
    metadata::MetadataMap,
    transport::{Channel, ClientTlsConfig, Endpoint},
};

use super::{
    SERVICE, TelemetryError,
    destination::{Destination, Protocol},
    points::{self, Times},
};
use crate::redact;

/// Adds metrics to those of the process's runs and topics.
pub(super) type Source = Arc<dyn Fn(&mut Snapshot) + Send + Sync>;

/// Metrics that are sent. [`stop`](Self::stop) it, so that the last are.
pub(super) struct Metrics {
    sources: Arc<std::sync::Mutex<Vec<Source>>>,
    stop: CancellationToken,
    sending: Mutex<Option<AbortOnDropHandle<()>>>,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Metrics")
    }
}

impl Metrics {
    /// Sends the metrics of the process's runs, and of what is [added](Self::add).
    ///
    /// # Errors
    ///
    /// The collector's address is none.
    pub(super) fn start(to: Destination, resource: &Resource) -> Result<Self, TelemetryError> {
        let collector = Collector::new(&to)?;
        let resource = resource.iter();
        let resource = resource.map(|(key, value)| (key.to_string(), value.to_string()));
        let metrics = Self {
            sources: Arc::default(),
            stop: CancellationToken::new(),
            sending: Mutex::new(None),
        };
        let exporting = Exporting {
            sources: Arc::clone(&metrics.sources),
            resource: resource.collect(),
            scope: InstrumentationScope {
                name: SERVICE.to_owned(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                ..InstrumentationScope::default()
            },
            start: SystemTime::now(),
            collector,
            is_failing: false,
        };
        let stop = metrics.stop.clone();
        tracing::info!(
            variable = to.variable,
            conventions = conventions::VERSION,
            "metrics are sent to a collector"
        );
        let sending = tokio::spawn(exporting.run(to, stop));
        Ok(Self {
            sending: Mutex::new(Some(AbortOnDropHandle::new(sending))),
            ..metrics
        })
    }

    /// Sends these metrics too.
    pub(super) fn add(&self, source: Source) {
        if let Ok(mut sources) = self.sources.lock() {
            sources.push(source);
        }
    }

    /// Sends what there is once more, and ends.
    pub(super) async fn stop(&self) {
        self.stop.cancel();
        if let Some(sending) = self.sending.lock().await.take() {
            // A panic has been logged.
            let _ = tokio::time::timeout(super::LAST, sending).await;
        }
    }
}

struct Exporting {
    sources: Arc<std::sync::Mutex<Vec<Source>>>,
    resource: Vec<(String, String)>,
    scope: InstrumentationScope,
    start: SystemTime,
    collector: Collector,
    is_failing: bool,
}

impl Exporting {
    async fn run(mut self, to: Destination, stop: CancellationToken) {
        let mut ticks = interval_at(Instant::now() + to.interval, to.interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut goes_on = true;
        while goes_on {
            goes_on = stop.run_until_cancelled(ticks.tick()).await.is_some();
            let request = self.request();
            let sent = tokio::time::timeout(to.timeout, self.collector.send(request)).await;
            let sent = sent.unwrap_or_else(|_| Err(format!("no answer within {:?}", to.timeout)));
            self.tell(&sent);
        }
    }

    fn request(&self) -> ExportMetricsServiceRequest {
        let mut metrics = Snapshot::default();
        runs::of_process().collect(&mut metrics);
        topics::of_process().collect(&mut metrics);
        let sources = self.sources.lock().map(|sources| sources.clone());
        for source in sources.unwrap_or_default() {
            source(&mut metrics);
        }
        let times = Times {
            start: self.start,
            now: SystemTime::now(),
        };
        points::request(&metrics, &self.resource, &self.scope, times)
    }

    /// Says once that sending fails, and once that it works again.
    fn tell(&mut self, sent: &Result<(), String>) {
        match sent {
            Err(error) if !self.is_failing => {
                let error = redact::error(error);
                tracing::warn!(
                    error,
                    "metrics cannot be sent; the next ones are tried again"
                );
            }
            Ok(()) if self.is_failing => tracing::info!("metrics are sent again"),
            _ => {}
        }
        self.is_failing = sent.is_err();
    }
}

/// A collector that takes metrics.
enum Collector {
    Http(Box<reqwest::RequestBuilder>),
    Grpc(Box<MetricsServiceClient<Channel>>, MetadataMap),
}

impl Collector {
    fn new(to: &Destination) -> Result<Self, TelemetryError> {
        let unusable = |why: String| TelemetryError::Metrics {
            variable: to.variable,
            why,
        };
        super::install_tls();
        match to.protocol {
            Protocol::Http => {
                let client = reqwest::Client::builder()
                    .timeout(to.timeout)
                    .redirect(reqwest::redirect::Policy::none())
                    .build()
                    .map_err(|error| unusable(error.to_string()))?;
                let request = client
                    .post(&to.url)
                    .header(CONTENT_TYPE, "application/x-protobuf")
                    .headers(to.headers.clone());
                let checked = request.try_clone().map(reqwest::RequestBuilder::build);
                if let Some(Err(error)) = checked {
                    return Err(unusable(error.to_string()));
                }
                Ok(Self::Http(Box::new(request)))
            }
            Protocol::Grpc => {
                let endpoint = Endpoint::from_shared(to.url.clone());
                let mut endpoint = endpoint.map_err(|error| unusable(error.to_string()))?;
                if endpoint.uri().scheme_str() == Some("https") {
                    endpoint = endpoint
                        .tls_config(ClientTlsConfig::new().with_native_roots())
                        .map_err(|error| unusable(error.to_string()))?;
                }
                let channel = endpoint.timeout(to.timeout).connect_lazy();
                let headers = MetadataMap::from_headers(to.headers.clone());
                let client = Box::new(MetricsServiceClient::new(channel));
                Ok(Self::Grpc(client, headers))
            }
        }
    }

    async fn send(&mut self, metrics: ExportMetricsServiceRequest) -> Result<(), String> {
        match self {
            Self::Http(request) => {
                let request = request
                    .try_clone()
                    .ok_or("the request cannot be repeated")?;
                let answer = request.body(metrics.encode_to_vec()).send().await;
                let answer = answer.map_err(|error| error.to_string())?;
                match answer.status().is_success() {
                    true => Ok(()),
                    false => Err(format!("the collector answers {}", answer.status())),
                }
            }
            Self::Grpc(client, headers) => {
                let mut request = tonic::Request::new(metrics);
                *request.metadata_mut() = headers.clone();
                let answer = client.export(request).await;
                answer.map(drop).map_err(|status| status.to_string())
            }
        }
    }
}
