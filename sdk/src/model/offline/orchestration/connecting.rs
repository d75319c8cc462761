//! Where does what a capability needs come from?

use serde_json::{Map, Value};

/// How deep a schema is looked into.
const MAX_DEPTH: usize = 3;

/// Something that an earlier step gives.
pub(super) struct Given<'a> {
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
/// by the last word of its name, as `clientBrief` is a brief.
pub(super) fn source(property: &str, earlier: &[Given<'_>], input: &Value) -> Option<String> {
    let given = |name: &str, depth: usize| {
        earlier.iter().rev().find_map(|given| {
            let path = path_to(given.schema, name, depth)?;
            Some(format!("${{{}.output.{}}}", given.step, path.join(".")))
        })
    };
    let from_person = |name: &str| {
        let fields: Option<&Map<String, Value>> = input.as_object();
        let key = fields?.keys().find(|key| key.eq_ignore_ascii_case(name))?;
        is_key(key).then(|| format!("${{input.{key}}}"))
    };
    let last = last_word(property);
    given(property, MAX_DEPTH)
        .or_else(|| from_person(property))
        .or_else(|| given(last, 1))
        .or_else(|| from_person(last))
}

/// Where a schema has a property of this name, the shallowest first.
pub(super) fn path_to(schema: &Value, name: &str, depth: usize) -> Option<Vec<String>> {
    if depth == 0 {
        return None;
    }
    let named = properties(schema).find(|(key, _)| key.eq_ignore_ascii_case(name) && is_key(key));
    if let Some((key, _)) = named {
        return Some(vec![key.clone()]);
    }
    properties(schema)
        .filter(|(key, _)| is_key(key))
        .find_map(|(key, inner)| {
            let mut path = path_to(inner, name, depth - 1)?;
            path.insert(0, key.clone());
            Some(path)
        })
}

/// Whether references can name it.
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
