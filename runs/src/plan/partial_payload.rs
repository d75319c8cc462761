//! Partially resolved payloads: known values are filled in, unknown ones are holes.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{
    Plan, Recovery, Reference, ResolveError, Scope, Source, Terms,
    bounds::{MAX_RESOLVED_BYTES, size},
    references::{Piece, pieces, whole},
    resolve,
    shape::{Shape, View},
    types::Types,
};

/// Keys and indexes that lead to a place in a payload.
pub(super) type Path = Vec<String>;

/// A payload with holes. A hole contains its text with the reference.
pub(super) struct PartialPayload {
    pub(super) value: Value,
    pub(super) holes: BTreeMap<Path, Hole>,
}

/// A value that is not known yet.
pub(super) struct Hole {
    /// The text with the reference.
    pub(super) text: String,
    /// The types that the value can have.
    pub(super) types: Types,
}

/// Fills a payload with the known values. With `skips`, fields that reference steps which may be skipped are omitted.
///
/// # Errors
///
/// The payload exceeds what can be sent.
pub(super) fn filled(
    plan: &Plan,
    payload: &Value,
    terms: &Terms,
    skips: bool,
) -> Result<PartialPayload, ResolveError> {
    let mut filling = PayloadFiller {
        plan,
        terms,
        skips,
        left: MAX_RESOLVED_BYTES,
        holes: BTreeMap::new(),
    };
    let value = filling.value(payload, &mut Vec::new())?;
    Ok(PartialPayload {
        value: value.unwrap_or(Value::Null),
        holes: filling.holes,
    })
}

struct PayloadFiller<'a> {
    plan: &'a Plan,
    terms: &'a Terms<'a>,
    skips: bool,
    left: usize,
    holes: BTreeMap<Path, Hole>,
}

impl PayloadFiller<'_> {
    fn value(&mut self, value: &Value, path: &mut Path) -> Result<Option<Value>, ResolveError> {
        match value {
            Value::Object(fields) => {
                let mut made = Map::new();
                for (key, value) in fields {
                    path.push(key.clone());
                    if let Some(value) = self.value(value, path)? {
                        made.insert(key.clone(), value);
                    }
                    path.pop();
                }
                Ok(Some(Value::Object(made)))
            }
            Value::Array(items) => {
                let mut made = Vec::new();
                for item in items {
                    path.push(made.len().to_string());
                    made.extend(self.value(item, path)?);
                    path.pop();
                }
                Ok(Some(Value::Array(made)))
            }
            Value::String(text) => self.text(text, path),
            other => Ok(Some(other.clone())),
        }
    }

    fn text(&mut self, text: &str, path: &Path) -> Result<Option<Value>, ResolveError> {
        let whole = whole(text);
        let references = pieces(text).filter_map(|piece| match piece {
            Ok(Piece::Reference(reference)) => Some(reference),
            Ok(Piece::Text(_)) | Err(_) => None,
        });
        let unknown: Vec<_> = references.filter(|r| !self.is_known(r)).collect();
        if unknown.is_empty() {
            let nobody = BTreeSet::new();
            let scope = Scope {
                objective: "",
                input: self.terms.input,
                thread: self.terms.thread,
                outputs: self.terms.outputs,
                skipped: &nobody,
            };
            // Invalid references are reported by `reference_faults`.
            if let Ok(value) = resolve(&Value::String(text.to_owned()), &scope) {
                let left = self.left.checked_sub(size(&value, self.left));
                self.left = left.ok_or(ResolveError::TooLarge)?;
                return Ok(Some(value));
            }
        }
        if self.skips && whole.as_ref().is_some_and(|r| may_be_skipped(self.plan, r)) {
            return Ok(None);
        }
        let types = match &whole {
            Some(reference) => possible_output(self.plan, reference, self.terms).types(),
            None => Types::STRING,
        };
        let text = text.to_owned();
        self.holes.insert(
            path.clone(),
            Hole {
                text: text.clone(),
                types,
            },
        );
        Ok(Some(Value::String(text)))
    }

    fn is_known(&self, reference: &Reference) -> bool {
        match reference.source() {
            Source::Objective => false,
            Source::Input | Source::Thread => true,
            Source::Output(step) => self.terms.outputs.contains_key(step.as_str()),
        }
    }
}

fn may_be_skipped(plan: &Plan, reference: &Reference) -> bool {
    let step = reference.step().and_then(|name| plan.steps.get(name));
    step.is_some_and(|step| step.recovery == Recovery::Skip)
}

/// Possible values of a reference that has no value yet.
pub(super) enum PossibleOutput<'t> {
    /// A text.
    Text,
    /// Any value.
    Anything,
    /// Values of one of these shapes.
    Shapes(Vec<Shape<'t>>),
}

impl PossibleOutput<'_> {
    pub(super) fn types(&self) -> Types {
        match self {
            PossibleOutput::Text => Types::STRING,
            PossibleOutput::Anything => Types::ANY,
            PossibleOutput::Shapes(shapes) => {
                shapes.iter().map(Shape::types).fold(Types::NONE, Types::or)
            }
        }
    }
}

/// The possible values of a reference.
pub(super) fn possible_output<'t>(
    plan: &Plan,
    reference: &Reference,
    terms: &Terms<'t>,
) -> PossibleOutput<'t> {
    let step = match reference.source() {
        Source::Objective => return PossibleOutput::Text,
        Source::Input | Source::Thread => return PossibleOutput::Anything,
        Source::Output(step) => step,
    };
    let mut shapes = outputs(plan, step.as_str(), terms);
    for part in reference.path() {
        let Some(outer) = shapes else { break };
        shapes = Some(outer.iter().map(|s| s.within(part, View::Gives)).collect());
    }
    shapes.map_or(PossibleOutput::Anything, PossibleOutput::Shapes)
}

/// The possible outputs of a step: one shape for each offer that it can be sent to. `None` if the output is not
/// restricted.
pub(super) fn outputs<'t>(plan: &Plan, step: &str, terms: &Terms<'t>) -> Option<Vec<Shape<'t>>> {
    let step = plan.steps.get(step)?;
    let fallback = match &step.recovery {
        Recovery::Fallback { agent } => Some(agent),
        Recovery::Fail | Recovery::Skip => None,
    };
    let is_meant = |agent: &String| match &step.agent {
        Some(named) => agent == named || Some(agent) == fallback,
        None => true,
    };
    let offers = terms
        .offers
        .iter()
        .filter(|o| o.capability == step.capability);
    let meant = offers.filter(|offer| is_meant(&offer.agent));
    let shapes: Option<Vec<_>> = meant.map(|o| o.output.as_ref().map(Shape::of)).collect();
    shapes.filter(|shapes| !shapes.is_empty())
}
