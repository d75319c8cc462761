//! Differences of two runs, step by step: where they part, and in what.
//!
//! Steps are compared by their names, each with its last attempt. Times and ids are not compared, as they are never the same.

use std::{collections::BTreeMap, fmt};

use serde_json::Value;

/// Maximum characters of a value that is shown.
const MAX_SHOWN: usize = 160;

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

/// One of the two runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The first one.
    First,
    /// The second one.
    Second,
}

/// A part of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The agent or the tool.
    Agent,
    /// The request.
    Request,
    /// The state in which it ended.
    State,
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

/// The steps in which two runs differ, in the order in which they began. The runs part at the first one.
pub fn differences(first: &[StepRecord], second: &[StepRecord]) -> Vec<StepDifference> {
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
    let text = |text: &String| Value::from(text.as_str());
    // The time until which a step waits differs from run to run.
    let request = |step: &StepRecord| match &*step.kind {
        "wait" => Value::Null,
        _ => step.request.clone(),
    };
    let parts = [
        (Part::Agent, text(&one.agent), text(&other.agent)),
        (Part::Request, request(one), request(other)),
        (Part::State, text(&one.state), text(&other.state)),
        (Part::Result, one.result.clone(), other.result.clone()),
        (Part::Error, text(&one.error), text(&other.error)),
    ];
    parts.into_iter().find_map(|(part, first, second)| {
        let (at, first, second) = first_difference(&first, &second, String::new())?;
        Some(Difference::Differs {
            part,
            at,
            first: first.cloned(),
            second: second.cloned(),
        })
    })
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
                let part = key.replace('~', "~0").replace('/', "~1");
                let at = format!("{at}/{part}");
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

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Agent => "agent",
            Self::Request => "request",
            Self::State => "state",
            Self::Result => "result",
            Self::Error => "error",
        })
    }
}

/// One line.
impl fmt::Display for StepDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let step = &self.step;
        match &self.difference {
            Difference::OnlyIn(Side::First) => write!(f, "{step}: only in the first run"),
            Difference::OnlyIn(Side::Second) => write!(f, "{step}: only in the second run"),
            Difference::Differs {
                part,
                at,
                first,
                second,
            } => {
                let at = match &**at {
                    "" => String::new(),
                    at => format!(" at {at}"),
                };
                let (first, second) = (shown(first.as_ref()), shown(second.as_ref()));
                write!(f, "{step}: its {part} differs{at}: {first}, then {second}")
            }
        }
    }
}

fn shown(value: Option<&Value>) -> String {
    let Some(value) = value else {
        return "nothing".to_owned();
    };
    let text = value.to_string();
    match text.char_indices().nth(MAX_SHOWN) {
        None => text,
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

#[cfg(test)]
mod tests {
    use std::slice::from_ref;

    use serde_json::json;

    use super::*;

    fn step(name: &str, request: Value, result: Value) -> StepRecord {
        StepRecord {
            step: name.to_owned(),
            kind: "agent".to_owned(),
            agent: "writer".to_owned(),
            state: "completed".to_owned(),
            request,
            result,
            ..StepRecord::default()
        }
    }

    fn told(first: &[StepRecord], second: &[StepRecord]) -> Vec<String> {
        let found = differences(first, second);
        found.iter().map(StepDifference::to_string).collect()
    }

    #[test]
    fn equal_runs_do_not_part() {
        let run = [step("a", json!({"x": 1}), json!([1, null]))];
        assert_eq!(told(&run, &run), Vec::<String>::new());
    }

    #[test]
    fn runs_part_at_the_first_step_that_differs_and_a_step_in_the_first_part_that_does() {
        let first = [
            step("a", json!({"x": 1}), json!(1)),
            step("b", json!({"x": {"y": [1, 2]}}), json!(1)),
            step("c", json!({}), json!({"n": "one"})),
        ];
        let second = [
            step("a", json!({"x": 1}), json!(1)),
            StepRecord {
                state: "failed".to_owned(),
                ..step("b", json!({"x": {"y": [1, 3]}}), json!(2))
            },
            step("c", json!({}), json!({"n": "two"})),
        ];
        assert_eq!(
            told(&first, &second),
            [
                "b: its request differs at /x/y/1: 2, then 3",
                r#"c: its result differs at /n: "one", then "two""#,
            ]
        );
    }

    #[test]
    fn agents_states_and_errors_are_compared() {
        let one = step("a", json!({}), Value::Null);
        let agent = StepRecord {
            agent: "other".to_owned(),
            ..one.clone()
        };
        let failed = StepRecord {
            state: "failed".to_owned(),
            error: "no".to_owned(),
            ..one.clone()
        };
        let why = StepRecord {
            error: "never".to_owned(),
            ..failed.clone()
        };
        let of = |one: &StepRecord, other: &StepRecord| told(from_ref(one), from_ref(other));
        assert_eq!(
            of(&one, &agent),
            [r#"a: its agent differs: "writer", then "other""#]
        );
        assert_eq!(
            of(&one, &failed),
            [r#"a: its state differs: "completed", then "failed""#]
        );
        assert_eq!(
            of(&failed, &why),
            [r#"a: its error differs: "no", then "never""#]
        );
    }

    #[test]
    fn only_the_last_attempt_counts_and_times_of_waits_do_not() {
        let failed = StepRecord {
            state: "failed".to_owned(),
            ..step("a", json!({}), Value::Null)
        };
        let wait = |until: u64| StepRecord {
            kind: "wait".to_owned(),
            ..step("w", json!({"untilMs": until}), Value::Null)
        };
        let first = [failed, step("a", json!({}), json!(1)), wait(1)];
        let second = [step("a", json!({}), json!(1)), wait(2)];
        assert_eq!(told(&first, &second), Vec::<String>::new());
    }

    #[test]
    fn steps_of_one_run_alone_stand_where_they_began() {
        let named = |name: &str| step(name, json!({}), json!(1));
        let first = ["a", "b", "d"].map(named);
        let second = ["a", "c", "d", "e"].map(named);
        assert_eq!(
            told(&first, &second),
            [
                "c: only in the second run",
                "b: only in the first run",
                "e: only in the second run",
            ]
        );
    }

    #[test]
    fn a_field_that_is_null_is_not_one_that_is_missing() {
        let first = [step("a", json!({"x~/y": null}), json!(1))];
        let second = [step("a", json!({}), json!(1))];
        assert_eq!(
            told(&first, &second),
            ["a: its request differs at /x~0~1y: null, then nothing"]
        );
    }
}
