//! Comparisons and conditions that refuse values of the wrong type.

use minijinja::{
    Environment, Error, ErrorKind,
    value::{Value, ValueKind},
};

/// Function that compares two values: `_compare(left, ">=", right)`.
pub(super) const COMPARE: &str = "_compare";

/// Function that gives a condition back, which is true or false.
pub(super) const CONDITION: &str = "_condition";

/// Characters of a value that are shown.
const SHOWN: usize = 40;

/// The tests that compare, with their operators.
const TESTS: [(&str, &str); 10] = [
    ("lt", "<"),
    ("<", "<"),
    ("lessthan", "<"),
    ("le", "<="),
    ("<=", "<="),
    ("gt", ">"),
    (">", ">"),
    ("greaterthan", ">"),
    ("ge", ">="),
    (">=", ">="),
];

/// Adds the functions, and makes the tests that compare as strict.
pub(super) fn add_to(environment: &mut Environment<'static>) {
    environment.add_function(COMPARE, |left: Value, operator: &str, right: Value| {
        compare(&left, operator, &right)
    });
    environment.add_function(CONDITION, condition);
    for (test, operator) in TESTS {
        environment.add_test(test, move |left: Value, right: Value| {
            compare(&left, operator, &right)
        });
    }
}

fn compare(left: &Value, operator: &str, right: &Value) -> Result<bool, Error> {
    there([left, right])?;
    let is_number = |value: &Value| value.kind() == ValueKind::Number;
    let is_text = |value: &Value| value.kind() == ValueKind::String;
    let has_order = (is_number(left) && is_number(right)) || (is_text(left) && is_text(right));
    if !has_order {
        let help = match is_text(left) || is_text(right) {
            true if is_number(left) || is_number(right) => {
                "; `| float` makes a number of a text".to_owned()
            }
            _ => String::new(),
        };
        let (left, right) = (shown(left), shown(right));
        return Err(fault(format!(
            "`{operator}` compares two numbers or two texts, and not {left} with {right}{help}"
        )));
    }
    Ok(match operator {
        "<" => left < right,
        "<=" => left <= right,
        ">" => left > right,
        _ => left >= right,
    })
}

#[allow(clippy::needless_pass_by_value, reason = "a function of the language")]
fn condition(value: Value) -> Result<Value, Error> {
    there([&value])?;
    match value.kind() {
        ValueKind::Bool => Ok(value),
        kind => {
            let help = match kind {
                ValueKind::String | ValueKind::Seq | ValueKind::Map => {
                    "; compare it, such as with `== \"yes\"`, or with `| length > 0`"
                }
                ValueKind::None => "; write `is not none` to ask if there is something",
                _ => "; compare it, such as with `> 0`",
            };
            Err(fault(format!(
                "a condition is true or false, and not {}{help}",
                shown(&value)
            )))
        }
    }
}

/// A value that is not there is told as such.
fn there<'v>(values: impl IntoIterator<Item = &'v Value>) -> Result<(), Error> {
    match values.into_iter().any(Value::is_undefined) {
        true => Err(Error::from(ErrorKind::UndefinedError)),
        false => Ok(()),
    }
}

fn fault(message: String) -> Error {
    Error::new(ErrorKind::InvalidOperation, message)
}

/// A value with its type.
fn shown(value: &Value) -> String {
    let brief = |text: String| match text.chars().count() > SHOWN {
        true => text.chars().take(SHOWN).chain(['…']).collect(),
        false => text,
    };
    match value.kind() {
        ValueKind::Number => format!("the number {value}"),
        ValueKind::String => format!("the text \"{}\"", brief(value.to_string())),
        ValueKind::Bool => value.to_string(),
        ValueKind::None => "nothing".to_owned(),
        ValueKind::Map => "a mapping".to_owned(),
        _ => "a list".to_owned(),
    }
}
