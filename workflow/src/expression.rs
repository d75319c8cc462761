//! The expression language: expressions of Jinja, as minijinja evaluates them.
//!
//! An expression computes a value of values, such as `draft.output.score >= 0.8 and workflow.input.language == "en"`. It reads no file, calls
//! no program and changes nothing. Its length, its steps and its result are bounded; a value that is not there is an error, not nothing.

mod order;
mod strict;
mod tokens;

use std::{
    collections::BTreeSet,
    fmt,
    sync::{Arc, OnceLock},
};

use agenthub_documents::meant;
use minijinja::{Environment, ErrorKind, UndefinedBehavior, value::Serde};
use serde_json::{Map, Value};

use self::tokens::tokens;
use crate::reference::at;

pub(crate) use self::strict::Demand;

/// The longest expression, in bytes.
pub(crate) const MAX_BYTES: usize = 2_000;

/// Steps of an evaluation, at most; text counts as well, by its length.
const FUEL: u64 = 200_000;

/// Depth of an expression, at most.
const MAX_DEPTH: usize = 64;

/// The largest result, in bytes of JSON.
const MAX_RESULT: usize = 1 << 20;

/// Filters that may be meant by another word.
const FILTERS: [&str; 25] = [
    "abs", "default", "dictsort", "first", "float", "int", "items", "join", "last", "length",
    "list", "lower", "map", "max", "min", "reject", "replace", "reverse", "round", "select",
    "sort", "sum", "trim", "unique", "upper",
];

/// An expression that can be evaluated. Clones share it.
#[derive(Clone)]
pub(crate) struct Expression {
    text: Arc<str>,
    /// In its strict form.
    compiled: Arc<minijinja::Expression<'static, 'static>>,
    demands: Arc<[Demand]>,
}

/// Error: a text is no expression, or it has no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct ExpressionError(String);

impl Expression {
    /// Reads an expression.
    ///
    /// # Errors
    ///
    /// It is none, is longer than 2,000 bytes, or calls something that is not there.
    pub(crate) fn new(text: &str) -> Result<Self, ExpressionError> {
        Self::read(text, false)
    }

    /// Reads an expression whose value is true or false.
    ///
    /// # Errors
    ///
    /// Those of [`new`](Self::new).
    pub(crate) fn condition(text: &str) -> Result<Self, ExpressionError> {
        Self::read(text, true)
    }

    fn read(text: &str, is_condition: bool) -> Result<Self, ExpressionError> {
        if text.len() > MAX_BYTES {
            let why = format!("it is longer than {MAX_BYTES} bytes");
            return Err(ExpressionError(why));
        }
        let compiled = |text: String| {
            let compiled = environment().compile_expression_owned(text);
            compiled.map_err(|error| ExpressionError(words(&error)))
        };
        // Faults are told of the text as it is written.
        compiled(text.to_owned())?;
        let (strict, demands) = strict::strict(text, is_condition);
        let compiled = compiled(strict)?;
        if let Some(unknown) = unknown_word(text) {
            return Err(ExpressionError(unknown));
        }
        Ok(Self {
            text: text.into(),
            compiled: Arc::new(compiled),
            demands: demands.into(),
        })
    }

    /// The paths that it reads: each variable as far as its fields are named, such as `draft.output.score`; `draft` where it is read as a whole.
    pub(crate) fn paths(&self) -> BTreeSet<String> {
        let paths = self.compiled.undeclared_variables(true).into_iter();
        paths.filter(|path| !is_function(path)).collect()
    }

    /// Demands on the types of its values.
    pub(crate) fn demands(&self) -> &[Demand] {
        &self.demands
    }

    /// The same, and the variables alone. Functions are none.
    pub(crate) fn names(&self) -> BTreeSet<String> {
        let mut names = self.paths();
        names.extend(self.compiled.undeclared_variables(false));
        names.retain(|name| !is_function(name));
        names
    }

    /// True if it says what to do without a value: `is defined`, `is undefined` or `default`.
    pub(crate) fn may_lack_values(&self) -> bool {
        let mut words = self
            .text
            .split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        words.any(|word| matches!(word, "defined" | "undefined" | "default" | "d"))
    }

    /// Its value, with these variables.
    ///
    /// # Errors
    ///
    /// It reads what is not there, does what a value cannot, or takes too much.
    pub(crate) fn value(&self, variables: &Map<String, Value>) -> Result<Value, ExpressionError> {
        let shown = minijinja::Value::from(Serde(variables));
        let value = self.compiled.eval(shown);
        let value = match value {
            Ok(value) if !value.is_undefined() => value,
            Err(error) if error.kind() != ErrorKind::UndefinedError => {
                return Err(ExpressionError(words(&error)));
            }
            _ => return Err(ExpressionError(self.missing(variables))),
        };
        let unfit = |_| ExpressionError("its result is no value of JSON".to_owned());
        let value = serde_json::to_value(&value).map_err(unfit)?;
        match value.to_string().len() > MAX_RESULT {
            true => Err(ExpressionError(format!(
                "its result is larger than {MAX_RESULT} bytes"
            ))),
            false => Ok(value),
        }
    }

    /// The value that is not there.
    fn missing(&self, variables: &Map<String, Value>) -> String {
        let variables = Value::Object(variables.clone());
        let names = self.names().into_iter();
        let missing = names.filter_map(|name| {
            let path: Vec<String> = name.split('.').map(str::to_owned).collect();
            let missing = (1..=path.len()).find(|end| at(&variables, &path[..*end]).is_none());
            missing.map(|end| path[..end].join("."))
        });
        let missing = missing.min();
        if let Some(why) = self.gave_nothing(&variables, missing.as_deref()) {
            return why;
        }
        let Some(name) = missing else {
            return "it reads what is not there".to_owned();
        };
        match name.rsplit_once('.') {
            Some((of, "length" | "size" | "count")) => {
                format!(
                    "there is no `{name}`; the number of items or characters is `{of} | length`"
                )
            }
            _ => format!("there is no `{name}`"),
        }
    }

    /// The step that is read and gave nothing, if that is why a value is not there.
    fn gave_nothing(&self, variables: &Value, missing: Option<&str>) -> Option<String> {
        let is_without = |step: &Value| step["state"].is_string() && step["output"].is_null();
        let (name, step) = match missing {
            Some(path) => {
                let name = path.split('.').next()?;
                (name, &variables[name])
            }
            // By `steps["NAME"]`.
            None => {
                let steps = variables["steps"].as_object()?.iter();
                let mut read = steps.filter(|(name, _)| {
                    let marks = ['"', '\''].into_iter();
                    let mut written = marks.map(|mark| format!("[{mark}{name}{mark}]"));
                    written.any(|written| self.text.contains(&written))
                });
                let (name, step) = read.find(|(_, step)| is_without(step))?;
                (name.as_str(), step)
            }
        };
        let state = step["state"].as_str().filter(|_| is_without(step))?;
        Some(format!(
            "the step `{name}` gave nothing ({state}); `| default(…)` stands in for its value"
        ))
    }

    /// The value of a condition.
    ///
    /// # Errors
    ///
    /// Those of [`value`](Self::value), and it is neither true nor false.
    pub(crate) fn is_true(&self, variables: &Map<String, Value>) -> Result<bool, ExpressionError> {
        let is_true = self.value(variables)?.as_bool();
        is_true.ok_or_else(|| ExpressionError("it is neither true nor false".to_owned()))
    }
}

impl fmt::Debug for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Expression").field(&self.text).finish()
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn environment() -> &'static Environment<'static> {
    static ENVIRONMENT: OnceLock<Environment<'static>> = OnceLock::new();
    ENVIRONMENT.get_or_init(|| {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_fuel(Some(FUEL));
        environment.set_recursion_limit(MAX_DEPTH);
        // What shows the inside of the library is no function of the language.
        environment.remove_global("debug");
        order::add_to(&mut environment);
        environment
    })
}

/// True for a function, or a path that begins with its name.
fn is_function(path: &str) -> bool {
    let name = path.split('.').next().unwrap_or_default();
    environment()
        .globals()
        .any(|(function, _)| function == name)
}

/// The first filter or test of an expression that there is not.
fn unknown_word(text: &str) -> Option<String> {
    let tokens = tokens(text).into_iter().map(|token| token.text);
    let tokens: Vec<&str> = tokens.chain(["", ""]).collect();
    tokens.windows(3).find_map(|window| {
        let (before, word) = match window {
            ["is", "not", word] => ("is", *word),
            [before, word, _] => (*before, *word),
            _ => return None,
        };
        let is_word = word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        let mut state = environment().empty_state();
        let kind = match before {
            _ if !is_word || word == "not" => return None,
            "|" => state.apply_filter(word, &[]).err()?.kind(),
            "is" => state.perform_test(word, &[]).err()?.kind(),
            _ => return None,
        };
        match kind {
            ErrorKind::UnknownFilter => {
                let help = meant(word, FILTERS).map(|meant| format!("; did you mean `{meant}`?"));
                Some(format!(
                    "there is no filter `{word}`{}",
                    help.unwrap_or_default()
                ))
            }
            ErrorKind::UnknownTest => Some(format!("there is no test `is {word}`")),
            _ => None,
        }
    })
}

fn words(error: &minijinja::Error) -> String {
    match (error.kind(), error.detail()) {
        (ErrorKind::OutOfFuel, _) => "it takes more steps than an expression may".to_owned(),
        (ErrorKind::SyntaxError | ErrorKind::InvalidOperation, Some(detail)) => detail.to_owned(),
        (kind, Some(detail)) => format!("{kind}: {detail}"),
        (kind, None) => kind.to_string(),
    }
}

#[cfg(test)]
mod tests;
