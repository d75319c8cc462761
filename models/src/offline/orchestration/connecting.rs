//! Sources of a capability's input.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// Depth to which a schema is looked into.
const MAX_DEPTH: usize = 3;

/// Input with the person's words.
const OBJECTIVE: &str = "objective";

/// Something that an earlier step gives.
pub(super) struct StepOutput<'a> {
    /// The step's name.
    pub(super) step: &'a str,
    /// The JSON Schema of its output.
    pub(super) schema: &'a Value,
}

/// The properties that a schema names.
pub(super) fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema["properties"].as_object().into_iter().flatten()
}

/// The properties that it requires.
pub(super) fn required(schema: &Value) -> impl Iterator<Item = &str> {
    schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
}

/// A reference to what goes into this property: by its name from what earlier steps give, latest first, or from what the person gave; else
/// by the last word of its name, as `clientBrief` is a brief. What is of another type is passed over.
pub(super) fn source(
    property: &str,
    form: &Value,
    earlier: &[StepOutput<'_>],
    input: &Value,
) -> Option<String> {
    let wanted = types(form);
    let meets = |given: &Types| wanted.is_empty() || given.is_empty() || !wanted.is_disjoint(given);
    let given = |name: &str, depth: usize| {
        earlier.iter().rev().find_map(|given| {
            let (path, schema) = path_to(given.schema, name, depth)?;
            let reference = || format!("${{{}.output.{}}}", given.step, path.join("."));
            meets(&types(schema)).then(reference)
        })
    };
    let from_person = |name: &str| {
        let fields: Option<&Map<String, Value>> = input.as_object();
        let is_it = |(key, _): &(&String, &Value)| key.eq_ignore_ascii_case(name) && is_key(key);
        let (key, value) = fields?.iter().find(is_it)?;
        meets(&Types::from([type_of(value)])).then(|| format!("${{input.{key}}}"))
    };
    if property.eq_ignore_ascii_case(OBJECTIVE) && may_be_text(form) {
        return Some(format!("${{{OBJECTIVE}}}"));
    }
    let last = last_word(property);
    given(property, MAX_DEPTH)
        .or_else(|| from_person(property))
        .or_else(|| given(last, 1))
        .or_else(|| from_person(last))
}

/// True if it may be a list.
pub(super) fn may_be_list(schema: &Value) -> bool {
    types(schema).contains("array")
}

/// The JSON types that something may have besides null; none stands for any.
type Types = BTreeSet<&'static str>;

const TYPES: [&str; 5] = ["boolean", "number", "string", "array", "object"];

/// As far as a schema says so.
fn types(schema: &Value) -> Types {
    let named = |name: &Value| {
        let name = match name.as_str()? {
            "integer" => "number",
            name => name,
        };
        TYPES.into_iter().find(|known| *known == name)
    };
    if let Some(wanted) = schema.get("type") {
        return match wanted {
            Value::Array(names) => names.iter().filter_map(named).collect(),
            name => named(name).into_iter().collect(),
        };
    }
    if let Some(values) = schema["enum"].as_array() {
        return values
            .iter()
            .filter(|v| !v.is_null())
            .map(type_of)
            .collect();
    }
    let mut all = Types::new();
    let forms = ["anyOf", "oneOf"]
        .into_iter()
        .filter_map(|key| schema[key].as_array());
    for form in forms.flatten() {
        let one = types(form);
        if one.is_empty() {
            return Types::new();
        }
        all.extend(one);
    }
    all
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// True if it may be text.
pub(super) fn may_be_text(schema: &Value) -> bool {
    let types = types(schema);
    types.is_empty() || types.contains("string")
}

/// Places where a schema has a property of this name, the shallowest first, and the property's own schema. Only what is required is sure to be there.
pub(super) fn path_to<'s>(
    schema: &'s Value,
    name: &str,
    depth: usize,
) -> Option<(Vec<String>, &'s Value)> {
    if depth == 0 {
        return None;
    }
    let is_there = |key: &str| is_key(key) && required(schema).any(|required| required == key);
    let named = properties(schema).find(|(key, _)| key.eq_ignore_ascii_case(name) && is_there(key));
    if let Some((key, form)) = named {
        return Some((vec![key.clone()], form));
    }
    properties(schema)
        .filter(|(key, _)| is_there(key))
        .find_map(|(key, inner)| {
            let (mut path, form) = path_to(inner, name, depth - 1)?;
            path.insert(0, key.clone());
            Some((path, form))
        })
}

/// True if references can name it.
fn is_key(key: &str) -> bool {
    !key.is_empty()
        && key
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

/// `Brief` of `clientBrief`.
pub(super) fn last_word(name: &str) -> &str {
    let start = name
        .char_indices()
        .rev()
        .find(|(_, c)| c.is_uppercase() || *c == '_' || *c == '-');
    match start {
        Some((at, '_' | '-')) => &name[at + 1..],
        Some((at, _)) => &name[at..],
        None => name,
    }
}
