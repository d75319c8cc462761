//! Values of a document, each with its place.

use std::fmt;

use serde::{
    Deserialize,
    de::{Deserializer, MapAccess, SeqAccess, Visitor},
};
use serde_json::Number;
use serde_saphyr::Spanned;

use super::unread::place;
use crate::Place;

/// A value, and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Its value.
    pub value: Value,
    /// Its beginning. The length is that of what stands in one line; 0 for a list, a mapping or nothing.
    pub place: Place,
}

/// Value of a document.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// The null value.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number that JSON has too.
    Number(Number),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// A mapping, in the order of the document. A key can be there twice.
    Map(Vec<(Key, Node)>),
}

/// The key of a mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// The key as a text.
    pub name: String,
    /// Its place.
    pub place: Place,
}

impl Node {
    /// The value of a field, by its path from here (`constraints.acceptanceCriteria[1]`), if it is there.
    pub fn find(&self, path: &str) -> Option<&Node> {
        path.split('.').try_fold(self, |node, part| {
            let mut pieces = part.split('[');
            let node = node.get(pieces.next().filter(|key| !key.is_empty())?)?;
            pieces.try_fold(node, |node, index| {
                let index: usize = index.strip_suffix(']')?.parse().ok()?;
                match &node.value {
                    Value::List(items) => items.get(index),
                    _ => None,
                }
            })
        })
    }

    /// The value of a mapping for a key; the first, if the key is there twice.
    pub fn get(&self, name: &str) -> Option<&Node> {
        match &self.value {
            Value::Map(fields) => fields.iter().find(|(key, _)| key.name == name),
            _ => None,
        }
        .map(|(_, node)| node)
    }
}

impl Value {
    /// Its kind, for a sentence: `the text`, `a list`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "nothing",
            Self::Bool(_) => "true or false",
            Self::Number(_) => "a number",
            Self::Text(_) => "a text",
            Self::List(_) => "a list",
            Self::Map(_) => "a mapping",
        }
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(document: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<Value>::deserialize(document)?;
        Ok(Self {
            place: place(spanned.referenced),
            value: spanned.value,
        })
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(document: D) -> Result<Self, D::Error> {
        document.deserialize_any(Values)
    }
}

struct Values;

impl<'de> Visitor<'de> for Values {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, value: D) -> Result<Value, D::Error> {
        value.deserialize_any(self)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        let number = Number::from_f64(value);
        Ok(number.map_or_else(|| Value::Text(value.to_string()), Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(Value::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut fields = Vec::new();
        while let Some(key) = map.next_key::<Spanned<String>>()? {
            let key = Key {
                place: place(key.referenced),
                name: key.value,
            };
            fields.push((key, map.next_value()?));
        }
        Ok(Value::Map(fields))
    }
}
