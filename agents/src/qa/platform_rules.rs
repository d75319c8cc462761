//! The limits of the place where a draft is to appear. They all come from the payload.
//!
//! A rule is `maxX`, `minX` (a number) or `allowX` (yes or no), where X is anything in [`Measured`]: `maxCharacters`, `minHashtags`,
//! `allowEmoji`. `max_characters` is the same, and a value may stand in a text (`"3"`, `"no"`). Any other rule is left to a model.

use serde_json::{Map, Value, json};

use super::{
    check::{Check, Issue, Verdict},
    fix::Fix,
};
use crate::text::{folded::excerpt, measured::Measured, parsed::Text};

/// Weight of all rules together.
const WEIGHT: f64 = 2.0;

/// A rule that can be computed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Rule {
    AtMost(Measured, u64),
    AtLeast(Measured, u64),
    /// A rule that forbids nothing.
    Anything,
}

impl Rule {
    /// The rule with this name and value.
    ///
    /// # Errors
    ///
    /// The reason why it is none that can be computed.
    fn read(name: &str, value: &Value) -> Result<Self, String> {
        let unknown = || format!("no program knows the rule {}", json!(excerpt(name)));
        let (kind, what) = Kind::read(name).ok_or_else(unknown)?;
        match kind {
            Kind::Max | Kind::Min => {
                let number = number(value);
                let number =
                    number.ok_or_else(|| wrong_type(name, value, "a whole number from 0 on"))?;
                Ok(match kind {
                    Kind::Max => Self::AtMost(what, number),
                    _ => Self::AtLeast(what, number),
                })
            }
            Kind::Allow => match yes_or_no(value) {
                Some(true) => Ok(Self::Anything),
                Some(false) => Ok(Self::AtMost(what, 0)),
                None => Err(wrong_type(name, value, "true or false")),
            },
        }
    }

    /// The check with its verdict on this draft.
    pub(super) fn decide(self, check: Check, text: &Text) -> Check {
        match self {
            Self::Anything => check.pass("nothing is forbidden"),
            Self::AtMost(what, limit) => {
                let count = text.count(what);
                let evidence = format!("{}, at most {limit} allowed", count.told(what));
                let kind = match what {
                    Measured::Characters | Measured::Words => "too_long",
                    _ => "too_many",
                };
                let fix = Fix::AtMost(what, limit);
                decided(
                    check,
                    count.is_at_most(limit),
                    evidence,
                    &count.told(what),
                    kind,
                    fix,
                )
            }
            Self::AtLeast(what, limit) => {
                let count = text.count(what);
                let evidence = format!("{}, at least {limit} wanted", count.told(what));
                let kind = match what {
                    Measured::Characters | Measured::Words => "too_short",
                    _ => "too_few",
                };
                let fix = Fix::AtLeast(what, limit);
                decided(
                    check,
                    count.is_at_least(limit),
                    evidence,
                    &count.told(what),
                    kind,
                    fix,
                )
            }
        }
    }
}

fn decided(
    check: Check,
    holds: Option<bool>,
    evidence: String,
    count: &str,
    kind: &'static str,
    fix: Fix,
) -> Check {
    match holds {
        Some(true) => check.pass(evidence),
        Some(false) => {
            let wrong = format!("the draft has {count}");
            check.fail(evidence, Issue::new(kind, wrong, fix))
        }
        None => check.not_checked(evidence),
    }
}

/// Bound that a rule's name sets on something that is counted.
#[derive(Clone, Copy)]
enum Kind {
    Max,
    Min,
    Allow,
}

impl Kind {
    fn read(name: &str) -> Option<(Self, Measured)> {
        let plain: String = name.chars().filter(|c| c.is_alphabetic()).collect();
        let kinds = [
            ("max", Self::Max),
            ("min", Self::Min),
            ("allow", Self::Allow),
        ];
        kinds.into_iter().find_map(|(begin, kind)| {
            let (start, what) = plain.split_at_checked(begin.len())?;
            let is_it = start.eq_ignore_ascii_case(begin);
            Some((kind, Measured::named(what).filter(|_| is_it)?))
        })
    }
}

/// Error for the value of a rule that is of another type than it must be.
pub(super) fn wrong_type(rule: &str, value: &Value, wanted: &str) -> String {
    format!(
        "the value of {} is {}, which is of the wrong type: it must be {wanted}",
        excerpt(rule),
        excerpt(&value.to_string())
    )
}

/// A whole number, which may stand in a text.
fn number(value: &Value) -> Option<u64> {
    match value {
        Value::String(text) => text.trim().parse().ok(),
        value => value.as_u64().or_else(|| whole(value.as_f64()?)),
    }
}

/// True or false, which may stand in a text, in these words or as yes and no.
fn yes_or_no(value: &Value) -> Option<bool> {
    let text = || value.as_str().map(|text| text.trim().to_ascii_lowercase());
    value.as_bool().or_else(|| match &*text()? {
        "true" | "yes" => Some(true),
        "false" | "no" => Some(false),
        _ => None,
    })
}

fn whole(number: f64) -> Option<u64> {
    let is_whole = number.fract() == 0.0 && (0.0..9e15).contains(&number);
    is_whole.then_some(number as u64)
}

/// One check for each rule.
pub(super) fn checks(text: &Text, rules: &Map<String, Value>) -> Vec<Check> {
    let weight = WEIGHT / rules.len().max(1) as f64;
    let check = |(name, value): (&String, &Value)| {
        let shown = excerpt(name);
        let check = Check::new(
            format!("platform.{shown}"),
            format!("Platform rule {shown}: {}", excerpt(&value.to_string())),
            weight,
        )
        .hard()
        .rule();
        let check = match Rule::read(name, value) {
            Ok(rule) => rule.decide(check, text),
            Err(why) => check.not_checked(why),
        };
        let question = format!("Does the draft keep to this rule of its platform? {name}: {value}");
        match check.verdict {
            Verdict::NotChecked => check.ask("platform", question),
            _ => check,
        }
    };
    rules.iter().map(check).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(draft: &str, rule: &str, value: Value) -> (Verdict, Option<Fix>) {
        let rules = Map::from_iter([(rule.to_owned(), value)]);
        let check = checks(&Text::new(draft), &rules).remove(0);
        assert!(check.hard);
        (check.verdict, check.issue.and_then(|i| i.fix))
    }

    /// spec: ORC-10
    #[test]
    fn limits_hold_to_the_character() {
        let draft = "Zwölf 👍 #a #b";
        let passes = (Verdict::Pass, None);
        // 👍 is one character as it is drawn, and two in UTF-16.
        assert_eq!(verdict(draft, "maxCharacters", json!(14)), passes);
        assert_eq!(
            verdict(draft, "maxCharacters", json!(13)).0,
            Verdict::NotChecked
        );
        assert_eq!(verdict("Zwölf", "maxCharacters", json!(5)), passes);
        let fix = |most| Some(Fix::AtMost(Measured::Characters, most));
        assert_eq!(
            verdict(draft, "max_characters", json!(12)),
            (Verdict::Fail, fix(12))
        );
        assert_eq!(verdict(draft, "minCharacters", json!(13.0)), passes);
        let fix = Some(Fix::AtLeast(Measured::Characters, 15));
        assert_eq!(
            verdict(draft, "minCharacters", json!(15)),
            (Verdict::Fail, fix)
        );
        let fix = Some(Fix::AtMost(Measured::Hashtags, 1));
        assert_eq!(
            verdict(draft, "maxHashtags", json!(1)),
            (Verdict::Fail, fix)
        );
        let fix = Some(Fix::AtMost(Measured::Emoji, 0));
        assert_eq!(
            verdict(draft, "allowEmoji", json!(false)),
            (Verdict::Fail, fix)
        );
        assert_eq!(verdict(draft, "allowEmojis", json!(true)), passes);
        assert_eq!(verdict(draft, "maxLinks", json!(0)), passes);
        assert_eq!(verdict(draft, "maxLines", json!(1)), passes);
    }

    #[test]
    fn rules_that_no_program_knows_are_named_and_not_checked() {
        for (rule, value) in [
            ("slang", json!("none")),
            ("maxCharacters", json!("many")),
            ("maxCharacters", json!(-1)),
            ("maxCharacters", json!(1.5)),
            ("allowEmoji", json!(1)),
            ("max", json!(1)),
            ("", json!(null)),
            ("日本語日本語", json!([])),
        ] {
            assert_eq!(
                verdict("Text", rule, value).0,
                Verdict::NotChecked,
                "{rule}"
            );
        }
    }
}
