//! JSON that says one thing only: no name twice in an object, no number that is printed otherwise than it was written.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Number, Value};

/// The number that is printed so.
pub(super) fn as_written(text: &str) -> Option<Number> {
    let number: Number = serde_json::from_str(text).ok()?;
    (number.to_string() == text).then_some(number)
}

/// The JSON object that is all of the text, if no object in it has a name twice and its numbers are printed as they were written.
pub(super) fn object(text: &str) -> Option<Map<String, Value>> {
    let Value::Object(object) = serde_json::from_str::<Strict>(text).ok()?.0 else {
        return None;
    };
    numbers(text)
        .all(|number| as_written(number).is_some())
        .then_some(object)
}

/// The numbers in a JSON text, outside of its strings.
fn numbers(json: &str) -> impl Iterator<Item = &str> {
    let mut is_string = false;
    let mut is_escaped = false;
    let pieces = json.split(move |c: char| {
        let was_string = is_string;
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = is_string,
            '"' => is_string = !is_string,
            _ => {}
        }
        was_string || !(c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    });
    pieces.filter(|piece| piece.starts_with(|c: char| c == '-' || c.is_ascii_digit()))
}

/// JSON in which no object has a name twice.
struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StrictVisitor).map(Self)
    }
}

struct StrictVisitor;

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Strict(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some((name, Strict(value))) = fields.next_entry::<String, Strict>()? {
            if object.contains_key(&name) {
                return Err(A::Error::custom("a name comes twice"));
            }
            object.insert(name, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// spec: ORC-2.1
    #[test]
    fn an_object_is_read_where_it_says_one_thing() {
        let text = r#"{"id": "a", "n": [1, 0.5, -3], "s": "1e400 007\" 1.50", "o": {"id": true}, "none": null}"#;
        assert_eq!(object(text), serde_json::from_str(text).ok());
        for text in [
            "[1]",
            "{} now",
            "{id: 1}",
            r#"{"id":"a","id":"b"}"#,
            r#"{"id":"a","\u0069d":"b"}"#,
            r#"{"a": {"id": 1, "id": 2}}"#,
            r#"{"a": [{"id": 1, "id": 2}]}"#,
            r#"{"n": 99999999999999999999}"#,
            r#"{"n": 1e400}"#,
            r#"{"n": 1e3}"#,
            r#"{"n": 007}"#,
            r#"{"n": 1.50}"#,
            r#"{"n": 0.1000000000000000055}"#,
            r#"{"n": [-0]}"#,
        ] {
            assert_eq!(object(text), None, "{text}");
        }
    }
}
