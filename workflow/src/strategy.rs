//! Next steps of a workflow: a pure function of the facts of its run.
//!
//! The steps are gone through in an order in which each stands behind those that it waits for (`evaluating.rs`); work for agents, waits
//! and questions to people become steps of the run (`working.rs`), under names that follow from the workflow: `draft`, `draft/try-2`, and in a
//! loop `publish/0/translate`. When the workflow fails, what its steps did is taken back (`compensating.rs`).

mod compensating;
mod evaluating;
mod working;

#[cfg(test)]
pub(crate) mod tests;

use std::{collections::BTreeMap, sync::Arc};

use agenthub_sdk::runs::{Facts, Memory, Next, RunOutcome, Strategy};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use self::evaluating::{Evaluation, Standing};
use crate::{
    loading::read,
    model::Workflow,
    scope::{Scope, StepValue},
};

/// Input of a run, as its journal has it. Later releases read it back: fields are added, never renamed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Input {
    /// The run's id, by which questions to people are told apart.
    pub run: String,
    /// The workflow, as its file has it.
    pub workflow: Value,
    /// Its input; whoever starts the run has checked it against the workflow's schema, and filled in defaults.
    pub input: Value,
}

/// Carries out workflows.
#[derive(Clone, Copy, Debug)]
pub struct WorkflowRun;

impl WorkflowRun {
    /// The strategy's name in journals.
    pub const NAME: &'static str = "workflow";
}

/// A run's input, read once.
#[derive(Clone)]
struct Reading {
    run: String,
    workflow: Arc<Workflow>,
    input: Value,
}

impl Reading {
    fn of(facts: &Facts) -> Result<Self, String> {
        let input = Input::deserialize(facts.input()).map_err(|error| error.to_string())?;
        let workflow = read(&input.workflow, None).map_err(|faults| faults.join("\n"))?;
        Ok(Self {
            run: input.run,
            workflow: Arc::new(workflow),
            input: input.input,
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
    let mut evaluation = Evaluation::new(facts, &reading.run);
    let mut scope = Scope {
        input: &reading.input,
        outer: None,
        item: None,
        steps: BTreeMap::new(),
    };
    let standing = evaluation.graph(&workflow.graph, &mut scope, "", begun_ms);
    let failure = match standing {
        Standing::Working => return Next::Steps(evaluation.wanted),
        Standing::Failed(failure) => failure.to_string(),
        Standing::Done(_) => match result(workflow, &scope) {
            Ok(outcome) => return Next::Finish(outcome),
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
