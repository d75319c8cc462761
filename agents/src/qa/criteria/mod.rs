//! Acceptance criteria. Code decides those that say plainly what is to be counted or found; a model judges the others.
//!
//! A criterion is a text, or `{ id?, text, check?: { kind, value } }`. The kinds of check:
//!
//! | kind | value | holds where |
//! |---|---|---|
//! | `contains`, `not_contains` | text | it is in the draft as whole words, or is not there, with other endings either (case, white space and the form of characters make no difference) |
//! | `contains_any`, `contains_all` | list of texts | one is, or all are, in the draft |
//! | `starts_with`, `ends_with` | text | the draft begins or ends so |
//! | `matches`, `not_matches` | regular expression (RE2 syntax, at most 1,000 characters) | it is, or is not, found in the draft |
//! | `max_X`, `min_X` | number | the draft has at most, or at least, so many X, which is anything in [`Measured`](super::Measured): `max_characters` |
//! | `max_lix` | number | the draft is that easy to read |
//!
//! Texts that say the same are understood where they have exactly one of the forms of [`forms`].

mod criterion;
mod forms;
mod test;

use serde_json::json;

use super::check::{Check, Issue, Verdict};
use crate::text::{folded::excerpt, parsed::Text, phrases::Phrases};
pub(super) use criterion::Criterion;
use test::{Finding, Test, all_hold};

/// Weight of all criteria together.
const WEIGHT: f64 = 3.0;

/// Finding of code on a criterion in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Computed {
    /// True if the text meets it; nothing where that could not be told.
    pub holds: Option<bool>,
    /// The evidence, in words; the text is called the draft.
    pub evidence: String,
}

/// Tells whether a text meets a criterion in words, such as `at most 280 characters` or `must not contain "cheap"`. Nothing for words that have
/// not exactly one of the forms in `docs/QA.md`: only a model can judge those.
pub fn computed(criterion: &str, text: &str) -> Option<Computed> {
    let tests = forms::read(criterion)?;
    let text = Text::new(text);
    let phrases = Phrases::new(&text, None);
    let decided = tests.iter().map(|test| test.decide(&text, &phrases));
    let found: Vec<Finding> = decided.collect();
    Some(Computed {
        holds: all_hold(&found),
        evidence: evidence(&found),
    })
}

fn evidence(found: &[Finding]) -> String {
    let evidence: Vec<&str> = found.iter().map(|f| f.evidence.as_str()).collect();
    evidence.join("; ")
}

/// One check for each criterion.
pub(super) fn checks(text: &Text, phrases: &Phrases<'_>, criteria: &[Criterion]) -> Vec<Check> {
    let weight = WEIGHT / criteria.len().max(1) as f64;
    let check = |(n, criterion): (usize, &Criterion)| {
        let id = criterion.id.clone();
        let id = id.unwrap_or_else(|| format!("criterion.{}", n + 1));
        let mut check = Check::new(
            id,
            format!("Criterion: {}", excerpt(&criterion.text)),
            weight,
        )
        .hard()
        .rule();
        check.criterion = Some(criterion.text.clone());
        let asked = |check: Check| {
            let question = format!("Does the draft meet this criterion? {}", criterion.text);
            check.ask("criterion", question)
        };
        let tests = match &criterion.test {
            Ok(tests) => tests,
            Err(Some(why)) => return asked(check).not_checked(why.clone()),
            Err(None) => return asked(check),
        };
        let open = check.clone();
        let mut decided = decide(check, text, phrases, tests);
        let Some(by) = &criterion.by else {
            return decided;
        };
        decided.evidence = format!(
            "{}, which is not the whole sentence: {}",
            excerpt(by),
            decided.evidence
        );
        // A check that fails decides. One that holds leaves the words to a model.
        match decided.verdict {
            Verdict::Pass => asked(open.not_checked(decided.evidence)),
            Verdict::Fail | Verdict::NotChecked => decided,
        }
    };
    criteria.iter().enumerate().map(check).collect()
}

/// All tests have to hold; the first that does not tells what to do. Where that depends on how the draft is read, a model is asked.
fn decide(check: Check, text: &Text, phrases: &Phrases<'_>, tests: &[Test]) -> Check {
    let decided = tests.iter().map(|test| test.decide(text, phrases));
    let found: Vec<Finding> = decided.collect();
    let evidence = evidence(&found);
    let failed = match all_hold(&found) {
        Some(true) => return check.pass(evidence),
        Some(false) => found.iter().find(|found| found.holds == Some(false)),
        None => None,
    };
    let Some(failed) = failed else {
        let criterion = check.criterion.clone().unwrap_or_default();
        let question = format!("Does the draft meet this criterion? {criterion}");
        return check.not_checked(evidence).ask("criterion", question);
    };
    let criterion = json!(check.criterion);
    let wrong = format!("the draft does not meet {criterion} ({})", failed.evidence);
    let issue = match &failed.fix {
        Some(fix) => Issue::new("criterion", wrong, fix.clone()),
        None => Issue::advice("criterion", wrong, "change it so that it does"),
    };
    check.fail(evidence, issue)
}

#[cfg(test)]
mod tests;
