//! Comparisons, conditions and filters that refuse values of the wrong type.

use minijinja::{
    Environment, Error, ErrorKind, State, filters,
    value::{Kwargs, Value, ValueKind},
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
    let filters: [(&'static str, Filter); 3] = [
        ("sort", filters::sort),
        ("min", filters::min),
        ("max", filters::max),
    ];
    for (name, filter) in filters {
        environment.add_filter(name, move |state: &State, list: Value, options: Kwargs| {
            let list = ordered(name, list, &options)?;
            filter(state, list, options)
        });
    }
}

/// A filter of the library that orders the items of a list.
type Filter = fn(&State, Value, Kwargs) -> Result<Value, Error>;

/// The list, if its items have an order: those alone, or their attributes that the options name.
fn ordered(filter: &str, list: Value, options: &Kwargs) -> Result<Value, Error> {
    there([&list])?;
    // A list may be one that can be gone through only once.
    let items: Vec<Value> = list.try_iter()?.collect();
    let attribute: Option<&str> = options.peek("attribute")?;
    let keys: Vec<&str> = attribute
        .into_iter()
        .flat_map(|all| all.split(','))
        .collect();
    let orders = match keys.is_empty() {
        true => vec![items.clone()],
        false => {
            let of = |key: &str| items.iter().map(|item| at(item, key.trim())).collect();
            keys.into_iter().map(of).collect()
        }
    };
    for order in &orders {
        let Some(first) = order.first() else { break };
        if let Some(other) = order.iter().find(|other| !have_order(first, other)) {
            return Err(fault(format!(
                "`{filter}` orders numbers or texts, and not {}",
                pair(first, "and", other)
            )));
        }
    }
    Ok(Value::from(items))
}

/// The value at a dotted path, as the filters of the library read it.
fn at(item: &Value, path: &str) -> Value {
    path.split('.').fold(item.clone(), |value, part| {
        let inner = match part.parse() {
            Ok(index) => value.get_item_by_index(index),
            Err(_) => value.get_attr(part),
        };
        inner.unwrap_or_default()
    })
}

fn compare(left: &Value, operator: &str, right: &Value) -> Result<bool, Error> {
    there([left, right])?;
    if !have_order(left, right) {
        return Err(fault(format!(
            "`{operator}` compares two numbers or two texts, and not {}",
            pair(left, "with", right)
        )));
    }
    Ok(match operator {
        "<" => left < right,
        "<=" => left <= right,
        ">" => left > right,
        _ => left >= right,
    })
}

/// True for two numbers and for two texts.
fn have_order(one: &Value, other: &Value) -> bool {
    let kinds = (one.kind(), other.kind());
    matches!(
        kinds,
        (ValueKind::Number, ValueKind::Number) | (ValueKind::String, ValueKind::String)
    )
}

/// Two values that have no order, and what helps.
fn pair(one: &Value, joined: &str, other: &Value) -> String {
    let help = match (one.kind(), other.kind()) {
        (ValueKind::String, ValueKind::Number) | (ValueKind::Number, ValueKind::String) => {
            "; `| float` makes a number of a text"
        }
        _ => "",
    };
    format!("{} {joined} {}{help}", shown(one), shown(other))
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
        ValueKind::None | ValueKind::Undefined => "nothing".to_owned(),
        ValueKind::Map => "a mapping".to_owned(),
        _ => "a list".to_owned(),
    }
}
