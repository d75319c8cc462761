//! References in the texts of a plan, and what is put in their place.
//!
//! `${objective}`, `${input.PATH}`, `${thread.NAME.PATH}` and `${STEP.output.PATH}`, where a path is keys and array indexes with dots
//! between them. A text that is one reference becomes the value with its type; within a longer text the value is put in as text, JSON where
//! it is no text, and nothing where it is null. `$${` stands for `${`. What is put in is data: it is not looked through again.

use std::{fmt, str::FromStr};

use serde_json::Value;

use super::{
    faults::{listed, shown},
    name::StepName,
};

/// The longest reference, in bytes.
const MAX_BYTES: usize = 512;

/// The most parts of a path.
const MAX_PARTS: usize = 32;

/// A place that a text of the plan refers to.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reference {
    source: Source,
    path: Vec<String>,
}

/// Where a reference begins.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Source {
    /// The user's words.
    Objective,
    /// The run's payload.
    Input,
    /// What earlier runs of the thread left, by name.
    Thread,
    /// What a step has given.
    Output(StepName),
}

impl Reference {
    /// Where it begins.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// The keys and indexes that lead from there to the place.
    pub fn path(&self) -> &[String] {
        &self.path
    }

    /// The step whose output it is.
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

/// Why a text is no reference.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{}` is no reference: {why}; there are ${{objective}}, ${{input.PATH}}, ${{thread.NAME.PATH}} and ${{STEP.output.PATH}}, and $${{ for the characters ${{",
    shown(.text)
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

/// The parts of a text, in order. After one that is no reference, nothing comes any more.
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

/// The reference that the text is, if it is one and nothing else.
pub(super) fn whole(text: &str) -> Option<Reference> {
    let is_one = text.starts_with("${") && text.find('}') == Some(text.len() - 1);
    is_one.then(|| text.parse().ok()).flatten()
}

/// Every text in the value, keys left out, each with the keys and indexes that lead to it.
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

/// The references in the value's texts, in order. What only looks like one is left out.
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

/// What is in this place of the value; or the first part of the path that leads nowhere, and what is there instead.
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

/// The part of a path as an array's index.
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
