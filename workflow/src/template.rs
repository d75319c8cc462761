//! Templates: values whose texts have `${…}` in them, a reference or an expression.
//!
//! A text that is exactly one `${…}` becomes the value with its type; in a longer one the value becomes text. `$${` stands for `${`. What is
//! put in is data: a `${…}` in it stays as it is. A reference to a step that was skipped, or has failed and is not waited for, leaves its
//! field, its item or its part of the text out.

use serde_json::{Map, Value};

use crate::{
    expression::{Expression, ExpressionError},
    finding::{At, Finding, within},
    reference::{Reference, Source},
    scope::{Lookup, Scope},
};

/// The largest value that comes of a template, in bytes of JSON.
const MAX_RESOLVED: usize = 1 << 20;

/// A value with `${…}` in its texts, read once.
#[derive(Clone, Debug)]
pub(crate) enum Template {
    Plain(Value),
    Whole(Insert),
    Text(Vec<Piece>),
    List(Vec<Template>),
    Object(Vec<(String, Template)>),
}

/// A part of a text.
#[derive(Clone, Debug)]
pub(crate) enum Piece {
    Text(String),
    Insert(Insert),
}

/// Something between `${` and `}`.
#[derive(Clone, Debug)]
pub(crate) enum Insert {
    Reference(Reference),
    Expression(Expression),
}

/// Error: a template has no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ResolveError {
    #[error("${{{0}}}: there is no such value")]
    NotThere(String),
    #[error("${{{text}}}: {error}")]
    Expression {
        text: String,
        error: ExpressionError,
    },
    #[error("it is larger than {MAX_RESOLVED} bytes with what is put in")]
    TooLarge,
}

/// A part of a text as it is written.
enum Written<'t> {
    Text(&'t str),
    /// Between `${` and `}`.
    Insert(&'t str),
    /// From `${` on, without an end.
    Open(&'t str),
}

/// The parts of a text.
fn written(text: &str) -> Vec<Written<'_>> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        if rest[..at].ends_with('$') {
            parts.push(Written::Text(&rest[..at - 1]));
            parts.push(Written::Text("${"));
            rest = &rest[at + 2..];
            continue;
        }
        parts.push(Written::Text(&rest[..at]));
        let inner = &rest[at + 2..];
        let Some(end) = end(inner) else {
            parts.push(Written::Open(&rest[at..]));
            return parts;
        };
        parts.push(Written::Insert(&inner[..end]));
        rest = &inner[end + 1..];
    }
    parts.push(Written::Text(rest));
    parts.retain(|part| !matches!(part, Written::Text("")));
    parts
}

/// The place of the `}` that ends an insert: not one in quotes, nor one of a mapping in it.
fn end(text: &str) -> Option<usize> {
    let (mut depth, mut quote) = (0_usize, None);
    let mut is_escaped = false;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            _ if is_escaped => is_escaped = false,
            (Some(_), '\\') => is_escaped = true,
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '{') => depth += 1,
            (None, '}') if depth == 0 => return Some(at),
            (None, '}') => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Reads the templates of a value. What is wrong is added to the findings, at its path.
pub(crate) fn template(value: &Value, at: &At, findings: &mut Vec<Finding>) -> Template {
    match value {
        Value::String(text) => of_text(text, at, findings),
        Value::Array(items) => {
            let items = items.iter().enumerate();
            let items = items.map(|(index, item)| template(item, &within(at, index), findings));
            Template::List(items.collect())
        }
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| {
                let at = within(at, key);
                if key.contains("${") {
                    let message = "a `${…}` can't be in a key";
                    findings.push(Finding::at(at.clone(), message, "put it into a value").key());
                }
                (key.clone(), template(value, &at, findings))
            });
            Template::Object(fields.collect())
        }
        plain => Template::Plain(plain.clone()),
    }
}

fn of_text(text: &str, at: &At, findings: &mut Vec<Finding>) -> Template {
    let mut pieces: Vec<Piece> = Vec::new();
    findings.extend(braces(text).map(|inner| {
        let message = format!("`{{{{{inner}}}}}` stays as it is");
        let help = format!(
            "write `${{{}}}` for the value; `${{'{{{{'}}` stands for `{{{{`",
            inner.trim()
        );
        Finding::at(at.clone(), message, help).snippet(&format!("{{{{{inner}}}}}"))
    }));
    for part in written(text) {
        match part {
            Written::Text(text) => match pieces.last_mut() {
                Some(Piece::Text(before)) => before.push_str(text),
                _ => pieces.push(Piece::Text(text.to_owned())),
            },
            Written::Insert(inner) => match insert(inner) {
                Ok(insert) => pieces.push(Piece::Insert(insert)),
                Err(error) => findings.push(bad(inner, &error.to_string(), at)),
            },
            Written::Open(open) => {
                let message = "a `${` is not closed";
                let help = "write `}` behind it, or `$${` for the characters `${`";
                findings.push(Finding::at(at.clone(), message, help).snippet(open));
            }
        }
    }
    match pieces.as_slice() {
        [] => Template::Plain(Value::String(String::new())),
        [Piece::Text(text)] => Template::Plain(Value::String(text.clone())),
        [Piece::Insert(insert)] => Template::Whole(insert.clone()),
        _ => Template::Text(pieces),
    }
}

/// References between `{{` and `}}`, as other systems write them.
fn braces(text: &str) -> impl Iterator<Item = &str> {
    let inner = text.split("{{").skip(1);
    let inner = inner.filter_map(|rest| rest.split_once("}}").map(|(inner, _)| inner));
    inner.filter(|inner| Reference::of(inner.trim()).is_some())
}

fn bad(inner: &str, why: &str, at: &At) -> Finding {
    let message = format!("`${{{inner}}}` is no reference and no expression: {why}");
    let help = "there are ${workflow.input.PATH}, ${STEP.output.PATH}, ${STEP.state}, ${STEP.error}, in a loop ${loop.item} and ${loop.index}, and expressions \
         of these";
    Finding::at(at.clone(), message, help).snippet(&format!("${{{inner}}}"))
}

fn insert(inner: &str) -> Result<Insert, ExpressionError> {
    let inner = inner.trim();
    match Reference::of(inner) {
        Some(reference) => Ok(Insert::Reference(reference)),
        None => Expression::new(inner).map(Insert::Expression),
    }
}

/// Reads a condition: an expression, in which `${…}` may stand for values.
pub(crate) fn condition(text: &str, at: &At, findings: &mut Vec<Finding>) -> Option<Expression> {
    let mut whole = String::new();
    for part in written(text) {
        match part {
            Written::Text(text) => whole.push_str(text),
            Written::Insert(inner) => match Reference::of(inner.trim()) {
                Some(reference) => whole += &reference.as_expression(),
                None => whole += &format!("({inner})"),
            },
            Written::Open(open) => whole.push_str(open),
        }
    }
    match Expression::condition(&whole) {
        Ok(expression) => Some(expression),
        Err(error) => {
            let message = format!("this is no expression: {error}");
            let help = operators(&whole).unwrap_or(
                "such as `draft.output.score >= 0.8 and workflow.input.language == \"en\"`",
            );
            findings.push(Finding::at(at.clone(), message, help));
            None
        }
    }
}

/// Advice for operators of other languages.
fn operators(text: &str) -> Option<&'static str> {
    let has = |operator: &str| text.contains(operator);
    Some(match () {
        () if has(" contains ") => "write `\"x\" in value`: what is contained stands first",
        () if has("&&") || has("||") => "write `and` and `or`",
        () if has("===") || has("!==") => "write `==` and `!=`",
        () if text.trim_start().starts_with('!') || has(" !") => "write `not`",
        () if has(" = ") => "write `==` to compare",
        () => return None,
    })
}

impl Template {
    /// Everything that is put in, with the path of the text that it is put into.
    pub(crate) fn inserts(&self) -> Vec<(At, &Insert)> {
        fn gather<'t>(template: &'t Template, at: &At, all: &mut Vec<(At, &'t Insert)>) {
            match template {
                Template::Plain(_) => {}
                Template::Whole(insert) => all.push((at.clone(), insert)),
                Template::Text(pieces) => {
                    all.extend(pieces.iter().filter_map(|piece| match piece {
                        Piece::Insert(insert) => Some((at.clone(), insert)),
                        Piece::Text(_) => None,
                    }))
                }
                Template::List(items) => {
                    for (index, item) in items.iter().enumerate() {
                        gather(item, &within(at, index), all);
                    }
                }
                Template::Object(fields) => {
                    for (key, value) in fields {
                        gather(value, &within(at, key), all);
                    }
                }
            }
        }
        let mut all = Vec::new();
        gather(self, &At::new(), &mut all);
        all
    }

    /// Names of the secrets in it.
    pub(crate) fn secrets(&self) -> Vec<String> {
        let inserts = self.inserts().into_iter();
        let names = inserts.filter_map(|(_, insert)| match insert {
            Insert::Reference(Reference {
                source: Source::Secret(name),
                ..
            }) => Some(name.clone()),
            _ => None,
        });
        names.collect()
    }

    /// Its value in a scope; nothing if it is a reference to what a step did not give.
    ///
    /// # Errors
    ///
    /// A value is not there, an expression has none, or it is larger than 1 MiB.
    pub(crate) fn value(&self, scope: &Scope<'_>) -> Result<Option<Value>, ResolveError> {
        let mut left = MAX_RESOLVED;
        self.resolved(scope, &mut left)
    }

    fn resolved(&self, scope: &Scope<'_>, left: &mut usize) -> Result<Option<Value>, ResolveError> {
        Ok(match self {
            Self::Plain(value) => {
                spend(left, size(value))?;
                Some(value.clone())
            }
            Self::Whole(insert) => {
                let value = insert.value(scope)?;
                if let Some(value) = &value {
                    spend(left, size(value))?;
                }
                value
            }
            Self::Text(pieces) => {
                let mut text = String::new();
                for piece in pieces {
                    let before = text.len();
                    match piece {
                        Piece::Text(own) => text.push_str(own),
                        Piece::Insert(insert) => match insert.value(scope)? {
                            None | Some(Value::Null) => {}
                            Some(Value::String(value)) => text.push_str(&value),
                            Some(value) => text += &value.to_string(),
                        },
                    }
                    spend(left, text.len() - before)?;
                }
                Some(Value::String(text))
            }
            Self::List(items) => {
                let mut made = Vec::new();
                for item in items {
                    made.extend(item.resolved(scope, left)?);
                }
                Some(Value::Array(made))
            }
            Self::Object(fields) => {
                let mut made = Map::new();
                for (key, field) in fields {
                    spend(left, key.len() + 4)?;
                    if let Some(value) = field.resolved(scope, left)? {
                        made.insert(key.clone(), value);
                    }
                }
                Some(Value::Object(made))
            }
        })
    }
}

impl Insert {
    /// As it is written, without `${` and `}`.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Reference(reference) => reference.to_string(),
            Self::Expression(expression) => expression.to_string(),
        }
    }

    fn value(&self, scope: &Scope<'_>) -> Result<Option<Value>, ResolveError> {
        match self {
            Self::Reference(reference) => match scope.find(reference) {
                Lookup::Value(value) => Ok(Some(value.into_owned())),
                Lookup::LeftOut => Ok(None),
                Lookup::NotThere => Err(ResolveError::NotThere(reference.to_string())),
            },
            Self::Expression(expression) => {
                let value = expression.value(&scope.variables(expression));
                value.map(Some).map_err(|error| ResolveError::Expression {
                    text: expression.to_string(),
                    error,
                })
            }
        }
    }
}

fn spend(left: &mut usize, bytes: usize) -> Result<(), ResolveError> {
    *left = left.checked_sub(bytes).ok_or(ResolveError::TooLarge)?;
    Ok(())
}

fn size(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 2,
        Value::Array(items) => 2 + items.iter().map(|item| size(item) + 1).sum::<usize>(),
        Value::Object(fields) => {
            let sizes = fields
                .iter()
                .map(|(key, value)| key.len() + 4 + size(value));
            2 + sizes.sum::<usize>()
        }
        Value::Null | Value::Bool(_) => 5,
        Value::Number(_) => 8,
    }
}
