//! Check of a brand's risks. Code knows only lists that the payload gives; the rest of the risk is left to a model.
//!
//! In `brandRules`, the lists `forbidden`, `forbiddenWords`, `forbiddenClaims`, `superlatives` and `guarantees` are not to be in the draft. They
//! are found as criteria find what must not be there (`phrases.rs`). Every other rule is a question for a model.

use serde_json::{Map, Value, json};

use super::{
    check::{Check, Issue},
    fix::Fix,
    platform_rules::wrong_type,
};
use crate::fields::FORBIDDEN;
use crate::text::{
    folded::{Folded, excerpt},
    parsed::Text,
    phrases::Phrases,
};

/// Weights of all forbidden texts together, and of all other rules.
const WEIGHT: f64 = 2.0;

/// The checks of what is forbidden, and the questions that are left for a model.
pub(super) fn checks(text: &Text, phrases: &Phrases<'_>, rules: &Map<String, Value>) -> Vec<Check> {
    let mut forbidden = Vec::new();
    let mut others = Vec::new();
    let mut unusable = Vec::new();
    for (rule, value) in rules {
        match (FORBIDDEN.contains(&rule.as_str()), texts(value)) {
            (true, Some(texts)) => forbidden.extend(texts),
            (true, None) => unusable.push((rule, value)),
            (false, _) => others.push((rule, value)),
        }
    }
    let weight = WEIGHT / forbidden.len().max(1) as f64;
    let forbidden = forbidden.into_iter().enumerate().map(|(n, item)| {
        let name = format!("Does not say {}", json!(excerpt(item)));
        let check = Check::new(format!("brand.forbidden.{}", n + 1), name, weight)
            .hard()
            .rule();
        if Folded::new(item).as_str().is_empty() {
            return check.not_checked("the text has nothing that can be seen");
        }
        match phrases.find(text, item).is_said_in(text, phrases.absence()) {
            (Some(true), place) => {
                let wrong = format!("something forbidden is said ({place})");
                let issue = Issue::new("forbidden", wrong, Fix::Remove(item.to_owned()));
                check.fail(place, issue)
            }
            (Some(false), absence) => check.pass(absence),
            (None, why) => check.not_checked(why).ask(
                "forbidden",
                format!(
                    "Is the draft free of this, which its brand forbids, in every form? {item}"
                ),
            ),
        }
    });
    let weight = WEIGHT / others.len().max(1) as f64;
    let others = others.into_iter().map(|(rule, value)| {
        let shown = excerpt(rule);
        let name = format!("Brand rule {shown}: {}", excerpt(&value.to_string()));
        Check::new(format!("brand.{shown}"), name, weight)
            .rule()
            .ask(
                "brand",
                format!("Does the draft keep to this rule of the brand? {rule}: {value}"),
            )
    });
    let unusable = unusable.into_iter().map(|(rule, value)| {
        let why = wrong_type(rule, value, "a text or a list of texts");
        let name = format!("Brand rule {rule}: {}", excerpt(&value.to_string()));
        let check = Check::new(format!("brand.{rule}"), name, WEIGHT);
        check.hard().rule().not_checked(why)
    });
    let risk = Check::new("brand_risk", "Brand risk, safety and tone", 2.0).ask(
        "brand_risk",
        "Is the draft free of what could harm its sender or its readers: claims without ground, promises nobody can keep, insults, \
         discrimination, dangerous advice, private data, and a tone that does not fit its audience and platform?",
    );
    let rules = forbidden.chain(unusable).chain(others);
    rules.chain([risk]).collect()
}

/// Number of forbidden texts.
pub(super) fn count(rules: &Map<String, Value>) -> usize {
    let lists = FORBIDDEN.iter().filter_map(|list| rules.get(*list));
    lists.filter_map(texts).map(|texts| texts.len()).sum()
}

/// The texts of a list, or the one text that stands for it; `None` where there is anything else.
fn texts(value: &Value) -> Option<Vec<&str>> {
    match value {
        Value::Null => Some(Vec::new()),
        Value::String(text) => Some(vec![text]),
        Value::Array(items) => items.iter().map(Value::as_str).collect(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{super::check::Verdict, *};
    use crate::text::language::Language;

    fn review(draft: &str, rules: Value) -> Vec<(String, Verdict)> {
        let text = Text::new(draft);
        let phrases = Phrases::new(&text, Language::named("en"));
        let rules = rules.as_object().cloned().unwrap_or_default();
        let checks = checks(&text, &phrases, &rules);
        checks.into_iter().map(|c| (c.id, c.verdict)).collect()
    }

    /// spec: ORC-2.2
    #[test]
    fn what_the_payload_forbids_is_found() {
        let rules = json!({"forbidden": ["cheap", "free shipping"], "superlatives": "best", "voice": "calm"});
        let review = review("Cheapest and best: free, shipping too.", rules);
        let id = |id: &str| id.to_owned();
        assert_eq!(
            review,
            [
                (id("brand.forbidden.1"), Verdict::NotChecked),
                (id("brand.forbidden.2"), Verdict::Pass),
                (id("brand.forbidden.3"), Verdict::Fail),
                (id("brand.voice"), Verdict::NotChecked),
                (id("brand_risk"), Verdict::NotChecked),
            ]
        );
    }

    /// spec: ORC-9
    #[test]
    fn nothing_is_forbidden_by_the_code_itself() {
        let review = review("Guaranteed the best and cheapest!", json!({}));
        assert_eq!(review, [("brand_risk".to_owned(), Verdict::NotChecked)]);
    }
}
