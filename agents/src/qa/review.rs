//! A review: everything that code can tell at once, what a model adds, and what it comes to.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::{
    brand,
    check::{Check, Issue, Verdict},
    clarity, criteria, judge,
    knobs::{self, Knob, Readings},
    language, must_include, objective,
    payload::Payload,
    platform_rules, profile, readability, scoring, writer_brief,
};
use crate::text::{folded::excerpt, language::Language, parsed::Text, phrases::Phrases};

/// The most fields of a draft that are told of one by one.
const MOST_UNREAD: usize = 20;

/// A draft with its checks. The same payload and the same judgement give the same review.
#[derive(Debug)]
pub(super) struct Review {
    payload: Payload,
    text: Text,
    /// All but the one of the knobs.
    checks: Vec<Check>,
    readings: Readings,
}

impl Review {
    /// A review, as far as code can tell.
    pub(super) fn new(payload: Payload) -> Self {
        let text = Text::new(&payload.draft);
        let known = Language::named(&payload.language).or_else(|| crate::text::language::of(&text));
        let phrases = Phrases::new(&text, known);
        let mut checks = vec![something(&text), readability::check(&text, payload.max_lix)];
        checks.extend(
            payload
                .unread
                .iter()
                .take(MOST_UNREAD)
                .map(|field| unread(field)),
        );
        checks.extend(clarity::checks(&text));
        checks.push(objective::check(&text, &payload.objective, known));
        if !payload.language.is_empty() {
            checks.push(language::check(&text, &payload.language));
        }
        checks.extend(must_include::checks(&text, &phrases, &payload.must_include));
        checks.extend(platform_rules::checks(&text, &payload.platform_rules));
        checks.extend(brand::checks(&text, &phrases, &payload.brand_rules));
        checks.extend(profile::check(&payload.client_profile));
        checks.extend(profile::readers(&payload.audience, &payload.platform));
        checks.extend(objective::beside(&payload.asked_for));
        checks.extend(writer_brief::checks(&payload.brief));
        checks.extend(criteria::checks(&text, &phrases, &payload.criteria));
        name_apart(&mut checks);
        let readings = knobs::readings(&text, &payload.knobs);
        Self {
            payload,
            text,
            checks,
            readings,
        }
    }

    /// The part that is left for a model: the questions, and the knobs to estimate.
    pub(super) fn questions(&self) -> Value {
        let asked = self.checks.iter().filter_map(|check| {
            let question = check.question.as_ref()?;
            Some(json!({ "id": check.id, "question": question.text }))
        });
        json!({ "questions": asked.collect::<Vec<_>>(), "knobs": self.unread().map(judge::knob).collect::<Vec<_>>() })
    }

    /// The findings of code, for a model to know.
    pub(super) fn measured(&self) -> Value {
        let made = self
            .checks
            .iter()
            .filter(|c| c.verdict != Verdict::NotChecked);
        let shown = made.map(
            |c| json!({ "name": c.name, "verdict": c.verdict.as_str(), "evidence": c.evidence }),
        );
        shown.collect()
    }

    fn unread(&self) -> impl Iterator<Item = &Knob> {
        let knobs = self.payload.knobs.iter();
        knobs.filter(|knob| !self.readings.contains_key(&knob.name))
    }

    /// Takes a model's verdicts in. What code has decided stays.
    ///
    /// # Errors
    ///
    /// The reason why the answer cannot be used, in words for the model.
    pub(super) fn judge(&mut self, answer: Value) -> Result<(), String> {
        let answer = judge::Answer::read(answer)?;
        let open = self.checks.iter_mut().filter(|c| c.question.is_some());
        answer.decide(open, &self.text)?;
        let told: Vec<_> = self
            .unread()
            .filter_map(|knob| answer.reading(knob, &self.text))
            .collect();
        self.readings.extend(told);
        Ok(())
    }

    /// Check of the draft's distance from its knobs. It is kept only as far as every knob that is set was measured.
    fn knobs(&self) -> Option<Check> {
        let Payload {
            knobs,
            claimed,
            max_knob_distance: most,
            ..
        } = &self.payload;
        let named = match self.payload.knobs_to_keep {
            Some(named) => named,
            None if knobs.is_empty() => return None,
            None => knobs.len(),
        };
        let check = knobs::check(knobs, &self.readings, claimed, *most).rule();
        let measured = self.readings.len();
        if check.verdict == Verdict::Fail || (measured == named && named > 0) {
            return Some(check);
        }
        let was = if measured == 1 { "was" } else { "were" };
        let why = format!("{measured} of {named} knobs {was} measured");
        let why = match check.evidence.as_str() {
            "" => why,
            evidence => format!("{why}: {evidence}"),
        };
        let unscored = Check {
            score: None,
            ..check
        };
        Some(unscored.not_checked(why))
    }

    /// The review in the form of its contract.
    pub(super) fn output(&self) -> Value {
        let mut checks = self.checks.clone();
        checks.extend(self.knobs());
        let threshold = self.payload.quality_threshold;
        let outcome = scoring::outcome(&checks, threshold);
        let of = |hard: bool| {
            let failed = checks
                .iter()
                .filter(move |c| c.hard == hard && c.verdict == Verdict::Fail);
            failed.filter_map(|c| c.issue.as_ref())
        };
        let issues: Vec<String> = of(true).chain(of(false)).map(Issue::sentence).collect();
        json!({ "qa": {
            "pass": outcome.pass,
            "score": outcome.score,
            "qualityThreshold": threshold,
            "issues": issues,
            "checks": checks.iter().map(Check::to_json).collect::<Vec<_>>(),
        } })
    }
}

/// The check of a field of the draft that nobody reads. Who gives it wants it reviewed as well.
fn unread(field: &str) -> Check {
    let name = format!("Field {} of the draft", excerpt(field));
    let why = "nobody reads it: of a draft, `text` is reviewed";
    Check::new(format!("draft.{field}"), name, 0.5)
        .rule()
        .not_checked(why)
}

/// Tells whether there is a draft at all.
fn something(text: &Text) -> Check {
    let check = Check::new(scoring::EXISTENCE, "There is a draft", 0.5).hard();
    match text.folded.as_str().is_empty() {
        false => check.pass("it has text"),
        true => {
            let issue = Issue::advice("empty", "the draft is empty", "write it");
            check.fail("nothing of it can be seen", issue)
        }
    }
}

/// Gives checks whose id is taken another one.
fn name_apart(checks: &mut [Check]) {
    let mut taken = HashSet::new();
    for check in checks {
        let given = check.id.clone();
        let mut n = 1;
        while !taken.insert(check.id.clone()) {
            n += 1;
            check.id = format!("{given}#{n}");
        }
    }
}
