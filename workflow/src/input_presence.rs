//! Whether a value of a workflow's input is there in all runs, by the schema of the input.

use serde_json::Value;

/// The longest way through references and `allOf`.
const MAX_DEPTH: usize = 16;

/// Presence of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    /// It is required, has a default, or is a part of a value that the schema does not describe.
    Given,
    /// The schema names its first field, and does not require it.
    Optional,
    /// The schema names a field within it, and does not require that.
    OptionalWithin,
    /// The schema does not name its first field.
    Unnamed,
}

/// Presence of the value at this path.
pub(crate) fn presence(root: &Value, path: &[String]) -> Presence {
    let mut level = vec![root];
    for (depth, part) in path.iter().enumerate() {
        if part.bytes().all(|byte| byte.is_ascii_digit()) {
            return Presence::Given;
        }
        let mut schemas = Vec::new();
        for schema in level {
            collect(root, schema, 0, &mut schemas);
        }
        let fields: Vec<&Value> = schemas
            .iter()
            .filter_map(|schema| schema["properties"].get(part))
            .collect();
        let is_required = schemas.iter().any(|schema| {
            let required = schema["required"].as_array();
            required.is_some_and(|names| names.iter().any(|name| name == part))
        });
        let has_default = fields.iter().any(|field| field.get("default").is_some());
        match (is_required || has_default, fields.is_empty(), depth) {
            (true, ..) => level = fields,
            (false, false, 0) => return Presence::Optional,
            (false, false, _) => return Presence::OptionalWithin,
            (false, true, 0) => return Presence::Unnamed,
            (false, true, _) => return Presence::Given,
        }
    }
    Presence::Given
}

/// The schema, and those that hold with it: through `$ref` and `allOf`.
fn collect<'s>(root: &'s Value, schema: &'s Value, depth: usize, into: &mut Vec<&'s Value>) {
    if depth > MAX_DEPTH {
        return;
    }
    into.push(schema);
    let referred = schema["$ref"].as_str();
    let referred = referred.and_then(|name| root.pointer(name.strip_prefix('#')?));
    let all = schema["allOf"].as_array().into_iter().flatten();
    for schema in referred.into_iter().chain(all) {
        collect(root, schema, depth + 1, into);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// spec: EXE-1.3
    #[test]
    fn a_value_is_there_in_all_runs_if_it_is_required_or_has_a_default() {
        let schema = json!({
            "required": ["topic", "who", "files"],
            "properties": {
                "topic": {},
                "formal": {"default": false},
                "tone": {},
                "who": {"properties": {"name": {}, "town": {}}, "required": ["name"]},
            },
            "allOf": [{"$ref": "#/$defs/More"}],
            "anyOf": [{"required": ["either"]}],
            "$defs": {"More": {"required": ["more"], "properties": {"more": {}, "less": {}}}},
        });
        for (path, expected) in [
            ("topic", Presence::Given),
            ("formal", Presence::Given),
            ("more", Presence::Given),
            ("files.0.name", Presence::Given),
            ("who.name", Presence::Given),
            ("topic.any", Presence::Given),
            ("tone", Presence::Optional),
            ("tone.deep", Presence::Optional),
            ("less", Presence::Optional),
            ("who.town", Presence::OptionalWithin),
            ("other", Presence::Unnamed),
            ("either", Presence::Unnamed),
        ] {
            let parts: Vec<String> = path.split('.').map(str::to_owned).collect();
            assert_eq!(presence(&schema, &parts), expected, "{path}");
        }
        assert_eq!(
            presence(&Value::Bool(true), &["any".to_owned()]),
            Presence::Unnamed
        );
        let itself = json!({"$ref": "#"});
        assert_eq!(presence(&itself, &["a".to_owned()]), Presence::Unnamed);
    }
}
