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

mod forms;
mod test;

use serde_json::{Map, Value, json};

use super::{
    check::{Check, Issue},
    folded::{Folded, excerpt},
    phrases::Phrases,
    text::Text,
};
use test::Test;

/// What all criteria count together.
const WEIGHT: f64 = 3.0;

/// An acceptance criterion.
#[derive(Clone, Debug)]
pub(super) struct Criterion {
    pub(super) id: Option<String>,
    /// The criterion, word for word.
    pub(super) text: String,
    /// The check that decides it, where its text says something else.
    by: Option<String>,
    /// How code decides it; else why it cannot, if there is more to say than that it is only words.
    test: Result<Vec<Test>, Option<String>>,
}

impl Criterion {
    /// The criterion that a payload has; `None` where there is none to be seen.
    ///
    /// # Errors
    ///
    /// Why it is none, as the rest of a sentence that begins with its place.
    pub(super) fn read(value: &Value) -> Result<Option<Self>, String> {
        let fields = match value {
            Value::Null => return Ok(None),
            Value::String(text) => return Ok(Self::of_words(text)),
            Value::Object(fields) => fields,
            _ => return Err(" is neither a text nor an object".to_owned()),
        };
        takes("", fields, &["id", "text", "check"])?;
        let text = fields.get("text").and_then(Value::as_str).map(str::trim);
        let text = text.filter(|text| !text.is_empty());
        let check = fields.get("check").filter(|check| !check.is_null());
        if let Some(Value::Object(check)) = check {
            takes(".check", check, &["kind", "value"])?;
            let value = check.get("value").and_then(Value::as_str);
            if value.is_some_and(|value| Folded::new(value).as_str().is_empty()) {
                return Err(".check.value has nothing that can be seen".to_owned());
            }
        }
        let (text, test) = match (text, check) {
            (None, None) => return Err(" has neither a `text` nor a `check`".to_owned()),
            (Some(text), None) => return Ok(Self::of_words(text).map(|c| c.called(fields))),
            (None, Some(check)) => (named(check), Test::read(check)),
            (Some(text), Some(check)) => {
                let test = Test::read(check).and_then(|test| agreeing(text, check, test));
                (text.to_owned(), test)
            }
        };
        let by = check.map(named);
        let by = by.filter(|by| *by != text && forms::read(&text).is_none());
        let test = test.map(|test| vec![test]).map_err(Some);
        let criterion = Self {
            id: None,
            text,
            by,
            test,
        };
        Ok(Some(criterion.called(fields)))
    }

    fn of_words(text: &str) -> Option<Self> {
        let text = text.trim().to_owned();
        let test = forms::read(&text).ok_or(None);
        (!text.is_empty()).then_some(Self {
            id: None,
            text,
            by: None,
            test,
        })
    }

    fn called(self, fields: &Map<String, Value>) -> Self {
        let id = fields.get("id").and_then(Value::as_str);
        let id = id.filter(|id| !id.is_empty()).map(str::to_owned);
        Self { id, ..self }
    }
}

/// A check in words: `check contains "seed"`.
fn named(check: &Value) -> String {
    let kind = check["kind"].as_str().unwrap_or_default();
    format!("check {kind} {}", check["value"])
}

/// # Errors
///
/// A field that nobody reads.
fn takes(at: &str, fields: &Map<String, Value>, known: &[&str]) -> Result<(), String> {
    let mut fields = fields.keys();
    let Some(unknown) = fields.find(|field| !known.contains(&field.as_str())) else {
        return Ok(());
    };
    let known: Vec<String> = known.iter().map(|field| format!("`{field}`")).collect();
    let unknown = excerpt(unknown);
    Err(format!(
        "{at} has no field `{unknown}`; it takes {}",
        known.join(", ")
    ))
}

/// A check, unless its text has a form and says something else.
///
/// # Errors
///
/// That it does.
fn agreeing(text: &str, check: &Value, test: Test) -> Result<Test, String> {
    match forms::read(text) {
        Some(said) if format!("{said:?}") != format!("{:?}", [&test]) => Err(format!(
            "the text and the check contradict each other ({} and {}): make them say the same, or leave the check out",
            json!(excerpt(text)),
            excerpt(&check.to_string())
        )),
        _ => Ok(test),
    }
}

/// What code found of a criterion in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Computed {
    /// Whether the text meets it; nothing where that could not be told.
    pub holds: Option<bool>,
    /// What was counted or found, in words; the text is called the draft.
    pub evidence: String,
}

/// Whether a text meets a criterion in words, such as `at most 280 characters` or `must not contain "cheap"`. Nothing for words that have
/// not exactly one of the forms in `docs/QA.md`: only a model can judge those.
pub fn computed(criterion: &str, text: &str) -> Option<Computed> {
    let tests = forms::read(criterion)?;
    let text = Text::new(text);
    let phrases = Phrases::new(&text, None);
    let found: Vec<_> = tests
        .iter()
        .map(|test| test.decide(&text, &phrases))
        .collect();
    let evidence: Vec<&str> = found.iter().map(|f| f.evidence.as_str()).collect();
    let is_known = found.iter().all(|f| f.holds.is_some());
    Some(Computed {
        holds: is_known.then(|| found.iter().all(|f| f.holds == Some(true))),
        evidence: evidence.join("; "),
    })
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
        let tests = match &criterion.test {
            Ok(tests) => tests,
            Err(why) => {
                let check = check.ask(
                    "criterion",
                    format!("Does the draft meet this criterion? {}", criterion.text),
                );
                return match why {
                    Some(why) => check.not_checked(why.clone()),
                    None => check,
                };
            }
        };
        let mut check = decide(check, text, phrases, tests);
        if let Some(by) = &criterion.by {
            check.evidence = format!(
                "{}, which is not the whole sentence: {}",
                excerpt(by),
                check.evidence
            );
        }
        check
    };
    criteria.iter().enumerate().map(check).collect()
}

/// All tests have to hold; the first that does not tells what to do.
fn decide(check: Check, text: &Text, phrases: &Phrases<'_>, tests: &[Test]) -> Check {
    let outcomes: Vec<_> = tests
        .iter()
        .map(|test| test.decide(text, phrases))
        .collect();
    let evidence: Vec<&str> = outcomes.iter().map(|o| o.evidence.as_str()).collect();
    let evidence = evidence.join("; ");
    if outcomes.iter().any(|o| o.holds.is_none()) {
        return check.not_checked(evidence);
    }
    let Some(failed) = outcomes.iter().find(|o| o.holds == Some(false)) else {
        return check.pass(evidence);
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
mod tests {
    use super::{
        super::{check::Verdict, fix::Fix, measured::Measured},
        *,
    };

    fn check(draft: &str, criterion: Value) -> Check {
        let criterion = Criterion::read(&criterion).expect("it is right");
        let criterion = criterion.expect("a criterion");
        let text = Text::new(draft);
        checks(&text, &Phrases::new(&text, None), &[criterion]).remove(0)
    }

    #[test]
    fn a_check_under_words_that_it_does_not_test_is_named() {
        let check = check(
            "The seed library opens",
            json!({"text": "It rhymes", "check": {"kind": "contains", "value": "seed"}}),
        );
        assert_eq!(check.verdict, Verdict::Pass);
        let named = "check contains \"seed\", which is not the whole sentence: ";
        assert!(check.evidence.starts_with(named), "{}", check.evidence);
        let alone = self::check(
            "a seed",
            json!({"check": {"kind": "contains", "value": "seed"}}),
        );
        assert_eq!(alone.criterion.as_deref(), Some("check contains \"seed\""));
        assert!(!alone.evidence.contains("sentence"), "{}", alone.evidence);
    }

    /// spec: ORC-2.1
    #[test]
    fn a_criterion_that_can_be_computed_is_computed() {
        let checked = check("Book now", json!("contains \"book now\""));
        assert_eq!((checked.verdict, checked.hard), (Verdict::Pass, true));
        assert_eq!(checked.criterion.as_deref(), Some("contains \"book now\""));
        assert_eq!(checked.id, "criterion.1");
        let checked = check(
            "Book now",
            json!({"id": "short", "text": "Short enough", "check": {"kind": "max_characters", "value": 5}}),
        );
        assert_eq!((checked.verdict, &*checked.id), (Verdict::Fail, "short"));
        let issue = checked.issue.expect("an issue").sentence();
        assert_eq!(
            issue,
            "criterion: the draft does not meet \"Short enough\" (8 characters, at most 5 allowed); keep to at most 5 characters."
        );
        assert_eq!(
            Fix::read(&issue),
            Some(Fix::AtMost(Measured::Characters, 5))
        );
    }

    /// spec: ORC-2.1
    #[test]
    fn other_words_are_left_to_a_model() {
        let checked = check("Book now", json!({"text": "Sounds inviting"}));
        assert_eq!(checked.verdict, Verdict::NotChecked);
        let question = checked.question.expect("a question");
        assert!(question.text.ends_with("Sounds inviting"));
    }

    /// spec: ORC-2.1
    #[test]
    fn words_can_be_checked_on_their_own() {
        let found = |criterion: &str| {
            let computed = computed(criterion, "Book now")?;
            Some((computed.holds, computed.evidence))
        };
        let told = |holds, evidence: &str| Some((holds, evidence.to_owned()));
        assert_eq!(
            found("between 5 and 7 characters"),
            told(
                Some(false),
                "8 characters, at least 5 wanted; 8 characters, at most 7 allowed"
            )
        );
        assert_eq!(
            found("must mention \"book\""),
            told(Some(true), "line 1: \"Book\"")
        );
        assert_eq!(
            found("LIX at most 40").map(|(holds, _)| holds),
            Some(None),
            "the text is too short to be told"
        );
        assert_eq!(found("sounds inviting"), None);
    }

    #[test]
    fn a_check_that_cannot_be_made_says_why() {
        for (given, why) in [
            (
                json!({"kind": "sparkles", "value": 1}),
                "no program knows the check \"sparkles\"",
            ),
            (
                json!({"kind": "max_words", "value": "two"}),
                "the check \"max_words\" takes a number from 0, not \"two\"",
            ),
            (
                json!({"kind": "contains"}),
                "the check \"contains\" takes a text, not null",
            ),
            (
                json!({"kind": "contains_any", "value": []}),
                "the check \"contains_any\" takes a list of texts, not []",
            ),
            (json!("contains"), "no program knows the check null"),
        ] {
            let checked = check("Book now", json!({"text": "x", "check": given}));
            assert_eq!(
                (checked.verdict, &*checked.evidence),
                (Verdict::NotChecked, why)
            );
        }
        let bad = check(
            "Book now",
            json!({"check": {"kind": "matches", "value": "("}}),
        );
        assert!(
            bad.evidence
                .starts_with("the regular expression cannot be used"),
            "{}",
            bad.evidence
        );
    }

    #[test]
    fn what_is_no_criterion_is_none() {
        for value in [json!(null), json!(""), json!(" ")] {
            assert!(
                Criterion::read(&value).is_ok_and(|none| none.is_none()),
                "{value}"
            );
        }
        for value in [json!(5), json!({}), json!({"id": "x"}), json!([])] {
            assert!(Criterion::read(&value).is_err(), "{value}");
        }
        for kind in [
            "starts_with",
            "ends_with",
            "matches",
            "contains",
            "not_contains",
        ] {
            let value = json!({"check": {"kind": kind, "value": "\u{200b} "}});
            assert!(Criterion::read(&value).is_err(), "{value}");
        }
    }
}
