//! Spans of a real system, received by an OpenTelemetry collector.

pub(crate) mod collector;
mod following;
mod namespaces;

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use nix::sys::signal::Signal;
use opentelemetry_proto::tonic::{
    metrics::v1::metric,
    trace::v1::{Span, span::SpanKind},
};

use crate::harness::{Process, System, eventually, free_address, http_address};
use collector::{Collector, number, text};

/// Text that must not appear in a span.
const WORDS: &str = "echo open sesame";

/// A system in one process that sends its spans to a collector.
struct Observed {
    system: System,
    up: Process,
    /// Address of HTTP.
    http: String,
}

impl Observed {
    fn start(variables: &[(&str, &str)]) -> Self {
        let system = System::bare(free_address());
        let values: Vec<PathBuf> = variables.iter().map(|(_, v)| PathBuf::from(v)).collect();
        let names = variables.iter().map(|(name, _)| *name);
        let environment: Vec<(&str, &PathBuf)> = names.zip(&values).collect();
        let args = [&system.up_at("127.0.0.1:0")[..], &["--ephemeral"]].concat();
        let up = Process::start_in(&environment, system.folder(), &system.hub(), &args);
        let http = http_address(&up);
        Self { system, up, http }
    }

    fn talk(&self) {
        let chat = self.system.chat(&format!("{WORDS}\n"));
        assert!(chat.stdout.contains("open sesame"), "{chat:?}");
    }

    /// Stops it. Returns the time that took, and its output.
    fn stop(self) -> (Duration, String) {
        let began = Instant::now();
        self.up.signal(Signal::SIGTERM);
        let finished = self.up.wait();
        assert_eq!(finished.code, Some(0), "{finished:?}");
        (began.elapsed(), finished.stderr)
    }
}

/// Waits until a turn of Cortex has ended, according to its spans.
fn turn(collector: &Collector) -> Vec<Span> {
    eventually("the spans of a turn came", || {
        let spans = collector.spans();
        let is_over = spans.iter().any(|span| span.name == "invoke_agent cortex");
        is_over.then_some(spans)
    })
}

fn named<'a>(spans: &'a [Span], name: &str) -> Vec<&'a Span> {
    spans.iter().filter(|span| span.name == name).collect()
}

/// spec: ORC-3, ORC-9
#[test]
fn a_chat_turn_is_one_trace_at_the_collector() {
    let collector = Collector::over_http();
    let observed = Observed::start(&[
        ("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url),
        ("OTEL_BSP_SCHEDULE_DELAY", "50"),
    ]);
    observed.talk();
    let spans = turn(&collector);

    let run = named(&spans, "invoke_agent cortex")[0];
    assert!(run.parent_span_id.is_empty(), "{run:?}");
    assert_eq!(text(&run.attributes, "agenthub.state"), Some("completed"));
    assert!(
        spans.iter().all(|s| s.trace_id == run.trace_id),
        "{spans:?}"
    );
    let below = spans.iter().filter(|s| s.span_id != run.span_id);
    assert!(
        below.clone().all(|s| s.parent_span_id == run.span_id),
        "{spans:?}"
    );
    let asked = named(&spans, "chat offline");
    assert_eq!(asked.len(), 2, "{spans:?}");
    let handed = named(&spans, "invoke_agent agent_echo");
    assert_eq!(handed.len(), 1, "{spans:?}");
    assert_eq!(handed[0].kind, SpanKind::Client as i32);
    assert!(asked[0].start_time_unix_nano <= handed[0].start_time_unix_nano);
    assert!(handed[0].end_time_unix_nano <= run.end_time_unix_nano);

    let requests = collector.requests();
    let resource = &requests[0].0.resource_spans[0];
    let attributes = &resource.resource.as_ref().expect("a resource").attributes;
    assert_eq!(text(attributes, "service.name"), Some("agenthub"));
    let scope = &resource.scope_spans[0];
    assert_eq!(scope.schema_url, "https://opentelemetry.io/schemas/1.41.0");
    assert!(!format!("{requests:?}").contains("sesame"));
}

/// spec: PRD-7
#[test]
fn metrics_of_hub_and_models_come_to_the_collector_with_their_traces() {
    let collector = Collector::over_http();
    let observed = Observed::start(&[
        ("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url),
        ("OTEL_METRIC_EXPORT_INTERVAL", "50"),
    ]);
    observed.talk();
    let (called, published) = eventually("the metrics of a turn came", || {
        let metrics = collector.metrics();
        let named = |name: &str| metrics.iter().find(|m| m.name == name).cloned();
        let called = named("gen_ai.client.operation.duration")?;
        // A value may be exported before its exemplar.
        let has_exemplar = match &called.data {
            Some(metric::Data::Histogram(of)) => !of.data_points[0].exemplars.is_empty(),
            other => panic!("no histogram: {other:?}"),
        };
        let published = named("agenthub.events")?;
        has_exemplar.then_some((called, published))
    });
    assert_eq!((called.unit.as_str(), published.unit.as_str()), ("s", "1"));
    let Some(metric::Data::Histogram(called)) = called.data else {
        panic!("no histogram: {called:?}");
    };
    let point = &called.data_points[0];
    let of = |key| text(&point.attributes, key);
    assert_eq!(of("gen_ai.operation.name"), Some("chat"), "{point:?}");
    assert_eq!(of("gen_ai.request.model"), Some("offline"), "{point:?}");
    assert_eq!(of("error.type"), None, "{point:?}");
    assert_eq!(point.bucket_counts.len(), point.explicit_bounds.len() + 1);
    assert_eq!(point.bucket_counts.iter().sum::<u64>(), point.count);
    // An exemplar leads to the trace of the turn.
    let spans = turn(&collector);
    let trace = &point.exemplars[0].trace_id;
    assert!(
        spans.iter().any(|span| span.trace_id == *trace),
        "{point:?}"
    );
    let Some(metric::Data::Sum(published)) = published.data else {
        panic!("no sum: {published:?}");
    };
    assert!(published.is_monotonic);
}

/// spec: ORC-3, ORC-9
#[test]
fn a_run_with_a_plan_shows_its_handoffs_scores_and_depth() {
    let collector = Collector::over_http();
    let observed = Observed::start(&[
        ("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url),
        ("OTEL_BSP_SCHEDULE_DELAY", "50"),
    ]);
    let brief = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/campaign.yaml");
    let run = observed.system.run(&["run", brief, "--json"], "");
    assert_eq!(run.code, Some(3), "{run:?}");
    let spans = eventually("the spans of a run and of its agents' came", || {
        let spans = collector.spans();
        let run = named(&spans, "invoke_workflow orchestrator")
            .into_iter()
            .next()?;
        let are_there = handoffs(&spans, run).iter().all(|h| has_run(&spans, h));
        are_there.then_some(spans)
    });

    let run = named(&spans, "invoke_workflow orchestrator")[0];
    assert!(number(&run.attributes, "agenthub.depth").is_some_and(|n| n >= 1.0));
    let score = number(&run.attributes, "agenthub.score");
    assert!(score.is_some(), "{run:?}");
    let handoffs = handoffs(&spans, run);
    assert!(handoffs.len() > 2, "{handoffs:?}");
    assert!(
        spans.iter().all(|s| s.trace_id == run.trace_id),
        "{spans:?}"
    );
    let events = handoffs.iter().flat_map(|handoff| &handoff.events);
    let evaluations = events.filter(|event| event.name == "gen_ai.evaluation.result");
    let scores = evaluations.filter_map(|e| number(&e.attributes, "gen_ai.evaluation.score.value"));
    let scores: Vec<Option<f64>> = scores.map(Some).collect();
    assert!(scores.contains(&score), "{scores:?}");
    // The content of the brief must not appear.
    assert!(!format!("{:?}", collector.requests()).contains("Havn"));
}

/// Spans of a run's handoffs.
fn handoffs<'a>(spans: &'a [Span], run: &Span) -> Vec<&'a Span> {
    let below = spans.iter().filter(|s| s.parent_span_id == run.span_id);
    below
        .filter(|s| s.name.starts_with("invoke_agent"))
        .collect()
}

/// True if the run that an agent made of a handoff is there.
fn has_run(spans: &[Span], handoff: &Span) -> bool {
    let mut below = spans.iter().filter(|s| s.parent_span_id == handoff.span_id);
    below.any(|s| s.name == handoff.name)
}

/// The last spans are sent at shutdown.
#[test]
fn the_variables_of_opentelemetry_hold() {
    let collector = Collector::over_grpc();
    let observed = Observed::start(&[
        ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", &collector.url),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "x-key=a-key"),
        ("OTEL_SERVICE_NAME", "the-team"),
        ("OTEL_BSP_SCHEDULE_DELAY", "60000"),
    ]);
    observed.talk();
    assert_eq!(collector.spans(), []);
    observed.stop();
    turn(&collector);
    let (request, key) = collector.requests().remove(0);
    assert_eq!(key, "a-key");
    let resource = request.resource_spans[0].resource.as_ref();
    let attributes = &resource.expect("a resource").attributes;
    assert_eq!(text(attributes, "service.name"), Some("the-team"));
}

#[test]
fn it_can_be_turned_off() {
    let collector = Collector::over_http();
    let observed = Observed::start(&[
        ("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url),
        ("OTEL_SDK_DISABLED", "true"),
    ]);
    observed.talk();
    observed.stop();
    assert_eq!(collector.spans(), []);
}

#[test]
fn a_collector_that_hangs_delays_nothing_but_the_end_by_two_seconds() {
    let collector = Collector::that_hangs();
    let observed = Observed::start(&[
        ("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url),
        ("OTEL_BSP_SCHEDULE_DELAY", "50"),
        ("OTEL_BSP_MAX_QUEUE_SIZE", "2"),
        // When an export gives up.
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "120000"),
    ]);
    for _ in 0..3 {
        let began = Instant::now();
        observed.talk();
        assert!(began.elapsed() < Duration::from_secs(60));
    }
    let (took, said) = observed.stop();
    assert!(took < Duration::from_secs(10), "{took:?}");
    assert!(said.contains("not all spans went out"), "{said}");
}

#[test]
fn a_collector_that_is_away_is_told_of_once() {
    let nobody = format!("http://{}", free_address());
    let observed = Observed::start(&[
        ("OTEL_EXPORTER_OTLP_ENDPOINT", &nobody),
        ("OTEL_BSP_SCHEDULE_DELAY", "10"),
    ]);
    observed.talk();
    observed.talk();
    let (_, said) = observed.stop();
    assert_eq!(said.matches("spans cannot be sent").count(), 1, "{said}");
}

#[test]
fn an_address_that_is_none_is_an_error() {
    let system = System::bare(free_address());
    let nothing = PathBuf::from("no address");
    let variable = ("OTEL_EXPORTER_OTLP_ENDPOINT", &nothing);
    let cortex = Process::start_in(&[variable], system.folder(), &system.hub(), &["cortex"]);
    let finished = cortex.finish("");
    assert_eq!(finished.code, Some(1), "{finished:?}");
    assert!(finished.stderr.contains(variable.0), "{finished:?}");
}
