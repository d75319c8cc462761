//! Text behind a name, where it states values and nothing else: one quotation, one JSON object, or pairs `name=value`.
//!
//! Whatever could be read in two ways is not read at all: a mark within its own quotation, a name that comes twice, a number that is not
//! printed as it was written, a word with signs that may be punctuation.

use agenthub_runs::schema::misfits;
use serde_json::{Map, Value};

use super::strict::{as_written, object};
use crate::offline::stated::MARKS;

/// Signs that an unquoted value may have, though not as its last.
const IN_WORDS: [char; 7] = ['_', '-', '.', '/', ':', '@', '+'];

/// Keywords of a schema that lead to others, in which no field is looked for.
const ELSEWHERE: [&str; 4] = ["$ref", "allOf", "anyOf", "oneOf"];

/// Stated values.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Given<'w> {
    Text(&'w str),
    Object(Map<String, Value>),
    Pairs(Vec<(&'w str, Stated<'w>)>),
}

/// Value behind a name and `=`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Stated<'w> {
    Quoted(&'w str),
    Word(&'w str),
}

impl<'w> Given<'w> {
    pub(super) fn read(text: &'w str) -> Option<Self> {
        let text = text.trim();
        let only_quotation = || match quotation(text)? {
            (quoted, "") => Some(Self::Text(quoted)),
            _ => None,
        };
        only_quotation()
            .or_else(|| object(text).map(Self::Object))
            .or_else(|| pairs(text).map(Self::Pairs))
    }

    /// The values as input of this schema, unchanged; `None` if the schema has no place for one of them, requires more, or leaves open which
    /// is meant.
    pub(super) fn input(&self, schema: &Value) -> Option<Map<String, Value>> {
        let none = Map::new();
        let is_without_input = !ELSEWHERE.iter().any(|word| schema.get(word).is_some());
        let properties = schema["properties"].as_object();
        let properties = properties.or(is_without_input.then_some(&none))?;
        let input = match self {
            Self::Text(text) => {
                let name = text_field(schema, properties)?;
                let is_text = takes(properties.get(&name)?, "string");
                is_text.then(|| Map::from_iter([(name, Value::from(*text))]))?
            }
            Self::Object(object) => object.clone(),
            Self::Pairs(pairs) => {
                let value = |(name, stated): &(&str, Stated<'_>)| {
                    let value = stated.value(properties.get(*name)?)?;
                    Some(((*name).to_owned(), value))
                };
                pairs.iter().map(value).collect::<Option<_>>()?
            }
        };
        let is_named = input.keys().all(|name| properties.contains_key(name));
        let input = Value::Object(input);
        let is_taken = is_named && has_place(schema, &input) && misfits(schema, &input).is_empty();
        match input {
            Value::Object(fields) if is_taken => Some(fields),
            _ => None,
        }
    }
}

impl Given<'_> {
    /// The parts that are no input of this schema, each with the reason.
    pub(super) fn misfits(&self, schema: &Value) -> Vec<String> {
        let properties = schema["properties"]
            .as_object()
            .cloned()
            .unwrap_or_default();
        let mut whys = Vec::new();
        let mut input = match self {
            Self::Text(text) => match text_field(schema, &properties) {
                Some(name) => Map::from_iter([(name, Value::from(*text))]),
                None => return vec!["a text alone is none of them".to_owned()],
            },
            Self::Object(object) => object.clone(),
            Self::Pairs(pairs) => {
                let mut input = Map::new();
                for (name, stated) in pairs {
                    let text = stated.text();
                    match properties.get(*name).map(|schema| stated.value(schema)) {
                        Some(None) => whys.push(format!("`{name}` is not taken as `{text}`")),
                        Some(Some(value)) => _ = input.insert((*name).to_owned(), value),
                        None => _ = input.insert((*name).to_owned(), text.into()),
                    }
                }
                input
            }
        };
        input.retain(|name, _| {
            let is_known = properties.contains_key(name);
            if !is_known {
                whys.push(format!("`{name}` is none of its inputs"));
            }
            is_known
        });
        let unfit = misfits(schema, &Value::Object(input)).into_iter();
        whys.extend(unfit.map(|misfit| match misfit.path.is_empty() {
            true => misfit.why,
            false => format!("`{}` {}", misfit.path, misfit.why),
        }));
        whys
    }
}

/// The one field that a text alone is for.
fn text_field(schema: &Value, properties: &Map<String, Value>) -> Option<String> {
    let required: Vec<&str> = required(schema).collect();
    match (&required[..], properties.len()) {
        ([one], _) => Some((*one).to_owned()),
        ([], 1) => properties.keys().next().cloned(),
        _ => None,
    }
}

impl Stated<'_> {
    fn text(&self) -> &str {
        match self {
            Self::Quoted(text) | Self::Word(text) => text,
        }
    }

    /// The value for a field of this schema. A quotation is a text; a word is one where it can be nothing else.
    fn value(self, schema: &Value) -> Option<Value> {
        match self {
            Self::Quoted(text) => takes(schema, "string").then(|| text.into()),
            Self::Word(word) if schema["type"] == "string" => Some(word.into()),
            Self::Word(word) => match (plain(word), takes(schema, "string")) {
                (Some(_), true) => None,
                (Some(value), false) => Some(value),
                (None, true) => Some(word.into()),
                (None, false) => None,
            },
        }
    }
}

/// The inputs of a schema in words, at most so many.
pub(super) fn inputs(schema: &Value, most: usize) -> String {
    let required: Vec<&str> = required(schema).collect();
    let properties = schema["properties"].as_object().into_iter().flatten();
    let told = |(name, schema): (&String, &Value)| {
        let kinds: Vec<&str> = match &schema["type"] {
            Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
            kind => kind.as_str().into_iter().collect(),
        };
        let choices = schema["enum"].as_array().filter(|all| all.len() <= most);
        let choices = choices.map(|all| all.iter().map(told_value).collect::<Vec<_>>());
        let kinds = (!kinds.is_empty()).then(|| kinds.join(" or "));
        let kinds = choices.map(|all| all.join(" or ")).or(kinds);
        let is_required = required.contains(&&**name);
        let marks = kinds
            .into_iter()
            .chain(is_required.then(|| "required".to_owned()));
        match marks.collect::<Vec<_>>().join(", ") {
            marks if marks.is_empty() => name.clone(),
            marks => format!("{name} ({marks})"),
        }
    };
    let count = properties.clone().count();
    let mut all: Vec<String> = properties.take(most).map(told).collect();
    if count > most {
        all.push(format!("{} more", count - most));
    }
    match all.is_empty() {
        true => "none".to_owned(),
        false => all.join(", "),
    }
}

fn told_value(value: &Value) -> String {
    let text = value.as_str().map(str::to_owned);
    text.unwrap_or_else(|| value.to_string())
}

/// The names of the required fields.
fn required(schema: &Value) -> impl Iterator<Item = &str> {
    let names = schema["required"].as_array().into_iter().flatten();
    names.filter_map(Value::as_str)
}

/// True if a field of this schema takes values of this type, as its keyword `type` says.
fn takes(schema: &Value, wanted: &str) -> bool {
    match &schema["type"] {
        Value::Array(kinds) => kinds.iter().any(|kind| kind == wanted),
        kind => kind == wanted,
    }
}

/// True if the schema names each field of the value, at any depth. An object whose fields it does not name at all may have any.
fn has_place(schema: &Value, value: &Value) -> bool {
    match value {
        Value::Object(fields) => match schema["properties"].as_object() {
            Some(known) => fields.iter().all(|(name, value)| {
                let field = known.get(name);
                field.is_some_and(|schema| has_place(schema, value))
            }),
            None => !ELSEWHERE.iter().any(|word| schema.get(word).is_some()),
        },
        Value::Array(items) => items.iter().all(|item| has_place(&schema["items"], item)),
        _ => true,
    }
}

/// The quotation that the text begins with, up to the first mark that ends it, and the rest behind white space.
fn quotation(text: &str) -> Option<(&str, &str)> {
    let mark = text.chars().next()?;
    let (_, close) = MARKS.iter().find(|(open, _)| *open == mark)?;
    let (quoted, rest) = text[mark.len_utf8()..].split_once(*close)?;
    let is_ended = rest.is_empty() || rest.starts_with(char::is_whitespace);
    let is_one = is_ended && !quoted.contains(mark) && !quoted.trim().is_empty();
    is_one.then(|| (quoted, rest.trim_start()))
}

/// The pairs that are all of the text, with white space between.
fn pairs(text: &str) -> Option<Vec<(&str, Stated<'_>)>> {
    let mut pairs: Vec<(&str, Stated<'_>)> = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (name, behind) = rest.split_once('=')?;
        let value = match quotation(behind) {
            Some((quoted, behind)) => {
                rest = behind;
                Stated::Quoted(quoted)
            }
            None => {
                let end = behind.find(char::is_whitespace).unwrap_or(behind.len());
                rest = behind[end..].trim_start();
                Stated::Word(word(&behind[..end])?)
            }
        };
        let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
        let is_known = pairs.iter().any(|(known, _)| *known == name);
        if name.is_empty() || !name.chars().all(is_name) || is_known {
            return None;
        }
        pairs.push((name, value));
    }
    (!pairs.is_empty()).then_some(pairs)
}

/// A word of which no sign may be punctuation.
fn word(text: &str) -> Option<&str> {
    let is_part = |c: char| c.is_alphanumeric() || IN_WORDS.contains(&c);
    let is_word = text.chars().all(is_part) && text.ends_with(char::is_alphanumeric);
    is_word.then_some(text)
}

/// A number as it is printed, true, false or null.
fn plain(word: &str) -> Option<Value> {
    match word {
        "true" => Some(true.into()),
        "false" => Some(false.into()),
        "null" => Some(Value::Null),
        number => as_written(number).map(Value::Number),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// spec: ORC-2.1
    #[test]
    fn a_quotation_an_object_or_pairs_are_all_that_is_read() {
        for text in [
            "\"hi\"",
            " 'He said \"no\"' ",
            "“hi”",
            "id=a",
            "id=a note='b c'",
            "dir=/tmp/a.b to=joe+1@example.org at=10:30",
            "id=-7 n=0.5",
            "{\"id\": \"a\", \"n\": [1, 0.5, -3], \"s\": \"1e400 007\\\" 1.50\"}",
        ] {
            assert!(Given::read(text).is_some(), "{text}");
        }
        for text in [
            "",
            "hi",
            "\"\"",
            "\"hi\".",
            "\"hi\" \"ho\"",
            "'it's'",
            "“a “b”",
            "id=\"a\"note=\"b\"",
            "id=\"a\",note=\"b\"",
            "id=\"a\" note",
            "id=a;note=b",
            "id=a,note=b",
            "id=a, note=b",
            "id=a&note=b",
            "id=a?",
            "id=a.",
            "id=a!",
            "id=a...",
            "id=a/",
            "id=a=b",
            "id=it's",
            "id=\"a",
            "id='a'b",
            "id={\"a\":1}",
            "id=[1]",
            "id=$HOME",
            "id=a id=b",
            "id=a and=b and",
            "id =a",
            "id= a",
            "=a",
            "a b=c",
            "id=",
            "[1]",
            "{\"id\": \"a\"} now",
            "{\"id\":\"a\",\"id\":\"b\"}",
            "{id: 1}",
        ] {
            assert_eq!(Given::read(text), None, "{text}");
        }
    }

    /// spec: ORC-2.1
    #[test]
    fn what_is_given_is_the_input_where_a_schema_has_room_for_all_of_it() {
        let schema = json!({
            "properties": {
                "item": {"type": "string"},
                "count": {"type": "integer", "maximum": 99},
                "fresh": {"type": "boolean"},
                "size": {"enum": ["small", "large"], "type": "string"},
                "code": {"type": ["string", "integer"]},
                "where": {"type": "object", "properties": {"town": {}}},
                "notes": {"type": "object"},
            },
            "required": ["item"],
        });
        let input = |text: &str| Given::read(text)?.input(&schema).map(Value::Object);
        for (text, expected) in [
            ("\"7 apples\"", json!({"item": "7 apples"})),
            ("item=7", json!({"item": "7"})),
            ("item=007", json!({"item": "007"})),
            (
                "count=7 item=\"a pear\"",
                json!({"count": 7, "item": "a pear"}),
            ),
            ("item=a fresh=true", json!({"item": "a", "fresh": true})),
            ("item=a size=large", json!({"item": "a", "size": "large"})),
            ("item=a code=x7", json!({"item": "a", "code": "x7"})),
            ("{\"item\": \"pear\"}", json!({"item": "pear"})),
            (
                "{\"item\": \"pear\", \"where\": {\"town\": \"Cork\"}, \"notes\": {\"a\": 1}}",
                json!({"item": "pear", "where": {"town": "Cork"}, "notes": {"a": 1}}),
            ),
        ] {
            assert_eq!(input(text), Some(expected), "{text}");
        }
        for text in [
            "count=7",
            "item=pear colour=red",
            "item=pear Item=apple",
            "item=pear count=many",
            "item=pear count=\"7\"",
            "item=pear count=007",
            "item=pear count=100",
            "item=pear count=99999999999999999999",
            "item=pear count=1e400",
            "item=pear fresh=yes",
            "item=pear size=huge",
            "item=pear code=7",
            "item=pear where=Cork",
            "{\"item\": \"pear\", \"colour\": \"red\"}",
            "{\"item\": \"pear\", \"where\": {\"street\": \"Main\"}}",
            "{\"item\": 7}",
            "{}",
        ] {
            assert_eq!(input(text), None, "{text}");
        }
    }

    /// spec: ORC-2.1
    #[test]
    fn a_text_is_for_the_one_field_that_it_can_be_for() {
        let text = Given::Text("hi");
        for schema in [
            json!({}),
            json!({"$ref": "#/$defs/A", "$defs": {"A": {"properties": {"a": {"type": "string"}}}}}),
            json!({"properties": {"a": {"type": "string"}, "b": {"type": "string"}}}),
            json!({"properties": {"a": {"type": "integer"}}}),
            json!({"properties": {"a": {"enum": ["ho"], "type": "string"}}}),
        ] {
            assert_eq!(text.input(&schema), None, "{schema}");
        }
        let one = json!({"properties": {"a": {"type": "string"}}});
        let input = text.input(&one).map(Value::Object);
        assert_eq!(input, Some(json!({"a": "hi"})));
    }

    /// spec: ORC-2.1
    #[test]
    fn what_takes_no_input_is_given_an_empty_object_and_nothing_else() {
        for schema in [
            json!({}),
            json!({"type": "object"}),
            json!({"properties": {}}),
        ] {
            let is_input = |text: &str| Given::read(text)?.input(&schema);
            assert_eq!(is_input("{}"), Some(Map::new()), "{schema}");
            for text in ["\"hi\"", "{\"a\": 1}", "a=1"] {
                assert_eq!(is_input(text), None, "{text} {schema}");
            }
        }
    }
}
