use std::collections::BTreeMap;

use agenthub_metrics::{
    Snapshot,
    runs::Price,
    text::{Format, encode},
};
use agenthub_runs::{
    Budget, RunId, RunOutcome, RunStarted, Spent, StepId, StepRequest, StepResult, ToolOutput,
    model::{Completion, ToolCall, Usage},
    spans::Subject,
};
use serde_json::json;

use super::*;

fn started() -> RunEvent {
    RunEvent::Started(RunStarted {
        strategy: "tool_loop".into(),
        input: json!({}),
        thread: String::new(),
        origin: json!(null),
        budget: Budget::default(),
        deadline_ms: None,
        at_ms: 1_000,
    })
}

/// A step that begins and comes back a second later.
fn step(name: &str, what: StepRequest, result: StepResult) -> [RunEvent; 2] {
    [
        RunEvent::StepBegun {
            step: StepId::new(name),
            attempt: 1,
            what,
            grant: Budget::default(),
            deadline_ms: None,
            at_ms: 2_000,
        },
        RunEvent::StepEnded {
            step: StepId::new(name),
            attempt: 1,
            result,
            spent: None,
            at_ms: 3_000,
        },
    ]
}

/// spec: PRD-7
#[test]
fn models_tools_and_runs_are_counted_by_agent() {
    let metrics = Runs::default();
    let price = Price {
        input: 1.0,
        output: 4.0,
    };
    metrics.set_prices(BTreeMap::from([("openai/gpt-5".to_owned(), price)]));
    let mut projection = Projection::new(Subject {
        run: RunId::new("run-1"),
        agent: "lead".into(),
        model: "openai/gpt-5".into(),
        workflow: String::new(),
        task_id: String::new(),
        correlation_id: String::new(),
        trace_id: 0xabc,
        span_id: 1,
        parent: None,
    });
    let answer = Completion {
        usage: Some(Usage {
            input_tokens: 1_000,
            output_tokens: 250,
            is_estimated: false,
        }),
        ..Completion::default()
    };
    let call = ToolCall {
        id: "1".into(),
        name: "search".into(),
        arguments: json!({}),
    };
    let output = ToolOutput {
        value: json!("no such page"),
        is_error: true,
    };
    let asked = StepRequest::ModelAsked {
        prompt: String::new(),
        tools: String::new(),
        max_output_tokens: None,
    };
    let mut events = vec![started()];
    events.extend(step("model", asked, StepResult::ModelAnswered(answer)));
    events.extend(step(
        "tool",
        StepRequest::ToolCalled(call),
        StepResult::ToolReturned(output),
    ));
    events.push(RunEvent::Ended {
        outcome: RunOutcome::completed("done"),
        spent: Spent::default(),
        at_ms: 9_000,
    });
    for event in &events {
        let span = projection.of(event);
        count(&metrics, &projection, event, span.as_ref());
    }
    let mut snapshot = Snapshot::default();
    metrics.collect(&mut snapshot);
    let text = encode(&snapshot, Format::OpenMetrics);
    let model = "gen_ai_operation_name=\"chat\",gen_ai_provider_name=\"openai\",gen_ai_request_model=\"gpt-5\",gen_ai_agent_name=\"lead\"";
    for line in [
        format!("gen_ai_client_operation_duration_seconds_sum{{{model},error_type=\"\"}} 1"),
        format!("gen_ai_client_token_usage_sum{{{model},gen_ai_token_type=\"output\"}} 250"),
        "agenthub_model_cost_usd_total{provider=\"openai\",model=\"gpt-5\",agent=\"lead\"} 0.002"
            .into(),
        "agenthub_tool_call_seconds_count{agent=\"lead\",tool=\"search\",error=\"tool\"} 1".into(),
        "agenthub_runs_begun_total{agent=\"lead\"} 1".into(),
        "agenthub_run_seconds_sum{agent=\"lead\",state=\"completed\"} 8".into(),
    ] {
        assert!(text.lines().any(|l| l == line), "{line} in\n{text}");
    }
    // The trace of the run is found from its duration.
    let traced = text
        .lines()
        .find(|line| line.starts_with("agenthub_run_seconds_bucket") && line.contains('#'));
    let trace = "trace_id=\"00000000000000000000000000000abc\"";
    assert!(traced.is_some_and(|line| line.contains(trace)), "{text}");
}
