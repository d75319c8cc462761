//! Was it reached, and what comes of it? The constraints, the acceptance report, and the bundle `{ result, quality, acceptance-report }`.

use std::collections::BTreeSet;

use agenthub_sdk::runs::plan::references;
use serde_json::{Map, Value, json};

use super::{
    kept::{Reached, Review, WorkState, is_rule, is_verdict},
    rules::GENERATION,
};
use crate::brief::Constraints;

/// The checks of reviews that a bundle has, in bytes of JSON.
const MAX_CHECKS: usize = 256 * 1024;

/// Whether the constraints are met.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Standing {
    /// They are.
    Met,
    /// They are as far as anybody judged them: how many criteria are met, and which criteria and rules nobody checked.
    Unchecked(String),
    /// They are not: why, in words that a plan can be made from.
    Unmet(String),
    /// Nothing says so.
    NotReviewed,
}

/// What reviewers said of a result.
#[derive(Debug, Default)]
pub(super) struct Verdicts<'a> {
    /// For each thing that was made the latest review of it.
    pub(super) reviews: Vec<&'a Review>,
    /// Whether all of it was reviewed.
    pub(super) is_whole: bool,
}

impl<'a> Verdicts<'a> {
    /// Those of a result that consists of these references. What only went into something that was reviewed needs no review of its own.
    pub(super) fn of(reached: &'a Reached, result: &Value) -> Self {
        let is_made = |step: &String| {
            let work = reached.steps.get(step);
            work.is_some_and(|work| work.phase == GENERATION && work.state == WorkState::Completed)
        };
        let made: BTreeSet<String> = steps_in(result).filter(is_made).collect();
        let latest = |step: &String| reached.reviews.iter().rev().find(|r| r.of.contains(step));
        let mut reviews: Vec<&Review> = Vec::new();
        let mut covered = BTreeSet::new();
        for step in &made {
            if let Some(review) = latest(step) {
                if !reviews.iter().any(|known| known.step == review.step) {
                    reviews.push(review);
                }
                cover(reached, step, &mut covered);
            }
        }
        // Where no specialist made anything, what was reviewed is not known by a step.
        if made.is_empty() {
            return Self::alone(reached.reviews.last().filter(|r| r.of.is_empty()));
        }
        Self {
            is_whole: !reviews.is_empty() && made.is_subset(&covered),
            reviews,
        }
    }

    /// That of one review alone.
    pub(super) fn alone(review: Option<&'a Review>) -> Self {
        Self {
            is_whole: review.is_some(),
            reviews: review.into_iter().collect(),
        }
    }

    /// The least score.
    pub(super) fn score(&self) -> Option<f64> {
        let scores: Option<Vec<f64>> = self.reviews.iter().map(|review| review.score).collect();
        scores?.into_iter().reduce(f64::min)
    }

    /// How what was made stands against the constraints.
    pub(super) fn standing(&self, constraints: &Constraints) -> Standing {
        if !self.is_whole {
            return Standing::NotReviewed;
        }
        let threshold = constraints.quality_threshold();
        let low = self
            .reviews
            .iter()
            .find(|r| r.score.is_some_and(|score| score < threshold));
        if let Some((review, score)) = low.and_then(|review| Some((review, review.score?))) {
            let step = &review.step;
            return Standing::Unmet(format!(
                "the score {score:.2} of {step} is below {threshold}"
            ));
        }
        let report = self.report(constraints);
        let failed = report.iter().filter(|line| line["verdict"] == "fail");
        let failed = failed.filter_map(|line| line["criterion"].as_str());
        let failed: Vec<String> = failed.map(|c| format!("`{c}` is not fulfilled")).collect();
        if !failed.is_empty() {
            return Standing::Unmet(failed.join("; "));
        }
        if let Some(untold) = self.reviews.iter().find(|review| !review.knew_criteria) {
            let step = &untold.step;
            return Standing::Unmet(format!("{step} was not given the acceptance criteria"));
        }
        for review in &self.reviews {
            match review {
                Review {
                    pass: false, agent, ..
                } if !review.is_open() => {
                    return Standing::Unmet(format!("{agent} did not let it pass"));
                }
                Review {
                    score: None, step, ..
                } => {
                    return Standing::Unmet(format!("{step} gave no score"));
                }
                _ => {}
            }
        }
        match unchecked(&report, &self.unchecked(&report)) {
            None => Standing::Met,
            Some(why) => Standing::Unchecked(why),
        }
    }

    /// The names of the rules and criteria that the request sets, other than the criteria of the report, and that no reviewer gave a
    /// verdict on.
    fn unchecked(&self, report: &[Value]) -> Vec<String> {
        let is_reported = |check: &Value| {
            let criterion = check["criterion"].as_str();
            let mut lines = report.iter().filter_map(|line| line["criterion"].as_str());
            criterion.is_some_and(|criterion| lines.any(|line| same(line, criterion)))
        };
        let is_asked = |check: &&Value| is_rule(check) || check["criterion"].is_string();
        let mut names: Vec<String> = Vec::new();
        let checks = self.reviews.iter().flat_map(|review| &review.checks);
        let checks = checks.filter(|check| is_asked(check) && !is_reported(check));
        for check in checks.filter(|check| !is_verdict(check)) {
            let mut known = ["name", "criterion", "id"].into_iter();
            let name = known.find_map(|field| check[field].as_str());
            let name = name.filter(|name| !names.iter().any(|known| known == name));
            names.extend(name.map(str::to_owned));
        }
        names
    }

    /// The names of what no reviewer gave a verdict on: criteria, and other checks.
    fn not_judged(&self, report: &[Value]) -> Vec<String> {
        let name = |line: &Value, field: &str| line[field].as_str().map(str::to_owned);
        let is_open = |line: &&Value| !is_verdict(line);
        let criteria = report.iter().filter(is_open);
        let mut names: Vec<String> = criteria.filter_map(|c| name(c, "criterion")).collect();
        let checks = self.reviews.iter().flat_map(|review| &review.checks);
        let others = checks.filter(|check| check["criterion"].is_null() && check.is_object());
        for check in others.filter(is_open) {
            let name = name(check, "name").or_else(|| name(check, "id"));
            names.extend(name.filter(|name| !names.contains(name)));
        }
        names
    }

    /// Each criterion with its verdict and the evidence: it fails where any review says so, and passes where all that speak of it do.
    pub(super) fn report(&self, constraints: &Constraints) -> Vec<Value> {
        let criteria = constraints.acceptance_criteria.iter();
        criteria
            .map(|criterion| self.line(&words(criterion)))
            .collect()
    }

    fn line(&self, criterion: &str) -> Value {
        let is_it = |check: &&Value| {
            check["criterion"]
                .as_str()
                .is_some_and(|c| same(c, criterion))
        };
        // A criterion that stands there twice holds only if both do.
        let said = self.reviews.iter().flat_map(|review| {
            let checks = review.checks.iter().filter(is_it);
            checks.filter_map(|check| Some((check["verdict"].as_str()?, check, *review)))
        });
        let said: Vec<(&str, &Value, &Review)> = said.collect();
        let of = |verdict: &str| said.iter().find(|(said, ..)| *said == verdict);
        let open = || said.iter().find(|(_, check, _)| !is_verdict(check));
        let found = of("fail").or_else(open).or_else(|| said.first());
        let (verdict, evidence, by) = match (found, self.reviews.first()) {
            (Some((verdict @ ("pass" | "fail"), check, review)), _) => {
                (*verdict, check["evidence"].clone(), Some(&review.agent))
            }
            (Some((_, check, review)), _) => (
                "not_checked",
                check["evidence"].clone(),
                Some(&review.agent),
            ),
            (None, Some(review)) => {
                let why = format!("{} says nothing of it", review.agent);
                ("not_checked", why.into(), Some(&review.agent))
            }
            (None, None) => ("not_checked", "nothing was reviewed".into(), None),
        };
        json!({"criterion": criterion, "verdict": verdict, "evidence": evidence, "by": by})
    }
}

/// How many criteria are met, and which criteria and rules nobody checked; `None` where all were checked.
fn unchecked(report: &[Value], rules: &[String]) -> Option<String> {
    let open = report.iter().filter(|line| !is_verdict(line));
    let open: Vec<String> = open
        .filter_map(|line| Some(format!("`{}`", line["criterion"].as_str()?)))
        .collect();
    let met = report.iter().filter(|line| line["verdict"] == "pass");
    let met = met.count();
    let are = if met == 1 { "is" } else { "are" };
    let mut parts = Vec::new();
    if !report.is_empty() {
        parts.push(format!("{met} of {} criteria {are} met", report.len()));
    }
    if !open.is_empty() {
        parts.push(format!("nobody checked {}", open.join(", ")));
    }
    if !rules.is_empty() {
        let named: Vec<String> = rules.iter().map(|rule| format!("`{rule}`")).collect();
        let s = if rules.len() == 1 { "" } else { "s" };
        parts.push(format!(
            "nobody checked {} rule{s}: {}",
            rules.len(),
            named.join(", ")
        ));
    }
    (!open.is_empty() || !rules.is_empty()).then(|| parts.join("; "))
}

/// Adds a step, and all that went into it.
fn cover(reached: &Reached, step: &str, covered: &mut BTreeSet<String>) {
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

/// Whether two texts are the same but for the space between words.
fn same(a: &str, b: &str) -> bool {
    a.split_whitespace().eq(b.split_whitespace())
}

/// The steps whose outputs a value refers to.
pub(super) fn steps_in(value: &Value) -> impl Iterator<Item = String> + '_ {
    references(value).filter_map(|reference| reference.step().map(|step| step.as_str().to_owned()))
}

/// The review of the same thing in another round that has a better verdict, if there is one. One round is known to follow another by what
/// was made before being among what it was made from.
pub(super) fn best<'a>(reached: &'a Reached, than: &Review) -> Option<&'a Review> {
    let rank = |review: &Review| {
        let pass = f64::from(u8::from(review.pass));
        2.0 * pass + review.score.unwrap_or(0.0)
    };
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

/// The criteria as all who judge them know them: each has a text, without space around it.
pub(super) fn named(criteria: &[Value]) -> Vec<Value> {
    let named = criteria
        .iter()
        .zip(1..)
        .map(|(criterion, number)| match criterion {
            Value::String(text) => text.trim().into(),
            Value::Object(fields) => {
                let mut fields = fields.clone();
                let text = fields.get("text").and_then(Value::as_str).map(str::trim);
                let text = text.filter(|text| !text.is_empty()).map(str::to_owned);
                let check = fields.get("check").unwrap_or(&Value::Null);
                let checked = check["kind"]
                    .as_str()
                    .map(|kind| format!("check {kind} {}", check["value"]));
                let text = text.or(checked);
                let text = text.unwrap_or_else(|| format!("criterion {number}"));
                fields.insert("text".into(), text.into());
                fields.into()
            }
            other => other.clone(),
        });
    named.collect()
}

/// Whether all of the criteria stand in what a reviewer was given.
pub(super) fn knows(given: &Value, criteria: &[Value]) -> bool {
    fn stands_in(value: &Value, text: &str) -> bool {
        match value {
            Value::String(found) => same(found, text),
            Value::Array(items) => items.iter().any(|item| stands_in(item, text)),
            Value::Object(fields) => fields.values().any(|field| stands_in(field, text)),
            _ => false,
        }
    }
    criteria
        .iter()
        .all(|criterion| stands_in(given, &words(criterion)))
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
    /// Whether what was to be made in the end was made.
    pub(super) is_made: bool,
    /// What of the payload nobody takes.
    pub(super) not_taken: Vec<String>,
}

/// The bundle.
pub(super) fn bundle(
    result: Value,
    verdicts: &Verdicts<'_>,
    reached: &Reached,
    constraints: &Constraints,
    closing: &Closing<'_>,
) -> Value {
    let is_met = verdicts.standing(constraints) == Standing::Met;
    let report = verdicts.report(constraints);
    let issues = verdicts.reviews.iter().flat_map(|review| &review.issues);
    let mut quality = Map::new();
    let mut put = |name: &str, value: Value| quality.insert(name.to_owned(), value);
    put("score", json!(verdicts.score()));
    put("threshold", json!(constraints.quality_threshold()));
    put("met", is_met.into());
    put("made", closing.is_made.into());
    put("unchecked", verdicts.unchecked(&report).into());
    put("notTaken", closing.not_taken.clone().into());
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
        "acceptance-report": report,
    })
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

/// Who made or reviewed something as a stand-in for a model, and in which phase.
fn stand_ins(reached: &Reached) -> Value {
    let works = reached.steps.values();
    let works = works.filter(|work| work.state == WorkState::Completed && work.is_stand_in);
    let named: BTreeSet<(&str, &str)> = works.map(|w| (&*w.phase, &*w.agent)).collect();
    let named = named.into_iter();
    named
        .map(|(phase, agent)| json!({"agent": agent, "phase": phase}))
        .collect()
}
