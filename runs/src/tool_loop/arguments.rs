//! Data with the defaults of its schema.

use serde_json::Value;

/// The value with the defaults that its schema names for what it does not have, in objects at any depth that is there. Other parts of the
/// schema than `properties` and `default` are not looked at.
pub fn with_defaults(schema: &Value, mut value: Value) -> Value {
    fill(schema, &mut value);
    value
}

fn fill(schema: &Value, value: &mut Value) {
    let (Some(properties), Some(fields)) =
        (schema["properties"].as_object(), value.as_object_mut())
    else {
        return;
    };
    for (name, property) in properties {
        match (fields.get_mut(name), property.get("default")) {
            (Some(field), _) => fill(property, field),
            (None, Some(default)) => {
                fields.insert(name.clone(), default.clone());
            }
            (None, None) => {}
        }
    }
}
