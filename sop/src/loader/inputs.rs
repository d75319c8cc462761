//! Inputs of an agent besides a task, and the JSON Schema of them.

use agenthub_documents::{
    Place, choice, meant,
    yaml::{self, Key, Node},
};
use serde_json::{Map, Value, json};

use super::{
    faults::Faults,
    mapping::{Field, Mapping},
};

/// The field of an agent's tool that says what is to be done; no input has its name.
pub(crate) const TASK: &str = "task";

/// The types that an input can have.
const TYPES: [&str; 5] = ["string", "number", "boolean", "enum", "list"];

/// Names of them in other languages.
const SYNONYMS: [(&str, &str); 14] = [
    ("text", "string"),
    ("str", "string"),
    ("integer", "number"),
    ("int", "number"),
    ("float", "number"),
    ("double", "number"),
    ("bool", "boolean"),
    ("choice", "enum"),
    ("select", "enum"),
    ("option", "enum"),
    ("array", "list"),
    ("strings", "list"),
    ("string[]", "list"),
    ("list[string]", "list"),
];

/// Fields of an input.
const KEYS: [&str; 5] = ["type", "values", "required", "default", "description"];

/// The most inputs.
const MAX_INPUTS: usize = 64;

/// The longest name of an input, in bytes: what every model's provider takes.
const MAX_NAME: usize = 64;

/// One input.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Input {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) required: bool,
    pub(crate) default: Option<Value>,
    pub(crate) description: Option<String>,
}

/// Type of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    String,
    Number,
    Boolean,
    Enum(Vec<String>),
    List,
}

/// The JSON Schema 2020-12 of all inputs, in their order.
pub(crate) fn schema(inputs: &[Input]) -> Value {
    let properties: Map<String, Value> = inputs
        .iter()
        .map(|input| (input.name.clone(), property(input)))
        .collect();
    let required: Vec<&str> = inputs
        .iter()
        .filter(|input| input.required && input.default.is_none())
        .map(|input| input.name.as_str())
        .collect();
    let mut schema = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema["additionalProperties"] = json!(false);
    schema
}

fn property(input: &Input) -> Value {
    let mut property = match &input.kind {
        Kind::String => json!({"type": "string"}),
        Kind::Number => json!({"type": "number"}),
        Kind::Boolean => json!({"type": "boolean"}),
        Kind::Enum(values) => json!({"type": "string", "enum": values}),
        Kind::List => json!({"type": "array", "items": {"type": "string"}}),
    };
    if let Some(description) = &input.description {
        property["description"] = json!(description);
    }
    if let Some(default) = &input.default {
        property["default"] = default.clone();
    }
    property
}

/// True if a model can give an input of this name.
pub(crate) fn is_name(name: &str) -> bool {
    (1..=MAX_NAME).contains(&name.len())
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

/// The inputs that a field says.
pub(crate) fn inputs(field: &Field<'_>, faults: &mut Faults<'_>) -> Vec<Input> {
    let yaml::Value::Map(entries) = &field.node.value else {
        if field.node.value != yaml::Value::Null {
            faults.error(
                field.spot(),
                format!(
                    "`inputs` takes a mapping from names to what they are; this is {}",
                    field.node.value.kind()
                ),
                "such as `inputs:`, and below it, indented: `topic: {type: string}`",
            );
        }
        return Vec::new();
    };
    if let Some((key, _)) = entries.get(MAX_INPUTS) {
        faults.error(
            key.place,
            format!("there are {} inputs; at most {MAX_INPUTS}", entries.len()),
            "ask for less; what is rarely needed can be part of the task",
        );
    }
    let mut inputs: Vec<Input> = Vec::new();
    for (key, node) in entries.iter().take(MAX_INPUTS) {
        name(key, faults);
        if let Some((first, _)) = entries.iter().find(|(first, _)| first.name == key.name)
            && first.place != key.place
        {
            faults.error(
                key.place,
                format!("the input `{}` is there twice", key.name),
                format!(
                    "the first one is in line {}; keep one of them",
                    first.place.line
                ),
            );
            continue;
        }
        inputs.extend(input(key, node, faults));
    }
    inputs
}

fn name(key: &Key, faults: &mut Faults<'_>) {
    if key.name == TASK {
        faults.error(
            key.place,
            "no input can be called `task`: that is the request itself, which every agent gets",
            "give it another name, or leave it out",
        );
    } else if !is_name(&key.name) {
        faults.error(
            key.place,
            format!("`{}` can't be the name of an input", key.name),
            format!(
                "a name is made of letters from a to z, digits, `_` and `-`, and has at most {MAX_NAME} of them"
            ),
        );
    }
}

fn input(key: &Key, node: &Node, faults: &mut Faults<'_>) -> Option<Input> {
    let what = format!("the input `{}`", key.name);
    let field = Field { key, node };
    let yaml::Value::Map(entries) = &node.value else {
        let help = match &node.value {
            yaml::Value::Text(text) if TYPES.contains(&text.as_str()) => {
                format!("write `{}: {{type: {text}}}`", key.name)
            }
            _ => format!(
                "such as `{}: {{type: string, description: What it is for}}`",
                key.name
            ),
        };
        faults.error(
            field.spot(),
            format!("{what} does not say what it is"),
            help,
        );
        return None;
    };
    let entries = Mapping::of(entries, &what, &KEYS, faults);
    let kind = kind(&entries, key, &what, faults);
    let required = entries.bool("required", faults);
    let description = entries.text("description", faults);
    let default = entries
        .get("default")
        .zip(kind.as_ref())
        .and_then(|(field, kind)| default(&field, kind, &what, faults));
    Some(Input {
        name: key.name.clone(),
        kind: kind?,
        required: required.unwrap_or(true),
        default,
        description: description.map(|text| text.value.to_owned()),
    })
}

fn kind(entries: &Mapping<'_>, key: &Key, what: &str, faults: &mut Faults<'_>) -> Option<Kind> {
    let help = format!("a type is {}", choice(&TYPES));
    let Some(field) = entries.get("type") else {
        let help = match entries.get("values") {
            Some(_) => "write `type: enum`".to_owned(),
            None => help,
        };
        faults.error(key.place, format!("{what} has no type"), help);
        return None;
    };
    let text = entries.text("type", faults)?;
    let values = entries.get("values");
    let kind = match text.value {
        "string" => Kind::String,
        "number" => Kind::Number,
        "boolean" => Kind::Boolean,
        "list" => Kind::List,
        "enum" => match values {
            Some(values) => return self::values(&values, what, faults).map(Kind::Enum),
            None => {
                faults.error(
                    field.spot(),
                    format!("{what} is an enum without values"),
                    "add them, such as `values: [short, long]`",
                );
                return None;
            }
        },
        other => {
            let lower = other.to_lowercase();
            let synonym = SYNONYMS.iter().find(|(synonym, _)| *synonym == lower);
            let meant = synonym.map(|(_, kind)| *kind).or(meant(other, TYPES));
            let help = match meant {
                Some(meant) => format!("did you mean `{meant}`? {help}"),
                None => help,
            };
            faults.error(text.place, format!("there is no type `{other}`"), help);
            return None;
        }
    };
    if let Some(values) = values {
        faults.warning(
            values.key.place,
            format!("{what} is no enum, so that its values mean nothing"),
            "write `type: enum`, or leave `values` out",
        );
    }
    Some(kind)
}

fn values(field: &Field<'_>, what: &str, faults: &mut Faults<'_>) -> Option<Vec<String>> {
    let example = "such as `values: [short, long]`";
    let items = match &field.node.value {
        yaml::Value::List(items) if !items.is_empty() => items,
        yaml::Value::List(_) | yaml::Value::Null => {
            faults.error(
                field.spot(),
                format!("{what} is an enum without values"),
                example,
            );
            return None;
        }
        other => {
            faults.error(
                field.spot(),
                format!("`values` takes a list; this is {}", other.kind()),
                example,
            );
            return None;
        }
    };
    let mut values: Vec<String> = Vec::new();
    let mut is_right = true;
    for item in items {
        let wrong = match word(item, faults) {
            Some(value) if values.contains(&value) => Some("is there twice"),
            Some(value) => {
                values.push(value);
                None
            }
            None => Some("is no text"),
        };
        if let Some(wrong) = wrong {
            let place = field.spot_of(item);
            faults.error(place, format!("a value of {what} {wrong}"), example);
            is_right = false;
        }
    }
    is_right.then_some(values)
}

/// A word, as it was written: `1.10` stays `1.10`.
fn word(node: &Node, faults: &Faults<'_>) -> Option<String> {
    match &node.value {
        yaml::Value::Text(text) => (!text.is_empty()).then(|| text.clone()),
        yaml::Value::Number(number) => Some(written(number, node.place, faults)),
        yaml::Value::Bool(value) => Some(value.to_string()),
        _ => None,
    }
}

/// A number as it was written, unless it stands elsewhere.
pub(crate) fn written(number: &serde_json::Number, place: Place, faults: &Faults<'_>) -> String {
    let source = faults.source(place);
    match source.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c)) {
        true => source.to_owned(),
        false => number.to_string(),
    }
}

/// The default of an input, if its kind has such values.
fn default(field: &Field<'_>, kind: &Kind, what: &str, faults: &mut Faults<'_>) -> Option<Value> {
    let node = field.node;
    let (found, takes) = match kind {
        Kind::String => (
            text(node),
            "a text, in quotes where it looks like a number".to_owned(),
        ),
        Kind::Number => match &node.value {
            yaml::Value::Number(number) => (Some(json!(number)), String::new()),
            _ => (None, "a number, without quotes".to_owned()),
        },
        Kind::Boolean => match &node.value {
            yaml::Value::Bool(value) => (Some(json!(value)), String::new()),
            _ => (None, "`true` or `false`, without quotes".to_owned()),
        },
        Kind::Enum(values) => {
            let value = word(node, faults).filter(|value| values.contains(value));
            let values: Vec<&str> = values.iter().map(String::as_str).collect();
            (value.map(Value::from), choice(&values))
        }
        Kind::List => match &node.value {
            yaml::Value::List(items) => (
                items.iter().map(text).collect(),
                "a list of texts, such as `[one, two]`".to_owned(),
            ),
            _ => (None, "a list of texts, such as `[one, two]`".to_owned()),
        },
    };
    if found.is_none() {
        let given = match &node.value {
            yaml::Value::Null => "empty".to_owned(),
            yaml::Value::List(_) | yaml::Value::Map(_) => node.value.kind().to_owned(),
            _ => format!("`{}`", faults.source(node.place)),
        };
        faults.error(
            field.spot(),
            format!("the default of {what} is {given}, which it does not take"),
            format!("it takes {takes}"),
        );
    }
    found
}

fn text(node: &Node) -> Option<Value> {
    match &node.value {
        yaml::Value::Text(text) => Some(json!(text)),
        _ => None,
    }
}
