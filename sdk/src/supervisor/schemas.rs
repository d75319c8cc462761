//! Choice of the published schemas that can be put before a model.
//!
//! Cards are written by strangers: what cannot be read within these bounds is left out, and a model provider, which refuses a whole
//! request for one bad schema, never sees it.

use agenthub_runs::schema;
use serde_json::{Map, Value};

/// The longest schema that is passed on, in bytes of JSON, with everything that it refers to written out.
const MAX_BYTES: usize = 4 * 1024;

/// Greatest depth, each reference that is followed being a level.
const MAX_DEPTH: usize = 32;

/// Keywords that only describe, and so may stand beside a reference.
const ANNOTATIONS: [&str; 5] = ["description", "title", "default", "examples", "deprecated"];

/// Keywords that make references mean something else, or cannot be written out.
const UNFIT: [&str; 6] = [
    "$id",
    "$dynamicRef",
    "$dynamicAnchor",
    "$recursiveRef",
    "$anchor",
    "$vocabulary",
];

/// The schema with what it refers to written out, so that it can be a part of another. Nothing where it is invalid, too long, too deep,
/// or refers to itself or to another document.
pub(super) fn standing_alone(schema: &Value) -> Option<Value> {
    let mut fields = schema.as_object()?.clone();
    for key in ["$schema", "$id", "$defs", "definitions"] {
        fields.remove(key);
    }
    let mut writing = Writing {
        root: schema,
        left: MAX_BYTES,
    };
    let whole = writing.written_out(&Value::Object(fields), 0)?;
    // Not compiled: a stranger's patterns may take long to compile, and nothing is checked against them here.
    jsonschema::draft202012::meta::is_valid(&whole).then_some(whole)
}

/// A schema that is written out, and the bytes that there are left for it.
struct Writing<'a> {
    root: &'a Value,
    left: usize,
}

impl Writing<'_> {
    fn written_out(&mut self, value: &Value, depth: usize) -> Option<Value> {
        if depth > MAX_DEPTH {
            return None;
        }
        match value {
            Value::Object(fields) => self.object(fields, depth),
            Value::Array(items) => {
                self.spend(2)?;
                let items = items.iter().map(|item| self.written_out(item, depth + 1));
                items.collect::<Option<Vec<_>>>().map(Value::Array)
            }
            Value::String(text) => {
                self.spend(text.len() + 3)?;
                Some(value.clone())
            }
            Value::Number(number) => {
                self.spend(number.to_string().len() + 1)?;
                Some(value.clone())
            }
            Value::Bool(_) | Value::Null => {
                self.spend(5)?;
                Some(value.clone())
            }
        }
    }

    fn object(&mut self, fields: &Map<String, Value>, depth: usize) -> Option<Value> {
        // A property may be called like a keyword; then what it is called has a schema, not a text.
        if UNFIT
            .iter()
            .any(|&key| fields.get(key).is_some_and(Value::is_string))
        {
            return None;
        }
        let (mut written, beside) = match fields.get("$ref") {
            Some(Value::String(reference)) => (self.referred(reference, depth)?, true),
            Some(_) | None => (Map::new(), false),
        };
        self.spend(2)?;
        for (key, value) in fields {
            if beside && key == "$ref" {
                continue;
            }
            if beside && !ANNOTATIONS.contains(&&**key) {
                return None;
            }
            self.spend(key.len() + 4)?;
            let value = self.written_out(value, depth + 1)?;
            written.insert(key.clone(), value);
        }
        Some(Value::Object(written))
    }

    /// The target of a reference within the document.
    fn referred(&mut self, reference: &str, depth: usize) -> Option<Map<String, Value>> {
        let target = schema::referred(self.root, reference)?;
        match self.written_out(target, depth + 1)? {
            Value::Object(fields) => Some(fields),
            _ => None,
        }
    }

    fn spend(&mut self, bytes: usize) -> Option<()> {
        self.left = self.left.checked_sub(bytes)?;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn schemas_that_refer_to_themselves_are_written_out_or_left_out() {
        let size = json!({"enum": ["small", "large"]});
        let refers = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": {"size": {"$ref": "#/$defs/Size", "description": "how large"}, "$ref": {"type": "string"}},
            "$defs": {"Size": size},
        });
        let whole = standing_alone(&refers).expect("it can be written out");
        let size = json!({"enum": ["small", "large"], "description": "how large"});
        assert_eq!(
            whole,
            json!({"type": "object", "properties": {"size": size, "$ref": {"type": "string"}}})
        );
        for unfit in [
            json!({"type": "object", "properties": {"next": {"$ref": "#"}}}),
            json!({"$ref": "https://example.com/s.json"}),
            json!({"$ref": "#/$defs/none"}),
            json!({"$dynamicRef": "#node"}),
            json!({"type": "object", "title": "x".repeat(MAX_BYTES)}),
            json!("a text"),
        ] {
            assert_eq!(standing_alone(&unfit), None, "{unfit}");
        }
    }

    #[test]
    fn schemas_that_grow_or_reach_without_end_are_left_out_at_once() {
        let doubled = |levels: usize| {
            let mut defs = Map::new();
            for level in 0..levels {
                let next = json!({"$ref": format!("#/$defs/l{}", level + 1)});
                defs.insert(format!("l{level}"), json!({"allOf": [next, next]}));
            }
            defs.insert(format!("l{levels}"), json!({"type": "string"}));
            json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/l0"}}, "$defs": defs})
        };
        assert!(standing_alone(&doubled(3)).is_some());
        assert_eq!(standing_alone(&doubled(40)), None);

        let mut chain = Map::new();
        for link in 0..2_000 {
            let next = json!({"$ref": format!("#/$defs/c{}", link + 1)});
            chain.insert(format!("c{link}"), next);
        }
        chain.insert("c2000".to_owned(), json!({"type": "string"}));
        let chained = json!({"properties": {"a": {"$ref": "#/$defs/c0"}}, "$defs": chain});
        assert_eq!(standing_alone(&chained), None);
    }

    #[test]
    fn schemas_that_are_none_are_left_out() {
        for invalid in [
            json!({"type": "banana"}),
            json!({"type": "object", "properties": {"a": 1}}),
            json!({"type": "object", "required": "a"}),
        ] {
            assert_eq!(standing_alone(&invalid), None, "{invalid}");
        }
    }
}
