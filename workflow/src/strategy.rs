//! Next steps of a workflow: a pure function of the facts of its run.
//!
//! The steps are gone through in an order in which each stands behind those that it waits for (`evaluating.rs`; when it may begin:
//! `joining.rs`; for each item of a list: `looping.rs`). Work for agents (`calling.rs`), waits and questions to people (`waiting.rs`) become
//! steps of the run, under names that follow from the workflow: `draft`, `draft/try-2`, and in a loop `publish/0/translate`. When the workflow
//! fails, what its steps did is taken back (`compensating.rs`).

mod calling;
mod compensating;
mod evaluating;
mod joining;
mod lacking;
mod looping;
mod outline;
mod reusing;
mod telling;
mod waiting;

#[cfg(test)]
pub(crate) mod tests;

use std::{collections::BTreeMap, sync::Arc};

use agenthub_sdk::runs::{
    self, Effect, Facts, Memory, Next, RunOutcome, StepId, StepResult, Strategy,
    workflow_step::{GIVEN_UP, TIME_LIMIT},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub(crate) use self::{
    calling::{SECRETS, SINCE},
    outline::outline,
    reusing::{Reused, before},
    waiting::{EVENT, EventQuery},
};
use self::{
    evaluating::{Evaluation, Standing},
    lacking::lacking,
};
use crate::{
    loading::read,
    model::Workflow,
    scope::{Scope, StepValue},
};

/// Input of a run, as its journal has it. Later releases read it back: fields are added, never renamed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Input {
    /// The run's id, by which questions to people are told apart.
    pub run: String,
    /// The workflow, as its file has it.
    pub workflow: Value,
    /// Its input; whoever starts the run has checked it against the workflow's schema, and filled in defaults.
    pub input: Value,
    /// The steps as a plan, for those who watch.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub plan: Value,
    /// Results of an earlier run that stand for those of this one.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) reused: BTreeMap<StepId, Reused>,
    /// The position in the hub's log since which events count; empty if it is not known.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) since: String,
    /// The run that this one goes on from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resumes: Option<String>,
    /// Parts of the request that the workflow has no use for, in the form of a shortfall's results.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) unread: Vec<Value>,
}

/// Carries out workflows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WorkflowRun;

impl WorkflowRun {
    /// The strategy's name in journals.
    pub(crate) const NAME: &'static str = "workflow";
}

/// A run's input, read once.
#[derive(Clone)]
struct Reading {
    run: String,
    workflow: Arc<Workflow>,
    input: Value,
    reused: Arc<BTreeMap<StepId, Reused>>,
    since: Arc<str>,
    unread: Vec<Value>,
}

impl Reading {
    fn of(facts: &Facts) -> Result<Self, String> {
        let input = Input::deserialize(facts.input()).map_err(|error| error.to_string())?;
        let workflow = read(&input.workflow, None).map_err(|faults| faults.join("\n"))?;
        Ok(Self {
            run: input.run,
            workflow: Arc::new(workflow),
            input: input.input,
            reused: Arc::new(input.reused),
            since: input.since.into(),
            unread: input.unread,
        })
    }
}

impl Strategy for WorkflowRun {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn next(&self, facts: &Facts) -> Next {
        self.advance(facts, &mut Memory::default())
    }

    /// The same; the workflow is read once.
    fn advance(&self, facts: &Facts, memory: &mut Memory) -> Next {
        let reading = match memory.take::<Reading>() {
            Some(reading) => Ok(reading),
            None => Reading::of(facts),
        };
        let reading = match reading {
            Ok(reading) => reading,
            Err(error) => {
                let error = format!("the workflow cannot be read: {error}");
                return Next::Finish(RunOutcome::failed(error));
            }
        };
        memory.leave(reading.clone());
        next(facts, &reading)
    }
}

fn next(facts: &Facts, reading: &Reading) -> Next {
    let workflow = &reading.workflow;
    let begun_ms = facts.started().map_or(0, |started| started.at_ms);
    let mut evaluation = Evaluation {
        run: &reading.run,
        since: &reading.since,
        ..Evaluation::new(facts, &reading.reused)
    };
    let mut scope = Scope {
        input: &reading.input,
        outer: None,
        item: None,
        steps: BTreeMap::new(),
    };
    let standing = evaluation.graph(&workflow.graph, &mut scope, "", begun_ms);
    let notes: Vec<runs::Step> = std::mem::take(&mut evaluation.notes)
        .into_values()
        .collect();
    if !notes.is_empty() {
        // What is out stays so while they are written down.
        return Next::Steps(notes.into_iter().chain(evaluation.wanted).collect());
    }
    let limit = workflow.timeout_ms.map(|time_ms| {
        let until_ms = begun_ms.saturating_add(time_ms);
        runs::Step::new(TIME_LIMIT, Effect::Wait(until_ms))
    });
    let is_over = |limit: &runs::Step| facts.result(limit) == Some(&StepResult::Woke);
    let given_up = facts.noted(&StepId::new(GIVEN_UP));
    // Also where nothing is open any more: a step that is called back is no failure.
    let given_up = given_up.and_then(|note| note["why"].as_str());
    let failure = match standing {
        _ if given_up.is_some() => given_up.unwrap_or_default().to_owned(),
        _ if limit.as_ref().is_some_and(is_over) => {
            let time = workflow.timeout_ms.unwrap_or_default() as f64 / 1_000.0;
            format!("the time for it, {time} s, is over")
        }
        Standing::Working => {
            evaluation.wanted.append(&mut evaluation.told);
            evaluation.wanted.extend(limit);
            return Next::Steps(evaluation.wanted);
        }
        Standing::Done(_) if !evaluation.told.is_empty() => {
            return Next::Steps(evaluation.told.into_iter().chain(limit).collect());
        }
        // What is out is called back meanwhile, as it is not named.
        Standing::Failed(_) if !evaluation.told.is_empty() => {
            return Next::Steps(evaluation.told);
        }
        Standing::Failed(failure) => failure.to_string(),
        Standing::Done(_) => match result(workflow, &scope) {
            Ok(outcome) => {
                let lacks = [reading.unread.clone(), evaluation.lacks].concat();
                return Next::Finish(lacking(outcome, lacks));
            }
            Err(error) => format!("the output: {error}"),
        },
    };
    compensating::next(evaluation, failure)
}

/// The result of a workflow whose steps have all ended.
fn result(workflow: &Workflow, scope: &Scope<'_>) -> Result<RunOutcome, String> {
    let output = match &workflow.output {
        Some(output) => output.value(scope).map_err(|error| error.to_string())?,
        None => Some(outputs(&scope.steps)),
    };
    let output = output.unwrap_or(Value::Null);
    let text = match &output {
        Value::String(text) => text.clone(),
        output => format!("{output:#}"),
    };
    let data = json!({ "output": output });
    Ok(RunOutcome::with_data(text, data))
}

/// The outputs of steps by their names.
fn outputs(steps: &BTreeMap<&str, StepValue>) -> Value {
    let given = steps.iter().filter_map(|(name, step)| {
        let output = step.output.clone()?;
        Some(((*name).to_owned(), output))
    });
    Value::Object(given.collect())
}
