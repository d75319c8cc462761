//! Tests of a draft by code.

use regex::{Regex, RegexBuilder};
use serde_json::{Value, json};

use super::super::{
    check::{Check, Verdict},
    fix::Fix,
    platform_rules::Rule,
    readability,
};
use crate::fields::MAX_TEXTS;
use crate::text::{
    folded::{Folded, excerpt, line},
    measured::Measured,
    parsed::Text,
    phrases::Phrases,
};

/// Characters of a regular expression.
const LONGEST_PATTERN: usize = 1_000;

/// Bytes that a compiled regular expression may take. Matching takes time in proportion to it and to the draft, whatever the expression is.
const LARGEST_PATTERN: usize = 1 << 17;

/// Something that a draft is tested for.
#[derive(Clone, Debug)]
pub(crate) enum Test {
    /// One of these is in the draft.
    Any(Vec<String>),
    /// All of these are in the draft.
    All(Vec<String>),
    Lacks(String),
    StartsWith(String),
    EndsWith(String),
    Matches(Regex),
    MatchesNot(Regex),
    Counts(Rule),
    Lix(f64),
}

/// Finding of a test.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    /// `None` where it could not be told.
    pub(crate) holds: Option<bool>,
    pub(crate) evidence: String,
    pub(crate) fix: Option<Fix>,
}

impl Test {
    /// The test that a check names.
    ///
    /// # Errors
    ///
    /// The reason why it names none.
    pub(crate) fn read(check: &Value) -> Result<Self, String> {
        let shown = |value: &Value| excerpt(&value.to_string());
        let (kind, value) = (&check["kind"], &check["value"]);
        let name = kind.as_str().unwrap_or_default();
        let wrong = |wanted: &str| {
            format!(
                "the check {} takes {wanted}, not {}",
                shown(kind),
                shown(value)
            )
        };
        let text = || {
            value
                .as_str()
                .map(str::to_owned)
                .ok_or_else(|| wrong("a text"))
        };
        let texts = || {
            let items = value
                .as_array()
                .filter(|items| (1..=MAX_TEXTS).contains(&items.len()));
            let texts = items.and_then(|items| {
                items
                    .iter()
                    .map(|i| i.as_str().map(str::to_owned))
                    .collect()
            });
            texts.ok_or_else(|| wrong("a list of texts"))
        };
        let number = || {
            value
                .as_f64()
                .filter(|n| *n >= 0.0)
                .ok_or_else(|| wrong("a number from 0"))
        };
        Ok(match name {
            "contains" => Self::All(vec![text()?]),
            "not_contains" => Self::Lacks(text()?),
            "contains_any" => Self::Any(texts()?),
            "contains_all" => Self::All(texts()?),
            "starts_with" => Self::StartsWith(text()?),
            "ends_with" => Self::EndsWith(text()?),
            "matches" => Self::Matches(pattern(&text()?)?),
            "not_matches" => Self::MatchesNot(pattern(&text()?)?),
            "max_lix" => Self::Lix(number()?),
            _ => {
                let of = |bound: &str| name.strip_prefix(bound).and_then(Measured::named);
                match (of("max_"), of("min_")) {
                    (Some(what), _) => Self::Counts(Rule::AtMost(what, number()? as u64)),
                    (_, Some(what)) => Self::Counts(Rule::AtLeast(what, number()?.ceil() as u64)),
                    _ => return Err(format!("no program knows the check {}", shown(kind))),
                }
            }
        })
    }

    pub(crate) fn decide(&self, text: &Text, phrases: &Phrases<'_>) -> Finding {
        match self {
            Self::Any(items) => {
                let found = items.iter().map(|item| contained(text, phrases, item));
                let found: Vec<Finding> = found.collect();
                let best = |holds| found.iter().find(|found| found.holds == holds);
                match best(Some(true)).or(best(None)) {
                    Some(best) => best.clone(),
                    None => Finding {
                        holds: Some(false),
                        evidence: "none of them is in the draft".to_owned(),
                        fix: Some(Fix::AppendOneOf(items.clone())),
                    },
                }
            }
            Self::All(items) => {
                let found = items.iter().map(|item| contained(text, phrases, item));
                let found: Vec<Finding> = found.collect();
                let holds = all_hold(&found);
                let worst = found.iter().find(|found| found.holds == holds);
                match (holds, worst) {
                    (Some(true), _) | (_, None) => {
                        let places = found.iter().map(|found| found.evidence.as_str());
                        told(Ok(places.collect::<Vec<_>>().join(", ")))
                    }
                    (_, Some(worst)) => worst.clone(),
                }
            }
            Self::Lacks(item) | Self::StartsWith(item) | Self::EndsWith(item)
                if Folded::new(item).as_str().is_empty() =>
            {
                Finding {
                    holds: None,
                    evidence: "the text has nothing that can be seen".to_owned(),
                    fix: None,
                }
            }
            Self::Lacks(item) => {
                let (is_said, evidence) =
                    phrases.find(text, item).is_said_in(text, phrases.absence());
                Finding {
                    holds: is_said.map(|is_said| !is_said),
                    evidence,
                    fix: (is_said == Some(true)).then(|| Fix::Remove(item.clone())),
                }
            }
            Self::StartsWith(start) => {
                let holds = text.folded.opens_with(&Folded::new(start));
                let start: String = text.raw.trim_start().chars().take(60).collect();
                at_the_edge(holds, format!("it begins {}", json!(excerpt(&start))))
            }
            Self::EndsWith(end) => {
                let holds = text.folded.closes_with(&Folded::new(end));
                let mut end: Vec<char> = text.raw.trim_end().chars().rev().take(60).collect();
                end.reverse();
                let end: String = end.into_iter().collect();
                at_the_edge(holds, format!("it ends {}", json!(excerpt(&end))))
            }
            Self::Matches(pattern) => told_so(pattern.is_match(&text.raw), matched(pattern, text)),
            Self::MatchesNot(pattern) => {
                told_so(!pattern.is_match(&text.raw), matched(pattern, text))
            }
            Self::Counts(rule) => of_check(rule.decide(Check::new("", "", 1.0), text)),
            Self::Lix(most) => of_check(readability::check(text, Some(*most))),
        }
    }
}

/// Tells whether all of them hold, as far as that is known: one that does not is enough.
pub(crate) fn all_hold(found: &[Finding]) -> Option<bool> {
    if found.iter().any(|found| found.holds == Some(false)) {
        return Some(false);
    }
    let is_known = found.iter().all(|found| found.holds.is_some());
    is_known.then_some(true)
}

/// Tells whether a text is in the draft word for word.
fn contained(text: &Text, phrases: &Phrases<'_>, item: &str) -> Finding {
    if Folded::new(item).as_str().is_empty() {
        return Finding {
            holds: None,
            evidence: "the text has nothing that can be seen".to_owned(),
            fix: None,
        };
    }
    let (holds, evidence) = phrases.find(text, item).is_there(text);
    let shown = json!(excerpt(item));
    let evidence = match holds {
        Some(true) => evidence,
        _ if evidence.starts_with("only") => format!("{shown} is there {evidence}"),
        _ => format!("{shown} is not in the draft"),
    };
    Finding {
        holds,
        evidence,
        fix: (holds == Some(false)).then(|| Fix::Append(item.to_owned())),
    }
}

fn told(outcome: Result<String, String>) -> Finding {
    let holds = Some(outcome.is_ok());
    let (Ok(evidence) | Err(evidence)) = outcome;
    Finding {
        holds,
        evidence,
        fix: None,
    }
}

fn told_so(holds: bool, evidence: String) -> Finding {
    told(if holds { Ok(evidence) } else { Err(evidence) })
}

fn at_the_edge(holds: Option<bool>, evidence: String) -> Finding {
    let evidence = match holds {
        Some(_) => evidence,
        None => format!("{evidence}; the marks there count or not"),
    };
    Finding {
        holds,
        evidence,
        fix: None,
    }
}

fn of_check(check: Check) -> Finding {
    Finding {
        holds: (check.verdict != Verdict::NotChecked).then_some(check.verdict == Verdict::Pass),
        evidence: check.evidence,
        fix: check.issue.and_then(|issue| issue.fix),
    }
}

fn matched(pattern: &Regex, text: &Text) -> String {
    match pattern.find(&text.raw) {
        Some(found) => {
            let number = line(&text.raw, found.start());
            format!("line {number}: {}", json!(excerpt(found.as_str())))
        }
        None => "nothing in the draft matches".to_owned(),
    }
}

fn pattern(pattern: &str) -> Result<Regex, String> {
    let unusable =
        |why: String| format!("the regular expression cannot be used: {}", excerpt(&why));
    if pattern.chars().count() > LONGEST_PATTERN {
        return Err(unusable(format!(
            "it has more than {LONGEST_PATTERN} characters"
        )));
    }
    let built = RegexBuilder::new(pattern)
        .size_limit(LARGEST_PATTERN)
        .dfa_size_limit(LARGEST_PATTERN)
        .nest_limit(50)
        .build();
    built.map_err(|error| unusable(error.to_string()))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    const DRAFT: &str = "Come to the fair!\nBook now: https://a.example #fair";

    fn found(kind: &str, value: Value) -> Finding {
        let test = Test::read(&json!({ "kind": kind, "value": value }));
        let text = Text::new(DRAFT);
        let phrases = Phrases::new(&text, None);
        test.expect("a test").decide(&text, &phrases)
    }

    /// spec: ORC-2.2
    #[test]
    fn every_kind_of_check_can_hold_and_fail() {
        for (kind, holds, fails) in [
            ("contains", json!("BOOK  now"), json!("book later")),
            ("not_contains", json!("sold out"), json!("#FAIR")),
            ("contains_any", json!(["x", "fair"]), json!(["x", "y"])),
            (
                "contains_all",
                json!(["come", "fair"]),
                json!(["come", "y"]),
            ),
            ("starts_with", json!("come to"), json!("the fair")),
            ("ends_with", json!("#fair"), json!("fair!")),
            ("matches", json!(r"(?i)book\s+now"), json!(r"^\d+$")),
            ("not_matches", json!(r"\d"), json!("#[a-z]+")),
            ("max_characters", json!(51), json!(50)),
            ("min_words", json!(6), json!(9)),
            ("max_hashtags", json!(1.0), json!(0)),
            ("min_links", json!(1), json!(1.5)),
        ] {
            let (good, bad) = (found(kind, holds), found(kind, fails));
            assert_eq!(
                (good.holds, bad.holds),
                (Some(true), Some(false)),
                "{kind}: {}",
                bad.evidence
            );
        }
        assert_eq!(found("max_lix", json!(20)).holds, None);
    }

    #[test]
    fn a_draft_begins_and_ends_with_whole_words() {
        for (kind, value) in [
            ("starts_with", "com"),
            ("starts_with", "Come to th"),
            ("ends_with", "air"),
        ] {
            assert_eq!(found(kind, json!(value)).holds, Some(false), "{value}");
        }
        for kind in ["starts_with", "ends_with", "not_contains"] {
            assert_eq!(found(kind, json!(" \u{200b}")).holds, None, "{kind}");
        }
    }

    #[test]
    fn what_is_found_is_quoted_with_its_line() {
        assert_eq!(
            found("contains", json!("book now")).evidence,
            "line 2: \"Book now\""
        );
        assert_eq!(
            found("not_matches", json!("#.*")).evidence,
            "line 2: \"#fair\""
        );
    }

    #[test]
    fn no_regular_expression_takes_long() {
        let long = Text::new(&"a".repeat(1 << 18));
        let begin = Instant::now();
        for pattern in [
            "(a+)+$b",
            "(a|a)*c",
            "(.*)*(.*)*x",
            "a{1000}{1000}",
            &"(".repeat(60),
            &"a?".repeat(499),
            "\\pL{500}",
        ] {
            if let Ok(test) = Test::read(&json!({ "kind": "matches", "value": pattern })) {
                test.decide(&long, &Phrases::new(&long, None));
            }
        }
        assert!(
            begin.elapsed() < Duration::from_secs(60),
            "{:?}",
            begin.elapsed()
        );
        let large = Test::read(&json!({ "kind": "matches", "value": "a{1000}{1000}" }));
        assert!(large.is_err_and(|why| why.contains("size limit")));
    }
}
