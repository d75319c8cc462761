//! Two keywords for what JSON Schema cannot say: the order of the properties of an object.
//!
//! `"x-ascending": ["min", "value", "max"]`: of these properties, none is below one that is named before it. `"x-apart": ["min", "max"]`: no
//! two of them are equal. Numbers are compared as such, texts letter by letter, as dates in ISO 8601 are. A property that is not there has
//! its default (`properties.NAME.default`); one without a default, or of another type than the next, is left out. A library that does not
//! know the keywords ignores them.

use jsonschema::{Keyword, ValidationError, ValidationOptions};
use serde_json::{Map, Value};

/// The keyword for properties that must not descend.
pub const ASCENDING: &str = "x-ascending";
/// The keyword for properties that must differ.
pub const APART: &str = "x-apart";

/// Options of a validator that knows both keywords.
pub fn options<'r>() -> ValidationOptions<'r> {
    let factory = |is_apart: bool| {
        move |parent: &Map<String, Value>, names: &Value| -> Box<dyn for<'i> Keyword<'i>> {
            Box::new(Order::new(parent, names, is_apart))
        }
    };
    let (ascending, apart) = (factory(false), factory(true));
    jsonschema::options()
        .with_keyword(ASCENDING, move |parent, names, _| {
            Ok(ascending(parent, names))
        })
        .with_keyword(APART, move |parent, names, _| Ok(apart(parent, names)))
}

/// Order of some properties of an object.
struct Order {
    /// Each with its default.
    properties: Vec<(String, Option<Value>)>,
    is_apart: bool,
}

impl Order {
    fn new(schema: &Map<String, Value>, names: &Value, is_apart: bool) -> Self {
        let names = names.as_array().into_iter().flatten();
        let names = names.filter_map(Value::as_str);
        let default = |name: &str| schema.get("properties")?.get(name)?.get("default").cloned();
        Self {
            properties: names.map(|name| (name.to_owned(), default(name))).collect(),
            is_apart,
        }
    }

    /// The first two properties that are out of order.
    fn fault(&self, object: &Map<String, Value>) -> Option<String> {
        let there = self.properties.iter().filter_map(|(name, default)| {
            let given = object.get(name).filter(|value| !value.is_null());
            Some((name.as_str(), given.or(default.as_ref())?, given.is_some()))
        });
        let there: Vec<(&str, &Value, bool)> = there.collect();
        let pairs = there
            .iter()
            .enumerate()
            .flat_map(|(at, first)| there[at + 1..].iter().map(move |second| (first, second)));
        let mut faults = pairs.filter_map(|(first, second)| {
            let (one, other) = (told(first), told(second));
            // A default is no fault of the object.
            let is_given = first.2 || second.2;
            match (compared(first.1, second.1)?, self.is_apart) {
                (std::cmp::Ordering::Greater, false) if is_given => {
                    let is_beyond = if first.1.is_string() {
                        "after"
                    } else {
                        "above"
                    };
                    Some(format!("has {one} {is_beyond} {other}"))
                }
                (std::cmp::Ordering::Equal, true) if is_given => {
                    Some(format!("has {one} equal to {other}, and nothing between"))
                }
                _ => None,
            }
        });
        faults.next()
    }
}

fn told((name, value, is_given): &(&str, &Value, bool)) -> String {
    let value = match value {
        Value::String(text) => text.clone(),
        other => super::plain(other),
    };
    match is_given {
        true => format!("`{name}` {value}"),
        false => format!("`{name}` {value} (the default)"),
    }
}

fn compared(one: &Value, other: &Value) -> Option<std::cmp::Ordering> {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one.as_f64()?.partial_cmp(&other.as_f64()?),
        (Value::String(one), Value::String(other)) => Some(one.cmp(other)),
        _ => None,
    }
}

impl<'i> Keyword<'i> for Order {
    fn validate(&self, instance: &'i Value) -> Result<(), ValidationError<'i>> {
        match instance.as_object().and_then(|object| self.fault(object)) {
            None => Ok(()),
            Some(fault) => Err(ValidationError::custom(fault)),
        }
    }

    fn is_valid(&self, instance: &'i Value) -> bool {
        let object = instance.as_object();
        object.and_then(|object| self.fault(object)).is_none()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn faults(value: Value) -> Vec<String> {
        let schema = json!({
            "type": ["object", "number"],
            "properties": {"min": {"default": 0}, "max": {"default": 1}},
            "x-ascending": ["min", "value", "max"],
            "x-apart": ["min", "max"],
        });
        let validator = options().build(&schema).expect("a schema");
        let errors = validator.iter_errors(&value).map(|error| error.to_string());
        errors.collect()
    }

    #[test]
    fn properties_ascend_and_defaults_stand_in() {
        for fine in [
            json!(7),
            json!({}),
            json!({"value": 0.5}),
            json!({"min": 1, "value": 3, "max": 5}),
            json!({"min": -1, "value": null}),
            json!({"value": "high"}),
        ] {
            assert_eq!(faults(fine.clone()), [""; 0], "{fine}");
        }
        for (wrong, fault) in [
            (json!({"min": 5, "max": 1}), "has `min` 5 above `max` 1"),
            (
                json!({"min": 2, "max": 2}),
                "has `min` 2 equal to `max` 2, and nothing between",
            ),
            (
                json!({"value": 17}),
                "has `value` 17 above `max` 1 (the default)",
            ),
            (
                json!({"value": -0.5}),
                "has `min` 0 (the default) above `value` -0.5",
            ),
        ] {
            assert_eq!(faults(wrong), [fault]);
        }
    }

    #[test]
    fn dates_are_compared_as_texts() {
        let schema = json!({"x-ascending": ["start", "end"]});
        let validator = options().build(&schema).expect("a schema");
        let schedule = |start: &str, end: &str| json!({"start": start, "end": end});
        assert!(validator.is_valid(&schedule("2027-05-03", "2027-05-03")));
        let late = schedule("2027-05-11", "2027-05-03");
        let error = validator.validate(&late);
        let error = error.expect_err("it ends before it begins").to_string();
        assert_eq!(error, "has `start` 2027-05-11 after `end` 2027-05-03");
    }
}
