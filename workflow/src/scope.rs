//! Values that references and expressions can read: the input, the steps that have ended, and the loop that a step is in.

use std::{borrow::Cow, collections::BTreeMap};

use serde_json::{Map, Value, json};

use crate::{
    expression::Expression,
    reference::{Field, Reference, Source, at},
};

/// Values that can be read at one place of a run.
#[derive(Debug)]
pub(crate) struct Scope<'a> {
    pub(crate) input: &'a Value,
    /// The steps around the loop that this is in.
    pub(crate) outer: Option<&'a Scope<'a>>,
    /// The loop that this is in, as `loop` shows it.
    pub(crate) item: Option<Value>,
    pub(crate) steps: BTreeMap<&'a str, StepValue>,
}

/// A step that has ended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StepValue {
    /// `completed`, `skipped`, `failed` or `cancelled`.
    pub(crate) state: &'static str,
    /// Its output, if it has completed.
    pub(crate) output: Option<Value>,
    /// The reason of its failure.
    pub(crate) error: Option<String>,
}

/// Result of a lookup.
pub(crate) enum Lookup<'v> {
    Value(Cow<'v, Value>),
    /// The step gave nothing, as it was skipped, has failed or was called back.
    LeftOut,
    NotThere,
}

/// The text that stands for a secret until a request goes out.
pub(crate) fn placeholder(name: &str) -> String {
    format!("\u{e000}secret {name}\u{e001}")
}

impl Scope<'_> {
    fn step(&self, name: &str) -> Option<&StepValue> {
        let own = self.steps.get(name);
        own.or_else(|| self.outer.and_then(|outer| outer.step(name)))
    }

    /// The item of the innermost loop around this place.
    pub(crate) fn item(&self) -> Option<&Value> {
        let own = self.item.as_ref();
        own.or_else(|| self.outer.and_then(Scope::item))
    }

    /// The value that a reference names.
    pub(crate) fn find(&self, reference: &Reference) -> Lookup<'_> {
        let from = match &reference.source {
            Source::Input => self.input,
            Source::Secret(name) => return Lookup::Value(Cow::Owned(placeholder(name).into())),
            Source::Loop => match self.item() {
                Some(item) => item,
                None => return Lookup::NotThere,
            },
            Source::Step(name, field) => match (self.step(name), field) {
                (None, _) => return Lookup::NotThere,
                (Some(step), Field::State) => {
                    return Lookup::Value(Cow::Owned(step.state.into()));
                }
                (Some(step), Field::Error) => {
                    return Lookup::Value(Cow::Owned(json!(step.error)));
                }
                (Some(step), Field::Output) => match &step.output {
                    Some(output) => output,
                    None => return Lookup::LeftOut,
                },
            },
        };
        match at(from, &reference.path) {
            Some(value) => Lookup::Value(Cow::Borrowed(value)),
            None => Lookup::NotThere,
        }
    }

    /// The variables that an expression reads.
    pub(crate) fn variables(&self, expression: &Expression) -> Map<String, Value> {
        let mut variables = Map::new();
        for name in expression.names() {
            let name = name.split('.').next().unwrap_or_default();
            if variables.contains_key(name) {
                continue;
            }
            let value = match name {
                "workflow" => Some(json!({ "input": self.input })),
                "loop" => self.item().cloned(),
                "steps" => Some(Value::Object(self.all())),
                step => self.step(step).map(StepValue::shown),
            };
            variables.extend(value.map(|value| (name.to_owned(), value)));
        }
        variables
    }

    fn all(&self) -> Map<String, Value> {
        let mut all = self.outer.map(Scope::all).unwrap_or_default();
        let own = self.steps.iter();
        all.extend(own.map(|(name, step)| ((*name).to_owned(), step.shown())));
        all
    }
}

impl StepValue {
    fn shown(&self) -> Value {
        json!({ "output": self.output, "state": self.state, "error": self.error })
    }
}
