//! Parts of a value that do not fit a schema, in words for whoever wrote the value.

use jsonschema::{
    ValidationError, Validator,
    error::{TypeKind, ValidationErrorKind as Kind},
    paths::LocationSegment,
};
use serde_json::Value;

use super::{bounded, plain};

/// Maximum misfits of a value; more are left out.
const MAX_MISFITS: usize = 16;

/// Longest value, and longest description of a schema, that is quoted, in characters.
const MAX_QUOTED: usize = 60;
const MAX_DESCRIPTION: usize = 200;

/// A part of a value that does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// Path of the part, such as `knobs.pace.measure` or `mustInclude[1]`; empty for the whole.
    pub path: String,
    /// The fault and what is taken there, as the rest of a sentence that begins with the path.
    pub why: String,
}

/// The parts of a value that do not fit, at most 16. A schema that cannot be compiled within bounds allows any value. Formats
/// (`"format": "date"`) are checked.
pub fn misfits(schema: &Value, value: &Value) -> Vec<Misfit> {
    CompiledSchema::new(schema.clone()).misfits(value)
}

/// A schema that many values are looked at with.
#[derive(Debug)]
pub struct CompiledSchema {
    schema: Value,
    validator: Option<Validator>,
}

impl CompiledSchema {
    /// Compiles a schema. One that cannot be compiled within bounds allows any value.
    pub fn new(schema: Value) -> Self {
        let options = bounded().should_validate_formats(true);
        let validator = options.build(&schema).ok();
        Self { schema, validator }
    }

    /// As [`misfits`].
    pub fn misfits(&self, value: &Value) -> Vec<Misfit> {
        let Some(validator) = &self.validator else {
            return Vec::new();
        };
        let mut misfits = Vec::new();
        for error in validator.iter_errors(value).take(MAX_MISFITS) {
            describe(&self.schema, &error, &mut misfits);
        }
        misfits.truncate(MAX_MISFITS);
        misfits
    }
}

fn describe(schema: &Value, error: &ValidationError<'_>, misfits: &mut Vec<Misfit>) {
    let path = path(error);
    let owner = owner(schema, error);
    if let Kind::AdditionalProperties { unexpected } = error.kind() {
        for field in unexpected {
            misfits.push(Misfit {
                path: match path.is_empty() {
                    true => field.clone(),
                    false => format!("{path}.{field}"),
                },
                why: unknown_field(owner),
            });
        }
        return;
    }
    if let Kind::AnyOf { context } | Kind::OneOfNotValid { context } = error.kind()
        && let Some(branch) = meant(context, error)
    {
        for error in branch {
            describe(schema, error, misfits);
        }
        return;
    }
    let why = why(error);
    let why = match owner["description"].as_str().filter(|_| is_helped(error)) {
        Some(description) => format!("{why} ({})", cut(description, MAX_DESCRIPTION)),
        None => why,
    };
    misfits.push(Misfit { path, why });
}

fn unknown_field(owner: &Value) -> String {
    let known = owner["properties"].as_object().into_iter().flatten();
    let known: Vec<String> = known.map(|(name, _)| format!("`{name}`")).collect();
    match known.is_empty() {
        true => "is a field that nobody reads".to_owned(),
        false => format!("is no field of it: it takes {}", known.join(", ")),
    }
}

/// True if the description of the schema says more than the words for this error.
fn is_helped(error: &ValidationError<'_>) -> bool {
    let says_all = matches!(
        error.kind(),
        Kind::Enum { .. } | Kind::Required { .. } | Kind::Custom { .. }
    );
    !says_all
}

fn why(error: &ValidationError<'_>) -> String {
    let value = quoted(error.instance());
    match error.kind() {
        Kind::Type { kind } => {
            let types = types(kind);
            let help = match &**error.instance() {
                Value::Number(_) | Value::Bool(_) if types == "a text" => {
                    ": put it into quotation marks"
                }
                Value::String(_) | Value::Number(_) if types == "a list" => {
                    ": put it into square brackets"
                }
                _ => "",
            };
            format!("is {value}; it takes {types}{help}")
        }
        Kind::Enum { options } => {
            let options = options.as_array().into_iter().flatten();
            let options: Vec<String> = options.filter(|o| !o.is_null()).map(word).collect();
            format!("is {value}; it takes one of {}", options.join(", "))
        }
        Kind::Minimum { limit } => format!("is {value}; it is at least {}", plain(limit)),
        Kind::Maximum { limit } => format!("is {value}; it is at most {}", plain(limit)),
        Kind::ExclusiveMinimum { limit } => format!("is {value}; it is above {}", plain(limit)),
        Kind::ExclusiveMaximum { limit } => format!("is {value}; it is below {}", plain(limit)),
        Kind::Format { format } if format == "date" => {
            format!("is {value}, which is no date: write it as 2027-05-31")
        }
        Kind::Format { format } => format!("is {value}, which is no {format}"),
        Kind::Pattern { .. } => format!("is {value}, which is nothing that it takes"),
        Kind::Required { property } => format!("lacks `{}`", word(property)),
        Kind::MinLength { .. } | Kind::MinItems { .. } if is_empty(error.instance()) => {
            "is empty".to_owned()
        }
        Kind::MinLength { limit } => format!("is {value}; it has at least {limit} characters"),
        Kind::MinItems { limit } => format!("has too few items: at least {limit}"),
        Kind::MaxItems { limit } => format!("has too many items: at most {limit}"),
        Kind::MaxProperties { limit } => format!("has too many entries: at most {limit}"),
        Kind::Custom { message, .. } => message.clone(),
        _ => error.masked_with(value).to_string(),
    }
}

/// The branch that is meant: the only one that takes the value's own type.
fn meant<'c>(
    context: &'c [Vec<ValidationError<'static>>],
    whole: &ValidationError<'_>,
) -> Option<&'c Vec<ValidationError<'static>>> {
    let is_own_type = |error: &ValidationError<'_>| {
        matches!(error.kind(), Kind::Type { .. }) && path(error) == path(whole)
    };
    let mut taking = context.iter().filter(|b| !b.iter().any(is_own_type));
    taking.next().filter(|_| taking.next().is_none())
}

/// The part of the schema whose keyword this is.
fn owner<'s>(schema: &'s Value, error: &ValidationError<'_>) -> &'s Value {
    let pointer = error.schema_path().to_string();
    let parent = pointer.rsplit_once('/').map_or("", |(parent, _)| parent);
    schema.pointer(parent).unwrap_or(&Value::Null)
}

fn path(error: &ValidationError<'_>) -> String {
    let mut path = String::new();
    for segment in error.instance_path() {
        match segment {
            LocationSegment::Index(index) => path.push_str(&format!("[{index}]")),
            LocationSegment::Property(name) if path.is_empty() => path.push_str(&name),
            LocationSegment::Property(name) => path.push_str(&format!(".{name}")),
        }
    }
    path
}

fn types(kind: &TypeKind) -> String {
    let names: Vec<String> = match kind {
        TypeKind::Single(one) => vec![one.to_string()],
        TypeKind::Multiple(several) => several.iter().map(|one| one.to_string()).collect(),
    };
    let told = |name: &str| match name {
        "string" => "a text",
        "number" => "a number",
        "integer" => "a whole number",
        "boolean" => "true or false",
        "array" => "a list",
        "object" => "an object",
        _ => "nothing",
    };
    let told: Vec<&str> = names.iter().map(|name| told(name)).collect();
    let given: Vec<&str> = told
        .iter()
        .filter(|word| **word != "nothing")
        .copied()
        .collect();
    match given.as_slice() {
        [] => "nothing".to_owned(),
        given => given.join(" or "),
    }
}

fn word(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => plain(other),
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

fn quoted(value: &Value) -> String {
    match value {
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        Value::String(text) => format!("\"{}\"", cut(text, MAX_QUOTED)),
        other => plain(other),
    }
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(schema: Value, value: Value) -> Vec<String> {
        let misfits = misfits(&schema, &value).into_iter();
        misfits.map(|m| format!("{} {}", m.path, m.why)).collect()
    }

    #[test]
    fn a_misfit_is_told_with_its_path_and_what_is_taken_there() {
        let schema = json!({
            "properties": {
                "kind": {"type": "string", "enum": ["short", "long"]},
                "share": {"type": ["number", "null"], "minimum": 0, "maximum": 1, "description": "a share from 0 to 1"},
                "days": {"type": "array", "items": {"type": "string", "format": "date"}},
                "limits": {"type": "object", "properties": {"most": {"type": "integer"}}, "additionalProperties": false},
                "names": {"type": "array", "items": {"type": "string", "minLength": 1}},
                "motto": {"type": "string", "minLength": 20},
                "pair": {"type": "array", "minItems": 2},
                "either": {"anyOf": [{"type": "number"}, {"type": "object", "required": ["a"]}]},
            },
        });
        for (value, misfit) in [
            (
                json!({"kind": "tall"}),
                "kind is \"tall\"; it takes one of short, long",
            ),
            (
                json!({"share": 17.0}),
                "share is 17; it is at most 1 (a share from 0 to 1)",
            ),
            (
                json!({"share": "half"}),
                "share is \"half\"; it takes a number (a share from 0 to 1)",
            ),
            (
                json!({"days": ["2027-02-30"]}),
                "days[0] is \"2027-02-30\", which is no date: write it as 2027-05-31",
            ),
            (
                json!({"limits": {"mots": 1}}),
                "limits.mots is no field of it: it takes `most`",
            ),
            (
                json!({"names": ["a", 12]}),
                "names[1] is 12; it takes a text: put it into quotation marks",
            ),
            (json!({"names": [""]}), "names[0] is empty"),
            (
                json!({"motto": "ab"}),
                "motto is \"ab\"; it has at least 20 characters",
            ),
            (json!({"pair": [1]}), "pair has too few items: at least 2"),
            (json!({"either": {}}), "either lacks `a`"),
        ] {
            assert_eq!(told(schema.clone(), value), [misfit]);
        }
        assert_eq!(
            told(schema, json!({"share": null, "kind": "long"})),
            [""; 0]
        );
    }

    #[test]
    fn sixteen_misfits_are_told_at_most() {
        let fields: serde_json::Map<_, _> = (0..20).map(|n| (n.to_string(), json!(n))).collect();
        let schema = json!({"properties": {"a": true}, "additionalProperties": false});
        assert_eq!(told(schema, json!(fields)).len(), MAX_MISFITS);
    }

    #[test]
    fn a_schema_that_is_none_takes_anything() {
        assert_eq!(told(json!({"type": 5}), json!(1)), [""; 0]);
    }
}
