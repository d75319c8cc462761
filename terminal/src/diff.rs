//! Differences of two runs: in what was asked, where their steps part, and in what came of them.
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
            Self::Objective => "objective",
            Self::Input => "input",
            Self::Undone => "extent of what is undone",
            Self::Agent => "agent",
            Self::Request => "request",
            Self::State => "state",
            Self::Result => "result",
            Self::Error => "error",
        })
    }
}

/// Difference, behind `the run` or the name of a step.
impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OnlyIn(Side::First) => f.write_str("only in the first run"),
            Self::OnlyIn(Side::Second) => f.write_str("only in the second run"),
            Self::Differs {
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
                write!(f, "its {part} differs{at}: {first}, then {second}")
            }
        }
    }
}

/// One line.
impl fmt::Display for StepDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.step, self.difference)
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
        let run = |steps: &[StepRecord]| RunRecord {
            steps: steps.to_vec(),
            ..RunRecord::default()
        };
        let found = RunDifferences::of(&run(first), &run(second));
        found.steps.iter().map(StepDifference::to_string).collect()
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

    #[test]
    fn runs_with_the_same_steps_differ_in_what_was_asked_and_what_came_of_them() {
        let steps = vec![step("a", json!({}), json!(1))];
        let completed = RunRecord {
            objective: "d".to_owned(),
            input: json!({"x": "p", "y": 1}),
            steps: steps.clone(),
            state: "completed".to_owned(),
            result: json!({"x": "p"}),
            ..RunRecord::default()
        };
        let other = RunRecord {
            input: json!({"x": "q", "y": 1}),
            result: json!({"x": "q"}),
            ..completed.clone()
        };
        let failed = RunRecord {
            state: "failed".to_owned(),
            result: Value::Null,
            error: "the output: no".to_owned(),
            ..completed.clone()
        };
        let in_part = RunRecord {
            undone: "part".to_owned(),
            ..completed.clone()
        };
        let said = |second: &RunRecord| {
            let found = RunDifferences::of(&completed, second);
            assert_eq!(found.steps, []);
            let all = found.asked.iter().chain(&found.outcome);
            all.map(Difference::to_string).collect::<Vec<_>>()
        };
        assert!(RunDifferences::of(&completed, &completed).is_empty());
        assert_eq!(
            said(&other),
            [
                r#"its input differs at /x: "p", then "q""#,
                r#"its result differs at /x: "p", then "q""#,
            ]
        );
        assert_eq!(
            said(&failed),
            [
                r#"its state differs: "completed", then "failed""#,
                r#"its result differs: {"x":"p"}, then null"#,
                r#"its error differs: "", then "the output: no""#,
            ]
        );
        assert_eq!(
            said(&in_part),
            [r#"its extent of what is undone differs: "", then "part""#]
        );
    }
}
