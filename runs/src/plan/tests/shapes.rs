//! Static analysis of schemas.

use super::*;

/// Checks whether an output of one schema can feed an input of the other.
#[track_caller]
fn check_schemas(takes: Value, gives: Value, path: &str, can: bool) {
    let takes = json!({"type": "object", "properties": {"x": takes}});
    let mut given = three_agents();
    given.offers = vec![
        offer("b", "take", takes.clone(), json!({})),
        offer("a", "give", json!({}), gives.clone()),
    ];
    let plan = steps(json!({
        "a": {"capability": "give"},
        "b": {"capability": "take", "payload": {"x": format!("${{a.output{path}}}")}},
    }));
    let faults = given.faults(plan);
    assert_eq!(
        faults.is_empty(),
        can,
        "{gives}{path} into {takes}: {faults:?}"
    );
}

#[test]
fn simple_schemas_are_understood_and_others_allow_anything() {
    let text = json!({"type": "string"});
    let check = |gives: Value, path: &str, can: bool| check_schemas(text.clone(), gives, path, can);
    check(json!({}), "", true);
    check(json!(true), ".a.b.0", true);
    check(json!(false), "", false);
    check(json!({"enum": [1, null]}), "", false);
    check(json!({"enum": [1, "a"]}), "", true);
    check(json!({"const": {"a": 1}}), "", false);
    check(json!({"const": {"a": 1}}), ".a", true);
    check(
        json!({"type": "array", "items": {"type": "number"}}),
        ".0",
        false,
    );
    check(
        json!({"type": "array", "prefixItems": [{"type": "string"}], "items": false}),
        ".0",
        true,
    );
    check(
        json!({"type": "array", "prefixItems": [{"type": "string"}], "items": false}),
        ".1",
        false,
    );
    check(json!({"type": "array", "maxItems": 2}), ".2", false);
    check(json!({"type": "array"}), ".x", false);
    check(json!({"type": "array"}), ".01", false);
    check(
        json!({"type": "object", "patternProperties": {"^a": {"type": "number"}}, "properties": {"b": {}}}),
        ".a",
        true,
    );
    check(
        json!({"type": "object", "additionalProperties": {"type": "number"}}),
        ".a",
        false,
    );
    check(
        json!({"type": "object", "additionalProperties": {"type": "string"}, "properties": {"b": {}}}),
        ".a",
        true,
    );
    check(
        json!({"type": "object", "properties": {"b": {}}}),
        ".a",
        false,
    );
    check(
        json!({"type": "object", "properties": {"b": false}}),
        ".b",
        false,
    );
    check(
        json!({"allOf": [{"type": ["string", "null"]}, {"type": ["number", "null"]}]}),
        "",
        false,
    );
    check(
        json!({"allOf": [{"properties": {"a": {}}}, {"properties": {"b": {"type": "string"}}}]}),
        ".b",
        true,
    );
    check(
        json!({"anyOf": [{"type": "number"}, {"type": "string"}]}),
        "",
        true,
    );
    check(
        json!({"oneOf": [{"type": "number"}, {"type": "null"}]}),
        "",
        false,
    );
    check(
        json!({"oneOf": [{"properties": {"a": {"type": "null"}}}, {"properties": {"b": {}}}]}),
        ".a",
        false,
    );
    check(
        json!({"$ref": "#/$defs/n", "$defs": {"n": {"type": "number"}}}),
        "",
        false,
    );
    check(
        json!({"$ref": "#/$defs/t", "$defs": {"t": {"type": "object", "properties": {"t": {"$ref": "#/$defs/t"}, "s": {"type": "number"}}}}}),
        ".t.t.t.s",
        false,
    );
    check(json!({"$ref": "https://example.org/schema"}), "", true);
    check(json!({"$ref": "#nowhere"}), "", true);
    check(json!({"if": {"type": "number"}, "then": false}), "", true);
    check(json!({"type": "mystery"}), "", true);
    check_schemas(
        json!({"type": "number"}),
        json!({"type": "integer"}),
        "",
        true,
    );
    check_schemas(
        json!({"type": "integer"}),
        json!({"type": "number"}),
        "",
        true,
    );
    check_schemas(json!({"type": "integer"}), json!({"const": 0.5}), "", false);
    check_schemas(
        json!({"enum": ["a", "b"]}),
        json!({"type": "string"}),
        "",
        true,
    );
    check_schemas(
        json!({"anyOf": [{"type": "null"}, {"type": "array"}]}),
        json!({"type": "string"}),
        "",
        false,
    );
    check_schemas(json!({"not": {}}), json!({"type": "string"}), "", true);
}
