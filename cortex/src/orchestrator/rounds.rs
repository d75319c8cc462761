//! Choice of the round that is the result.

use std::{cmp::Ordering, collections::BTreeSet};

use agenthub_sdk::runs::plan::references;
use serde_json::Value;

use super::{
    kept::{Reached, Review},
    rules::GENERATION,
    verdicts::Verdicts,
};

/// A form of the result, of the best rounds.
#[derive(Debug, PartialEq)]
pub(super) struct Best {
    pub(super) form: Value,
    /// True if something in it stands for a later round that came to nothing.
    pub(super) is_earlier: bool,
}

/// The form with the best round of each thing in it: of what was reviewed the one with the best review, and for what has no output an earlier one
/// that has.
pub(super) fn best(reached: &Reached, mut form: Value) -> Best {
    let missing = missing(reached, &form);
    put(&mut form, &missing);
    let mut better = Vec::new();
    for review in &Verdicts::of(reached, &form).reviews {
        let Some(best) = self::better(reached, review) else {
            continue;
        };
        for step in &review.of {
            let capability = capability(reached, step);
            let mut others = best.of.iter();
            let same = others.find(|other| self::capability(reached, other) == capability);
            better.extend(same.map(|other| (step.clone(), other.clone())));
        }
    }
    put(&mut form, &better);
    Best {
        form,
        is_earlier: !missing.is_empty(),
    }
}

/// The form in which an earlier round that was reviewed stands for each thing that was made again from it and that nobody reviewed, and the
/// steps that it stands for.
pub(super) fn reviewed(reached: &Reached, mut form: Value) -> (Value, Vec<String>) {
    let open = Verdicts::of(reached, &form).open;
    let earlier = open.iter().filter_map(|step| {
        let capability = capability(reached, step);
        let origins = origins(reached, step);
        let rounds = reached.outputs.keys().filter(|other| {
            *other != step
                && origins.contains(*other)
                && self::capability(reached, other) == capability
        });
        let rounds = rounds.filter_map(|other| Some((rank(latest(reached, other)?), other)));
        let best = rounds.max_by(|(a, _), (b, _)| a.total_cmp(b));
        best.map(|(_, best)| (step.clone(), best.clone()))
    });
    let earlier: Vec<(String, String)> = earlier.collect();
    put(&mut form, &earlier);
    (form, earlier.into_iter().map(|(step, _)| step).collect())
}

/// The steps of the form that were to make something and have no output, each with the step of an earlier round that stands for it: of those that it
/// was to be made from, the one with the best review. Where it refers to none, an earlier step of its capability is the same thing only if
/// the result has no other part that is made by it.
fn missing(reached: &Reached, form: &Value) -> Vec<(String, String)> {
    let parts: BTreeSet<String> = steps_in(form).collect();
    let is_made = |step: &str| {
        let work = reached.steps.get(step);
        work.is_some_and(|work| work.phase == GENERATION) && reached.outputs.contains_key(step)
    };
    let mut missing = Vec::new();
    for step in parts
        .iter()
        .filter(|step| !reached.outputs.contains_key(*step))
    {
        let capability = capability(reached, step);
        let is_same = |other: &&String| self::capability(reached, other) == capability;
        let origins = origins(reached, step);
        let earlier = reached.steps.keys().filter(is_same);
        let earlier: Vec<&String> = earlier
            .filter(|other| is_made(other) && !parts.contains(*other))
            .collect();
        let mut from: Vec<&String> = earlier.clone();
        from.retain(|other| origins.contains(*other));
        if from.is_empty() && parts.iter().filter(is_same).count() == 1 {
            from = earlier;
        }
        let best = from.into_iter().max_by(|a, b| {
            let of = |step: &String| latest(reached, step).map(rank);
            let (a, b) = (of(a), of(b));
            a.partial_cmp(&b).unwrap_or(Ordering::Equal)
        });
        missing.extend(best.map(|best| (step.clone(), best.clone())));
    }
    missing
}

/// The capability of a step; of one that has not begun, as the plan has it.
fn capability<'a>(reached: &'a Reached, step: &str) -> Option<&'a str> {
    let begun = reached.steps.get(step).map(|work| &*work.capability);
    begun.or_else(|| Some(&*reached.plan.steps.get(step)?.capability))
}

/// The latest review of what a step made.
pub(super) fn latest<'a>(reached: &'a Reached, step: &str) -> Option<&'a Review> {
    let mut reviews = reached.reviews.iter().rev();
    reviews.find(|review| review.of.iter().any(|of| of == step))
}

/// Rank of a review's verdict.
fn rank(review: &Review) -> f64 {
    let pass = f64::from(u8::from(review.pass));
    2.0 * pass + review.score.unwrap_or(0.0)
}

/// Puts references to other steps in the place of these.
fn put(form: &mut Value, others: &[(String, String)]) {
    match form {
        Value::String(text) => {
            for (step, other) in others {
                let (from, to) = (format!("${{{step}.output"), format!("${{{other}.output"));
                *text = text.replace(&from, &to);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| put(item, others)),
        Value::Object(fields) => fields.values_mut().for_each(|field| put(field, others)),
        _ => {}
    }
}

/// Adds a step, and all that went into it.
pub(super) fn cover(reached: &Reached, step: &str, covered: &mut BTreeSet<String>) {
    if !covered.insert(step.to_owned()) {
        return;
    }
    if let Some(planned) = reached.plan.steps.get(step) {
        for needed in steps_in(&planned.payload) {
            cover(reached, &needed, covered);
        }
    }
}

/// A step, and all that went into it.
pub(super) fn origins(reached: &Reached, step: &str) -> BTreeSet<String> {
    let mut origins = BTreeSet::new();
    cover(reached, step, &mut origins);
    origins
}

/// The steps whose outputs a value refers to.
pub(super) fn steps_in(value: &Value) -> impl Iterator<Item = String> + '_ {
    references(value).filter_map(|reference| reference.step().map(|step| step.as_str().to_owned()))
}

/// The review of the same thing in another round with a better verdict, if there is one. One round is known to follow another by what
/// was made before being among what it was made from.
fn better<'a>(reached: &'a Reached, than: &Review) -> Option<&'a Review> {
    let origins = |review: &Review| -> BTreeSet<String> {
        let of = review.of.iter();
        of.flat_map(|step| origins(reached, step)).collect()
    };
    let follows = |later: &Review, earlier: &Review| {
        let origins = origins(later);
        earlier.of.iter().any(|step| origins.contains(step))
    };
    let rounds = reached.reviews.iter();
    let rounds = rounds.filter(|review| follows(review, than) || follows(than, review));
    let best = rounds.max_by(|a, b| rank(a).total_cmp(&rank(b)))?;
    (rank(best) > rank(than)).then_some(best)
}
