//! Tools as providers take them: with short plain names, and with arguments that are an object.

use std::borrow::Cow;

use agenthub_runs::schema;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::{ToolCall, ToolSpec};

/// Characters of a name that every provider takes.
const MAX_NAME: usize = 64;

/// The property that holds arguments which are no object.
const INPUT: &str = "input";

/// True if providers take `name` for a schema or tool: `[A-Za-z0-9_-]{1,64}`.
pub(super) fn is_plain(name: &str) -> bool {
    (1..=MAX_NAME).contains(&name.len()) && name.chars().all(fits)
}

fn fits(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

/// The name by which a provider knows a tool: its own, or what is left of it with a digest of the whole.
pub(super) fn wire_name(name: &str) -> Cow<'_, str> {
    if is_plain(name) {
        return Cow::Borrowed(name);
    }
    let digest = Uuid::new_v5(&Uuid::NAMESPACE_OID, name.as_bytes());
    let digest = &digest.simple().to_string()[..8];
    let kept = name.chars().map(|c| if fits(c) { c } else { '_' });
    let kept: String = kept.take(MAX_NAME - 1 - digest.len()).collect();
    Cow::Owned(format!("{kept}_{digest}"))
}

/// The tool in the words of the crate `genai`.
pub(super) fn offered(tool: &ToolSpec) -> genai::chat::Tool {
    let (Schema::Plain(schema) | Schema::Wrapped(schema)) = Schema::of(&tool.parameters);
    genai::chat::Tool::new(wire_name(&tool.name).as_ref())
        .with_description(tool.description.clone())
        .with_schema(schema)
}

/// The name and the arguments of an earlier call, for the provider.
pub(super) fn to_wire(tools: &[ToolSpec], call: &ToolCall) -> (String, Value) {
    let arguments = match &call.arguments {
        Value::Null => json!({}),
        arguments if arguments.is_object() && !wraps(tools, &call.name) => arguments.clone(),
        arguments => json!({ INPUT: arguments }),
    };
    (wire_name(&call.name).into_owned(), arguments)
}

/// The calls in an answer, with the tools' own names and arguments, and with ids that differ.
pub(super) fn from_wire(tools: &[ToolSpec], calls: Vec<genai::chat::ToolCall>) -> Vec<ToolCall> {
    let mut all: Vec<ToolCall> = Vec::new();
    for call in calls {
        // Where a provider counts its calls from 1, the crate `genai` fills the gap with the beginning of the first.
        let is_beginning = |earlier: &ToolCall| {
            earlier.id == call.call_id
                && earlier.name == call.fn_name
                && earlier.arguments == json!({})
        };
        all.retain(|earlier| !is_beginning(earlier));
        all.push(ToolCall {
            id: call.call_id,
            name: call.fn_name,
            arguments: match call.fn_arguments {
                Value::Null => json!({}),
                Value::String(text) if text.trim().is_empty() => json!({}),
                arguments => arguments,
            },
        });
    }
    for at in 0..all.len() {
        let (earlier, rest) = all.split_at_mut(at);
        let call = &mut rest[0];
        let taken = |id: &str| id.is_empty() || earlier.iter().any(|call| call.id == id);
        let others = (at + 1..).map(|n| format!("call_{n}"));
        if taken(&call.id)
            && let Some(free) = others.into_iter().find(|id| !taken(id))
        {
            call.id = free;
        }
        let tool = tools.iter().find(|tool| wire_name(&tool.name) == call.name);
        if let Some(tool) = tool {
            call.name.clone_from(&tool.name);
        }
        if wraps(tools, &call.name)
            && let Some(input) = call.arguments.get_mut(INPUT)
        {
            call.arguments = input.take();
        }
    }
    all
}

fn wraps(tools: &[ToolSpec], name: &str) -> bool {
    let tool = tools.iter().find(|tool| tool.name == name);
    tool.is_some_and(|tool| matches!(Schema::of(&tool.parameters), Schema::Wrapped(_)))
}

/// A schema that providers take for arguments: an object at the top, without alternatives there.
#[derive(Debug, PartialEq)]
enum Schema {
    Plain(Value),
    /// An object with the arguments as the property [`INPUT`].
    Wrapped(Value),
}

impl Schema {
    fn of(schema: &Value) -> Self {
        const ALTERNATIVES: [&str; 7] = ["anyOf", "oneOf", "allOf", "not", "enum", "const", "$ref"];
        const SAY_NOTHING: [&str; 4] = ["$schema", "$id", "title", "description"];
        let Value::Object(map) = schema else {
            // `true`, and what is no schema at all.
            return Self::Plain(json!({"type": "object"}));
        };
        let mut map = map.clone();
        let open = map.contains_key("properties")
            || map.keys().all(|key| SAY_NOTHING.contains(&key.as_str()));
        if open && !map.contains_key("type") {
            map.insert("type".into(), "object".into());
        }
        let alternatives = ALTERNATIVES.iter().any(|key| map.contains_key(*key));
        match map.get("type") {
            Some(kind) if kind == "object" && !alternatives => Self::Plain(Value::Object(map)),
            _ => Self::Wrapped(wrapped(map)),
        }
    }
}

/// Definitions stay at the top, where references look for them.
fn wrapped(mut schema: Map<String, Value>) -> Value {
    let mut top = Map::new();
    for key in ["$defs", "definitions"] {
        if let Some(definitions) = schema.shift_remove(key) {
            top.insert(key.into(), definitions);
        }
    }
    schema.shift_remove("$schema");
    top.insert("type".into(), "object".into());
    top.insert("properties".into(), json!({ INPUT: schema }));
    top.insert("required".into(), json!([INPUT]));
    let mut top = Value::Object(top);
    schema::change(&mut top, &lead_to_input);
    top
}

/// References to the whole schema lead to where it is.
fn lead_to_input(schema: &mut Map<String, Value>) {
    if let Some(Value::String(to)) = schema.get_mut("$ref")
        && to == "#"
    {
        *to = format!("#/properties/{INPUT}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str, parameters: Value) -> ToolSpec {
        ToolSpec {
            name: name.into(),
            description: String::new(),
            parameters,
            agent: None,
        }
    }

    fn call(id: &str, name: &str, arguments: Value) -> genai::chat::ToolCall {
        genai::chat::ToolCall {
            call_id: id.into(),
            fn_name: name.into(),
            fn_arguments: arguments,
            thought_signatures: None,
        }
    }

    #[test]
    fn names_that_providers_refuse_become_plain_and_stay_apart() {
        let long = "x".repeat(65);
        let names = [
            "plain_1-a",
            "two words",
            "two/words",
            "über",
            "",
            &long,
            &format!("{long}y"),
        ];
        let wired: Vec<_> = names.iter().map(|name| wire_name(name)).collect();
        assert_eq!(wired[0], "plain_1-a");
        for (at, wire) in wired.iter().enumerate() {
            assert!(is_plain(wire), "{wire}");
            assert!(!wired[..at].contains(wire), "{wire}");
        }
    }

    #[test]
    fn a_name_comes_back_as_it_was() {
        let tools = [tool("two words", json!({"type": "object"}))];
        let calls = from_wire(
            &tools,
            vec![call("a", &wire_name("two words"), json!({"n": 1}))],
        );
        assert_eq!(calls[0].name, "two words");
        assert_eq!(
            to_wire(&tools, &calls[0]),
            (wire_name("two words").into(), json!({"n": 1}))
        );
    }

    #[test]
    fn arguments_that_are_no_object_travel_inside_one_and_come_back() {
        let one_of = json!({"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]});
        for (schema, arguments) in [
            (json!({"type": "string"}), json!("hi")),
            (
                json!({"type": "array", "items": {"type": "integer"}}),
                json!([1, 2]),
            ),
            (json!({"enum": ["on", "off"]}), json!("on")),
            (one_of, json!({"a": 1})),
        ] {
            let tools = [tool("t", schema.clone())];
            let Schema::Wrapped(wire) = Schema::of(&schema) else {
                panic!("{schema} is sent as it is");
            };
            assert_eq!(wire["type"], "object");
            assert_eq!(wire["properties"]["input"], schema);
            let calls = from_wire(&tools, vec![call("a", "t", json!({ "input": arguments }))]);
            assert_eq!(calls[0].arguments, arguments);
            assert_eq!(to_wire(&tools, &calls[0]).1, json!({ "input": arguments }));
        }
    }

    #[test]
    fn objects_are_sent_as_they_are_and_named_as_objects() {
        let properties = json!({"input": {"type": "string"}});
        for (schema, expected) in [
            (json!({"type": "object"}), json!({"type": "object"})),
            (json!({}), json!({"type": "object"})),
            (json!(true), json!({"type": "object"})),
            (
                json!({ "properties": properties }),
                json!({"properties": properties, "type": "object"}),
            ),
        ] {
            assert_eq!(Schema::of(&schema), Schema::Plain(expected));
            let given = json!({"input": "x"});
            let calls = from_wire(&[tool("t", schema)], vec![call("a", "t", given.clone())]);
            assert_eq!(calls[0].arguments, given);
        }
    }

    #[test]
    fn references_hold_inside_the_wrapping() {
        let schema = json!({"$defs": {"N": {"type": "null"}}, "default": {"$ref": "#"}, "anyOf": [{"$ref": "#/$defs/N"}, {"items": {"$ref": "#"}}]});
        let Schema::Wrapped(wire) = Schema::of(&schema) else {
            panic!("it is sent as it is");
        };
        assert_eq!(wire["$defs"], schema["$defs"]);
        let any_of = &wire["properties"]["input"]["anyOf"];
        assert_eq!(any_of[0]["$ref"], "#/$defs/N");
        assert_eq!(any_of[1]["items"]["$ref"], "#/properties/input");
        let default = &wire["properties"]["input"]["default"];
        assert_eq!(default, &json!({"$ref": "#"}), "a value is no reference");
    }

    #[test]
    fn ids_differ_and_gaps_are_no_calls() {
        let calls = vec![
            call("a", "t", json!("")),
            call("a", "t", json!({"n": 1})),
            call("a", "u", json!(null)),
            call("", "t", json!({"n": 2})),
        ];
        let calls = from_wire(&[], calls);
        let seen: Vec<_> = calls
            .iter()
            .map(|c| (c.id.as_str(), c.name.as_str(), c.arguments.clone()))
            .collect();
        assert_eq!(
            seen,
            [
                ("a", "t", json!({"n": 1})),
                ("call_2", "u", json!({})),
                ("call_3", "t", json!({"n": 2}))
            ]
        );
    }

    #[test]
    fn arguments_that_cannot_be_read_go_back_inside_an_object() {
        let broken = ToolCall {
            id: "a".into(),
            name: "t".into(),
            arguments: json!("{\"n\": "),
        };
        assert_eq!(to_wire(&[], &broken).1, json!({"input": "{\"n\": "}));
    }
}
