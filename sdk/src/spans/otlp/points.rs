//! Metrics as OTLP has them.

use std::time::{Duration, SystemTime};

use agenthub_metrics::{Descriptor, Exemplar, Kind, Point, Seen, Series, Snapshot, Unit, Value};
use opentelemetry_proto::tonic::{
    collector::metrics::v1::ExportMetricsServiceRequest,
    common::v1::{AnyValue, InstrumentationScope, KeyValue, any_value},
    metrics::v1::{
        AggregationTemporality, Exemplar as OtlpExemplar, Gauge, Histogram, HistogramDataPoint,
        Metric, NumberDataPoint, ResourceMetrics, ScopeMetrics, Sum, exemplar, metric,
        number_data_point,
    },
    resource::v1::Resource,
};

/// Times of an export.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    /// Start of the process, since which all is counted.
    pub(super) start: SystemTime,
    pub(super) now: SystemTime,
}

/// A request with all metrics that have a value.
pub(super) fn request(
    metrics: &Snapshot,
    resource: &[(String, String)],
    scope: &InstrumentationScope,
    times: Times,
) -> ExportMetricsServiceRequest {
    let with_values = metrics.series().filter(|series| !series.points.is_empty());
    let attributes = resource.iter();
    ExportMetricsServiceRequest {
        resource_metrics: vec![ResourceMetrics {
            resource: Some(Resource {
                attributes: attributes.map(|(key, value)| text(key, value)).collect(),
                ..Resource::default()
            }),
            scope_metrics: vec![ScopeMetrics {
                scope: Some(scope.clone()),
                metrics: with_values.map(|series| of(series, times)).collect(),
                ..ScopeMetrics::default()
            }],
            ..ResourceMetrics::default()
        }],
    }
}

fn of(series: &Series, times: Times) -> Metric {
    let described = series.metric;
    let points = || series.points.iter();
    let numbers = || points().filter_map(|point| number(point, times)).collect();
    let cumulative = AggregationTemporality::Cumulative.into();
    let data = match described.kind {
        Kind::Counter => metric::Data::Sum(Sum {
            data_points: numbers(),
            aggregation_temporality: cumulative,
            is_monotonic: true,
        }),
        Kind::Gauge => metric::Data::Gauge(Gauge {
            data_points: numbers(),
        }),
        Kind::Histogram => metric::Data::Histogram(Histogram {
            data_points: points()
                .filter_map(|point| distribution(point, times))
                .collect(),
            aggregation_temporality: cumulative,
        }),
    };
    Metric {
        name: described.otlp_name(),
        description: described.help.to_owned(),
        unit: unit(described).to_owned(),
        data: Some(data),
        ..Metric::default()
    }
}

/// Unit, as UCUM writes it.
fn unit(of: &Descriptor) -> &'static str {
    match of.unit() {
        Unit::None => "1",
        Unit::Seconds => "s",
        Unit::Bytes => "By",
        Unit::Tokens => "{token}",
    }
}

fn number(point: &Point, times: Times) -> Option<NumberDataPoint> {
    let Value::Number(number) = point.value else {
        return None;
    };
    Some(NumberDataPoint {
        attributes: attributes(point),
        start_time_unix_nano: nanos(times.start),
        time_unix_nano: nanos(times.now),
        value: Some(number_data_point::Value::AsDouble(number)),
        ..NumberDataPoint::default()
    })
}

fn distribution(point: &Point, times: Times) -> Option<HistogramDataPoint> {
    let Value::Seen(seen) = &point.value else {
        return None;
    };
    let Seen {
        bounds,
        buckets,
        sum,
        exemplars,
    } = seen;
    Some(HistogramDataPoint {
        attributes: attributes(point),
        start_time_unix_nano: nanos(times.start),
        time_unix_nano: nanos(times.now),
        count: seen.count(),
        sum: Some(*sum),
        bucket_counts: buckets.clone(),
        explicit_bounds: bounds.clone(),
        exemplars: exemplars.iter().flatten().map(traced).collect(),
        ..HistogramDataPoint::default()
    })
}

fn traced(of: &Exemplar) -> OtlpExemplar {
    OtlpExemplar {
        time_unix_nano: nanos(of.at),
        trace_id: of.trace_id.to_be_bytes().to_vec(),
        value: Some(exemplar::Value::AsDouble(of.value)),
        ..OtlpExemplar::default()
    }
}

/// Labels; in OpenTelemetry an empty one is left out.
fn attributes(point: &Point) -> Vec<KeyValue> {
    let labels = point.labels.iter().filter(|(_, value)| !value.is_empty());
    labels
        .map(|(label, value)| text(&Descriptor::otlp_label(label), value))
        .collect()
}

fn text(key: &str, value: &str) -> KeyValue {
    KeyValue {
        key: key.to_owned(),
        value: Some(AnyValue {
            value: Some(any_value::Value::StringValue(value.to_owned())),
        }),
        ..KeyValue::default()
    }
}

fn nanos(time: SystemTime) -> u64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH);
    let since: Duration = since.unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
