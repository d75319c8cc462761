//! Says what of a document is no workflow by its form: the fields, and the types of their values.

use std::sync::OnceLock;

use agenthub_documents::{choice, meant};
use agenthub_sdk::runs::pointer;
use jsonschema::{
    ValidationError, Validator,
    error::{TypeKind, ValidationErrorKind as Kind},
};
use serde_json::Value;

use crate::{
    file::schema,
    finding::{At, Finding, within},
    mending::{Mend, Misshapen, stand_in},
};

/// Fields that have the same meaning in files of other systems.
const SYNONYMS: [(&str, &str); 8] = [
    ("needs", "depends_on"),
    ("dependencies", "depends_on"),
    ("condition", "when"),
    ("foreach", "for_each"),
    ("with", "input"),
    ("payload", "input"),
    ("capability", "skill"),
    ("retries", "retry"),
];

/// Advice on a file that is no mapping.
const BEGIN: &str =
    "begin with `steps:` and a step below it, such as `first: { agent: agent_echo, text: hello }`";

/// Advice on a time.
const TIME: &str =
    "write a number of seconds, or a time such as `500ms`, `30s`, `1.5m`, `2h` or `1d`";

/// Fields that are named where a field is not known, at most.
const MAX_FIELDS: usize = 16;

/// All that is wrong with the form of a document.
pub(crate) fn misshapen(document: &Value) -> Vec<Misshapen> {
    static VALIDATOR: OnceLock<Validator> = OnceLock::new();
    let validator = VALIDATOR.get_or_init(|| {
        let options = jsonschema::options().offline();
        options.build(schema()).expect("the file's schema is one")
    });
    let mut all = Vec::new();
    for error in validator.iter_errors(document) {
        describe(&error, document, &mut all);
    }
    all
}

fn describe(error: &ValidationError<'_>, document: &Value, all: &mut Vec<Misshapen>) {
    let at = path(error);
    let name = name(&at);
    let of = schema_of(error);
    let replaced = |finding: Finding| Misshapen {
        finding,
        mend: Mend::Replace(stand_in(of)),
    };
    match error.kind() {
        Kind::AdditionalProperties { unexpected } => {
            let known = known_fields(of);
            all.extend(unexpected.iter().map(|field| unknown(field, &known, &at)));
        }
        Kind::Required { property } => {
            let field = property.as_str().unwrap_or_default();
            let message = format!("{} has no `{field}`", holder(&at));
            let finding = Finding::at(at, message, format!("add a line `{field}: …`")).key();
            let mend = Mend::Add(field.to_owned(), stand_in(&of["properties"][field]));
            all.push(Misshapen { finding, mend });
        }
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
            match meant_branch(context, &at) {
                Some([error]) if path(error) == at && is_of_words(error) => {
                    let others = types_of(context, &at).join(" or ");
                    describe(error, document, all);
                    if let Some(last) = all.last_mut().filter(|_| !others.is_empty()) {
                        last.finding.help += &format!(", or {others}");
                    }
                }
                Some(branch) => branch.iter().for_each(|e| describe(e, document, all)),
                None => all.push(replaced(no_branch(context, at, of, document))),
            }
        }
        Kind::Type { kind } => {
            let (takes, is) = (expected(kind), of_kind(error.instance()));
            let message = format!("{name} takes {takes}; this is {is}");
            let (message, help) = match (at.is_empty(), error.instance().is_null()) {
                (true, true) => ("there is nothing in this file".to_owned(), BEGIN.to_owned()),
                (true, false) => (message, BEGIN.to_owned()),
                (false, _) => (message, such_as(&takes, of, error.instance())),
            };
            all.push(replaced(Finding::at(at, message, help)));
        }
        Kind::Enum { options } => {
            let options: Vec<String> = options.as_array().into_iter().flatten().map(word).collect();
            all.push(replaced(not_among(at, &name, error.instance(), &options)));
        }
        Kind::Constant { expected_value } => {
            let options = [word(expected_value)];
            all.push(replaced(not_among(at, &name, error.instance(), &options)));
        }
        Kind::Pattern { .. } => {
            let message = format!("{name} can't be `{}`", word(error.instance()));
            all.push(replaced(Finding::at(at, message, TIME)));
        }
        Kind::Minimum { .. } if is_time(of) => {
            let message = format!("{name} can't be `{}`", word(error.instance()));
            all.push(replaced(Finding::at(at, message, TIME)));
        }
        Kind::Minimum { limit } => {
            let help = format!("the smallest is {limit}");
            let finding = Finding::at(at, format!("{name} is too small"), help);
            all.push(replaced(finding));
        }
        Kind::Maximum { limit } => {
            let help = format!("the largest is {limit}");
            let finding = Finding::at(at, format!("{name} is too large"), help);
            all.push(replaced(finding));
        }
        Kind::MinLength { .. } | Kind::MinItems { .. } => {
            let help = "write something, or leave the field out";
            let finding = Finding::at(at, format!("{name} is empty"), help);
            all.push(replaced(finding));
        }
        _ => {
            let message = format!("{name}: {}", error.masked_with("the value"));
            all.push(replaced(Finding::at(at, message, "")));
        }
    }
}

/// True for the schema of a time in seconds.
fn is_time(of: &Value) -> bool {
    of["maximum"] == 31_536_000.0
}

/// A field that its holder does not have, and the one that may be meant.
fn unknown(field: &str, known: &[&str], holder_at: &At) -> Misshapen {
    let synonym = SYNONYMS.iter().find(|(word, _)| *word == field);
    let synonym = synonym.map(|(_, known)| *known);
    let synonym = synonym.filter(|word| known.contains(word));
    let meant = synonym.or_else(|| meant(field, known.iter().copied()));
    let help = match meant {
        Some(meant) => format!("did you mean `{meant}`?"),
        None if known.len() > MAX_FIELDS => format!(
            "it can have {}, and others that `agenthub workflow schema` lists",
            choice(&known[..MAX_FIELDS])
        ),
        None => format!("it can have {}", choice(known)),
    };
    let message = format!("{} has no field `{field}`", holder(holder_at));
    Misshapen {
        finding: Finding::at(within(holder_at, field), message, help).key(),
        mend: meant.map_or(Mend::Remove, |meant| Mend::Rename(meant.to_owned())),
    }
}

/// The branch that is meant: the only one whose faults go beyond the value's own type.
fn meant_branch<'e>(
    context: &'e [Vec<ValidationError<'static>>],
    at: &At,
) -> Option<&'e [ValidationError<'static>]> {
    let is_own_type = |error: &ValidationError<'_>| {
        matches!(error.kind(), Kind::Type { .. }) && path(error) == *at
    };
    let mut meant = context.iter().filter(|b| !b.iter().any(is_own_type));
    match (meant.next(), meant.next()) {
        (Some(branch), None) => Some(branch),
        _ => None,
    }
}

/// True if a value is none of some words.
fn is_of_words(error: &ValidationError<'_>) -> bool {
    matches!(error.kind(), Kind::Enum { .. } | Kind::Constant { .. })
}

/// The types that the branches take of a value of another type, in words.
fn types_of(context: &[Vec<ValidationError<'static>>], at: &At) -> Vec<String> {
    let errors = context.iter().flatten().filter(|error| path(error) == *at);
    let types = errors.filter_map(|error| match error.kind() {
        Kind::Type { kind } => Some(expected(kind)),
        _ => None,
    });
    types.filter(|word| word != "nothing").collect()
}

/// The types of all branches, where it is not clear which one is meant.
fn no_branch(
    context: &[Vec<ValidationError<'static>>],
    at: At,
    of: &Value,
    document: &Value,
) -> Finding {
    let mut words: Vec<String> = Vec::new();
    for error in context.iter().flatten().filter(|error| path(error) == at) {
        let word = match error.kind() {
            Kind::Type { kind } => expected(kind),
            Kind::Enum { options } => {
                let options: Vec<_> = options.as_array().into_iter().flatten().map(word).collect();
                choice(&options.iter().map(String::as_str).collect::<Vec<_>>())
            }
            Kind::Pattern { .. } => "a time such as `500ms`, `30s`, `5m`, `2h` or `1d`".to_owned(),
            _ => continue,
        };
        if word != "nothing" && !words.contains(&word) {
            words.push(word);
        }
    }
    let value = at.iter().try_fold(document, |value, part| match value {
        Value::Object(fields) => fields.get(part),
        Value::Array(items) => items.get(part.parse::<usize>().ok()?),
        _ => None,
    });
    let is = value.map_or("nothing", of_kind);
    let takes = words.join(" or ");
    let message = format!("{} takes {takes}; this is {is}", name(&at));
    let help = such_as(&takes, of, value.unwrap_or(&Value::Null));
    Finding::at(at, message, help)
}

/// Advice for a value of another type: what is taken, with the value in it where that can be.
fn such_as(takes: &str, of: &Value, value: &Value) -> String {
    match (takes, value) {
        ("a list", Value::String(text)) if !text.contains(['$', ' ']) => {
            format!("write a list: `[{text}]`")
        }
        ("a mapping", _) => match known_fields(of).as_slice() {
            [] => "write a mapping: a line `field: value` for each field".to_owned(),
            fields if fields.len() > MAX_FIELDS => "write a mapping".to_owned(),
            fields => format!("write a mapping, with {}", choice(fields)),
        },
        _ => format!("write {takes}"),
    }
}

/// The fields that a schema has, or the first of its alternatives.
fn known_fields(of: &Value) -> Vec<&str> {
    if let Some(name) = of["$ref"].as_str() {
        let definition = schema().pointer(name.trim_start_matches('#'));
        return definition.map(known_fields).unwrap_or_default();
    }
    if let Some(first) = of["anyOf"].get(0) {
        return known_fields(first);
    }
    let fields = of["properties"].as_object().into_iter().flatten();
    let names = fields.map(|(name, _)| name.as_str());
    names.filter(|name| !name.starts_with('$')).collect()
}

fn not_among(at: At, name: &str, value: &Value, options: &[String]) -> Finding {
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let is = word(value);
    let help = match meant(&is, options.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`? It takes {}", choice(&options)),
        None => format!("it takes {}", choice(&options)),
    };
    Finding::at(at, format!("{name} can't be `{is}`"), help)
}

/// The schema that a value does not fit: the holder of the keyword that refuses it.
fn schema_of(error: &ValidationError<'_>) -> &'static Value {
    let mut schema_at = schema();
    let pointer = error.schema_path().to_string();
    let mut parts: Vec<&str> = pointer.split('/').skip(1).collect();
    parts.pop();
    for part in parts {
        let here = schema_at.get(part).or_else(|| {
            let index = part.parse::<usize>().ok()?;
            schema_at.get(index)
        });
        schema_at = match here {
            Some(inner) => inner,
            None => return &Value::Null,
        };
        if let Some(name) = schema_at["$ref"].as_str() {
            let pointer = name.trim_start_matches('#');
            schema_at = schema().pointer(pointer).unwrap_or(schema_at);
        }
    }
    schema_at
}

fn path(error: &ValidationError<'_>) -> At {
    pointer::names(error.instance_path().as_str())
}

/// The value in words: its key in backticks.
fn name(at: &[String]) -> String {
    let is_index = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    match at {
        [] => "a workflow".to_owned(),
        [.., list, last] if is_index(last) && list == "steps" => "a step".to_owned(),
        [.., list, last] if is_index(last) => format!("an item of `{list}`"),
        [.., last] => format!("`{last}`"),
    }
}

/// Owner of fields, in words.
fn holder(at: &[String]) -> String {
    match at {
        [] => "a workflow".to_owned(),
        [.., list, _] if list == "steps" => "a step".to_owned(),
        [.., list, _] if list == "branches" => "a branch".to_owned(),
        [.., last] => format!("`{last}`"),
    }
}

/// The type that a schema takes, in words.
pub(crate) fn expected(kind: &TypeKind) -> String {
    let one = |name: &str| match name {
        "string" => "a text",
        "number" => "a number",
        "integer" => "a whole number",
        "boolean" => "`true` or `false`",
        "array" => "a list",
        "object" => "a mapping",
        _ => "nothing",
    };
    match kind {
        TypeKind::Single(kind) => one(&kind.to_string()).to_owned(),
        TypeKind::Multiple(kinds) => {
            let kinds = kinds.iter().map(|kind| one(&kind.to_string()));
            let kinds: Vec<&str> = kinds.filter(|kind| *kind != "nothing").collect();
            kinds.join(" or ")
        }
    }
}

/// The type of a value, in words.
pub(crate) fn of_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "`true` or `false`",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a mapping",
    }
}

/// A value as it stands in a sentence.
pub(crate) fn word(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
