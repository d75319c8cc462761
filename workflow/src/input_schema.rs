//! The schema of a workflow's input.

use agenthub_documents::{choice, meant};
use agenthub_sdk::runs::{pointer, schema::bounded};
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

/// Words of JSON Schema that can stand in the schema of another value.
const OF_VALUES: [&str; 17] = [
    "minLength",
    "maxLength",
    "pattern",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minItems",
    "maxItems",
    "uniqueItems",
    "prefixItems",
    "contains",
    "minContains",
    "maxContains",
    "additionalItems",
    "unevaluatedItems",
];

/// The deepest schema that is looked at for misspelt words.
const MAX_DEPTH: usize = 16;

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
        let path = pointer::names(error.instance_path().as_str());
        let at = [at.clone(), path].concat();
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
    for (name, inner) in inner_schemas(&schema) {
        misspelt(
            inner,
            &name.iter().fold(at.clone(), |at, part| within(&at, part)),
            0,
            findings,
        );
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

/// The schemas within a schema, with their paths. A misspelt `properties` has some as well.
fn inner_schemas(schema: &Value) -> Vec<(Vec<&str>, &Value)> {
    let mut inner = Vec::new();
    for (word, value) in schema.as_object().into_iter().flatten() {
        match meant(word, ["properties", "items", "$defs"]) {
            Some("items") => inner.push((vec![word.as_str()], value)),
            Some(_) => {
                let fields = value.as_object().into_iter().flatten();
                inner.extend(fields.map(|(name, field)| (vec![word.as_str(), name], field)));
            }
            None => {}
        }
    }
    inner
}

/// Words that are almost those of JSON Schema, in the schema of a field. Other words are left alone: a schema may have words of its own.
fn misspelt(schema: &Value, at: &At, depth: usize, findings: &mut Vec<Finding>) {
    if depth > MAX_DEPTH {
        return;
    }
    let words = schema.as_object().into_iter().flat_map(Map::keys);
    let is_known = |word: &str| is_keyword(word) || OF_VALUES.contains(&word);
    for word in words.filter(|word| !is_known(word)) {
        let known = KEYWORDS.iter().chain(&OF_VALUES).copied();
        if let Some(meant) = meant(word, known) {
            let message = format!("`{word}` is no word of JSON Schema");
            let help = format!("did you mean `{meant}`?");
            findings.push(Finding::at(within(at, word), message, help).key());
        }
    }
    for (name, inner) in inner_schemas(schema) {
        misspelt(
            inner,
            &name.iter().fold(at.clone(), |at, part| within(&at, part)),
            depth + 1,
            findings,
        );
    }
}

fn is_keyword(word: &str) -> bool {
    KEYWORDS.contains(&word) || word.starts_with('$') || word.starts_with("x-")
}
