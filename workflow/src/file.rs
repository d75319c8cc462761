//! The file format, as it is written. The JSON Schema of it follows from these types.
//!
//! A file has one of two forms. In the *graph* form each step names those that it depends on (`depends_on`), in the *linear* form the file
//! names the first step (`start_step`) and each step the one behind it (`next_step`). All else is the same in both.

use std::{collections::BTreeMap, sync::OnceLock};

use schemars::{JsonSchema, Schema, generate::SchemaSettings, transform::RecursiveTransform};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The largest number of steps in a list, of a file or of a loop.
pub(crate) const MAX_STEPS: usize = 200;

/// A workflow: steps for agents, and how they follow one another.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(title = "AgentHub workflow")]
pub(crate) struct File {
    /// Address of this format's schema, for editors.
    #[serde(rename = "$schema")]
    pub(crate) schema: Option<String>,
    /// Name of the workflow; the file's if there is none.
    #[schemars(length(min = 1, max = 255))]
    pub(crate) name: Option<String>,
    /// Id in another system; it is kept and has no meaning here.
    pub(crate) workflow_id: Option<String>,
    /// Id in another system; it is kept and has no meaning here.
    pub(crate) plan_id: Option<String>,
    /// Version of the workflow.
    pub(crate) version: Option<String>,
    /// Purpose of the workflow.
    pub(crate) description: Option<String>,
    /// JSON Schema of the input, an object. What steps read of the input is checked against it.
    pub(crate) input: Option<Map<String, Value>>,
    /// First step, in the linear form.
    pub(crate) start_step: Option<String>,
    /// The steps: a mapping by their names, or a list of steps with an `id` each.
    pub(crate) steps: Steps,
    /// Circuit breakers by agent.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) breakers: BTreeMap<String, Breaker>,
    /// Template of the result. Without it, the result has the output of each step by its name.
    pub(crate) output: Option<Value>,
    /// Time for the whole run, such as `10m`, for who starts it.
    pub(crate) timeout: Option<Duration>,
}

/// A workflow in a step: the path of its file, or the workflow itself.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Nested {
    File(#[schemars(length(min = 1))] String),
    Inline(Map<String, Value>),
}

/// Circuit breaker of an agent: after some failures in a row, it is not asked for a while.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Breaker {
    /// Failures in a row after which the agent is not asked.
    #[schemars(range(min = 1, max = 1000))]
    pub(crate) failures: u32,
    /// Time for which it is not asked, such as `30s`; then one request is let through.
    pub(crate) pause: Duration,
}

/// An event of the hub that a step waits for.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EventFilter {
    /// Type of the event.
    #[schemars(length(min = 1, max = 255))]
    pub(crate) event: String,
    /// The agent or client that sends it; anybody if not given.
    #[schemars(length(min = 1))]
    pub(crate) from: Option<String>,
    /// Fields that its data must have: templates by field.
    #[serde(rename = "match")]
    pub(crate) matching: Option<Map<String, Value>>,
}

/// A step.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Step {
    /// Name of the step. In a mapping of steps it is the key.
    pub(crate) id: Option<String>,
    /// Name of the step for people.
    pub(crate) name: Option<String>,
    /// Purpose of the step.
    pub(crate) description: Option<String>,
    /// Kind of the step, in the linear form. Without it, the fields say what the step does.
    pub(crate) r#type: Option<StepType>,

    /// The agent that the step is handed to. Without it, any agent with the skill.
    #[schemars(length(min = 1))]
    pub(crate) agent: Option<String>,
    /// The agent, in the linear form.
    #[schemars(length(min = 1))]
    pub(crate) agent_name: Option<String>,
    /// The skill that is asked for. Without it, the agent decides by the input.
    #[schemars(length(min = 1))]
    pub(crate) skill: Option<String>,
    /// Words for the agent: a template.
    pub(crate) text: Option<String>,
    /// Data for the agent: templates by field.
    pub(crate) input: Option<Map<String, Value>>,
    /// The same, in the linear form.
    pub(crate) input_mapping: Option<Map<String, Value>>,

    /// Waits for this time, such as `30s`.
    pub(crate) wait: Option<Duration>,
    /// Waits for an event of the hub.
    pub(crate) wait_for: Option<EventFilter>,
    /// Carries out another workflow with `input`, as a run of its own: the path of its file, from the folder of this one, or the workflow itself.
    pub(crate) workflow: Option<Nested>,
    /// Asks a person for approval, with these words: a template. What is in `input` is shown to the person.
    #[schemars(length(min = 1))]
    pub(crate) approve: Option<String>,
    /// Decides by this expression which of the steps in `then` and `else` go on.
    pub(crate) r#if: Option<String>,
    /// The steps that go on where `if` is true.
    pub(crate) then: Option<Names>,
    /// The steps that go on where `if` is not true.
    pub(crate) r#else: Option<Names>,
    /// Does the step once for each item of this list: a template such as `${workflow.input.files}`, or a list.
    pub(crate) for_each: Option<Value>,
    /// The steps that are done for each item.
    pub(crate) steps: Option<Steps>,
    /// Items that are done at the same time, at most. Without it, one after the other.
    #[schemars(range(min = 1, max = 100))]
    pub(crate) parallel: Option<u32>,
    /// Items of the list, at most; a longer list is a failure.
    #[schemars(range(min = 1, max = 1000))]
    pub(crate) max_items: Option<u32>,
    /// Reaction to a failed item.
    pub(crate) on_item_failure: Option<OnItemFailure>,

    /// Steps that must have ended before.
    pub(crate) depends_on: Option<Vec<String>>,
    /// Number of the steps in `depends_on` that must have completed: `all`, `any` or a number.
    pub(crate) join: Option<Join>,
    /// Treatment of the steps in `depends_on` that `join` does not wait for.
    pub(crate) others: Option<Others>,
    /// Does the step only if this expression is true.
    pub(crate) when: Option<String>,

    /// The step behind this one, in the linear form.
    pub(crate) next_step: Option<String>,
    /// Condition of a `conditional`.
    pub(crate) condition: Option<Condition>,
    /// The step where the condition is true.
    pub(crate) if_true_step: Option<String>,
    /// The step where the condition is not true.
    pub(crate) if_false_step: Option<String>,
    /// The steps of a `parallel`.
    pub(crate) parallel_steps: Option<Vec<String>>,
    /// Steps of a `parallel` that are at work at the same time, at most.
    #[schemars(range(min = 1, max = 100))]
    pub(crate) max_parallelism: Option<u32>,
    /// The loop of a `loop`.
    pub(crate) loop_config: Option<LoopConfig>,
    /// The branches of a `fork_join`.
    pub(crate) fork_join_config: Option<ForkJoinConfig>,

    /// Further attempts when the agent fails.
    pub(crate) retry: Option<Retry>,
    /// Time for one attempt, such as `30s`.
    pub(crate) timeout: Option<Duration>,
    /// Reaction to a step that fails for good.
    pub(crate) on_failure: Option<OnFailure>,
    /// Another agent that is asked when this one has failed for good.
    #[schemars(length(min = 1))]
    pub(crate) fallback: Option<String>,
    /// Takes back what the step did, when the workflow fails later.
    pub(crate) compensate: Option<Call>,
}

/// Request to an agent.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Call {
    /// The agent. Without it, any agent with the skill.
    #[schemars(length(min = 1))]
    pub(crate) agent: Option<String>,
    /// The skill.
    #[schemars(length(min = 1))]
    pub(crate) skill: Option<String>,
    /// Words for the agent: a template.
    pub(crate) text: Option<String>,
    /// Data for the agent: templates by field.
    pub(crate) input: Option<Map<String, Value>>,
}

/// Kind of a step, in the linear form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StepType {
    Agent,
    Conditional,
    Parallel,
    Loop,
    ForkJoin,
}

/// A condition.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Condition {
    /// The expression.
    #[schemars(length(min = 1))]
    pub(crate) expression: String,
    /// A field of another system; it has no meaning.
    pub(crate) operator: Option<String>,
}

/// A loop, in the linear form.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LoopConfig {
    /// The list: a template.
    pub(crate) collection: Value,
    /// The steps that are done for each item, one after the other.
    #[schemars(length(min = 1))]
    pub(crate) loop_body: Vec<String>,
    /// Items one after the other, or at the same time.
    pub(crate) execution_mode: Option<ExecutionMode>,
    /// Items that are done at the same time, at most.
    #[schemars(range(min = 1, max = 100))]
    pub(crate) max_parallelism: Option<u32>,
    /// Items that are done, at most: the first ones of a longer list.
    #[schemars(range(min = 1, max = 1000))]
    pub(crate) max_iterations: Option<u32>,
    /// Reaction to a failed item.
    pub(crate) on_error: Option<LoopError>,
}

/// Order of a loop's items.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ExecutionMode {
    Sequential,
    Parallel,
}

/// Reaction to a failed item of a loop: `stop` fails at once, `continue` does without it, `collect` does the others and then fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LoopError {
    Stop,
    Continue,
    Collect,
}

/// Branches that begin together, in the linear form.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ForkJoinConfig {
    /// The branches by their names.
    pub(crate) branches: BTreeMap<String, Branch>,
    /// Number of branches that must complete.
    pub(crate) join_policy: Option<JoinPolicy>,
    /// Number of branches, for `n_of_m`.
    #[schemars(range(min = 1, max = 100))]
    pub(crate) n_required: Option<u32>,
    /// Time for each branch that has none of its own, in seconds.
    #[schemars(range(min = 1, max = 31_536_000))]
    pub(crate) branch_timeout_seconds: Option<u64>,
}

/// A branch.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Branch {
    /// Its steps, one after the other.
    #[schemars(length(min = 1))]
    pub(crate) steps: Vec<String>,
    /// Time for the branch, in seconds.
    #[schemars(range(min = 1, max = 31_536_000))]
    pub(crate) timeout_seconds: Option<u64>,
}

/// Number of branches that must complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum JoinPolicy {
    All,
    Any,
    Majority,
    NOfM,
}

/// Reaction to a failure: `fail` fails what it belongs to, `continue` goes on without it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OnFailure {
    #[default]
    Fail,
    Continue,
}

/// Reaction to a failed item: `fail` fails the loop at once, `continue` does without it, `collect` does the others and then fails the loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OnItemFailure {
    #[default]
    Fail,
    Continue,
    Collect,
}

/// Treatment of steps that a join does not wait for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Others {
    /// They are called back.
    #[default]
    Cancel,
    /// They go on, and the workflow waits for them before it ends.
    Finish,
    /// They are waited for as well, and those that fail are done without.
    Wait,
}

/// Number of steps that must have completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Join {
    Word(JoinWord),
    AtLeast(#[schemars(range(min = 1, max = 100))] u32),
}

/// Number of steps that must have completed, as a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum JoinWord {
    All,
    Any,
}

/// Attempts at a step.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Retry {
    /// All attempts, the first one included.
    #[schemars(range(min = 1, max = 20))]
    pub(crate) attempts: u32,
    /// Pause before the second attempt, such as `1s`.
    pub(crate) pause: Option<Duration>,
    /// Factor by which the pause grows from attempt to attempt; 2 if there is none.
    #[schemars(range(min = 1.0, max = 10.0))]
    pub(crate) backoff: Option<f64>,
    /// The longest pause; `1m` if there is none.
    pub(crate) max_pause: Option<Duration>,
    /// Part of the pause that is left to chance, from 0 to 1.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub(crate) jitter: Option<f64>,
}

/// A time: a number of seconds, or a text such as `500ms`, `30s`, `5m`, `2h` or `1d`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Duration {
    Seconds(#[schemars(range(min = 0.0, max = 31_536_000.0))] f64),
    Text(#[schemars(regex(pattern = r"^[0-9]{1,9}([.][0-9]{1,3})?(ms|s|m|h|d)$"))] String),
}

impl Duration {
    /// The time in milliseconds; at most a year.
    pub(crate) fn ms(&self) -> u64 {
        const YEAR: u64 = 31_536_000_000;
        let ms = match self {
            Self::Seconds(seconds) => (seconds * 1_000.0) as u64,
            Self::Text(text) => {
                let end = text.find(|c: char| !c.is_ascii_digit() && c != '.');
                let (number, unit) = text.split_at(end.unwrap_or(text.len()));
                let factor = match unit {
                    "ms" => 1.0,
                    "m" => 60_000.0,
                    "h" => 3_600_000.0,
                    "d" => 86_400_000.0,
                    _ => 1_000.0,
                };
                (number.parse::<f64>().unwrap_or_default() * factor).round() as u64
            }
        };
        ms.min(YEAR)
    }
}

/// One name or several.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Names {
    One(String),
    Many(Vec<String>),
}

impl Names {
    /// All of them.
    pub(crate) fn all(&self) -> &[String] {
        match self {
            Self::One(name) => std::slice::from_ref(name),
            Self::Many(names) => names,
        }
    }
}

/// Steps: a mapping by their names, or a list.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Steps {
    List(Vec<Step>),
    Map(#[schemars(with = "BTreeMap<String, Step>")] Map<String, Value>),
}

impl Default for Steps {
    fn default() -> Self {
        Self::List(Vec::new())
    }
}

impl Steps {
    /// The steps in the order of the file, with the place of each: the key or the index.
    pub(crate) fn all(&self) -> Vec<(String, Step)> {
        match self {
            Self::List(steps) => {
                let steps = steps.iter().enumerate();
                steps
                    .map(|(at, step)| (at.to_string(), step.clone()))
                    .collect()
            }
            Self::Map(steps) => steps
                .iter()
                .map(|(key, step)| {
                    let mut step = Step::deserialize(step).unwrap_or_default();
                    step.id.get_or_insert_with(|| key.clone());
                    (key.clone(), step)
                })
                .collect(),
        }
    }
}

/// The JSON Schema (2020-12) of workflow files.
pub(crate) fn schema() -> &'static Value {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    SCHEMA.get_or_init(|| {
        let settings =
            SchemaSettings::draft2020_12().with_transform(RecursiveTransform(for_editors));
        settings
            .into_generator()
            .into_root_schema_for::<File>()
            .to_value()
    })
}

/// Removes formats that no validator knows (`uint32`), and defaults that an editor would write out.
fn for_editors(schema: &mut Schema) {
    schema.remove("format");
    if schema.get("default").is_some_and(is_nothing) {
        schema.remove("default");
    }
}

fn is_nothing(value: &Value) -> bool {
    value.is_null() || value.as_array().is_some_and(Vec::is_empty)
}
