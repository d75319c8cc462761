//! A form for a skill, made from the schema of what it takes.

mod filled;

use maud::{Markup, html};
use serde_json::{Map, Value};

pub(crate) use self::filled::read;
use crate::elements::sentence;

/// Prefix of the names of fields, which keeps them apart from those of the form itself. Alone, it is the field of data whose fields are not known.
const PREFIX: &str = "field.";

/// Fields that are shown although they are not needed. With more of them, all are folded.
const SHOWN: usize = 4;

/// Depth down to which an example shows the members of data.
const SHAPE_DEPTH: usize = 3;

/// A field of a form.
#[derive(Clone, Debug, PartialEq)]
struct Field {
    name: String,
    kind: Kind,
    about: String,
    /// A value that the schema gives as an example, as somebody would fill it in.
    example: String,
    is_required: bool,
}

/// A way to fill in a field.
#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Text,
    Number {
        whole: bool,
    },
    Truth,
    Choice(Vec<String>),
    /// Texts, one a line.
    Lines,
    /// As JSON, an object or a list.
    Json,
    /// As words, or as JSON.
    Any,
}

/// The fields of an object's schema, those that are needed first; `None` of a schema that names none.
fn fields(schema: &Value) -> Option<Vec<Field>> {
    let properties = schema["properties"].as_object()?;
    let required: Vec<&str> = schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let field = |(name, of): (&String, &Value)| {
        let meant = meant(schema, of);
        Field {
            name: name.clone(),
            kind: kind(meant),
            about: text(of, "description")
                .unwrap_or_else(|| text(meant, "description").unwrap_or_default()),
            example: example(schema, of),
            is_required: required.contains(&name.as_str()),
        }
    };
    let mut fields: Vec<Field> = properties.iter().map(field).collect();
    fields.sort_by_key(|field| !field.is_required);
    Some(fields)
}

fn text(schema: &Value, name: &str) -> Option<String> {
    schema[name].as_str().map(str::to_owned)
}

/// The schema behind a reference, or behind the one choice that is not `null`.
fn meant<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    if let Some(place) = schema["$ref"].as_str().and_then(|to| to.strip_prefix('#')) {
        return root.pointer(place).unwrap_or(schema);
    }
    let choices = schema["anyOf"].as_array().or(schema["oneOf"].as_array());
    let mut choices = choices
        .into_iter()
        .flatten()
        .filter(|of| of["type"] != "null");
    match (choices.next(), choices.next()) {
        (Some(one), None) => match one["$ref"].as_str().and_then(|to| to.strip_prefix('#')) {
            Some(place) => root.pointer(place).unwrap_or(one),
            None => one,
        },
        _ => schema,
    }
}

fn kind(schema: &Value) -> Kind {
    if let Some(choices) = schema["enum"].as_array()
        && let Some(choices) = choices
            .iter()
            .map(|c| c.as_str().map(str::to_owned))
            .collect()
    {
        return Kind::Choice(choices);
    }
    let mut types = match &schema["type"] {
        Value::Array(types) => types.iter().filter_map(Value::as_str).collect(),
        one => Vec::from_iter(one.as_str()),
    };
    types.retain(|name| *name != "null");
    match types.as_slice() {
        ["string"] => Kind::Text,
        ["integer"] => Kind::Number { whole: true },
        ["number"] => Kind::Number { whole: false },
        ["boolean"] => Kind::Truth,
        ["array"] if schema["items"]["type"] == "string" => Kind::Lines,
        ["array" | "object"] => Kind::Json,
        _ => Kind::Any,
    }
}

/// Example of the schema; of an object or a list without one, its shape.
fn example(root: &Value, schema: &Value) -> String {
    let meant = meant(root, schema);
    let given = [
        &schema["examples"][0],
        &meant["examples"][0],
        &schema["default"],
        &meant["default"],
    ];
    let value = given.into_iter().find(|value| !value.is_null()).cloned();
    let value =
        value.or_else(|| (kind(meant) == Kind::Json).then(|| shape(root, meant, SHAPE_DEPTH)));
    match value {
        None => String::new(),
        Some(Value::String(words)) => words,
        Some(Value::Array(texts)) if kind(meant) == Kind::Lines => {
            let texts: Vec<&str> = texts.iter().filter_map(Value::as_str).collect();
            texts.join("\n")
        }
        Some(other) => other.to_string(),
    }
}

/// Data of this schema, with dots where something is to be filled in.
fn shape(root: &Value, schema: &Value, depth: usize) -> Value {
    let schema = meant(root, schema);
    let within = |of: &Value| match depth {
        0 => "…".into(),
        _ => shape(root, of, depth - 1),
    };
    match kind(schema) {
        Kind::Number { .. } => 0.into(),
        Kind::Truth => false.into(),
        Kind::Choice(choices) => choices.first().map_or("…", String::as_str).into(),
        Kind::Lines => vec!["…"].into(),
        Kind::Json if schema["type"] == "array" => vec![within(&schema["items"])].into(),
        Kind::Json => match schema["properties"].as_object() {
            None => Map::from_iter([("…".to_owned(), "…".into())]).into(),
            Some(of) => {
                Map::from_iter(of.iter().map(|(name, of)| (name.clone(), within(of)))).into()
            }
        },
        Kind::Text | Kind::Any => "…".into(),
    }
}

/// True for data that has fields which the schema does not name.
fn is_open_object(schema: &Value) -> bool {
    schema["type"] == "object" && fields(schema).is_none_or(|fields| fields.is_empty())
}

/// The fields of a form for data of this schema, those that are not needed folded if they are many. A schema that is no object's has none.
pub(crate) fn draw(schema: &Value) -> Markup {
    let fields = fields(schema).unwrap_or_default();
    let needed = fields.iter().take_while(|field| field.is_required).count();
    let (needed, others) = fields.split_at(needed);
    html! {
        @for field in needed { (drawn(field)) }
        @if others.len() > SHOWN {
            details.more {
                summary { (others.len()) " more fields, none of them needed" }
                @for field in others { (drawn(field)) }
            }
        } @else {
            @for field in others { (drawn(field)) }
        }
        @if is_open_object(schema) {
            label {
                span { "Data" }
                textarea name=(PREFIX) rows="2" placeholder="{\"name\": \"value\"}" {}
                small { "Names with values, as JSON." }
            }
        }
    }
}

fn drawn(field: &Field) -> Markup {
    let name = format!("{PREFIX}{}", field.name);
    let example = (!field.example.is_empty()).then_some(&field.example);
    let hint = match field.kind {
        Kind::Lines => "One a line.",
        Kind::Json => "As JSON.",
        Kind::Any => "Words, or JSON.",
        _ => "",
    };
    html! {
        label {
            span { (field.name) @if field.is_required { " (needed)" } }
            @match &field.kind {
                Kind::Text => textarea name=(name) rows="1" placeholder=[example] required[field.is_required] {},
                Kind::Number { whole } => {
                    input type="number" name=(name) step=(if *whole { "1" } else { "any" }) placeholder=[example] required[field.is_required];
                },
                Kind::Truth => {
                    select name=(name) {
                        option value="" { "not given" }
                        option value="true" { "yes" }
                        option value="false" { "no" }
                    }
                },
                Kind::Choice(choices) => {
                    select name=(name) {
                        @if !field.is_required { option value="" { "not given" } }
                        @for choice in choices { option value=(choice) { (choice) } }
                    }
                },
                Kind::Lines | Kind::Json | Kind::Any => textarea name=(name) rows="2" placeholder=[example] required[field.is_required] {},
            }
            @if !field.about.is_empty() || !hint.is_empty() { small { (sentence(&field.about)) @if !field.about.is_empty() && !hint.is_empty() { " " } (hint) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    pub(super) fn schema() -> Value {
        json!({"type": "object", "required": ["text"], "$defs": {"Tone": {"enum": ["dry", "warm"]}}, "properties": {
            "loud": {"type": "boolean"},
            "text": {"type": "string", "description": "What is <said>"},
            "times": {"type": ["integer", "null"]},
            "tone": {"anyOf": [{"$ref": "#/$defs/Tone"}, {"type": "null"}]},
            "more": {"type": "array"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "whatever": {},
        }})
    }

    #[test]
    fn every_field_is_drawn_those_that_are_needed_first_and_words_of_agents_stay_words() {
        let drawn = draw(&schema()).into_string();
        let at = |part: &str| {
            drawn
                .find(part)
                .unwrap_or_else(|| panic!("{part} in {drawn}"))
        };
        for name in ["text", "times", "loud", "tone", "more", "tags", "whatever"] {
            at(&format!("name=\"field.{name}\""));
        }
        assert!(at("field.text") < at("6 more fields") && at("6 more fields") < at("field.loud"));
        at("What is &lt;said&gt;");
        assert_eq!(draw(&json!({"type": "string"})).into_string(), "");
    }

    #[test]
    fn what_a_field_is_about_ends_with_one_mark() {
        for (about, expected) in [
            ("has it.", "has it. As JSON."),
            ("has it", "has it. As JSON."),
        ] {
            let schema = json!({"properties": {"a": {"type": "object", "description": about}}});
            let drawn = draw(&schema).into_string();
            assert!(
                drawn.contains(&format!("<small>{expected}</small>")),
                "{drawn}"
            );
        }
    }

    #[test]
    fn json_has_its_shape_as_an_example() {
        let schema = json!({"properties": {"brief": {"type": "object", "properties": {
            "who": {"type": "string"}, "count": {"type": "integer"}, "tags": {"type": "array", "items": {"type": "object"}},
        }}}});
        let fields = fields(&schema).expect("an object");
        let shape: Value = serde_json::from_str(&fields[0].example).expect("it is JSON");
        assert_eq!(shape, json!({"who": "…", "count": 0, "tags": [{"…": "…"}]}));
    }
}
