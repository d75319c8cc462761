//! Hostile plans, patches and cards.

use super::*;

fn nested(depth: usize) -> Value {
    (0..depth).fold(json!("${objective}"), |inner, _| json!([inner]))
}

fn line_of(fault: &Fault) -> String {
    let line = fault.to_string();
    assert!(
        line.len() < 2500 && !line.contains('\n'),
        "{} bytes: {line}",
        line.len()
    );
    line
}

#[track_caller]
fn refused(given: &Context, plan: Plan) -> Vec<String> {
    let faults = admit(plan, &given.terms()).expect_err("it is not sound");
    assert!(faults.len() <= 17, "{} faults", faults.len());
    faults.iter().map(line_of).collect()
}

#[test]
fn what_is_too_deep_or_too_large_is_not_looked_at() {
    let given = three_agents();
    let with = |payload: Value| {
        let mut plan = Plan::default();
        let name = "a".parse().expect("a name");
        plan.steps
            .insert(name, PlanStep::new("plan.strategy", payload));
        plan
    };
    let too_large = "the plan is too large: at most 262144 bytes, nested at most 32 deep";
    assert_eq!(
        refused(&given, with(json!({"x": nested(1_000)}))),
        [too_large]
    );
    assert_eq!(
        refused(&given, with(json!({"x": "y".repeat(300_000)}))),
        [too_large]
    );
    assert_eq!(
        refused(&given, with(vec![json!(1); 100_000].into())),
        [too_large]
    );
    let result = Plan {
        result: nested(100),
        ..Plan::default()
    };
    assert_eq!(refused(&given, result), [too_large]);
    let deep = json!({"objective": "x", "list": nested(20)});
    assert!(admit(with(deep), &given.terms()).is_ok());
}

#[test]
fn thousands_of_steps_are_one_fault_or_are_looked_at_quickly() {
    let mut given = three_agents();
    let mut many = Map::new();
    for n in 0..2_000 {
        let on: Vec<_> = (n > 0).then(|| format!("s{}", n - 1)).into_iter().collect();
        many.insert(format!("s{n}"), json!({"capability": "c", "dependsOn": on}));
    }
    let plan = plan_of(steps(many.into()));
    assert_eq!(
        refused(&given, plan.clone()),
        ["there are 2000 steps, and at most 64 are allowed"]
    );
    given.limits.max_steps = 10_000;
    let faults = refused(&given, plan);
    assert_eq!(faults.len(), 17);
    assert_eq!(faults[16], "and 1985 more");
}

#[test]
fn faults_are_short_lines_whatever_they_are_about() {
    let mut given = three_agents();
    let long = format!("line\n\"{}", "é\u{0}\r\n".repeat(5_000));
    let odd = json!({
        "capability": &long, "agent": &long, "recovery": {"kind": "fallback", "agent": &long},
        "payload": {&long: {&long: format!("${{{long}}}")}, "a": format!("${{input.{long}")},
    });
    refused(
        &given,
        plan_of(json!({"steps": {"a": odd}, "result": [&long, {&long: 1}]})),
    );
    let many = (0..5_000).map(|n| (format!("{n}-{}", &long[..36]), json!(1)));
    given.input = Value::Object(many.collect());
    refused(&given, plan_of(json!({"result": "${input.x}"})));
    let schema = json!({"required": [&long], "properties": {&long: {}, "x": {"enum": [&long]}, "y": {"pattern": "^(a|b)$"}}, "additionalProperties": false});
    given.offers = vec![offer(
        &long,
        "c",
        schema,
        json!({"properties": {&long: {}}}),
    )];
    let faults = refused(
        &given,
        plan_of(
            json!({"steps": {"a": {"capability": "c", "payload": {"x": 1, "y": "c", "z": &long}}}, "result": "${a.output.x}"}),
        ),
    );
    assert_eq!(faults.len(), 5, "{faults:#?}");
}

#[test]
fn references_in_keys_are_refused() {
    three_agents().check(
        json!({
            "steps": {"a": {"capability": "plan.strategy", "payload": {"objective": "x", "list": [{"${objective}": 1}]}}},
            "result": {"${a.output}": "${a.output}"},
        }),
        &[
            "step `a`, `list.0.${objective}`: there can be no reference in a key, only in texts",
            "result, `${a.output}`: there can be no reference in a key, only in texts",
        ],
    );
}

#[test]
fn patches_are_bounded() {
    let plan = plan_of(campaign());
    let check = |patch: Value, why: &str| {
        let fault = patched(&plan, &patch).expect_err("it is refused");
        assert!(line_of(&fault).starts_with(why), "{fault}");
    };
    for no_patch in [
        json!({}),
        json!("x"),
        json!(null),
        json!([1]),
        json!([{"op": "eval", "path": ""}]),
        json!([{"op": "add", "path": "/x"}]),
    ] {
        check(no_patch, "this is no patch: ");
    }
    let test = json!({"op": "test", "path": "/steps/draft/agent", "value": "writer"});
    check(
        vec![test; 257].into(),
        "this is no patch: it has 257 operations",
    );
    check(
        json!([{"op": "add", "path": "/result/x", "value": nested(1_000)}]),
        "the patch is too large",
    );
    check(
        json!([{"op": "add", "path": "/result/x", "value": "y".repeat(300_000)}]),
        "the patch is too large",
    );
    check(
        json!([{"op": "add", "path": "/result", "value": nested(32)}, {"op": "add", "path": "/steps", "value": {}}]),
        "the patched plan is too large",
    );
    let doubled =
        |n: usize| json!({"op": "copy", "from": "/result", "path": format!("/steps/x{n}")});
    check(
        (0..100)
            .map(|n| json!([doubled(n), {"op": "copy", "from": "/steps", "path": "/result"}]))
            .flat_map(|pair| pair.as_array().cloned().expect("two"))
            .collect(),
        "the patched plan is too large",
    );
    check(
        json!([{"op": "move", "from": "/steps", "path": "/steps/draft/payload/x"}]),
        "operation 1 of the patch",
    );
    check(
        json!([{"op": "add", "path": "/steps/draft/dependsOn/99999999999999999999", "value": "x"}]),
        "operation 1 of the patch",
    );
}

#[test]
fn cards_of_strangers_do_no_harm() {
    let mut given = three_agents();
    let plan = steps(json!({
        "a": {"capability": "c"},
        "b": {"capability": "c", "payload": {"x": "${a.output.x.y.z}", "y": ["aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!", "${objective}"]}},
    }));
    let branch = |inner: Value| json!({"anyOf": [inner, inner, inner, inner]});
    let wide = (0..5).fold(json!({}), |inner, _| branch(inner));
    for schema in [
        json!({"$ref": "#"}),
        json!({"allOf": [{"$ref": "#"}, {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}]}),
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}),
        json!({"properties": {"x": {"$ref": "#/properties/x"}, "y": {"$ref": "#/properties/y"}}}),
        json!({"properties": {"x": {"$ref": "#"}, "y": {"items": {"$ref": "#/properties/y/items"}}}}),
        json!({"$dynamicRef": "#x", "$dynamicAnchor": "x"}),
        json!({"properties": {"y": {"items": {"pattern": "^(a+)+$"}}}, "type": "object"}),
        json!({"properties": {"y": {"items": {"pattern": "(((a{1,1000}){1,1000}){1,1000})"}}}}),
        json!({"properties": {"y": {"items": {"pattern": "(?=a)("}}}}),
        json!({"type": 5, "properties": [], "items": 3, "enum": {}, "allOf": {}, "$ref": 7, "required": "x"}),
        json!({"$ref": "file:///etc/passwd"}),
        json!({"$schema": "https://example.org/none", "$ref": "https://example.org/none"}),
        json!("no schema"),
        json!(null),
        nested(200),
        wide,
        json!({"allOf": vec![branch(json!({"type": ["object", "array"]})); 200]}),
    ] {
        given.offers = vec![offer("a", "c", schema.clone(), schema.clone())];
        let begun = std::time::Instant::now();
        let _ = admit(plan_of(plan.clone()), &given.terms());
        violations(&schema, &json!({"x": 1, "y": []}));
        assert!(begun.elapsed().as_secs() < 5, "{schema}");
    }
}
