//! What a run's journal says as spans: the run, each question to a model, each call of a tool, each handoff, each approval.
//!
//! Spans follow from the journal alone ([`Projection`]). Their ids follow from the names of run and step, so that a run that is taken
//! up goes on in the same trace, and the runs of the agents that it hands work to hang under its handoffs. Names and attributes are
//! those of the conventions in `conventions.rs`. What was said, asked for and made is not in them, only names, sizes, counts
//! and times, and the words of errors.

pub mod conventions;
mod open;
mod projection;
mod reading;

use std::fmt;

use serde::{Serialize, Serializer};

pub use projection::{Projection, Subject};
pub use reading::Standing;

use crate::id::StepKey;

/// The longest text in a span, in characters.
const MAX_TEXT: usize = 256;

/// One span. Times are milliseconds since 1970.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Span {
    /// Its trace; never 0.
    #[serde(serialize_with = "hex128")]
    pub trace_id: u128,
    /// Its own id; never 0.
    #[serde(serialize_with = "hex64")]
    pub span_id: u64,
    /// The span that it is a part of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<Parent>,
    /// What it is called, for people.
    pub name: String,
    /// Whose side of a call it is.
    pub kind: Kind,
    /// When it began.
    pub start_ms: u64,
    /// When it ended; not before it began.
    pub end_ms: u64,
    /// What is known of it.
    #[serde(serialize_with = "as_map")]
    pub attributes: Vec<(&'static str, Value)>,
    /// What happened in it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<Event>,
    /// Why it came to nothing, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Error>,
}

impl Span {
    /// An attribute.
    pub fn get(&self, name: &str) -> Option<&Value> {
        get(&self.attributes, name)
    }
}

/// The span above one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Parent {
    /// Its id.
    #[serde(serialize_with = "hex64")]
    pub span_id: u64,
    /// Whether it may be another process's.
    pub is_remote: bool,
}

/// Whose side of a call a span is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// It happens in this process.
    Internal,
    /// It is asked of another one.
    Client,
}

/// Something that happened in a span.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Event {
    /// What.
    pub name: &'static str,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// What is known of it.
    #[serde(serialize_with = "as_map")]
    pub attributes: Vec<(&'static str, Value)>,
}

impl Event {
    /// An attribute.
    pub fn get(&self, name: &str) -> Option<&Value> {
        get(&self.attributes, name)
    }
}

fn get<'a>(attributes: &'a [(&'static str, Value)], name: &str) -> Option<&'a Value> {
    let found = attributes.iter().find(|(key, _)| *key == name);
    found.map(|(_, value)| value)
}

/// Why a span came to nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Error {
    /// In one word, from a small set: `failed`, `cancelled`, or how a task ended.
    pub kind: String,
    /// In words, which others may have written; at most 256 characters.
    pub message: String,
}

impl Error {
    fn new(kind: &str, message: &str) -> Self {
        Self {
            kind: shortened(kind),
            message: shortened(message),
        }
    }
}

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// Yes or no.
    Bool(bool),
    /// A count.
    Int(i64),
    /// A measure.
    Float(f64),
    /// A name, at most 256 characters.
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

/// The span of an attempt at a step. Where it hands work over, the message that does so names this span as the one above.
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
