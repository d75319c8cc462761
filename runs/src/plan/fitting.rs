//! Compatibility of payloads with the agents' input schemas.

use jsonschema::{ValidationError, Validator, error::ValidationErrorKind as Kind};
use serde_json::Value;

use super::{
    Fault, Offer, Plan, PlanStep, Terms,
    faults::{excerpt, sentence},
    partial_payload::{PartialPayload, Path, filled},
    references::whole,
    schemas::compiled,
    shape::{Shape, View},
    types::Types,
};
use crate::pointer;

/// Maximum mismatches reported for one step and one offer.
const MAX_MISMATCHES: usize = 8;

/// Checks that the payload of a step fits the input of an offer, as far as it is known before the step is ready: known
/// values must fit, outputs of earlier steps must be able to.
///
/// # Errors
///
/// The mismatches, at most 8.
pub fn fits(plan: &Plan, step: &str, offer: &Offer, terms: &Terms) -> Result<(), Vec<Fault>> {
    let validator = offer.input.as_ref().and_then(compiled);
    let Some(planned) = plan.steps.get(step) else {
        return Ok(());
    };
    let misfits = misfits(plan, planned, offer, validator.as_ref(), terms);
    let faults: Vec<_> = misfits
        .into_iter()
        .map(|why| unfit(step, offer, why))
        .collect();
    match faults.is_empty() {
        true => Ok(()),
        false => Err(faults),
    }
}

pub(super) fn unfit(step: &str, offer: &Offer, why: String) -> Fault {
    Fault::Unfit {
        step: step.to_owned(),
        agent: excerpt(&offer.agent),
        capability: excerpt(&offer.capability),
        why,
    }
}

/// Mismatches, in words.
pub(super) fn misfits(
    plan: &Plan,
    step: &PlanStep,
    offer: &Offer,
    validator: Option<&Validator>,
    terms: &Terms,
) -> Vec<String> {
    let Some(schema) = &offer.input else {
        return Vec::new();
    };
    let with = |skips| filled(plan, &step.payload, terms, skips);
    let (whole, skipped) = match (with(false), with(true)) {
        (Ok(whole), Ok(skipped)) => (whole, skipped),
        (Err(why), _) | (_, Err(why)) => return vec![sentence(&why.to_string())],
    };
    let mut mismatches = types_that_do_not_meet(schema, &whole);
    if let Some(validator) = validator {
        let violations = Violations { schema, step };
        mismatches.extend(violations.of(validator, &whole));
        if skipped.holes.len() < whole.holes.len() {
            for why in violations.of(validator, &skipped) {
                if !mismatches.contains(&why) {
                    mismatches.push(format!(
                        "{why}, and the step that it comes from may be skipped"
                    ));
                }
            }
        }
    }
    mismatches.truncate(MAX_MISMATCHES);
    mismatches
}

fn types_that_do_not_meet(schema: &Value, payload: &PartialPayload) -> Vec<String> {
    let mut mismatches = Vec::new();
    let whole = Shape::of(schema);
    for (path, hole) in &payload.holes {
        let taken = path
            .iter()
            .fold(whole.clone(), |shape, part| shape.within(part, View::Takes));
        let taken = taken.types();
        // A value that cannot exist is reported as a violation instead.
        if taken != Types::NONE && hole.types != Types::NONE && !taken.meets(hole.types) {
            let (at, text) = (place(path), excerpt(&hole.text));
            mismatches.push(sentence(&format!(
                "{at} takes {taken}, and `{text}` gives {}",
                hole.types
            )));
        }
    }
    mismatches
}

/// Interprets a validator's errors for a payload with holes.
struct Violations<'a> {
    schema: &'a Value,
    step: &'a PlanStep,
}

impl Violations<'_> {
    fn of(&self, validator: &Validator, payload: &PartialPayload) -> Vec<String> {
        let errors = validator.iter_errors(&payload.value);
        let certain = errors.filter(|error| is_certain(error, payload));
        certain
            .take(MAX_MISMATCHES)
            .map(|error| self.words(&error, payload))
            .collect()
    }

    fn words(&self, error: &ValidationError<'_>, payload: &PartialPayload) -> String {
        let path = path_of(error);
        let at = place(&path);
        let words = match error.kind() {
            Kind::Required { property } => format!("{at} needs {property}"),
            Kind::AdditionalProperties { unexpected } => {
                let shape = path.iter().fold(Shape::of(self.schema), |s, part| {
                    s.within(part, View::Takes)
                });
                let unexpected = super::faults::listed(unexpected);
                format!(
                    "{at} does not take {unexpected}; it takes: {}",
                    shape.contents()
                )
            }
            Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
                let first = |branch: &Vec<ValidationError<'static>>| {
                    let error = branch.iter().find(|error| is_certain(error, payload));
                    error.map(|error| excerpt(&self.words(error, payload)))
                };
                let branches: Vec<_> = context
                    .iter()
                    .take(MAX_MISMATCHES)
                    .filter_map(first)
                    .collect();
                format!(
                    "{at} fits none of the alternatives: {}",
                    branches.join("; ")
                )
            }
            _ => format!("{at}: {}", error.masked_with("the value")),
        };
        match self.origin(&path) {
            Some(text) => sentence(&format!("{words} (it is `{}`)", excerpt(text))),
            None => sentence(&words),
        }
    }

    /// The reference that filled this place.
    fn origin(&self, path: &Path) -> Option<&str> {
        let mut value = &self.step.payload;
        for part in path {
            value = match value {
                Value::Object(fields) => fields.get(part)?,
                Value::Array(items) => items.get(part.parse::<usize>().ok()?)?,
                _ => break,
            };
        }
        value.as_str().filter(|text| whole(text).is_some())
    }
}

/// True if the error holds whatever the holes will be.
fn is_certain(error: &ValidationError<'_>, payload: &PartialPayload) -> bool {
    let path = path_of(error);
    if payload.holes.is_empty() {
        return true;
    }
    if payload.holes.contains_key(&path) || is_conditional(error) {
        return false;
    }
    let is_whole = !payload.holes.keys().any(|hole| hole.starts_with(&path));
    match error.kind() {
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
            let fails = |branch: &Vec<ValidationError<'static>>| {
                branch.iter().any(|error| is_certain(error, payload))
            };
            context.iter().all(fails)
        }
        Kind::Required { .. }
        | Kind::AdditionalProperties { .. }
        | Kind::PropertyNames { .. }
        | Kind::MinProperties { .. }
        | Kind::MaxProperties { .. }
        | Kind::MinItems { .. }
        | Kind::MaxItems { .. }
        | Kind::Type { .. }
        | Kind::FalseSchema => true,
        _ => is_whole,
    }
}

/// True if the error depends on other parts of the value, which may be holes.
fn is_conditional(error: &ValidationError<'_>) -> bool {
    let path = error.evaluation_path().to_string();
    let mut parts = path.split('/');
    parts.any(|part| ["then", "else", "not"].contains(&part))
}

fn path_of(error: &ValidationError<'_>) -> Path {
    pointer::names(error.instance_path().as_str())
}

fn place(path: &Path) -> String {
    match path.is_empty() {
        true => "the payload".to_owned(),
        false => format!("`{}`", excerpt(&path.join("."))),
    }
}
