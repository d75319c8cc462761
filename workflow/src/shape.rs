//! Says what of a document is no workflow by its form: the fields, and the types of their values.

use std::sync::OnceLock;

use agenthub_documents::{choice, meant};
use jsonschema::{
    ValidationError, Validator,
    error::{TypeKind, ValidationErrorKind as Kind},
};
use serde_json::Value;

use crate::{
    file::schema,
    finding::{At, Finding, within},
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

/// All that is wrong with the form of a document.
pub(crate) fn misshapen(document: &Value) -> Vec<Finding> {
    static VALIDATOR: OnceLock<Validator> = OnceLock::new();
    let validator = VALIDATOR.get_or_init(|| {
        let options = jsonschema::options().offline();
        options.build(schema()).expect("the file's schema is one")
    });
    let mut findings = Vec::new();
    for error in validator.iter_errors(document) {
        describe(&error, document, &mut findings);
    }
    findings
}

fn describe(error: &ValidationError<'_>, document: &Value, findings: &mut Vec<Finding>) {
    let at = path(error);
    let name = name(&at);
    match error.kind() {
        Kind::AdditionalProperties { unexpected } => {
            let known = known_fields(error);
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            for field in unexpected {
                let synonym = SYNONYMS.iter().find(|(word, _)| word == field);
                let synonym = synonym.map(|(_, known)| *known);
                let synonym = synonym.filter(|word| known.contains(word));
                let help = match synonym.or_else(|| meant(field, known.iter().copied())) {
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None => format!("it can have {}", choice(&known)),
                };
                let message = format!("{} has no field `{field}`", holder(&at));
                findings.push(Finding::at(within(&at, field), message, help).key());
            }
        }
        Kind::Required { property } => {
            let field = property.as_str().unwrap_or_default();
            let message = format!("{} has no `{field}`", holder(&at));
            findings.push(Finding::at(at, message, format!("add a line `{field}: …`")).key());
        }
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
            any_of(context, &at, document, findings);
        }
        Kind::Type { kind } => {
            let (takes, is) = (expected(kind), of_kind(error.instance()));
            let help = format!("write {takes}");
            findings.push(Finding::at(
                at,
                format!("{name} takes {takes}; this is {is}"),
                help,
            ));
        }
        Kind::Enum { options } => {
            let options: Vec<String> = options.as_array().into_iter().flatten().map(word).collect();
            findings.push(not_among(at, &name, error.instance(), &options));
        }
        Kind::Constant { expected_value } => {
            let options = [word(expected_value)];
            findings.push(not_among(at, &name, error.instance(), &options));
        }
        Kind::Pattern { .. } => {
            let message = format!("{name} can't be `{}`", word(error.instance()));
            let help =
                "write a number of seconds, or a time such as `500ms`, `30s`, `5m`, `2h` or `1d`";
            findings.push(Finding::at(at, message, help));
        }
        Kind::Minimum { limit } => {
            let help = format!("the smallest is {limit}");
            findings.push(Finding::at(at, format!("{name} is too small"), help));
        }
        Kind::Maximum { limit } => {
            let help = format!("the largest is {limit}");
            findings.push(Finding::at(at, format!("{name} is too large"), help));
        }
        Kind::MinLength { .. } | Kind::MinItems { .. } => {
            let message = format!("{name} is empty");
            findings.push(Finding::at(
                at,
                message,
                "write something, or leave the field out",
            ));
        }
        _ => {
            let message = format!("{name}: {}", error.masked_with("the value"));
            findings.push(Finding::at(at, message, ""));
        }
    }
}

/// The faults of the branch that is meant: the only one whose faults go beyond the value's own type; else the types of all.
fn any_of(
    context: &[Vec<ValidationError<'static>>],
    at: &At,
    document: &Value,
    findings: &mut Vec<Finding>,
) {
    let is_own_type = |error: &ValidationError<'_>| {
        matches!(error.kind(), Kind::Type { .. }) && path(error) == *at
    };
    let mut meant = context.iter().filter(|b| !b.iter().any(is_own_type));
    if let (Some(branch), None) = (meant.next(), meant.next()) {
        for error in branch {
            describe(error, document, findings);
        }
        return;
    }
    let mut words: Vec<String> = Vec::new();
    for error in context.iter().flatten().filter(|error| path(error) == *at) {
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
    let message = format!("{} takes {takes}; this is {is}", name(at));
    findings.push(Finding::at(at.clone(), message, format!("write {takes}")));
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

/// The fields that the schema has where it refuses others.
fn known_fields(error: &ValidationError<'_>) -> Vec<String> {
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
            None => return Vec::new(),
        };
        if let Some(name) = schema_at["$ref"].as_str() {
            let pointer = name.trim_start_matches('#');
            schema_at = schema().pointer(pointer).unwrap_or(schema_at);
        }
    }
    let fields = schema_at["properties"].as_object();
    fields.map_or_else(Vec::new, |fields| fields.keys().cloned().collect())
}

fn path(error: &ValidationError<'_>) -> At {
    let pointer = error.instance_path().to_string();
    let parts = pointer.split('/').skip(1);
    parts
        .map(|part| part.replace("~1", "/").replace("~0", "~"))
        .collect()
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

fn expected(kind: &TypeKind) -> String {
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

fn of_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "`true` or `false`",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a mapping",
    }
}

fn word(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
