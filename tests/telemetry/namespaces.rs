//! Metrics of namespaces at a collector.

use std::path::PathBuf;

use opentelemetry_proto::tonic::metrics::v1::{metric, number_data_point::Value};

use super::collector::{Collector, text};
use crate::harness::{System, eventually, free_address};

/// Events that were published, as the last export says, by namespace; the first one has no name.
fn agents(collector: &Collector) -> Vec<(String, i64)> {
    let metrics = collector.metrics().into_iter();
    let data = metrics.filter(|metric| metric.name == "agenthub.agents");
    let points = data.flat_map(|metric| match metric.data {
        Some(metric::Data::Gauge(gauge)) => gauge.data_points,
        other => panic!("no gauge: {other:?}"),
    });
    let mut found: Vec<(String, i64)> = points
        .map(|point| {
            let namespace = text(&point.attributes, "namespace").unwrap_or_default();
            let agents = match point.value {
                Some(Value::AsDouble(agents)) => agents as i64,
                Some(Value::AsInt(agents)) => agents,
                None => 0,
            };
            (namespace.to_owned(), agents)
        })
        .collect();
    found.sort();
    found
}

/// Issue 26: each namespace's hub is measured under its name, for as long as there is one.
#[test]
fn hubs_of_namespaces_are_measured_under_their_names_while_they_are_open() {
    let collector = Collector::over_http();
    let system = System::bare(free_address());
    let added = system.run(&["namespaces", "add", "shop"], "");
    assert_eq!(added.code, Some(0), "{added:?}");
    let variables = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", PathBuf::from(&collector.url)),
        ("OTEL_METRIC_EXPORT_INTERVAL", PathBuf::from("50")),
    ];
    let environment: Vec<(&str, &PathBuf)> = variables.iter().map(|(n, v)| (*n, v)).collect();
    let _up = system.serve_in(&environment, &["up", "--no-chat"]);
    eventually("both hubs are measured", || {
        let found = agents(&collector);
        let names: Vec<&str> = found.iter().map(|(name, _)| &**name).collect();
        let have_agents = found.iter().all(|(_, agents)| *agents > 0);
        (names == ["", "shop"] && have_agents).then_some(())
    });
    let removed = system.run(&["namespaces", "remove", "shop", "--with-everything"], "");
    assert_eq!(removed.code, Some(0), "{removed:?}");
    eventually("one that is gone is measured no more", || {
        let found = agents(&collector);
        (found.len() == 1 && found[0].0.is_empty()).then_some(())
    });
}
