//! The input of a workflow as it is given: the defaults of its schema are filled in, and what does not fit is told with its place.

use std::fmt;

use agenthub_documents::{choice, meant};
use agenthub_sdk::runs::{pointer, schema::bounded};
use jsonschema::{ValidationError, error::ValidationErrorKind as Kind};
use serde_json::{Map, Value};

use crate::{
    input_fields::InputFields,
    model::Workflow,
    shape::{expected, of_kind, word},
};

/// The most faults of an input that are told.
const MAX_FAULTS: usize = 16;

/// The deepest value that gets defaults, and the longest way through references of a schema.
const MAX_DEPTH: usize = 32;

/// The most steps that filling in defaults takes: values that are looked at, and values that are added.
const MAX_STEPS: usize = 100_000;

/// Bytes of a text that is added that count as a step.
const TEXT_OF_A_STEP: usize = 32;

/// A part of an input that does not fit the workflow's schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InputFault {
    /// Keys and indexes that lead to it; none for the input as a whole.
    pub at: Vec<String>,
    /// The fault, in one line.
    pub why: String,
}

impl fmt::Display for InputFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.at.is_empty() {
            true => f.write_str(&self.why),
            false => write!(f, "`{}`: {}", self.at.join("."), self.why),
        }
    }
}

/// The input of a workflow, with its defaults.
///
/// # Errors
///
/// The parts that do not fit the workflow's schema, at most 16 of them, and the fields that neither that nor any step knows.
pub(crate) fn filled(
    workflow: &Workflow,
    input: Map<String, Value>,
) -> Result<Value, Vec<InputFault>> {
    let unread = InputFields::of(workflow).faults(&input);
    let fitting = fitting(&workflow.input, Value::Object(input));
    match (fitting, unread.is_empty()) {
        (fitting, true) => fitting,
        (Ok(_), false) => Err(unread),
        (Err(mut faults), false) => {
            // A schema without further fields has told them.
            let told: Vec<_> = faults.iter().map(|fault| fault.at.clone()).collect();
            faults.extend(unread.into_iter().filter(|other| !told.contains(&other.at)));
            Err(faults)
        }
    }
}

fn fitting(schema: &Value, input: Value) -> Result<Value, Vec<InputFault>> {
    let whole = |why: &str| {
        let (at, why) = (Vec::new(), why.to_owned());
        vec![InputFault { at, why }]
    };
    let mut input = input;
    let mut filling = Filling {
        root: schema,
        left: MAX_STEPS,
    };
    if filling.fill(schema, &mut input, 0).is_none() {
        return Err(whole(
            "there are too many defaults to fill in: does the workflow's `input` refer to itself?",
        ));
    }
    let Ok(validator) = bounded().build(schema) else {
        return Err(whole("the workflow's `input` is no JSON Schema"));
    };
    let errors = validator.iter_errors(&input).take(MAX_FAULTS);
    let faults: Vec<InputFault> = errors.flat_map(|error| faults(&error, schema)).collect();
    match faults.is_empty() {
        true => Ok(input),
        false => Err(faults),
    }
}

/// Fills in the defaults of a value, within bounds: defaults of a schema that refers to itself may multiply without end.
struct Filling<'s> {
    root: &'s Value,
    /// Steps that are left.
    left: usize,
}

impl Filling<'_> {
    /// Adds the defaults of fields that are not there: of objects at any depth and in lists, and through `$ref` and `allOf`. Alternatives
    /// (`anyOf`, `oneOf`) give none, as it is not known which one is meant. `None` if it takes too many steps.
    fn fill(&mut self, schema: &Value, value: &mut Value, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH {
            return Some(());
        }
        self.left = self.left.checked_sub(1)?;
        let root = self.root;
        if let Some(of) = schema["$ref"]
            .as_str()
            .and_then(|name| name.strip_prefix('#'))
            && let Some(of) = root.pointer(of)
        {
            self.fill(of, value, depth + 1)?;
        }
        for part in schema["allOf"].as_array().into_iter().flatten() {
            self.fill(part, value, depth + 1)?;
        }
        match value {
            Value::Object(fields) => {
                for (name, property) in schema["properties"].as_object().into_iter().flatten() {
                    if let (None, Some(default)) = (fields.get(name), default_of(root, property)) {
                        self.left = self.left.checked_sub(size(default))?;
                        fields.insert(name.clone(), default.clone());
                    }
                    if let Some(field) = fields.get_mut(name) {
                        self.fill(property, field, depth + 1)?;
                    }
                }
            }
            Value::Array(items) if schema["items"].is_object() => {
                for item in items {
                    self.fill(&schema["items"], item, depth + 1)?;
                }
            }
            _ => {}
        }
        Some(())
    }
}

/// The steps that a copy of a default counts for.
fn size(default: &Value) -> usize {
    match default {
        Value::Array(items) => 1 + items.iter().map(size).sum::<usize>(),
        Value::Object(fields) => {
            let sizes = fields
                .iter()
                .map(|(name, value)| name.len() / TEXT_OF_A_STEP + size(value));
            1 + sizes.sum::<usize>()
        }
        Value::String(text) => 1 + text.len() / TEXT_OF_A_STEP,
        _ => 1,
    }
}

/// The default of a property, or of the definition that it names.
fn default_of<'s>(root: &'s Value, property: &'s Value) -> Option<&'s Value> {
    let mut property = property;
    for _ in 0..MAX_DEPTH {
        if let Some(default) = property.get("default") {
            return Some(default);
        }
        let of = property["$ref"].as_str()?.strip_prefix('#')?;
        property = root.pointer(of)?;
    }
    None
}

fn faults(error: &ValidationError<'_>, schema: &Value) -> Vec<InputFault> {
    let at = pointer::names(error.instance_path().as_str());
    if let Kind::AdditionalProperties { unexpected } = error.kind() {
        let fields = schema["properties"].as_object().filter(|_| at.is_empty());
        let known: Vec<&str> = fields
            .into_iter()
            .flat_map(Map::keys)
            .map(String::as_str)
            .collect();
        let unknown = unexpected.iter().map(|field| {
            let why = match meant(field, known.iter().copied()) {
                Some(meant) => format!("there is no such field; did you mean `{meant}`?"),
                None => "there is no such field".to_owned(),
            };
            let at = at.iter().chain([field]).cloned().collect();
            InputFault { at, why }
        });
        return unknown.collect();
    }
    let why = match error.kind() {
        Kind::Required { property } => {
            let field = property.as_str().unwrap_or_default();
            format!("the field `{field}` is missing")
        }
        Kind::Type { kind } => {
            let (takes, is) = (expected(kind), of_kind(error.instance()));
            format!("it takes {takes}; this is {is}")
        }
        Kind::Enum { options } => {
            let options: Vec<String> = options.as_array().into_iter().flatten().map(word).collect();
            let options: Vec<&str> = options.iter().map(String::as_str).collect();
            format!("it takes {}", choice(&options))
        }
        // Masked: the value may be long, and whoever reads this has it.
        _ => error.masked_with("the value").to_string(),
    };
    vec![InputFault { at, why }]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::loading::read;

    #[test]
    fn defaults_are_filled_in_at_any_depth() {
        let schema = json!({
            "type": "object",
            "properties": {
                "words": { "type": "integer", "default": 300 },
                "style": { "$ref": "#/$defs/Style" },
                "files": { "type": "array", "items": { "properties": { "kind": { "default": "text" } } } },
                "nested": { "type": "object", "default": {}, "properties": { "deep": { "default": true } } },
                "left": { "type": "object", "properties": { "deep": { "default": true } } },
            },
            "allOf": [{ "properties": { "tone": { "default": "kind" } } }],
            "$defs": { "Style": { "default": "plain" } },
        });
        let given = json!({ "words": 5, "files": [{}, { "kind": "image" }, 3] });
        assert_eq!(
            fitting(&schema, given),
            Ok(json!({
                "words": 5,
                "files": [{ "kind": "text" }, { "kind": "image" }, 3],
                "tone": "kind",
                "style": "plain",
                "nested": { "deep": true },
            }))
        );
    }

    #[test]
    fn a_schema_that_refers_to_itself_ends() {
        let schema = json!({ "properties": { "a": { "$ref": "#", "default": {} } } });
        fitting(&schema, json!({})).expect("it fits");
        let schema = json!({ "$ref": "#/$defs/a", "$defs": { "a": { "$ref": "#/$defs/a" } } });
        let mut value = json!({});
        let mut filling = Filling {
            root: &schema,
            left: MAX_STEPS,
        };
        assert_eq!(filling.fill(&schema, &mut value, 0), Some(()));
        assert_eq!(value, json!({}));
    }

    #[test]
    fn defaults_that_multiply_are_a_fault() {
        let of = json!({ "$ref": "#", "default": {} });
        let threefold = json!({ "properties": { "a": of, "b": of, "c": of } });
        let twice = json!({ "allOf": [{ "$ref": "#" }, { "$ref": "#" }] });
        let long =
            json!({ "items": { "properties": { "a": { "default": "x".repeat(100_000) } } } });
        let many = json!(vec![json!({}); 1_000]);
        for (schema, given) in [(threefold, json!({})), (twice, json!({})), (long, many)] {
            let faults = fitting(&schema, given).expect_err("it never ends");
            assert_eq!(faults.len(), 1);
            assert!(faults[0].why.contains("too many"), "{faults:?}");
        }
    }

    #[test]
    fn a_long_input_gets_its_defaults() {
        let item =
            json!({ "properties": { "kind": { "default": "text" }, "words": { "default": 300 } } });
        let schema = json!({ "items": { "$ref": "#/$defs/Item" }, "$defs": { "Item": item } });
        let filled = fitting(&schema, json!(vec![json!({}); 10_000])).expect("it fits");
        assert_eq!(filled[9_999], json!({ "kind": "text", "words": 300 }));
    }

    #[test]
    fn a_pattern_beyond_bounds_is_no_schema() {
        let schema = json!({ "properties": { "a": { "pattern": "^\\p{L}{100}$" } } });
        let faults = fitting(&schema, json!({ "a": "é".repeat(100) }));
        let faults = faults.expect_err("the pattern is too large");
        assert!(faults[0].why.contains("no JSON Schema"), "{faults:?}");
    }

    #[test]
    fn all_that_does_not_fit_is_told_with_its_place() {
        let schema = json!({
            "type": "object",
            "required": ["topic"],
            "additionalProperties": false,
            "properties": {
                "topic": { "type": "string" },
                "tone": { "enum": ["kind", "cold"] },
                "files": { "type": "array", "items": { "type": "object", "required": ["a/b"] } },
            },
        });
        let given = json!({ "topc": 1, "tone": "warm", "files": [{ "a/b": 1 }, {}, 5] });
        let faults = fitting(&schema, given).expect_err("it does not fit");
        let mut told: Vec<String> = faults.iter().map(InputFault::to_string).collect();
        told.sort();
        assert_eq!(
            told,
            [
                "`files.1`: the field `a/b` is missing",
                "`files.2`: it takes a mapping; this is a number",
                "`tone`: it takes `kind` or `cold`",
                "`topc`: there is no such field; did you mean `topic`?",
                "the field `topic` is missing",
            ]
        );
    }

    #[test]
    fn an_input_gets_its_defaults_and_what_does_not_fit_is_told() {
        let document = json!({
            "input": {
                "type": "object",
                "required": ["topic"],
                "properties": { "topic": { "type": "string" }, "words": { "type": "integer", "default": 300 } },
            },
            "steps": { "a": { "agent": "x", "text": "${workflow.input.topic}" } },
        });
        let workflow = read(&document, None).expect("it is right");
        let given = |input: Value| {
            let input = input.as_object().cloned().unwrap_or_default();
            filled(&workflow, input)
        };
        assert_eq!(
            given(json!({"topic": "x"})),
            Ok(json!({"topic": "x", "words": 300}))
        );
        let missing = given(json!({"words": 1})).expect_err("the topic is missing");
        assert!(missing[0].to_string().contains("topic"), "{missing:?}");
        let wrong = given(json!({"topic": 5})).expect_err("it is no text");
        assert_eq!(wrong[0].at, ["topic"]);
    }
}
