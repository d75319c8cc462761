//! The schema of a workflow's input.

use agenthub_documents::{choice, meant};
use agenthub_sdk::runs::schema::bounded;
use serde_json::{Map, Value};

use crate::finding::{At, Finding, within};

/// Words of JSON Schema that can stand in the schema of an object.
const KEYWORDS: [&str; 33] = [
    "type",
    "properties",
    "required",
    "additionalProperties",
    "patternProperties",
    "propertyNames",
    "minProperties",
    "maxProperties",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "unevaluatedProperties",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "enum",
    "const",
    "definitions",
    "title",
    "description",
    "default",
    "examples",
    "example",
    "deprecated",
    "readOnly",
    "writeOnly",
    "format",
    "items",
    "nullable",
];

/// The types of JSON Schema.
const TYPES: [&str; 7] = [
    "string", "number", "integer", "boolean", "array", "object", "null",
];

/// The schema of the input: it must be one, and its own defaults must fit it. One that is none takes anything.
pub(crate) fn schema(input: Option<&Map<String, Value>>, findings: &mut Vec<Finding>) -> Value {
    let anything = || Value::Object(Map::new());
    let Some(input) = input else {
        return anything();
    };
    let at: At = vec!["input".to_owned()];
    let schema = Value::Object(input.clone());
    if let Err(error) = bounded().build(&schema) {
        let path = error.instance_path().to_string();
        let at = path
            .split('/')
            .skip(1)
            .fold(at.clone(), |at, part| within(&at, part));
        findings.push(match (at.last().map(String::as_str), &**error.instance()) {
            (Some("type"), Value::String(kind)) => {
                let help = match meant(kind, TYPES) {
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None => format!("it takes {}", choice(&TYPES)),
                };
                Finding::at(at, format!("`{kind}` is no type of JSON Schema"), help)
            }
            _ => {
                let why = error.masked_with("the value");
                let message = format!("`input` is no JSON Schema: {why}");
                let help = "such as `type: object` with `properties:`";
                Finding::at(at, message, help)
            }
        });
        return anything();
    }
    for word in input.keys().filter(|word| !is_keyword(word)) {
        let message = format!("`{word}` is no word of JSON Schema");
        let help = match meant(word, KEYWORDS.iter().copied()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("describe a field in `properties`: `properties: {{ {word}: … }}`"),
        };
        findings.push(Finding::at(within(&at, word), message, help).key());
    }
    let is_object = schema.get("type").is_none_or(|kind| kind == "object");
    if !is_object {
        let message = "the input of a workflow is an object";
        let help = "write `type: object`, with what you need in `properties`";
        findings.push(Finding::at(within(&at, "type"), message, help));
    }
    let properties = schema["properties"].as_object();
    for (name, property) in properties.into_iter().flatten() {
        let Some(default) = property.get("default") else {
            continue;
        };
        let is_fit = bounded().build(property);
        if is_fit.is_ok_and(|property| !property.is_valid(default)) {
            let at = within(&within(&within(&at, "properties"), name), "default");
            let message = format!("the default of `{name}` does not fit its own schema");
            findings.push(Finding::at(at, message, "change one of the two"));
        }
    }
    schema
}

fn is_keyword(word: &str) -> bool {
    KEYWORDS.contains(&word) || word.starts_with('$') || word.starts_with("x-")
}
