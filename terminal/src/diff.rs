//! Differences of two runs: in what was asked, where their steps part, and in what came of them.
//!
//! Steps are compared by their names, each with its last attempt. Times and ids are not compared, as they are never the same.

mod words;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use agenthub_sdk::runs::pointer::escaped;
use serde_json::Value;

/// A step of a run, as far as it is compared.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepRecord {
    /// Its name.
    pub step: String,
    /// Kind of the step, such as `agent` or `wait`.
    pub kind: String,
    /// The agent, or the tool.
    pub agent: String,
    /// `working`, or how it ended.
    pub state: String,
    /// The request.
    pub request: Value,
    /// The result; null if there is none.
    pub result: Value,
    /// The reason of a failure.
    pub error: String,
}

/// A run, as far as it is compared.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunRecord {
    /// The objective; of a workflow's run its name, or the words of the request.
    pub objective: String,
    /// The input of a workflow; null for other runs.
    pub input: Value,
    /// The steps, in the order in which they began.
    pub steps: Vec<StepRecord>,
    /// The state of the whole run.
    pub state: String,
    /// Extent of what the result lacks: `part` or `all`; empty if nothing.
    pub undone: String,
    /// The result; null if there is none.
    pub result: Value,
    /// The reason of a failure.
    pub error: String,
}

/// One of the two runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The first one.
    First,
    /// The second one.
    Second,
}

/// A part of a step or of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The objective of the run.
    Objective,
    /// The input of the run.
    Input,
    /// The agent or the tool.
    Agent,
    /// The request.
    Request,
    /// The state in which it ended.
    State,
    /// Extent of what the result lacks.
    Undone,
    /// The result.
    Result,
    /// The reason of a failure.
    Error,
}

/// A step in which two runs differ.
#[derive(Clone, Debug, PartialEq)]
pub struct StepDifference {
    /// Its name.
    pub step: String,
    /// The difference.
    pub difference: Difference,
}

/// A difference of two steps.
#[derive(Clone, Debug, PartialEq)]
pub enum Difference {
    /// Only one of the runs has the step.
    OnlyIn(Side),
    /// A part of it differs. What comes behind follows from it: a step differs in the first part that does.
    Differs {
        /// The part.
        part: Part,
        /// JSON pointer to the first value that differs; empty for the whole part.
        at: String,
        /// The value in the first run, if there is one.
        first: Option<Value>,
        /// The value in the second run, if there is one.
        second: Option<Value>,
    },
}

/// All in which two runs differ.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunDifferences {
    /// Differences of what was asked: objective and input.
    pub asked: Vec<Difference>,
    /// The steps in which they differ, in the order in which they began. The runs part at the first one.
    pub steps: Vec<StepDifference>,
    /// Differences of what came of them: state, result and error.
    pub outcome: Vec<Difference>,
}

impl RunDifferences {
    /// Compares two runs.
    pub fn of(first: &RunRecord, second: &RunRecord) -> Self {
        let compared = |parts: Vec<Compared>| parts.into_iter().filter_map(Compared::differing);
        let asked = vec![
            Compared::texts(Part::Objective, &first.objective, &second.objective),
            Compared(Part::Input, first.input.clone(), second.input.clone()),
        ];
        let outcome = vec![
            Compared::texts(Part::State, &first.state, &second.state),
            Compared::texts(Part::Undone, &first.undone, &second.undone),
            Compared(Part::Result, first.result.clone(), second.result.clone()),
            Compared::texts(Part::Error, &first.error, &second.error),
        ];
        Self {
            asked: compared(asked).collect(),
            steps: step_differences(&first.steps, &second.steps),
            outcome: compared(outcome).collect(),
        }
    }

    /// True if nothing differs.
    pub fn is_empty(&self) -> bool {
        self.asked.is_empty() && self.steps.is_empty() && self.outcome.is_empty()
    }
}

/// A part, with its values in both.
struct Compared(Part, Value, Value);

impl Compared {
    fn texts(part: Part, first: &str, second: &str) -> Self {
        Self(part, first.into(), second.into())
    }

    fn differing(self) -> Option<Difference> {
        let Self(part, first, second) = self;
        let (at, first, second) = first_difference(&first, &second, String::new())?;
        Some(Difference::Differs {
            part,
            at,
            first: first.cloned(),
            second: second.cloned(),
        })
    }
}

fn step_differences(first: &[StepRecord], second: &[StepRecord]) -> Vec<StepDifference> {
    let (one, other) = (last_attempts(first), last_attempts(second));
    let compared = merged(first, second).into_iter().filter_map(|step| {
        let difference = match (one.get(step), other.get(step)) {
            (Some(one), Some(other)) => differing(one, other)?,
            (Some(_), None) => Difference::OnlyIn(Side::First),
            _ => Difference::OnlyIn(Side::Second),
        };
        Some(StepDifference {
            step: step.to_owned(),
            difference,
        })
    });
    compared.collect()
}

fn last_attempts(steps: &[StepRecord]) -> BTreeMap<&str, &StepRecord> {
    steps
        .iter()
        .map(|step| (step.step.as_str(), step))
        .collect()
}

/// The names of both: those of the first in its order, and each of the second alone behind the one that is before it there.
fn merged<'s>(first: &'s [StepRecord], second: &'s [StepRecord]) -> Vec<&'s str> {
    let mut names: Vec<&str> = Vec::new();
    for step in first {
        if !names.contains(&step.step.as_str()) {
            names.push(&step.step);
        }
    }
    let mut behind = 0;
    for step in second {
        let name = step.step.as_str();
        match names.iter().position(|other| *other == name) {
            Some(at) => behind = at + 1,
            None => {
                names.insert(behind, name);
                behind += 1;
            }
        }
    }
    names
}

fn differing(one: &StepRecord, other: &StepRecord) -> Option<Difference> {
    // The time until which a step waits differs from run to run.
    let request = |step: &StepRecord| match &*step.kind {
        "wait" => Value::Null,
        _ => step.request.clone(),
    };
    let parts = [
        Compared::texts(Part::Agent, &one.agent, &other.agent),
        Compared(Part::Request, request(one), request(other)),
        Compared::texts(Part::State, &one.state, &other.state),
        Compared(Part::Result, one.result.clone(), other.result.clone()),
        Compared::texts(Part::Error, &one.error, &other.error),
    ];
    parts.into_iter().find_map(Compared::differing)
}

/// The first values that differ, with the pointer to them.
fn first_difference<'v>(
    one: &'v Value,
    other: &'v Value,
    at: String,
) -> Option<(String, Option<&'v Value>, Option<&'v Value>)> {
    match (one, other) {
        (one, other) if one == other => None,
        (Value::Object(fields), Value::Object(others)) => {
            let added = others.keys().filter(|key| !fields.contains_key(*key));
            fields.keys().chain(added).find_map(|key| {
                let at = format!("{at}/{}", escaped(key));
                match (fields.get(key), others.get(key)) {
                    (Some(one), Some(other)) => first_difference(one, other, at),
                    (one, other) => Some((at, one, other)),
                }
            })
        }
        (Value::Array(items), Value::Array(others)) if items.len() == others.len() => {
            let mut pairs = items.iter().zip(others).enumerate();
            pairs.find_map(|(index, (one, other))| {
                first_difference(one, other, format!("{at}/{index}"))
            })
        }
        (one, other) => Some((at, Some(one), Some(other))),
    }
}
