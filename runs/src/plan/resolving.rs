//! Resolution of references.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{
    bounds::{MAX_RESOLVED_BYTES, size},
    faults::excerpt,
    references::{InvalidReference, Piece, Reference, Source, at, pieces, whole},
};

/// Values that references can resolve to.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'a> {
    /// The user's request, as text.
    pub objective: &'a str,
    /// Payload of the run.
    pub input: &'a Value,
    /// Results of earlier runs of the thread, by name.
    pub thread: &'a Value,
    /// Outputs of the steps that are done.
    pub outputs: &'a BTreeMap<String, Value>,
    /// Skipped steps. References to their output are omitted: the field, the item, the part of the text.
    pub skipped: &'a BTreeSet<String>,
}

/// Reasons why a value could not be resolved.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// The path does not exist.
    #[error("{reference}: there is no {}; there is {there}", excerpt(.part))]
    NotThere {
        /// The reference.
        reference: String,
        /// The first part of its path that does not exist.
        part: String,
        /// The alternatives at this place, in words.
        there: String,
    },
    /// The step has no output yet.
    #[error("{0}: the step has not given anything")]
    NotDone(String),
    /// A text contains an invalid reference.
    #[error(transparent)]
    Form(#[from] InvalidReference),
    /// The resolved value is too large.
    #[error("it is larger than {MAX_RESOLVED_BYTES} bytes with what it refers to")]
    TooLarge,
}

/// Result of a lookup.
enum Lookup<'a> {
    Text(&'a str),
    Value(&'a Value),
    /// The step was skipped.
    LeftOut,
}

impl<'a> Scope<'a> {
    fn find(&self, reference: &Reference) -> Result<Lookup<'a>, ResolveError> {
        let from = match reference.source() {
            Source::Objective => return Ok(Lookup::Text(self.objective)),
            Source::Input => self.input,
            Source::Thread => self.thread,
            Source::Output(step) => match self.outputs.get(step.as_str()) {
                Some(output) => output,
                None if self.skipped.contains(step.as_str()) => return Ok(Lookup::LeftOut),
                None => return Err(ResolveError::NotDone(excerpt(&reference.to_string()))),
            },
        };
        at(from, reference.path())
            .map(Lookup::Value)
            .map_err(|(part, there)| ResolveError::NotThere {
                reference: excerpt(&reference.to_string()),
                part: part.to_owned(),
                there,
            })
    }
}

/// Resolves all references in the value.
///
/// # Errors
///
/// A reference has no value, or the resolved value exceeds 1 MiB.
pub fn resolve(value: &Value, scope: &Scope) -> Result<Value, ResolveError> {
    let mut resolving = Resolver {
        scope,
        left: MAX_RESOLVED_BYTES,
    };
    Ok(resolving.value(value)?.unwrap_or(Value::Null))
}

/// State of a resolution, with the bytes left of the limit.
struct Resolver<'a> {
    scope: &'a Scope<'a>,
    left: usize,
}

impl Resolver<'_> {
    /// `None` if the value is omitted.
    fn value(&mut self, value: &Value) -> Result<Option<Value>, ResolveError> {
        match value {
            Value::Object(fields) => {
                let mut made = Map::new();
                for (key, value) in fields {
                    self.spend(key.len() + 4)?;
                    if let Some(value) = self.value(value)? {
                        made.insert(key.clone(), value);
                    }
                }
                Ok(Some(Value::Object(made)))
            }
            Value::Array(items) => {
                let made = items.iter().filter_map(|v| self.value(v).transpose());
                made.collect::<Result<_, _>>().map(Value::Array).map(Some)
            }
            Value::String(text) => self.text(text),
            other => {
                self.spend(size(other, self.left))?;
                Ok(Some(other.clone()))
            }
        }
    }

    fn text(&mut self, text: &str) -> Result<Option<Value>, ResolveError> {
        if let Some(reference) = whole(text) {
            return Ok(match self.scope.find(&reference)? {
                Lookup::LeftOut => None,
                Lookup::Text(text) => {
                    self.spend(text.len())?;
                    Some(text.into())
                }
                Lookup::Value(value) => {
                    self.spend(size(value, self.left))?;
                    Some(value.clone())
                }
            });
        }
        let mut made = String::new();
        for piece in pieces(text) {
            let before = made.len();
            match piece? {
                Piece::Text(text) => made.push_str(text),
                Piece::Reference(reference) => match self.scope.find(&reference)? {
                    Lookup::Text(text) => made.push_str(text),
                    Lookup::Value(Value::String(text)) => made.push_str(text),
                    Lookup::LeftOut | Lookup::Value(Value::Null) => {}
                    Lookup::Value(value) => {
                        self.spend(size(value, self.left))?;
                        made.push_str(&value.to_string());
                    }
                },
            }
            self.spend(made.len() - before)?;
        }
        self.spend(2)?;
        Ok(Some(Value::String(made)))
    }

    fn spend(&mut self, bytes: usize) -> Result<(), ResolveError> {
        self.left = self.left.checked_sub(bytes).ok_or(ResolveError::TooLarge)?;
        Ok(())
    }
}
