//! The bundle of a run: `{ result, quality, acceptance-report }`.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::{
    kept::{Reached, Review, WorkState},
    verdicts::Verdicts,
};
use crate::brief::Constraints;

/// The checks of reviews that a bundle has, in bytes of JSON.
const MAX_CHECKS: usize = 256 * 1024;

/// End of a run, beside what was made.
pub(super) struct Closing<'a> {
    /// The work done, in the model's words.
    pub(super) summary: &'a str,
    /// The reason why the constraints are not met, if they are not.
    pub(super) explanation: Option<&'a str>,
    /// True if what was to be made in the end was made.
    pub(super) is_made: bool,
    /// The parts of the payload that nobody takes.
    pub(super) not_taken: Vec<String>,
    /// The wishes that the result passes over.
    pub(super) passed_over: PassedOver,
    /// The steps that made later rounds of the result, which nobody reviewed.
    pub(super) unreviewed: Vec<String>,
}

/// Wishes of the person that a result passes over.
#[derive(Debug, Default, PartialEq)]
pub(super) struct PassedOver {
    /// The parts of the payload that were handed to nobody whose work is in the result.
    pub(super) not_handed_on: Vec<String>,
    /// The parts of the payload in whose place a step put something else.
    pub(super) replaced: Vec<String>,
    /// Parts that agents say they left aside.
    pub(super) left_aside: Vec<String>,
}

impl PassedOver {
    /// In words; `None` if there is nothing to say.
    pub(super) fn in_words(&self) -> Option<String> {
        let named = |parts: &[String]| {
            let named: Vec<String> = parts.iter().map(|part| format!("`{part}`")).collect();
            (!named.is_empty()).then(|| named.join(", "))
        };
        let not_handed = named(&self.not_handed_on);
        let replaced = named(&self.replaced);
        let parts = [
            not_handed.map(|parts| format!("nobody was handed {parts}")),
            replaced.map(|parts| format!("replaced: {parts}")),
        ];
        let parts: Vec<String> = parts
            .into_iter()
            .flatten()
            .chain(self.left_aside.iter().cloned())
            .collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

/// The bundle.
pub(super) fn bundle(
    result: Value,
    verdicts: &Verdicts<'_>,
    reached: &Reached,
    constraints: &Constraints,
    closing: &Closing<'_>,
) -> Value {
    let report = verdicts.report(constraints);
    let issues = verdicts.reviews.iter().flat_map(|review| &review.issues);
    let mut quality = Map::new();
    let mut put = |name: &str, value: Value| quality.insert(name.to_owned(), value);
    // A score is of something that was made.
    put("score", json!(verdicts.score().filter(|_| closing.is_made)));
    put("threshold", json!(constraints.quality_threshold()));
    put("met", closing.explanation.is_none().into());
    put("made", closing.is_made.into());
    put("notKept", verdicts.not_kept(&report).into());
    put("unchecked", verdicts.unchecked(&report).into());
    put("notTaken", closing.not_taken.clone().into());
    let over = &closing.passed_over;
    put("notHandedOn", over.not_handed_on.clone().into());
    put("replaced", over.replaced.clone().into());
    put("leftAside", over.left_aside.clone().into());
    put("unreviewed", closing.unreviewed.clone().into());
    if let Some(gap) = &verdicts.gap {
        put("notReviewed", gap.as_str().into());
    }
    put("notJudged", verdicts.not_judged(&report).into());
    put("depth", reached.depth.into());
    put("executionDepth", constraints.execution_depth().into());
    put("issues", json!(issues.collect::<Vec<_>>()));
    put("reviews", reviews(&reached.reviews));
    put("standIns", stand_ins(reached));
    put("summary", closing.summary.into());
    if let Some(explanation) = closing.explanation {
        put("explanation", explanation.into());
    }
    json!({
        "result": result,
        "quality": quality,
        "acceptance-report": if closing.is_made { report } else { unfulfilled(report) },
    })
}

/// The report where nothing was made: nothing is there that could meet a criterion.
fn unfulfilled(mut report: Vec<Value>) -> Vec<Value> {
    for line in &mut report {
        line["verdict"] = "not_checked".into();
        line["evidence"] = "nothing was made".into();
    }
    report
}

/// The reviews with their checks, of the latest ones as many as there is room for.
fn reviews(reviews: &[Review]) -> Value {
    let mut room = MAX_CHECKS;
    let mut told: Vec<Value> = Vec::new();
    for review in reviews.iter().rev() {
        let mut line = review.told();
        let checks = Value::from(review.checks.clone());
        match room.checked_sub(checks.to_string().len()) {
            Some(left) => {
                room = left;
                line["checks"] = checks;
            }
            None => {
                room = 0;
                line["checksLeftOut"] = review.checks.len().into();
            }
        }
        told.push(line);
    }
    told.reverse();
    told.into()
}

/// The agents that made or reviewed something as a stand-in for a model, and in which phase.
fn stand_ins(reached: &Reached) -> Value {
    let works = reached.steps.values();
    let works = works.filter(|work| work.state == WorkState::Completed && work.is_stand_in);
    let named: BTreeSet<(&str, &str)> = works.map(|w| (&*w.phase, &*w.agent)).collect();
    let named = named.into_iter();
    named
        .map(|(phase, agent)| json!({"agent": agent, "phase": phase}))
        .collect()
}
