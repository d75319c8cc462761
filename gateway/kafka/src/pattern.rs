//! Names, or beginnings of names.

use std::{fmt, str::FromStr};

/// A name, or the beginning of names: `orders.*` matches all that begin with `orders.`, and `*` everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// This name alone.
    Name(String),
    /// Every name that begins so.
    Beginning(String),
}

impl Pattern {
    /// True if it matches this name.
    pub fn matches(&self, name: &str) -> bool {
        match self {
            Self::Name(own) => own == name,
            Self::Beginning(beginning) => name.starts_with(&**beginning),
        }
    }

    /// True if it matches everything, also what has no name.
    pub fn is_all(&self) -> bool {
        matches!(self, Self::Beginning(beginning) if beginning.is_empty())
    }
}

impl FromStr for Pattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('*') {
            None if text.is_empty() => Err("it is empty; `*` matches everything".to_owned()),
            None => Ok(Self::Name(text.to_owned())),
            Some((beginning, "")) => Ok(Self::Beginning(beginning.to_owned())),
            Some(_) => Err(format!(
                "{text:?} has a `*` before its end: it may stand at the end alone, as in `orders.*`"
            )),
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Beginning(beginning) => write!(f, "{beginning}*"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_a_name_or_the_beginning_of_names() {
        let of = |text: &str| text.parse::<Pattern>().expect("right");
        assert!(of("orders").matches("orders"));
        assert!(!of("orders").matches("orders.new"));
        assert!(of("orders.*").matches("orders.new"));
        assert!(!of("orders.*").matches("orders"));
        assert!(of("*").matches("anything") && of("*").is_all());
        assert!(!of("o*").is_all());
        let error = "a*b".parse::<Pattern>().expect_err("in the middle");
        assert!(error.contains("at the end alone"), "{error}");
        assert!("".parse::<Pattern>().is_err());
    }
}
