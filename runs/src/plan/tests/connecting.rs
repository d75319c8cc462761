//! Payloads checked against input schemas before anything has run.

use super::*;

/// Checks the faults of a writer's step with this payload, behind a planner's step.
#[track_caller]
fn check_writer(given: &Context, payload: Value, faults: &[&str]) {
    let plan = steps(json!({
        "strategy": {"capability": "plan.strategy", "payload": {"objective": "${objective}"}},
        "draft": {"capability": "content.write", "payload": payload},
    }));
    let expected: Vec<_> = faults
        .iter()
        .map(|fault| format!("step `draft`: {fault} (`content.write` of agent `writer`)"))
        .collect();
    assert_eq!(given.faults(plan), expected);
}

/// spec: ORC-9
#[test]
fn what_is_required_must_be_there_and_what_is_not_taken_must_not() {
    let given = three_agents();
    check_writer(&given, json!({}), &["the payload needs \"writerBrief\""]);
    check_writer(
        &given,
        json!({"writerBrief": "short", "tone": "${objective}", "mood": 1}),
        &[
            "the payload does not take tone, mood; it takes: writerBrief, mustInclude, language, knobs",
        ],
    );
}

/// spec: ORC-9
#[test]
fn values_must_fit_their_schema() {
    let given = three_agents();
    check_writer(
        &given,
        json!({"writerBrief": 5, "mustInclude": ["ahoy", 1, "${objective}"], "language": "pirate speech"}),
        &[
            "`writerBrief`: the value is not of types \"string\", \"object\"",
            "`mustInclude.1`: the value is not of type \"string\"",
            "`language`: the value is longer than 8 characters",
        ],
    );
}

/// spec: ORC-9
#[test]
fn what_is_there_already_is_checked_as_the_value_that_it_is() {
    let given = three_agents();
    check_writer(
        &given,
        json!({"writerBrief": "${thread.earlier}", "language": "${input.audience}", "knobs": "${input.limit}"}),
        &["`knobs`: the value is not of type \"object\" (it is `${input.limit}`)"],
    );
    check_writer(
        &given,
        json!({"writerBrief": "${input.limit}"}),
        &[
            "`writerBrief`: the value is not of types \"string\", \"object\" (it is `${input.limit}`)",
        ],
    );
    let given = given.done(
        "strategy",
        json!({"strategy": {"rationale": ["not", "a", "text"]}}),
    );
    check_writer(
        &given,
        json!({"writerBrief": "${strategy.output.strategy.rationale}"}),
        &[
            "`writerBrief`: the value is not of types \"string\", \"object\" (it is `${strategy.output.strategy.rationale}`)",
        ],
    );
}

/// spec: ORC-9
#[test]
fn the_types_of_both_ends_must_meet() {
    let given = three_agents();
    check_writer(
        &given,
        json!({
            "writerBrief": "${strategy.output.strategy.schedule}",
            "mustInclude": ["${strategy.output.strategy.knobs}"],
            "language": "${strategy.output.strategy.knobs.humour}",
            "knobs": "${objective}",
        }),
        &[
            "`knobs` takes object, and `${objective}` gives text",
            "`language` takes text, and `${strategy.output.strategy.knobs.humour}` gives number",
            "`mustInclude.0` takes text, and `${strategy.output.strategy.knobs}` gives object",
            "`writerBrief` takes text or object, and `${strategy.output.strategy.schedule}` gives array",
        ],
    );
    check_writer(
        &given,
        json!({"writerBrief": "${strategy.output.strategy.schedule.0}", "knobs": "${strategy.output.strategy.knobs}", "mustInclude": ["${objective}"], "language": "${strategy.output.strategy.schedule.0.when}"}),
        &[],
    );
    check_writer(
        &given,
        json!({"writerBrief": "x", "knobs": "all of ${strategy.output.strategy.knobs}"}),
        &["`knobs` takes object, and `all of ${strategy.output.strategy.knobs}` gives text"],
    );
}

/// spec: ORC-9
#[test]
fn a_reference_leads_to_something_that_an_agent_gives() {
    let given = three_agents();
    let check = |reference: &str, why: &str| {
        let plan = steps(json!({
            "strategy": {"capability": "plan.strategy", "payload": {"objective": "x"}},
            "other": {"capability": "plan.strategy", "payload": {"objective": reference}},
        }));
        given.check(
            plan,
            &[&format!("step `other`, `objective`: {reference}: {why}")],
        );
    };
    check(
        "${strategy.output.rationale}",
        "`strategy` gives no `rationale` there; it gives: strategy",
    );
    check(
        "${strategy.output.strategy.plan}",
        "`strategy` gives no `plan` there; it gives: rationale, schedule, knobs",
    );
    check(
        "${strategy.output.strategy.rationale.0}",
        "`strategy` gives no `0` there; it gives: text",
    );
    check(
        "${input.crew}",
        "there is no `crew`; there is: audience, limit, must",
    );
    check(
        "${input.must.1}",
        "there is no `1`; there is: an array of 1",
    );
    check(
        "${input.audience.size}",
        "there is no `size`; there is: a text",
    );
    check(
        "${thread.later.text}",
        "there is no `later`; there is: earlier",
    );
}

/// spec: ORC-9
#[test]
fn what_may_be_skipped_is_not_relied_upon() {
    let given = three_agents();
    let plan = |payload: Value| {
        steps(json!({
            "strategy": {"capability": "plan.strategy", "payload": {"objective": "x"}, "recovery": {"kind": "skip"}},
            "draft": {"capability": "content.write", "payload": payload},
        }))
    };
    given.check(
        plan(json!({"writerBrief": "${strategy.output.strategy}"})),
        &["step `draft`: the payload needs \"writerBrief\", and the step that it comes from may be skipped (`content.write` of agent `writer`)"],
    );
    given.check(
        plan(json!({"writerBrief": "x", "knobs": "${strategy.output.strategy.knobs}"})),
        &[],
    );
    given.check(
        plan(json!({"writerBrief": "as in: ${strategy.output.strategy}"})),
        &[],
    );
    let given = given.done("strategy", json!({"strategy": {"rationale": "x"}}));
    given.check(
        plan(json!({"writerBrief": "${strategy.output.strategy}"})),
        &[],
    );
}

#[test]
fn one_agent_of_several_that_takes_it_is_enough() {
    let mut given = three_agents();
    let strict = json!({"type": "object", "required": ["writerBrief", "seal"], "properties": {"writerBrief": {"type": "object"}}});
    given
        .offers
        .push(offer("notary", "content.write", strict, json!({})));
    let plan = |payload: Value| {
        steps(json!({"draft": {"capability": "content.write", "payload": payload}}))
    };

    let admitted = admit(plan_of(plan(json!({"writerBrief": "x"}))), &given.terms())
        .expect("the writer takes it");
    let fitting: Vec<_> = admitted
        .fitting("draft", &given.terms())
        .iter()
        .map(|o| o.agent.clone())
        .collect();
    assert_eq!(fitting, ["writer"]);

    given.check(
        plan(json!({"writerBrief": 5})),
        &["step `draft`: `writerBrief`: the value is not of types \"string\", \"object\" (`content.write` of agent `writer`)"],
    );
    let mut named = plan(json!({"writerBrief": "x", "seal": 1}));
    named["steps"]["draft"]["agent"] = json!("notary");
    given.check(named.clone(), &["step `draft`: `writerBrief`: the value is not of type \"object\" (`content.write` of agent `notary`)"]);
    named["steps"]["draft"]["agent"] = json!("writer");
    named["steps"]["draft"]["payload"] = json!({"writerBrief": "x"});
    named["steps"]["draft"]["recovery"] = json!({"kind": "fallback", "agent": "notary"});
    assert_eq!(given.faults(named).len(), 2);
}

#[test]
fn what_a_step_gives_depends_on_who_does_it() {
    let mut given = three_agents();
    given.offers = ["one", "two"]
        .map(|agent| {
            let gives = json!({"properties": {agent: {"type": "string"}}});
            offer(agent, "give", json!({}), gives)
        })
        .into();
    let faults = |step: Value| {
        let next = json!({"capability": "give", "payload": {"x": "${a.output.two}"}});
        given.faults(steps(json!({"a": step, "b": next})))
    };
    let nobody = [""; 0];
    assert_eq!(faults(json!({"capability": "give"})), nobody);
    assert_eq!(
        faults(json!({"capability": "give", "agent": "two"})),
        nobody
    );
    assert_eq!(
        faults(json!({"capability": "give", "agent": "one"})),
        ["step `b`, `x`: ${a.output.two}: `a` gives no `two` there; it gives: one"]
    );
    let fallback = json!({"kind": "fallback", "agent": "two"});
    assert_eq!(
        faults(json!({"capability": "give", "agent": "one", "recovery": fallback})),
        nobody
    );
}

#[test]
fn what_depends_on_values_that_are_not_there_is_no_fault() {
    let mut given = three_agents();
    let mut check = |takes: Value, payload: Value, faults: &[&str]| {
        given.offers = vec![
            offer("b", "take", takes, json!({})),
            offer("a", "give", json!({}), json!({})),
        ];
        let plan = steps(
            json!({"a": {"capability": "give"}, "b": {"capability": "take", "payload": payload}}),
        );
        let expected: Vec<_> = faults
            .iter()
            .map(|fault| format!("step `b`: {fault} (`take` of agent `b`)"))
            .collect();
        assert_eq!(given.faults(plan), expected);
    };
    let kinds = json!({"oneOf": [
        {"required": ["text"], "properties": {"kind": {"const": "text"}}},
        {"required": ["image"], "properties": {"kind": {"const": "image"}}},
    ]});
    check(
        kinds.clone(),
        json!({"kind": "${a.output}", "text": "x"}),
        &[],
    );
    check(
        kinds.clone(),
        json!({"kind": "image", "text": "${a.output}"}),
        &[
            "the payload fits none of the alternatives: `kind`: \"text\" was expected; the payload needs \"image\"",
        ],
    );
    let either = json!({"anyOf": [{"properties": {"x": {"type": "null"}}}, {"required": ["y"], "properties": {"y": {}}}]});
    check(either, json!({"x": "${objective}", "y": 1}), &[]);
    check(
        json!({"if": {"properties": {"kind": {"const": "image"}}}, "else": {"required": ["text"]}}),
        json!({"kind": "${a.output}"}),
        &[],
    );
    check(
        json!({"if": {"properties": {"kind": {"const": "image"}}}, "else": {"required": ["text"]}}),
        json!({"kind": "sound"}),
        &["the payload needs \"text\""],
    );
    check(
        json!({"if": {"properties": {"kind": {"const": "image"}}}, "then": {"required": ["image"]}}),
        json!({"kind": "${a.output}"}),
        &[],
    );
    check(
        json!({"properties": {"list": {"uniqueItems": true}}}),
        json!({"list": ["${a.output}", "${a.output}"]}),
        &[],
    );
    check(
        json!({"properties": {"x": {"not": {"type": "string"}}}}),
        json!({"x": "${a.output}"}),
        &[],
    );
    check(
        json!({"properties": {"list": {"minItems": 2, "contains": {"const": 1}}}}),
        json!({"list": ["${a.output}"]}),
        &["`list`: the value has less than 2 items"],
    );
}

/// spec: ORC-9
#[test]
fn what_an_agent_gave_is_held_against_what_it_offers() {
    let given = three_agents();
    let schema = given.offers[1]
        .output
        .as_ref()
        .expect("a writer says what it gives");
    let check = |output: Value, told: &[&str]| assert_eq!(violations(schema, &output), told);
    check(json!({"draft": {"text": "ahoy", "metadata": {}}}), &[]);
    check(
        json!({"draft": {"text": 5}}),
        &["at /draft/text: the value is not of type \"string\""],
    );
    check(
        json!({"draft": {}}),
        &["at /draft: \"text\" is a required property"],
    );
    check(json!("ahoy"), &["the value is not of type \"object\""]);
    let many = violations(
        &json!({"items": false}),
        &vec![json!("x".repeat(5_000)); 50].into(),
    );
    assert_eq!(many.len(), 16);
    assert!(many.iter().all(|line| line.len() < 700), "{many:?}");
}
