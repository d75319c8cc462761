//! Was it reached, and what comes of it? The constraints, the acceptance report, and the bundle `{ result, quality, acceptance-report }`.

use std::collections::BTreeSet;

use agenthub_sdk::runs::plan::references;
use serde_json::{Map, Value, json};

use super::kept::{Reached, Review};
use crate::runs::Constraints;

/// Whether the constraints are met.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Standing {
    /// They are.
    Met,
    /// They are not: why, in words that a plan can be made from.
    Unmet(String),
    /// Nothing says so.
    NotReviewed,
}

/// How what was made stands against the constraints, by the review of it.
pub(super) fn standing(review: Option<&Review>, constraints: &Constraints) -> Standing {
    let Some(review) = review else {
        return Standing::NotReviewed;
    };
    let threshold = constraints.quality_threshold();
    let failed: Vec<String> = report(Some(review), constraints)
        .into_iter()
        .filter(|line| line["verdict"] == "fail")
        .filter_map(|line| {
            line["criterion"]
                .as_str()
                .map(|c| format!("`{c}` is not fulfilled"))
        })
        .collect();
    match review.score {
        Some(score) if score < threshold => Standing::Unmet(format!(
            "the score {score:.2} of {} is below {threshold}",
            review.step
        )),
        _ if !failed.is_empty() => Standing::Unmet(failed.join("; ")),
        _ if !review.pass => Standing::Unmet(format!("{} did not let it pass", review.agent)),
        None => Standing::Unmet(format!("{} gave no score", review.step)),
        Some(_) => Standing::Met,
    }
}

/// The review of what this result consists of: of those that looked at any of its steps the latest, else the latest at all.
pub(super) fn review_of<'a>(reached: &'a Reached, result: &Value) -> Option<&'a Review> {
    let made: BTreeSet<String> = steps_in(result).collect();
    let looked_at = |review: &&Review| review.of.iter().any(|step| made.contains(step));
    let reviews = || reached.reviews.iter().rev();
    reviews().find(looked_at).or_else(|| reviews().next())
}

/// The steps whose outputs a value refers to.
pub(super) fn steps_in(value: &Value) -> impl Iterator<Item = String> + '_ {
    references(value).filter_map(|reference| reference.step().map(|step| step.as_str().to_owned()))
}

/// The best that there is: the result of the round whose review has the highest score, the latest among equals.
pub(super) fn best(reached: &Reached) -> Option<&Review> {
    let score = |review: &Review| review.score.unwrap_or(0.0) + f64::from(u8::from(review.pass));
    reached
        .reviews
        .iter()
        .reduce(|best, review| match score(review) >= score(best) {
            true => review,
            false => best,
        })
}

/// Each criterion with its verdict and the evidence.
pub(super) fn report(review: Option<&Review>, constraints: &Constraints) -> Vec<Value> {
    let criteria = constraints.acceptance_criteria.iter();
    criteria.map(|criterion| line(review, criterion)).collect()
}

fn line(review: Option<&Review>, criterion: &Value) -> Value {
    let words = words(criterion);
    let check = review.and_then(|review| {
        let said = |check: &&Value| check["criterion"].as_str() == Some(&words);
        review.checks.iter().find(said)
    });
    let verdict = check.and_then(|check| check["verdict"].as_str());
    let is_verdict = |verdict: &&str| matches!(*verdict, "pass" | "fail");
    let verdict = verdict.filter(is_verdict).unwrap_or("not_checked");
    let evidence = match (check, review) {
        (Some(check), _) => check["evidence"].clone(),
        (None, Some(review)) => format!("{} says nothing of it", review.agent).into(),
        (None, None) => "nothing was reviewed".into(),
    };
    json!({
        "criterion": words,
        "verdict": verdict,
        "evidence": evidence,
        "by": review.map(|review| &review.agent),
    })
}

/// A criterion in words.
fn words(criterion: &Value) -> String {
    match criterion {
        Value::String(words) => words.clone(),
        other => match other["text"].as_str() {
            Some(words) => words.to_owned(),
            None => other.to_string(),
        },
    }
}

/// How a run ended, beside what was made.
pub(super) struct Closing<'a> {
    /// What was done, in the model's words.
    pub(super) summary: &'a str,
    /// Why the constraints are not met, if they are not.
    pub(super) explanation: Option<&'a str>,
}

/// The bundle.
pub(super) fn bundle(
    result: Value,
    review: Option<&Review>,
    reached: &Reached,
    constraints: &Constraints,
    closing: &Closing<'_>,
) -> Value {
    let is_met = standing(review, constraints) == Standing::Met;
    let mut quality = Map::new();
    quality.insert("score".into(), json!(review.and_then(|r| r.score)));
    quality.insert("threshold".into(), json!(constraints.quality_threshold()));
    quality.insert("met".into(), is_met.into());
    quality.insert("depth".into(), reached.depth.into());
    quality.insert(
        "executionDepth".into(),
        constraints.execution_depth().into(),
    );
    quality.insert("issues".into(), json!(review.map(|r| &r.issues)));
    quality.insert(
        "reviews".into(),
        reached.reviews.iter().map(Review::told).collect(),
    );
    quality.insert("summary".into(), closing.summary.into());
    if let Some(explanation) = closing.explanation {
        quality.insert("explanation".into(), explanation.into());
    }
    json!({
        "result": result,
        "quality": quality,
        "acceptance-report": report(review, constraints),
    })
}
