//! References to values: `workflow.input.PATH`, `STEP.output.PATH`, `STEP.state`, `STEP.error`, `loop.item.PATH` and `loop.index`.
//!
//! A path is made of keys and indexes, `files.0.name` or `files[0].name`.

use std::fmt;

use serde_json::Value;

/// Parts of a path, at most.
const MAX_PARTS: usize = 32;

/// Something that a value can be read of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Source {
    /// The workflow's input.
    Input,
    /// The loop that a step is in: its item, `index`, `is_first`, `is_last` and `count`.
    Loop,
    /// A step: its output, its state or its error.
    Step(String, Field),
    /// A secret, by its name. It is put in when the request goes out.
    Secret(String),
}

/// Something that there is of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Field {
    Output,
    State,
    Error,
}

impl Field {
    /// Its name in references.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Output => "output",
            Self::State => "state",
            Self::Error => "error",
        }
    }
}

/// A reference to a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Reference {
    pub(crate) source: Source,
    pub(crate) path: Vec<String>,
}

impl Reference {
    /// The reference that a text between `${` and `}` is; nothing for what may be an expression.
    pub(crate) fn of(text: &str) -> Option<Self> {
        // What is in brackets is an index. Anything else there is computed, as in `prices[loop.item]`.
        let indexes = text.split('[').skip(1);
        let is_index = |part: &str| {
            let number = part.split_once(']').map(|(number, _)| number);
            number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
        };
        if !indexes.into_iter().all(is_index) {
            return None;
        }
        let text = text.replace('[', ".").replace(']', "");
        // Files of other systems say which values are of steps.
        let text = text.strip_prefix("steps.").unwrap_or(&text);
        let mut parts = text.split('.');
        let (first, second) = (parts.next()?, parts.next());
        let path: Vec<String> = parts.map(str::to_owned).collect();
        let is_name = |part: &str| {
            !part.is_empty()
                && part
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b))
        };
        if !is_name(first) || !path.iter().all(|part| is_name(part)) || path.len() > MAX_PARTS {
            return None;
        }
        let source = match (first, second) {
            ("workflow", Some("input")) => Source::Input,
            ("secret", Some(name)) if is_name(name) && path.is_empty() => {
                Source::Secret(name.to_owned())
            }
            ("loop", Some(field)) if is_name(field) => {
                let path = std::iter::once(field.to_owned()).chain(path).collect();
                let source = Source::Loop;
                return Some(Self { source, path });
            }
            (step, Some(field)) => {
                let fields = [Field::Output, Field::State, Field::Error];
                let field = fields.into_iter().find(|f| f.name() == field)?;
                Source::Step(step.to_owned(), field)
            }
            _ => return None,
        };
        Some(Self { source, path })
    }

    /// The same as an expression, whatever characters are in its names.
    pub(crate) fn as_expression(&self) -> String {
        let mut text = match &self.source {
            Source::Input => "workflow.input".to_owned(),
            Source::Loop => "loop".to_owned(),
            Source::Step(step, field) => format!("steps[\"{step}\"].{}", field.name()),
            Source::Secret(name) => format!("secret.{name}"),
        };
        for part in &self.path {
            match part.bytes().all(|b| b.is_ascii_digit()) {
                true => text += &format!("[{part}]"),
                false => text += &format!("[\"{part}\"]"),
            }
        }
        text
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            Source::Input => f.write_str("workflow.input")?,
            Source::Loop => f.write_str("loop")?,
            Source::Step(step, field) => write!(f, "{step}.{}", field.name())?,
            Source::Secret(name) => write!(f, "secret.{name}")?,
        }
        for part in &self.path {
            write!(f, ".{part}")?;
        }
        Ok(())
    }
}

/// The value at a path, if it is there.
pub(crate) fn at<'v>(value: &'v Value, path: &[String]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, part| match value {
        Value::Object(fields) => fields.get(part),
        Value::Array(items) => items.get(part.parse::<usize>().ok()?),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_brackets_is_an_index_or_makes_an_expression() {
        let path = |text: &str| Reference::of(text).map(|reference| reference.path);
        assert_eq!(
            path("a.output.files[0].name"),
            Some(["files", "0", "name"].map(str::to_owned).to_vec())
        );
        for computed in [
            "workflow.input.prices[loop.item]",
            "a.output.b[c]",
            "a.output.b[",
            "a.output.b[]",
        ] {
            assert_eq!(path(computed), None, "{computed}");
        }
    }
}
