//! Types of the values that expressions compare, as far as they are known before a run.

use serde_json::Value;

use super::visible::Visible;
use crate::{
    expression::{Demand, Expression},
    reference::Reference,
};

/// Type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Number,
    Boolean,
    List,
    Mapping,
    Nothing,
}

impl Kind {
    fn with_article(self) -> &'static str {
        match self {
            Self::Text => "a text",
            Self::Number => "a number",
            Self::Boolean => "true or false",
            Self::List => "a list",
            Self::Mapping => "a mapping",
            Self::Nothing => "nothing",
        }
    }

    fn of_schema(schema: &Value) -> Option<Self> {
        Some(match schema["type"].as_str()? {
            "string" => Self::Text,
            "number" | "integer" => Self::Number,
            "boolean" => Self::Boolean,
            "array" => Self::List,
            "object" => Self::Mapping,
            "null" => Self::Nothing,
            _ => return None,
        })
    }

    /// Of an operand as it is written: a literal, a reference, or a number of items.
    fn of(operand: &str, visible: &Visible) -> Option<Self> {
        let operand = operand.trim();
        let first = operand.chars().next()?;
        let is_quoted =
            |mark: char| operand.len() > 1 && operand[1..].find(mark) == Some(operand.len() - 2);
        Some(match operand {
            "true" | "True" | "false" | "False" => Self::Boolean,
            "none" | "None" => Self::Nothing,
            _ if operand.parse::<f64>().is_ok() && !first.is_alphabetic() => Self::Number,
            _ if matches!(first, '"' | '\'') && is_quoted(first) => Self::Text,
            _ => {
                let reference = Reference::of(&dotted(operand, |_| true))?;
                Self::of_schema(&visible.schema(&reference)?)?
            }
        })
    }
}

/// A path with `.name` in place of `["name"]`, for the names that can stand so.
fn dotted(operand: &str, can_stand: impl Fn(&str) -> bool) -> String {
    let mut dotted = String::new();
    let mut rest = operand;
    while let Some((before, behind)) = rest.split_once("[\"") {
        let Some((name, after)) = behind.split_once("\"]") else {
            break;
        };
        dotted += before;
        dotted += &match can_stand(name) {
            true => format!(".{name}"),
            false => format!("[\"{name}\"]"),
        };
        rest = after;
    }
    dotted + rest
}

/// An operand as people write it.
fn plain(operand: &str) -> String {
    let is_word = |name: &str| {
        let begins = name.starts_with(|c: char| c.is_ascii_alphabetic());
        begins && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    };
    dotted(operand, is_word)
}

/// Demands of an expression that cannot be met, each with the advice.
pub(super) fn unmet(expression: &Expression, visible: &Visible) -> Vec<(String, String)> {
    let demands = expression.demands().iter();
    demands
        .filter_map(|demand| {
            let kind = |operand: &str| Kind::of(operand, visible);
            match demand {
                Demand::Order(left, right) => {
                    order((&plain(left), kind(left)), (&plain(right), kind(right)))
                }
                Demand::Equality(left, right) => {
                    let (one, other) = (kind(left)?, kind(right)?);
                    let (left, right) = (plain(left), plain(right));
                    let may_be_nothing = one == Kind::Nothing || other == Kind::Nothing;
                    (one != other && !may_be_nothing).then(|| {
                        let message = format!(
                            "`{left}` is {}, `{right}` is {}: they are never equal",
                            one.with_article(),
                            other.with_article()
                        );
                        (message, "compare values of one type".to_owned())
                    })
                }
                Demand::Condition(operand) => {
                    let kind = kind(operand).filter(|kind| *kind != Kind::Boolean)?;
                    let operand = plain(operand);
                    let message = format!(
                        "`{operand}` is {}; a condition is true or false",
                        kind.with_article()
                    );
                    let help = match kind {
                        Kind::Text => format!("compare it, such as `{operand} == \"yes\"`"),
                        Kind::Number => format!("compare it, such as `{operand} > 0`"),
                        Kind::List | Kind::Mapping => format!("write `{operand} | length > 0`"),
                        Kind::Boolean | Kind::Nothing => "write `true` or `false`".to_owned(),
                    };
                    Some((message, help))
                }
            }
        })
        .collect()
}

/// The fault of two values without an order.
fn order(
    (left, one): (&str, Option<Kind>),
    (right, other): (&str, Option<Kind>),
) -> Option<(String, String)> {
    let has_order = |kind: Kind| matches!(kind, Kind::Text | Kind::Number);
    for (operand, kind) in [(left, one), (right, other)] {
        if let Some(kind) = kind.filter(|kind| !has_order(*kind)) {
            let message = format!(
                "`{operand}` is {}; only two numbers or two texts have an order",
                kind.with_article()
            );
            let help = match kind {
                Kind::List | Kind::Mapping => {
                    format!("the number of its items is `{operand} | length`")
                }
                _ => "compare it with `==`".to_owned(),
            };
            return Some((message, help));
        }
    }
    let (one, other) = (one?, other?);
    if one == other {
        return None;
    }
    let text = if one == Kind::Text { left } else { right };
    let message = format!(
        "`{left}` is {}, `{right}` is {}: they have no order",
        one.with_article(),
        other.with_article()
    );
    let help = match text.starts_with(['"', '\'']) {
        true => "write the number without quotes".to_owned(),
        false => format!("`{text} | float` is the number that a text holds"),
    };
    Some((message, help))
}
