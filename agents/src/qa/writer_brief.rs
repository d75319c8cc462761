//! Checks of what the brief of a draft asks for beside its material. What the request itself asks for is checked once, as the request's.

use serde_json::{Map, Value, json};

use super::{check::Check, payload::Payload};
use crate::{
    fields::says_something,
    text::folded::excerpt,
    writer::material::{is_material, texts, unwrapped},
};

/// Weight of all that no other check is made of.
const WEIGHT: f64 = 2.0;

/// Fields that have checks of their own in a review.
const MEASURED: [&str; 4] = ["language", "mustInclude", "platformRules", "brandRules"];

/// Takes what a brief settles, and the request does not, into the payload; returns the fields that no check is made of.
pub(super) fn settle(payload: &mut Payload, request: &Value) -> Map<String, Value> {
    let brief = unwrapped(&request["writerBrief"]);
    let is_known = |name: &str, value: &Value| {
        [request, &request["clientProfile"]]
            .iter()
            .any(|holder| holder[name] == *value)
    };
    let fields = brief.as_object().into_iter().flatten();
    let fields = fields.filter(|(name, value)| {
        says_something(value) && !is_material(name) && !is_known(name, value)
    });
    let mut open = Map::new();
    for (name, value) in fields {
        let is_settled = match &**name {
            "language" => payload.settle_language(value),
            "mustInclude" => payload.settle_must_include(value),
            "knobs" => payload.settle_knobs(value),
            "platformRules" => settle_rules(&mut payload.platform_rules, value),
            "brandRules" => settle_rules(&mut payload.brand_rules, value),
            _ => false,
        };
        if !is_settled {
            open.insert(name.clone(), value.clone());
        }
    }
    open
}

/// Adds the rules that are not there. False if one of them is there already and another, or if these are no rules.
fn settle_rules(known: &mut Map<String, Value>, rules: &Value) -> bool {
    let Some(rules) = rules.as_object() else {
        return false;
    };
    let is_at_odds = |(name, rule): (&String, &Value)| {
        known
            .get(name)
            .is_some_and(|known| !known.is_null() && known != rule)
    };
    let is_all = !rules.iter().any(is_at_odds);
    for (name, rule) in rules {
        let is_open = known.get(name).is_none_or(Value::is_null);
        if is_open {
            known.insert(name.clone(), rule.clone());
        }
    }
    is_all
}

/// One check for each field that nobody else looks at: a question for a model.
pub(super) fn checks(open: &Map<String, Value>) -> Vec<Check> {
    let weight = WEIGHT / open.len().max(1) as f64;
    let check = |(name, value): (&String, &Value)| {
        let shown = excerpt(name);
        let told = excerpt(&value.to_string());
        let why = match MEASURED.contains(&&**name) {
            true => "it is at odds with what the request itself says",
            false => "no program can measure this, and no model judged it",
        };
        Check::new(
            format!("writerBrief.{shown}"),
            format!("Brief, {shown}: {told}"),
            weight,
        )
        .rule()
        .not_checked(why)
        .ask(
            "brief",
            format!(
                "Does the draft keep to this part of its brief? {}",
                json!({ &**name: value })
            ),
        )
    };
    open.iter().map(check).collect()
}

/// The texts of a list; `None` if it is none.
pub(super) fn all_texts(value: &Value) -> Option<Vec<String>> {
    let items = value.as_array().map_or(1, Vec::len);
    Some(texts(value)).filter(|texts| texts.len() == items)
}
