//! The data that comes of what somebody fills in.

use std::collections::HashMap;

use agenthub_sdk::runs::{schema::misfits, tool_loop::with_defaults};
use serde_json::{Map, Value};

use super::{Kind, PREFIX, example, fields, is_open_object};
use crate::{elements::sentence, trouble::Fault, written};

/// The data that somebody filled in. A field that is left empty is not given.
///
/// # Errors
///
/// The fields that are at fault, all of them.
pub(crate) fn read(
    schema: &Value,
    form: &HashMap<String, String>,
) -> Result<Map<String, Value>, Vec<Fault>> {
    let mut data = Map::new();
    let mut faults = Vec::new();
    for field in fields(schema).unwrap_or_default() {
        let name = format!("{PREFIX}{}", field.name);
        let given = form.get(&name).map_or("", String::as_str);
        match value(&field.kind, given) {
            Ok(Some(value)) => {
                data.insert(field.name, value);
            }
            Ok(None) => {}
            Err(why) => faults.push(Fault::new(name, format!("{}: {why}", field.name))),
        }
    }
    if is_open_object(schema) {
        let given = form.get(PREFIX).map_or("", String::as_str);
        match written::object(given) {
            Ok(more) => data.extend(more.unwrap_or_default()),
            Err(why) => faults.push(Fault::new(PREFIX, why)),
        }
    }
    let unread: Vec<String> = faults.iter().map(|fault| fault.field.clone()).collect();
    let unfit = unfit(schema, &data).into_iter();
    faults.extend(unfit.filter(|fault| !unread.contains(&fault.field)));
    match faults.is_empty() {
        true => Ok(data),
        false => Err(faults),
    }
}

/// Beginning of what is said of a value that lacks a field.
const LACKS: &str = "lacks ";

/// The fields whose values do not fit the schema, and those that are missing beside others, each with what is expected, in words: what the agent would
/// refuse. Of a request in words alone nothing is missing, as the agent may find it there.
fn unfit(schema: &Value, data: &Map<String, Value>) -> Vec<Fault> {
    let mut faults: Vec<Fault> = Vec::new();
    if data.is_empty() {
        return faults;
    }
    let known = schema["properties"].as_object();
    let names: Vec<&String> = data
        .keys()
        .chain(known.into_iter().flat_map(Map::keys))
        .collect();
    let filled = with_defaults(schema, Value::Object(data.clone()));
    let required = schema["required"].as_array().into_iter().flatten();
    for name in required
        .filter_map(Value::as_str)
        .filter(|name| filled.get(*name).is_none())
    {
        let field = match known.is_some_and(|known| known.contains_key(name)) {
            true => format!("{PREFIX}{name}"),
            false => PREFIX.to_owned(),
        };
        faults.push(Fault::new(field, format!("{name} is needed.")));
    }
    // What the whole lacks is told at its fields above.
    let misfits = misfits(schema, &filled).into_iter();
    for misfit in misfits.filter(|misfit| !misfit.path.is_empty() || !misfit.why.starts_with(LACKS))
    {
        let is_of = |name: &&&String| {
            let rest = misfit.path.strip_prefix(name.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        let name = names.iter().filter(is_of).max_by_key(|name| name.len());
        let mut why = sentence(format!("{} {}", misfit.path, misfit.why).trim_start());
        let example = name.map(|name| example(schema, &schema["properties"][name.as_str()]));
        if let Some(example) = example.filter(|example| !example.is_empty()) {
            why.push_str(&format!(" For example: {example}"));
        }
        let field = match name {
            Some(name) if known.is_some_and(|known| known.contains_key(*name)) => {
                format!("{PREFIX}{name}")
            }
            // Fields that the form does not have are in its field for data.
            _ => PREFIX.to_owned(),
        };
        match faults.iter_mut().find(|fault| fault.field == field) {
            Some(fault) => fault.why.push_str(&format!(" {why}")),
            None => faults.push(Fault::new(field, why)),
        }
    }
    faults
}

/// The value of a field; `None` of an empty one.
fn value(kind: &Kind, given: &str) -> Result<Option<Value>, String> {
    let trimmed = given.trim();
    if trimmed.is_empty() {
        return Ok(None);
    }
    let value = match kind {
        Kind::Text | Kind::Choice(_) => given.into(),
        Kind::Number { whole } => number(trimmed, *whole)?,
        Kind::Truth => (trimmed == "true").into(),
        Kind::Lines if !trimmed.starts_with('[') => {
            let lines = trimmed
                .lines()
                .map(str::trim)
                .filter(|line| !line.is_empty());
            lines.collect::<Vec<_>>().into()
        }
        Kind::Lines | Kind::Json => match written::parsed(trimmed)? {
            data @ (Value::Object(_) | Value::Array(_)) => data,
            _ => return Err("An object or a list is wanted, as JSON.".to_owned()),
        },
        Kind::Any => return written::words_or_json(given),
    };
    Ok(Some(value))
}

fn number(given: &str, whole: bool) -> Result<Value, String> {
    let wanted = if whole { "A whole number" } else { "A number" };
    let read = serde_json::from_str::<serde_json::Number>(given).ok();
    let read = read.filter(|number| !whole || !number.is_f64());
    read.map(Value::Number)
        .ok_or_else(|| format!("{wanted} is wanted, and {given:?} is none."))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::tests::schema, *};
    use crate::trouble::Trouble;

    fn filled(fields: &[(&str, &str)]) -> HashMap<String, String> {
        fields
            .iter()
            .map(|(name, value)| (format!("field.{name}"), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn what_is_filled_in_has_the_types_of_the_schema() {
        let form = filled(&[
            ("text", "3"),
            ("times", "3"),
            ("loud", "true"),
            ("tone", "dry"),
            ("more", "[1]"),
            ("tags", "a\n\n b c \n"),
            ("other", "x"),
        ]);
        let data = read(&schema(), &form).expect("it fits");
        assert_eq!(
            Value::from(data),
            json!({"text": "3", "times": 3, "loud": true, "tone": "dry", "more": [1], "tags": ["a", "b c"]})
        );
    }

    #[test]
    fn where_the_schema_says_nothing_words_will_do() {
        let value = |given: &str| read(&schema(), &filled(&[("text", "a"), ("whatever", given)]));
        assert_eq!(
            value("on 12 May").expect("words")["whatever"],
            json!("on 12 May")
        );
        assert_eq!(
            value("{\"a\": 1}").expect("JSON")["whatever"],
            json!({"a": 1})
        );
        let faults = value("{\"a\" 1}").expect_err("a colon is missing");
        assert_eq!(faults[0].field, "field.whatever");
        assert!(
            faults[0].why.contains("in line 1 at character 6"),
            "{faults:?}"
        );
        let open = json!({"type": "object"});
        let data = read(&open, &filled(&[("", "{\"a\": 1}")])).expect("any names");
        assert_eq!(Value::from(data), json!({"a": 1}));
    }

    #[test]
    fn what_is_left_empty_is_not_given() {
        let data = read(&schema(), &filled(&[("text", "a"), ("times", "")])).expect("it fits");
        assert_eq!(Value::from(data), json!({"text": "a"}));
    }

    #[test]
    fn a_field_that_cannot_be_read_is_named() {
        for (name, given, why) in [
            ("more", "[1", "in line 1 at character 3"),
            ("more", "3", "An object or a list is wanted"),
            (
                "times",
                "1.5",
                "A whole number is wanted, and \"1.5\" is none.",
            ),
        ] {
            let faults = read(&schema(), &filled(&[(name, given)])).expect_err("it cannot be read");
            assert_eq!(faults[0].field, format!("field.{name}"));
            assert!(faults[0].why.contains(why), "{faults:?}");
        }
    }

    /// Issue 26: whoever fills in a form learns of all that is wrong with it at once.
    #[test]
    fn every_field_that_cannot_be_read_is_named() {
        let form = filled(&[("times", "x"), ("more", "[1"), ("text", "fine")]);
        let faults = read(&schema(), &form).expect_err("two fields cannot be read");
        let mut named: Vec<&str> = faults.iter().map(|fault| &*fault.field).collect();
        named.sort_unstable();
        assert_eq!(named, ["field.more", "field.times"]);
        let shown = Trouble::with_fields(faults).notice().into_string();
        assert_eq!(
            shown.matches("role=\"alert\" data-field=\"field.").count(),
            2,
            "{shown}"
        );
    }

    /// Issue 26: what an agent would refuse before anything is done is refused by the form, and is no task.
    #[test]
    fn what_is_missing_beside_other_data_is_told_at_its_field() {
        let schema = json!({"type": "object", "required": ["who", "tone"], "properties": {
            "who": {"type": "string"}, "tone": {"type": "string", "default": "dry"}, "more": {"type": "string"},
        }});
        let faults = read(&schema, &filled(&[("more", "x")])).expect_err("somebody is missing");
        let named: Vec<&str> = faults.iter().map(|fault| &*fault.field).collect();
        assert_eq!(named, ["field.who"], "{faults:?}");
        assert_eq!(
            read(&schema, &filled(&[])),
            Ok(Map::new()),
            "words may say it"
        );
        let open = json!({"type": "object", "required": ["a"], "additionalProperties": {"type": "string"}});
        let faults = read(&open, &filled(&[("", "{\"b\": 1}")])).expect_err("it does not fit");
        assert!(
            faults.iter().all(|fault| fault.field == "field."),
            "{faults:?}"
        );
        let told = format!("{faults:?}");
        assert!(
            told.contains("a is needed") && told.contains("b "),
            "{told}"
        );
        read(&open, &filled(&[("", "{\"a\": \"x\"}")])).expect("it fits");
    }

    /// A pattern is for programs: who fills in a form reads what it stands for.
    #[test]
    fn what_does_not_fit_is_told_at_every_field_in_words() {
        let schema = json!({"properties": {
            "share": {"type": ["number", "string"], "pattern": "^0\\.[0-9]+$", "maximum": 1, "description": "From 0 to 1"},
            "code": {"type": "string", "pattern": "^[a-z]{2}$", "examples": ["da"]},
            "texts": {"type": "array", "items": {"type": "string", "maxLength": 3}},
            "fine": {"type": "string"},
        }});
        let form = filled(&[
            ("share", "banana"),
            ("code", "Danish"),
            ("texts", "abc\nabcd"),
            ("fine", "x"),
        ]);
        let faults = read(&schema, &form).expect_err("three do not fit");
        let of = |name: &str| {
            let fault = faults.iter().find(|fault| fault.field == name);
            fault.map_or("", |fault| &*fault.why)
        };
        assert_eq!(faults.len(), 3, "{faults:?}");
        let share = of("field.share");
        assert!(
            share.contains("\"banana\"") && share.contains("From 0 to 1"),
            "{share}"
        );
        assert!(of("field.code").contains("For example: da"), "{faults:?}");
        assert!(of("field.texts").contains("texts[1]"), "{faults:?}");
        assert!(!format!("{faults:?}").contains('^'), "{faults:?}");
        let fits = filled(&[("share", "0.5"), ("code", "da")]);
        read(&schema, &fits).expect("they fit");
    }
}
