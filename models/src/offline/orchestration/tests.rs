//! The stand-in's proposals, one by one. Whole runs with it are tried where orchestrators are.

use serde_json::{Value, json};

use super::{connecting::*, *};
use crate::PromptMessage;

fn schema(properties: Value, required: Value) -> Value {
    json!({"type": "object", "properties": properties, "required": required})
}

/// A request as an orchestrator makes it.
fn asked(registry: Value, plan: Value, more: &[(&str, Value)]) -> Value {
    let mut messages = vec![
        PromptMessage::data("registry", registry),
        PromptMessage::user("Paint the fence green"),
        PromptMessage::data("plan", plan),
    ];
    messages.extend(
        more.iter()
            .map(|(label, value)| PromptMessage::data(*label, value.clone())),
    );
    propose(&Request::new(messages), "Paint the fence green")
}

#[test]
fn what_a_capability_needs_is_found_by_name_and_type() {
    let text = json!({"type": ["string", "null"]});
    let output = schema(
        json!({
            "paint": schema(json!({"color": {"type": "string"}, "shade": {"type": "string"}}), json!(["color"])),
            "plan": {"type": "object"},
        }),
        json!(["paint", "plan"]),
    );
    let earlier = [StepOutput {
        step: "mix",
        schema: &output,
    }];
    let input = json!({"brush": "wide", "Color": "red", "count": 3, "plan": "a text"});
    let found = |property: &str, form: &Value| source(property, form, &earlier, &input);
    let reference = |text: &str| Some(text.to_owned());
    assert_eq!(
        found("color", &text),
        reference("${mix.output.paint.color}"),
        "what was settled comes first"
    );
    assert_eq!(found("shade", &text), None, "it may not be there");
    assert_eq!(found("brush", &text), reference("${input.brush}"));
    assert_eq!(
        found("wallPaint", &json!({"type": "object"})),
        reference("${mix.output.paint}"),
        "by its last word"
    );
    assert_eq!(
        found("plan", &text),
        reference("${input.plan}"),
        "what has another type is passed over"
    );
    assert_eq!(found("count", &text), None);
    assert_eq!(
        found("count", &json!({"type": "integer"})),
        reference("${input.count}")
    );
    assert_eq!(found("objective", &text), reference("${objective}"));
    assert_eq!(
        found(
            "plan",
            &json!({"anyOf": [{"type": "array"}, {"type": "object"}]})
        ),
        reference("${mix.output.plan}")
    );
}

#[test]
fn a_plan_has_what_leads_to_what_is_made_and_nothing_else() {
    let text = json!({"type": "string"});
    let offer = |capability: &str, phase: &str, needs: Value, gives: Value| {
        let required = |of: &Value| {
            of.as_object()
                .map(|fields| fields.keys().cloned().collect::<Vec<_>>())
        };
        json!({
            "agent": format!("the {capability}"),
            "capability": capability,
            "phase": phase,
            "inputSchema": schema(needs.clone(), json!(required(&needs))),
            "outputSchema": schema(gives.clone(), json!(required(&gives))),
        })
    };
    let registry = json!([
        offer(
            "weather",
            "analysis",
            json!({"request": text}),
            json!({"forecast": text})
        ),
        offer(
            "mix",
            "analysis",
            json!({"request": text}),
            json!({"color": text})
        ),
        offer(
            "paint.fence",
            "generation",
            json!({"color": text}),
            json!({"fence": text})
        ),
        offer(
            "haul",
            "generation",
            json!({"load": {"type": "number"}}),
            json!({"hauled": text})
        ),
    ]);
    let proposal = asked(
        registry,
        json!({"plan": {"steps": {}}}),
        &[("input", json!({}))],
    );
    let patch = json!([
        {"op": "add", "path": "/steps/mix", "value": {"capability": "mix", "payload": {"request": "${objective}"}}},
        {"op": "add", "path": "/steps/paint-fence", "value": {"capability": "paint.fence", "payload": {"color": "${mix.output.color}"}}},
        {"op": "replace", "path": "/result", "value": {"color": "${mix.output.color}", "fence": "${paint-fence.output.fence}"}},
    ]);
    assert_eq!(proposal["planPatch"], patch, "{proposal:#}");
}

#[test]
fn an_agent_without_a_contract_is_asked_when_the_words_fit() {
    let registry = json!([
        {"agent": "echo", "capability": "echo", "phase": "analysis", "description": "Repeats text"},
        {"agent": "painter", "capability": "paint", "phase": "analysis", "description": "Paints fences and walls"},
    ]);
    let proposal = asked(registry, json!({"plan": {"steps": {}}}), &[]);
    assert_eq!(
        proposal["planPatch"][0]["value"]["agent"], "painter",
        "{proposal:#}"
    );
}

#[test]
fn what_is_ready_is_handed_to_who_is_to_be_preferred() {
    let registry = json!([
        {"agent": "best", "capability": "paint"},
        {"agent": "other", "capability": "paint"},
    ]);
    let plan = json!({
        "plan": {"steps": {"first": {"capability": "paint"}, "second": {"capability": "paint"}}},
        "states": {"first": {"state": "completed", "agent": "best"}, "second": "ready"},
    });
    let proposal = asked(registry, plan, &[]);
    assert_eq!(
        (&proposal["action"], &proposal["to"], &proposal["stepId"]),
        (&json!("handoff"), &json!("best"), &json!("second"))
    );
}

#[test]
fn what_was_refused_is_not_proposed_again() {
    let plan = json!({"plan": {"steps": {"first": {"capability": "paint"}}}, "states": {"first": "ready"}});
    let refused = json!({"reason": "nobody here offers `paint`"});
    let proposal = asked(json!([]), plan, &[("rejected", refused)]);
    assert_eq!(proposal["action"], "final");
    let summary = proposal["bundle"]["summary"].as_str().expect("a summary");
    assert!(summary.contains("nobody here offers `paint`"), "{summary}");
}
