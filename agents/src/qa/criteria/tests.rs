//! Criteria as a payload has them, and their checks.

use serde_json::Value;

use super::{super::fix::Fix, *};
use crate::text::measured::Measured;

fn check(draft: &str, criterion: Value) -> Check {
    let criterion = Criterion::read(&criterion).expect("it is right");
    let criterion = criterion.expect("a criterion");
    let text = Text::new(draft);
    checks(&text, &Phrases::new(&text, None), &[criterion]).remove(0)
}

#[test]
fn a_check_under_words_that_it_does_not_test_can_only_fail_them() {
    let seeds = json!({"text": "It rhymes", "check": {"kind": "contains", "value": "seed"}});
    let check = check("The seed library opens", seeds.clone());
    assert_eq!(check.verdict, Verdict::NotChecked);
    let named = "check contains \"seed\", which is not the whole sentence: ";
    assert!(check.evidence.starts_with(named), "{}", check.evidence);
    let question = check.question.expect("the words are for a model");
    assert!(question.text.ends_with("It rhymes"), "{}", question.text);
    assert_eq!(self::check("The library", seeds).verdict, Verdict::Fail);
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
        found("between 5 and 7 characters long"),
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
