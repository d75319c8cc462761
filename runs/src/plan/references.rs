//! References in the texts of a plan.
//!
//! `${objective}`, `${input.PATH}`, `${thread.NAME.PATH}` and `${STEP.output.PATH}`, where a path consists of keys and
//! array indexes separated by dots. A text that is exactly one reference is replaced by the value with its type. Inside
//! a longer text, the value is inserted as text: JSON if it is not a text, nothing if it is null. `$${` stands for
//! `${`. Inserted values are data: references in them are not resolved.

use std::{fmt, str::FromStr};

use serde_json::Value;

use super::{
    faults::{excerpt, listed},
    name::StepName,
};

/// Maximum bytes of a reference.
const MAX_BYTES: usize = 512;

/// Maximum parts of a path.
const MAX_PARTS: usize = 32;

/// A reference in a plan's text.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reference {
    source: Source,
    path: Vec<String>,
}

/// Source of a referenced value.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Source {
    /// The user's request, as text.
    Objective,
    /// Payload of the run.
    Input,
    /// Results of earlier runs of the thread, by name.
    Thread,
    /// Output of a step.
    Output(StepName),
}

impl Reference {
    /// Its source.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Keys and indexes from the source to the value.
    pub fn path(&self) -> &[String] {
        &self.path
    }

    /// The step, if the source is a step's output.
    pub fn step(&self) -> Option<&StepName> {
        match &self.source {
            Source::Output(step) => Some(step),
            Source::Objective | Source::Input | Source::Thread => None,
        }
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("${")?;
        match &self.source {
            Source::Objective => f.write_str("objective")?,
            Source::Input => f.write_str("input")?,
            Source::Thread => f.write_str("thread")?,
            Source::Output(step) => write!(f, "{step}.output")?,
        }
        for part in &self.path {
            write!(f, ".{part}")?;
        }
        f.write_str("}")
    }
}

/// Error: a text is not a valid reference.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{}` is no reference: {why}; there are ${{objective}}, ${{input.PATH}}, ${{thread.NAME.PATH}} and ${{STEP.output.PATH}}, and $${{ for the characters ${{",
    excerpt(.text)
)]
pub struct InvalidReference {
    text: String,
    why: &'static str,
}

impl FromStr for Reference {
    type Err = InvalidReference;

    /// Parses one whole reference, `${` and `}` included.
    fn from_str(text: &str) -> Result<Self, InvalidReference> {
        let inner = text.strip_prefix("${").and_then(|t| t.strip_suffix('}'));
        let inner = inner.ok_or("it is not between ${ and }");
        inner.and_then(parsed).map_err(|why| InvalidReference {
            text: text.to_owned(),
            why,
        })
    }
}

fn parsed(inner: &str) -> Result<Reference, &'static str> {
    if inner.len() > MAX_BYTES {
        return Err("it is longer than 512 bytes");
    }
    let mut parts = inner.split('.');
    let first = parts.next().unwrap_or_default();
    let source = match first {
        "objective" => Source::Objective,
        "input" => Source::Input,
        "thread" => Source::Thread,
        step => {
            let step = step
                .parse()
                .map_err(|_| "it does not begin with the name of a step")?;
            if parts.next() != Some("output") {
                return Err("after the name of a step comes `.output`");
            }
            Source::Output(step)
        }
    };
    let path: Vec<String> = parts.map(str::to_owned).collect();
    let is_odd = |c: char| c.is_control() || "${}".contains(c);
    if path.iter().any(|p| p.is_empty() || p.contains(is_odd)) {
        return Err("its path has an empty or odd part");
    }
    if path.len() > MAX_PARTS {
        return Err("its path has more than 32 parts");
    }
    match (&source, path.is_empty()) {
        (Source::Objective, false) => Err("the objective is a text and has no parts"),
        _ => Ok(Reference { source, path }),
    }
}

/// A part of a text.
pub(super) enum Piece<'t> {
    Text(&'t str),
    Reference(Reference),
}

/// The parts of a text, in order. Ends after the first invalid reference.
pub(super) fn pieces(text: &str) -> impl Iterator<Item = Result<Piece<'_>, InvalidReference>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let Some(at) = rest.find("${") else {
            return Some(Ok(Piece::Text(std::mem::take(&mut rest))));
        };
        if rest[..at].ends_with('$') {
            let (before, after) = (&rest[..at - 1], &rest[at..]);
            if before.is_empty() {
                rest = &after[2..];
                return Some(Ok(Piece::Text(&after[..2])));
            }
            rest = &rest[at - 1..];
            return Some(Ok(Piece::Text(before)));
        }
        if at > 0 {
            let (before, after) = rest.split_at(at);
            rest = after;
            return Some(Ok(Piece::Text(before)));
        }
        let Some(end) = rest.find('}') else {
            let text = std::mem::take(&mut rest).to_owned();
            let why = "it is not closed with }";
            return Some(Err(InvalidReference { text, why }));
        };
        let (reference, after) = rest.split_at(end + 1);
        rest = after;
        let reference = reference.parse();
        if reference.is_err() {
            rest = "";
        }
        Some(reference.map(Piece::Reference))
    })
}

/// The reference, if the text is exactly one.
pub(super) fn whole(text: &str) -> Option<Reference> {
    let is_one = text.starts_with("${") && text.find('}') == Some(text.len() - 1);
    is_one.then(|| text.parse().ok()).flatten()
}

/// Every text in the value, with the keys and indexes that lead to it. Keys are not included.
pub(super) fn texts(value: &Value) -> Vec<(Vec<String>, &str)> {
    fn gather<'v>(
        value: &'v Value,
        path: &mut Vec<String>,
        texts: &mut Vec<(Vec<String>, &'v str)>,
    ) {
        let mut within = |key: String, inner: &'v Value| {
            path.push(key);
            gather(inner, path, texts);
            path.pop();
        };
        match value {
            Value::Object(fields) => fields.iter().for_each(|(k, v)| within(k.clone(), v)),
            Value::Array(items) => items
                .iter()
                .enumerate()
                .for_each(|(at, v)| within(at.to_string(), v)),
            Value::String(text) => texts.push((path.clone(), text)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    let mut all = Vec::new();
    gather(value, &mut Vec::new(), &mut all);
    all
}

/// The references in the value's texts, in order. Invalid ones are skipped.
pub fn references(value: &Value) -> impl Iterator<Item = Reference> {
    let texts = texts(value).into_iter();
    texts.flat_map(|(_, text)| pieces(text).filter_map(reference).collect::<Vec<_>>())
}

fn reference(piece: Result<Piece<'_>, InvalidReference>) -> Option<Reference> {
    match piece {
        Ok(Piece::Reference(reference)) => Some(reference),
        Ok(Piece::Text(_)) | Err(_) => None,
    }
}

/// The value at this path; or the first part of the path that does not exist, and what is there instead.
pub(super) fn at<'v, 'p>(
    value: &'v Value,
    path: &'p [String],
) -> Result<&'v Value, (&'p str, String)> {
    path.iter().try_fold(value, |value, part| {
        let inner = match value {
            Value::Object(fields) => fields.get(part),
            Value::Array(items) => index(part).and_then(|at| items.get(at)),
            _ => None,
        };
        inner.ok_or_else(|| (part.as_str(), contents(value)))
    })
}

/// Parses a part of a path as an array index.
pub(super) fn index(part: &str) -> Option<usize> {
    let is_plain = part == "0" || !part.starts_with(['0', '+']);
    is_plain.then(|| part.parse().ok()).flatten()
}

fn contents(value: &Value) -> String {
    match value {
        Value::Object(fields) => listed(fields.keys()),
        Value::Array(items) => format!("an array of {}", items.len()),
        Value::String(_) => "a text".to_owned(),
        other => format!("{other}"),
    }
}
