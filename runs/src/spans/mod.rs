//! Spans of a run, derived from its journal: the run, each question to a model, each call of a tool, each handoff, each
//! approval.
//!
//! Spans follow from the journal alone ([`Projection`]). Their ids are derived from the names of run and step, so that
//! a recovered run continues the same trace, and the runs of delegated agents are children of the handoff's span. Names
//! and attributes follow the conventions in `conventions.rs`. Spans contain no content: only names, sizes, counts and
//! times, and the text of errors.

pub mod conventions;
mod open;
mod projection;
mod reading;

use std::fmt;

use serde::{Serialize, Serializer};

pub use projection::{Projection, Subject};
pub use reading::RoundScore;

use crate::id::StepKey;

/// Maximum characters of a text in a span.
const MAX_TEXT: usize = 256;

/// One span. Times are milliseconds since 1970.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Span {
    /// Trace id; never 0.
    #[serde(serialize_with = "hex128")]
    pub trace_id: u128,
    /// Span id; never 0.
    #[serde(serialize_with = "hex64")]
    pub span_id: u64,
    /// Parent span.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<Parent>,
    /// Name, for people.
    pub name: String,
    /// Kind.
    pub kind: Kind,
    /// Start.
    pub start_ms: u64,
    /// End; not before the start.
    pub end_ms: u64,
    /// Attributes.
    #[serde(serialize_with = "as_map")]
    pub attributes: Vec<(&'static str, Value)>,
    /// Events.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<Event>,
    /// Error, if the operation failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<SpanError>,
}

impl Span {
    /// The attribute with this name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        get(&self.attributes, name)
    }
}

/// A parent span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Parent {
    /// Span id.
    #[serde(serialize_with = "hex64")]
    pub span_id: u64,
    /// True if it may be in another process.
    pub is_remote: bool,
}

/// Kind of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Work in this process.
    Internal,
    /// Request to another process.
    Client,
}

/// An event in a span.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Event {
    /// Name.
    pub name: &'static str,
    /// Time, in milliseconds since 1970.
    pub at_ms: u64,
    /// Attributes.
    #[serde(serialize_with = "as_map")]
    pub attributes: Vec<(&'static str, Value)>,
}

impl Event {
    /// The attribute with this name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        get(&self.attributes, name)
    }
}

fn get<'a>(attributes: &'a [(&'static str, Value)], name: &str) -> Option<&'a Value> {
    let found = attributes.iter().find(|(key, _)| *key == name);
    found.map(|(_, value)| value)
}

/// Error of a span.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SpanError {
    /// Kind, from a small set: `failed`, `cancelled`, or the final state of a task.
    pub kind: String,
    /// Message, possibly written by others; at most 256 characters.
    pub message: String,
}

impl SpanError {
    fn new(kind: &str, message: &str) -> Self {
        Self {
            kind: shortened(kind),
            message: shortened(message),
        }
    }
}

/// Value of an attribute.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// Boolean.
    Bool(bool),
    /// Integer.
    Int(i64),
    /// Number.
    Float(f64),
    /// Text of at most 256 characters.
    Text(String),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => value.fmt(f),
            Self::Int(value) => value.fmt(f),
            Self::Float(value) => value.fmt(f),
            Self::Text(value) => value.fmt(f),
        }
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Self::Int(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(shortened(text))
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(MAX_TEXT).collect()
}

/// Span id of an attempt at a step. The message of a handoff names this span as the parent.
pub fn span_of(key: &StepKey) -> u64 {
    key.message_id().as_u64_pair().1.max(1)
}

fn hex128<S: Serializer>(id: &u128, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{id:032x}"))
}

fn hex64<S: Serializer>(id: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{id:016x}"))
}

fn as_map<S: Serializer>(
    pairs: &[(&'static str, Value)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(key, value)| (key, value)))
}

#[cfg(test)]
mod tests;
