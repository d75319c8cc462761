//! Steps' own accounts of what they left aside: what of a request an agent says that it did not do, or could not meet.

use std::collections::BTreeSet;

use agenthub_sdk::{
    model::STAND_IN,
    runs::{DelegationResult, Shortfall, UNREAD},
};
use serde_json::Value;

use super::{
    kept::{Reached, WorkState},
    rounds::{cover, origins, steps_in},
    rules::{GENERATION, QA},
    verdicts::Verdicts,
};
use crate::chat::history::shorten;

/// The most parts that one step's account names, and the most tokens of each.
const MAX_PARTS: usize = 20;
const MAX_TOKENS: usize = 200;

/// Levels of an output that are looked at: the output, what it is about, and its metadata.
const LEVELS: usize = 3;

/// Fields of an output by which any agent says what it left undone.
const UNDONE: [&str; 3] = ["undone", "lacks", "notActedOn"];

/// The field by which a maker says what it could not meet.
const NOTES: &str = "notes";

/// An account of a part that nobody names.
const UNNAMED: &str = "it did it in part, and does not say which";

/// True if an agent's answer is that of a stand-in for a model, by its model or by what it says itself.
pub(super) fn is_by_stand_in(delegated: &DelegationResult) -> bool {
    let says_so = || {
        let shortfall = Shortfall::of(&delegated.data);
        shortfall.is_some_and(|shortfall| shortfall.lacks.iter().any(|why| why == UNREAD))
    };
    delegated.model == STAND_IN || says_so()
}

/// The parts that an agent says it left aside, by the marks of its answer and by its output. That no language model read the request is told
/// once, of all that stand-ins did.
pub(super) fn of_step(delegated: &DelegationResult, output: &Value, phase: &str) -> Vec<String> {
    let mut parts = Vec::new();
    if let Some(shortfall) = Shortfall::of(&delegated.data) {
        let missing = shortfall.missing();
        // A review names in its checks what it leaves open.
        let is_named = phase == QA && has_checks(output);
        if missing.is_empty() && shortfall.lacks.is_empty() && !is_named {
            parts.push(UNNAMED.to_owned());
        }
        let own = shortfall.lacks.into_iter();
        parts.extend(own.filter(|why| why != UNREAD));
        let missing = missing.into_iter();
        parts.extend(missing.map(|missing| format!("{}: {}", missing.name, missing.why)));
    }
    said_in(output, phase == GENERATION, LEVELS, &mut parts);
    let mut known = BTreeSet::new();
    parts.retain(|part| known.insert(part.clone()));
    let more = parts.len().saturating_sub(MAX_PARTS);
    parts.truncate(MAX_PARTS);
    let mut parts: Vec<String> = parts.iter().map(|part| shorten(part, MAX_TOKENS)).collect();
    if more > 0 {
        parts.push(format!("{more} more"));
    }
    parts
}

fn has_checks(output: &Value) -> bool {
    let fields = output
        .as_object()
        .into_iter()
        .flat_map(|fields| fields.values());
    let mut reviews = fields.chain([output]);
    reviews.any(|review| {
        review["checks"]
            .as_array()
            .is_some_and(|checks| !checks.is_empty())
    })
}

/// The maker's own notes on what could not be met, in the data of an answer.
pub(crate) fn notes_in(data: &Value) -> Vec<String> {
    let mut parts = Vec::new();
    said_in(data, true, LEVELS, &mut parts);
    parts
}

fn said_in(value: &Value, has_notes: bool, levels: usize, parts: &mut Vec<String>) {
    let Some(fields) = value.as_object().filter(|_| levels > 0) else {
        return;
    };
    for (name, field) in fields {
        let is_account = UNDONE.contains(&&**name) || has_notes && name == NOTES;
        match is_account {
            true => parts.extend(words_of(field)),
            false if name == "partial" && *field == Value::Bool(true) => {
                parts.push(UNNAMED.to_owned());
            }
            false => said_in(field, has_notes, levels - 1, parts),
        }
    }
}

/// An account in words: a text, or texts, or `true` where nothing is named.
fn words_of(account: &Value) -> Vec<String> {
    let is_said = |text: &&str| !text.trim().is_empty();
    match account {
        Value::String(text) => Some(text.trim())
            .filter(is_said)
            .map(str::to_owned)
            .into_iter()
            .collect(),
        Value::Array(items) => items.iter().flat_map(words_of).collect(),
        Value::Bool(true) => vec![UNNAMED.to_owned()],
        Value::Object(fields) if !fields.is_empty() => vec![account.to_string()],
        _ => Vec::new(),
    }
}

/// Parts left aside of a result of this form: by the steps that it is made of, and by the reviews of it. The account of an earlier round is
/// no longer true of a later one that was made from it. Where a stand-in planned or did any of it, that is the first.
pub(super) fn of_result(
    reached: &Reached,
    form: &Value,
    verdicts: &Verdicts<'_>,
    is_planned_by_stand_in: bool,
) -> Vec<String> {
    let covered = contributing(reached, form, verdicts);
    let is_remade = |step: &String| {
        let Some(work) = reached.steps.get(step) else {
            return true;
        };
        let is_later = |later: &&String| {
            let same = reached.steps.get(*later);
            *later != step
                && same.is_some_and(|same| same.capability == work.capability)
                && origins(reached, later).contains(step)
        };
        let is_superseded_review =
            work.phase == QA && !verdicts.reviews.iter().any(|review| review.step == *step);
        is_superseded_review || covered.iter().any(|later| is_later(&later))
    };
    let mut told = Vec::new();
    let mut works = covered.iter().filter_map(|step| reached.steps.get(step));
    if is_planned_by_stand_in || works.any(|work| work.is_stand_in) {
        told.push(UNREAD.to_owned());
    }
    for step in covered.iter().filter(|step| !is_remade(step)) {
        let Some(work) = reached.steps.get(step) else {
            continue;
        };
        if !work.left_aside.is_empty() {
            let parts = work.left_aside.join("; ");
            told.push(format!("{} says of {step}: {parts}", work.agent));
        }
    }
    told
}

/// The steps that a result of this form comes of: those that it refers to, their reviews, and all that went into either. Where it refers to
/// none, all that are done.
pub(super) fn contributing(
    reached: &Reached,
    form: &Value,
    verdicts: &Verdicts<'_>,
) -> BTreeSet<String> {
    let mut covered = BTreeSet::new();
    let reviews = verdicts.reviews.iter().map(|review| review.step.clone());
    for step in steps_in(form).chain(reviews) {
        cover(reached, &step, &mut covered);
    }
    let is_done = |step: &String| {
        let work = reached.steps.get(step);
        work.is_some_and(|work| work.state == WorkState::Completed)
    };
    if covered.is_empty() {
        covered.extend(reached.steps.keys().cloned());
    }
    covered.retain(is_done);
    covered
}
