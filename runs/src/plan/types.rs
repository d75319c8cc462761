//! Sets of JSON types.

use std::fmt;

use serde_json::Value;

/// A set of types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Types(u8);

impl Types {
    pub(super) const NONE: Self = Self(0);
    pub(super) const NULL: Self = Self(1);
    pub(super) const BOOLEAN: Self = Self(1 << 1);
    pub(super) const INTEGER: Self = Self(1 << 2);
    /// Numbers that are not integers.
    pub(super) const FRACTION: Self = Self(1 << 3);
    pub(super) const STRING: Self = Self(1 << 4);
    pub(super) const ARRAY: Self = Self(1 << 5);
    pub(super) const OBJECT: Self = Self(1 << 6);
    pub(super) const ANY: Self = Self(0x7f);

    /// The type of the value.
    pub(super) fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::NULL,
            Value::Bool(_) => Self::BOOLEAN,
            Value::Number(n) if n.as_f64().is_some_and(|n| n.fract() != 0.0) => Self::FRACTION,
            Value::Number(_) => Self::INTEGER,
            Value::String(_) => Self::STRING,
            Value::Array(_) => Self::ARRAY,
            Value::Object(_) => Self::OBJECT,
        }
    }

    /// The type with this name in schemas; all types if the name is unknown.
    pub(super) fn named(name: &str) -> Self {
        match name {
            "null" => Self::NULL,
            "boolean" => Self::BOOLEAN,
            "integer" => Self::INTEGER,
            "number" => Self::INTEGER.or(Self::FRACTION),
            "string" => Self::STRING,
            "array" => Self::ARRAY,
            "object" => Self::OBJECT,
            _ => Self::ANY,
        }
    }

    pub(super) fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// True if the sets intersect.
    pub(super) fn meets(self, other: Self) -> bool {
        self.and(other) != Self::NONE
    }
}

impl fmt::Display for Types {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if [Self::ANY, Self::NONE].contains(self) {
            return f.write_str(if *self == Self::ANY {
                "anything"
            } else {
                "nothing"
            });
        }
        let number = Self::INTEGER.or(Self::FRACTION);
        let names = [
            (Self::STRING, "text"),
            (number, "number"),
            (Self::INTEGER, "integer"),
            (Self::FRACTION, "fraction"),
            (Self::BOOLEAN, "boolean"),
            (Self::ARRAY, "array"),
            (Self::OBJECT, "object"),
            (Self::NULL, "null"),
        ];
        let mut left = *self;
        let mut is_first = true;
        for (types, name) in names {
            if left.and(types) == types {
                f.write_str(if is_first { "" } else { " or " })?;
                f.write_str(name)?;
                is_first = false;
                left = Self(left.0 & !types.0);
            }
        }
        Ok(())
    }
}
