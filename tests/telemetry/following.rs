//! One request, from a metric to its trace and to the lines of the log.

use agenthub_sdk::proto::{
    a2a::{Message, Role},
    agenthub::{AgentEventMetadata, PublishMessageRequest, agent_hub_client::AgentHubClient},
};
use tokio::runtime::Runtime;
use tonic::{Request, transport::Endpoint};

use super::{Observed, collector::Collector};
use crate::harness::eventually;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN: &str = "00f067aa0ba902b7";

/// Publishes a message within the trace.
fn publish(hub: &str, to: &str) {
    let message = Message {
        message_id: "followed".into(),
        context_id: "followed".into(),
        task_id: "followed".into(),
        ..Message::new(Role::User, "echo 'follow me'")
    };
    let routing = AgentEventMetadata {
        from_agent_id: "me".into(),
        to_agent_id: to.into(),
        ..Default::default()
    };
    let mut request = Request::new(PublishMessageRequest {
        message: Some(message),
        routing: Some(routing),
        ..Default::default()
    });
    let traceparent = format!("00-{TRACE}-{SPAN}-01");
    let traceparent = traceparent.parse().expect("ASCII");
    request.metadata_mut().insert("traceparent", traceparent);
    let published = Runtime::new().expect("threads").block_on(async {
        let endpoint = Endpoint::from_shared(hub.to_owned()).expect("an address");
        let channel = endpoint.connect().await.expect("it is there");
        AgentHubClient::new(channel).publish_message(request).await
    });
    let published = published.expect("an answer").into_inner();
    assert!(published.success, "{published:?}");
}

/// Issue 26: logs, traces and metrics name each other.
///
/// spec: PRD-7
#[test]
fn a_publish_leads_from_its_metric_to_its_trace_and_to_the_lines_of_the_log() {
    let collector = Collector::over_http();
    let observed = Observed::start(&[
        ("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url),
        ("OTEL_BSP_SCHEDULE_DELAY", "50"),
        ("AGENTHUB_LOG", "info,agenthub_broker::metrics=debug"),
    ]);
    publish(&observed.system.hub(), "cortex");
    // The metric: an exemplar of the call's duration.
    let bucket = "agenthub_rpc_duration_seconds_bucket{method=\"agenthub.AgentHub/PublishMessage\"";
    let exemplar = eventually("the publish is an exemplar", || {
        let text = crate::metrics::open_metrics(&observed.http);
        let mut lines = text.lines();
        let line = lines.find(|line| line.starts_with(bucket) && line.contains("trace_id"))?;
        let (_, rest) = line.split_once("trace_id=\"")?;
        Some(rest[..32].to_owned())
    });
    assert_eq!(exemplar, TRACE);
    // The trace: what the agent made of it.
    eventually("the agent's run is a span of the trace", || {
        let trace = u128::from_str_radix(&exemplar, 16).expect("digits");
        let spans = collector.spans();
        let is_its = |id: &[u8]| id == trace.to_be_bytes();
        let mut spans = spans.iter().filter(|span| is_its(&span.trace_id));
        spans
            .any(|span| span.name == "invoke_agent cortex")
            .then_some(())
    });
    // The log: the hub's line about the call, and the agent's about its run.
    let with = |words: &[&str]| {
        let said = observed.up.said();
        let mut lines = said.lines().filter(|line| line.contains(&exemplar));
        lines
            .find(|line| words.iter().all(|word| line.contains(word)))
            .map(str::to_owned)
    };
    for words in [
        &[
            "a call has ended",
            "agenthub.AgentHub/PublishMessage",
            "\"code\":\"OK\"",
            SPAN,
        ][..],
        &["a run begins", "\"agent\":\"cortex\"", "\"span_id\":\""],
        &["a run is over"],
    ] {
        eventually(&format!("the log says {words:?}"), || with(words));
    }
}
