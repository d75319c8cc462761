//! What an agent takes, as a JSON Schema.

use serde_json::{Value, json};

use crate::common::{definition, with};

fn property(lines: &str) -> Value {
    let definition = definition(&with(&format!("inputs:\n  x: {lines}\n")));
    definition.schema["properties"]["x"].clone()
}

/// spec: SOP-1.3, SOP-3.1, SOP-3.2, SOP-3.3, SOP-3.4, SOP-3.5
#[test]
fn every_type_has_its_schema() {
    assert_eq!(property("{type: string}"), json!({"type": "string"}));
    assert_eq!(property("{type: number}"), json!({"type": "number"}));
    assert_eq!(property("{type: boolean}"), json!({"type": "boolean"}));
    assert_eq!(
        property("{type: enum, values: [short, 1.10, true, no]}"),
        json!({"type": "string", "enum": ["short", "1.10", "true", "no"]})
    );
    assert_eq!(
        property("{type: list}"),
        json!({"type": "array", "items": {"type": "string"}})
    );
}

/// spec: SOP-3.6, SOP-3.7
#[test]
fn what_is_optional_or_has_a_default_can_be_left_out() {
    let schema = definition(&with(
        "inputs:\n  z: {type: string}\n  a: {type: string, required: false}\n  b: {type: number, default: 3}\n  \
         c: {type: list, required: true, default: [x]}\n",
    ))
    .schema;
    assert_eq!(schema["required"], json!(["z"]));
    assert_eq!(schema["additionalProperties"], json!(false));
    let names: Vec<&String> = schema["properties"]
        .as_object()
        .expect("it is one")
        .keys()
        .collect();
    assert_eq!(names, ["z", "a", "b", "c"], "they keep their order");
    let fits = jsonschema::draft202012::new(&schema).expect("it is a schema");
    assert!(fits.is_valid(&json!({"z": "x"})));
    assert!(fits.is_valid(&json!({"z": "x", "a": "y", "b": 1.5, "c": []})));
    assert!(!fits.is_valid(&json!({})));
    assert!(!fits.is_valid(&json!({"z": "x", "b": "3"})));
    assert!(!fits.is_valid(&json!({"z": "x", "other": 1})));
}

/// spec: SOP-3.7
#[test]
fn a_default_is_in_the_schema() {
    for (lines, default) in [
        ("{type: string, default: \"\"}", json!("")),
        ("{type: string, default: '5'}", json!("5")),
        ("{type: number, default: -2}", json!(-2)),
        ("{type: number, default: 0.5}", json!(0.5)),
        ("{type: boolean, default: false}", json!(false)),
        ("{type: enum, values: [a, b], default: b}", json!("b")),
        ("{type: enum, values: [1, 2], default: 2}", json!("2")),
        ("{type: list, default: [a, b]}", json!(["a", "b"])),
        ("{type: list, default: []}", json!([])),
    ] {
        assert_eq!(property(lines)["default"], default, "{lines}");
    }
}

/// spec: SOP-3.8
#[test]
fn a_description_is_in_the_schema() {
    assert_eq!(
        property("{type: string, description: What it is about}"),
        json!({"type": "string", "description": "What it is about"})
    );
}

/// spec: SOP-3.1
#[test]
fn an_agent_that_takes_nothing_has_a_schema_too() {
    let nothing = json!({"type": "object", "properties": {}, "additionalProperties": false});
    for lines in ["", "inputs:\n", "inputs: {}\n"] {
        assert_eq!(definition(&with(lines)).schema, nothing);
    }
}
