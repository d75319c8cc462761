//! Validation of the references in a plan.

use serde_json::Value;

use super::{
    Fault, Plan, PlanStep, Reference, Source, StepName, Terms,
    bounds::MAX_RESULT_TEXT,
    faults::{excerpt, listed, sentence},
    partial_payload::{PossibleOutput, outputs, possible_output},
    references::{Piece, at, pieces, texts},
    shape::{Shape, View},
    types::Types,
};

/// Faults of a step's references.
pub(super) fn of_step(plan: &Plan, name: &StepName, step: &PlanStep, terms: &Terms) -> Vec<Fault> {
    let at = |path: &[String]| format!("step `{name}`, `{}`", excerpt(&path.join(".")));
    let mut faults = keys(&step.payload, &at);
    for (path, text) in texts(&step.payload) {
        let fault = |why: String| Fault::Reference {
            place: at(&path),
            why: sentence(&why),
        };
        faults.extend(wrong(plan, text, terms).into_iter().map(fault));
    }
    faults
}

/// Faults of the result: invalid references, and content that no step produced.
pub(super) fn of_result(plan: &Plan, terms: &Terms) -> Vec<Fault> {
    let at = |path: &[String]| match path.is_empty() {
        true => "result".to_owned(),
        false => format!("result, `{}`", excerpt(&path.join("."))),
    };
    let mut faults = keys(&plan.result, &at);
    if let Some(value) = bare(&plan.result) {
        faults.push(Fault::Result {
            place: "result".to_owned(),
            why: format!(
                "it is put together from what was made, so it can't have {}; write texts with references such as ${{STEP.output.PATH}}",
                excerpt(&value.to_string())
            ),
        });
    }
    for (path, text) in texts(&plan.result) {
        let fault = |why: String| Fault::Reference {
            place: at(&path),
            why: sentence(&why),
        };
        let wrong = wrong(plan, text, terms);
        let own = own(text).filter(|_| wrong.is_empty());
        faults.extend(wrong.into_iter().map(fault));
        faults.extend(own.map(|why| Fault::Result {
            place: at(&path),
            why,
        }));
    }
    faults
}

/// First value inside `value` that is neither text, array nor object.
fn bare(value: &Value) -> Option<&Value> {
    match value {
        Value::Object(fields) => fields.values().find_map(bare),
        Value::Array(items) => items.iter().find_map(bare),
        Value::String(_) => None,
        bare => Some(bare),
    }
}

/// Fault of a result's text that is not, or is hardly, a reference.
fn own(text: &str) -> Option<String> {
    let (mut own, mut referred) = (0, 0);
    for piece in pieces(text) {
        match piece {
            Ok(Piece::Text(text)) => own += text.chars().count(),
            Ok(Piece::Reference(_)) => referred += 1,
            Err(_) => {}
        }
    }
    (referred == 0 || own > MAX_RESULT_TEXT).then(|| {
        format!(
            "`{}` is not what a step made; write a reference such as ${{STEP.output.PATH}}, with at most {MAX_RESULT_TEXT} characters around it",
            excerpt(text)
        )
    })
}

/// Faults for references in object keys, where they are not resolved.
fn keys(value: &Value, at: &impl Fn(&[String]) -> String) -> Vec<Fault> {
    fn first(value: &Value, path: &mut Vec<String>) -> bool {
        let mut is_in = |key: String, inner: &Value| {
            let is_odd = key.contains("${");
            path.push(key);
            let found = is_odd || first(inner, path);
            if !found {
                path.pop();
            }
            found
        };
        match value {
            Value::Object(fields) => fields.iter().any(|(key, v)| is_in(key.clone(), v)),
            Value::Array(items) => {
                let mut items = items.iter().enumerate();
                items.any(|(index, v)| is_in(index.to_string(), v))
            }
            _ => false,
        }
    }
    let mut path = Vec::new();
    let why = "there can be no reference in a key, only in texts".to_owned();
    match first(value, &mut path) {
        true => vec![Fault::Reference {
            place: at(&path),
            why,
        }],
        false => Vec::new(),
    }
}

/// Faults of the references in a text.
fn wrong(plan: &Plan, text: &str, terms: &Terms) -> Vec<String> {
    let wrong = pieces(text).filter_map(|piece| match piece {
        Ok(Piece::Text(_)) => None,
        Ok(Piece::Reference(reference)) => leads_nowhere(plan, &reference, terms),
        Err(invalid) => Some(invalid.to_string()),
    });
    wrong.collect()
}

/// Reason why a reference leads to no value; `None` if it may lead to one.
pub fn leads_nowhere(plan: &Plan, reference: &Reference, terms: &Terms) -> Option<String> {
    let known = match reference.source() {
        Source::Objective => return None,
        Source::Input => terms.input,
        Source::Thread => terms.thread,
        Source::Output(step) => match terms.outputs.get(step.as_str()) {
            Some(output) => output,
            None => return cannot_be(plan, reference, step, terms),
        },
    };
    let (part, there) = at(known, reference.path()).err()?;
    let part = excerpt(part);
    Some(format!(
        "{reference}: there is no `{part}`; there is: {there}"
    ))
}

/// Reason why a step without an output cannot produce the referenced value.
fn cannot_be(plan: &Plan, reference: &Reference, step: &StepName, terms: &Terms) -> Option<String> {
    if !plan.steps.contains_key(step) {
        let steps = listed(plan.steps.keys());
        return Some(format!(
            "{reference}: there is no step `{step}`; steps: {steps}"
        ));
    }
    if terms.failed.contains(step.as_str()) {
        return Some(format!("{reference}: step `{step}` has failed"));
    }
    let given = possible_output(plan, reference, terms);
    if matches!(given, PossibleOutput::Text | PossibleOutput::Anything)
        || given.types() != Types::NONE
    {
        return None;
    }
    let mut shapes = outputs(plan, step.as_str(), terms).unwrap_or_default();
    for part in reference.path() {
        let inner: Vec<Shape> = shapes.iter().map(|s| s.within(part, View::Gives)).collect();
        if inner.iter().all(|shape| shape.types() == Types::NONE) {
            let there = listed(shapes.iter().map(Shape::contents));
            let part = excerpt(part);
            return Some(format!(
                "{reference}: `{step}` gives no `{part}` there; it gives: {there}"
            ));
        }
        shapes = inner;
    }
    Some(format!("{reference}: `{step}` gives nothing"))
}
