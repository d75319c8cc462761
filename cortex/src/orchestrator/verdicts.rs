//! Are the constraints met, by what reviewers said?

use std::collections::BTreeSet;

use agenthub_sdk::runs::share;
use serde_json::{Value, json};

use super::{
    criteria::{same, words},
    kept::{Reached, Review, WorkState, is_rule, is_verdict},
    rounds::{cover, latest, origins, steps_in},
    rules::{GENERATION, QA},
};
use crate::brief::Constraints;

/// A run without any review.
pub(super) const NOTHING_REVIEWED: &str = "nothing was reviewed";

/// Standing of a result against the constraints.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Standing {
    /// All constraints are met.
    Met,
    /// Met as far as anybody judged them: how many criteria are met, and which criteria and rules nobody checked.
    Unchecked(String),
    /// Some are not met: why, in words that a plan can be made from.
    Unmet(String),
    /// No review says so: what of it no review is of.
    NotReviewed(String),
}

/// Reviewers' findings on a result.
#[derive(Debug)]
pub(crate) struct Verdicts<'a> {
    /// For each thing that was made the latest review of it.
    pub(super) reviews: Vec<&'a Review>,
    /// The parts that no review is of, in words.
    pub(super) gap: Option<String>,
    /// The steps that made these parts.
    pub(super) open: BTreeSet<String>,
}

impl<'a> Verdicts<'a> {
    /// Verdicts on a result that consists of these references. What only went into something that was reviewed needs no review of its own.
    pub(super) fn of(reached: &'a Reached, result: &Value) -> Self {
        let is_made = |step: &String| {
            let work = reached.steps.get(step);
            work.is_some_and(|work| work.phase == GENERATION && work.state == WorkState::Completed)
        };
        let made: BTreeSet<String> = steps_in(result).filter(is_made).collect();
        let mut reviews: Vec<&Review> = Vec::new();
        let mut covered = BTreeSet::new();
        for step in &made {
            if let Some(review) = latest(reached, step) {
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
        let open: BTreeSet<String> = made.difference(&covered).cloned().collect();
        let gap = (!open.is_empty()).then(|| not_reviewed(reached, &open));
        Self { reviews, gap, open }
    }

    /// The verdict of one review alone.
    pub(crate) fn alone(review: Option<&'a Review>) -> Self {
        Self {
            gap: review.is_none().then(|| NOTHING_REVIEWED.to_owned()),
            reviews: review.into_iter().collect(),
            open: BTreeSet::new(),
        }
    }

    /// The least score.
    pub(super) fn score(&self) -> Option<f64> {
        let scores: Option<Vec<f64>> = self.reviews.iter().map(|review| review.score).collect();
        scores?.into_iter().reduce(f64::min)
    }

    /// The standing by these reviews.
    pub(crate) fn standing(&self, constraints: &Constraints) -> Standing {
        if let Some(gap) = &self.gap {
            return Standing::NotReviewed(gap.clone());
        }
        let threshold = constraints.quality_threshold();
        let low = self
            .reviews
            .iter()
            .find(|r| r.score.is_some_and(|score| score < threshold));
        if let Some((review, score)) = low.and_then(|review| Some((review, review.score?))) {
            let step = &review.step;
            return Standing::Unmet(format!(
                "the score {} of {step} is below {threshold}",
                share::score(score, threshold)
            ));
        }
        let report = self.report(constraints);
        let failed = report.iter().filter(|line| line["verdict"] == "fail");
        let failed = failed.filter_map(|line| line["criterion"].as_str());
        let failed: Vec<String> = failed.map(|c| format!("`{c}` is not fulfilled")).collect();
        let rules = self.not_kept(&report);
        let rules = rules
            .iter()
            .map(|rule| format!("the rule `{rule}` is not kept"));
        let failed: Vec<String> = failed.into_iter().chain(rules).collect();
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

    /// The names of the rules that nobody checked.
    pub(super) fn unchecked(&self, report: &[Value]) -> Vec<String> {
        self.rules(report, |check| !is_verdict(check))
    }

    /// The names of the rules that are not kept, whether or not a reviewer lets the result pass all the same.
    pub(super) fn not_kept(&self, report: &[Value]) -> Vec<String> {
        self.rules(report, |check| check["verdict"] == "fail")
    }

    /// The names of the rules and criteria that the request sets, other than the criteria of the report, and whose checks are such.
    fn rules(&self, report: &[Value], is_such: impl Fn(&Value) -> bool) -> Vec<String> {
        let is_reported = |check: &Value| {
            let criterion = check["criterion"].as_str();
            let mut lines = report.iter().filter_map(|line| line["criterion"].as_str());
            criterion.is_some_and(|criterion| lines.any(|line| same(line, criterion)))
        };
        let is_asked = |check: &&Value| is_rule(check) || check["criterion"].is_string();
        let mut names: Vec<String> = Vec::new();
        let checks = self.reviews.iter().flat_map(|review| &review.checks);
        let checks = checks.filter(|check| is_asked(check) && !is_reported(check));
        for check in checks.filter(|check| is_such(check)) {
            let mut known = ["name", "criterion", "id"].into_iter();
            let name = known.find_map(|field| check[field].as_str());
            let name = name.unwrap_or("a rule without a name");
            if !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
        names
    }

    /// The names of what no reviewer gave a verdict on: criteria, and other checks.
    pub(super) fn not_judged(&self, report: &[Value]) -> Vec<String> {
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
            (None, None) => ("not_checked", "there is no review of it".into(), None),
        };
        json!({"criterion": criterion, "verdict": verdict, "evidence": evidence, "by": by})
    }
}

/// Gap in the reviews of these steps' results, with the names of the reviews that came to nothing.
fn not_reviewed(reached: &Reached, open: &BTreeSet<String>) -> String {
    let is_nothing = reached.reviews.is_empty();
    let reviews = reached.steps.iter().filter(|(step, work)| {
        let has_failed = matches!(work.state, WorkState::Failed | WorkState::Skipped);
        let is_of_these = is_nothing || !origins(reached, step).is_disjoint(open);
        work.phase == QA && has_failed && is_of_these
    });
    let failed: Vec<String> = reviews
        .map(|(step, work)| format!("{step} came to nothing: {}", work.error))
        .collect();
    let open: Vec<&str> = open.iter().map(String::as_str).collect();
    let why = match is_nothing {
        true => NOTHING_REVIEWED.to_owned(),
        false => format!("the output of {} was not reviewed", open.join(" and ")),
    };
    match failed.is_empty() {
        true => why,
        false => format!("{why}, as {}", failed.join("; ")),
    }
}

/// Number of criteria that are met, and the criteria and rules that nobody checked; `None` where all were checked.
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
