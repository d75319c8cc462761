//! Metrics of runs: models, tools, handoffs and approvals, counted where their spans end.

use std::time::Duration;

use agenthub_metrics::runs::{ModelCall, Runs, Took};
use agenthub_runs::{
    RunEvent,
    spans::{
        Projection, Span, Value,
        conventions::{
            AGENT, APPROVAL, APPROVED, CHAT, ERROR_TYPE, EXECUTE_TOOL, INPUT_TOKENS, INVOKE_AGENT,
            INVOKE_WORKFLOW, OPERATION, OUTPUT_TOKENS, PROVIDER, REQUEST_MODEL, STATE, STEP,
            TOOL_NAME,
        },
    },
};

/// Counts an event of a run, and the span that ends with it.
pub(super) fn count(metrics: &Runs, of: &Projection, event: &RunEvent, span: Option<&Span>) {
    let agent = of.subject().agent.as_str();
    if let RunEvent::Started(_) = event {
        metrics.begun(agent);
    }
    let Some(span) = span else { return };
    let text = |name| match span.get(name) {
        Some(Value::Text(text)) => text.as_str(),
        _ => "",
    };
    let number = |name| match span.get(name) {
        Some(Value::Int(number)) => u64::try_from(*number).ok(),
        _ => None,
    };
    let took = Took {
        time: Duration::from_millis(span.end_ms - span.start_ms),
        trace_id: span.trace_id,
    };
    let is_step = span.get(STEP).is_some();
    match text(OPERATION) {
        CHAT => metrics.model_called(
            &ModelCall {
                name: &of.subject().model,
                operation: CHAT,
                provider: text(PROVIDER),
                model: text(REQUEST_MODEL),
                agent,
                error: text(ERROR_TYPE),
                tokens: number(INPUT_TOKENS).zip(number(OUTPUT_TOKENS)),
            },
            took,
        ),
        EXECUTE_TOOL => metrics.tool_called(agent, text(TOOL_NAME), text(ERROR_TYPE), took),
        INVOKE_AGENT if is_step => metrics.handed_back(agent, text(AGENT), text(STATE), took),
        APPROVAL => {
            let decision = match span.get(APPROVED) {
                Some(Value::Bool(true)) => "allowed",
                Some(_) => "refused",
                None => "none",
            };
            metrics.decided(agent, decision, took);
        }
        INVOKE_AGENT | INVOKE_WORKFLOW => metrics.ended(agent, text(STATE), took),
        _ => {}
    }
}

#[cfg(test)]
#[path = "counted_tests.rs"]
mod tests;
