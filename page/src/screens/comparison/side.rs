//! One of two runs that are compared: it as it is compared, and its steps in the words of its page.

use std::collections::BTreeMap;

use agenthub_proto::cortex::{Run, RunPlan, StepAttempt};
use agenthub_terminal::{diff::RunRecord, listing::steps::record};

use crate::{backend::Backend, screens::run::called, trouble::Trouble};

/// One of the two.
pub(super) struct Side {
    pub(super) run: Run,
    pub(super) record: RunRecord,
    /// Words for its steps, by their names: those of the plan, and beside them those that are none of it.
    named: BTreeMap<String, StepWords>,
}

/// A step as the page of its run calls it.
#[derive(Clone, Debug)]
pub(super) struct StepWords {
    pub(super) words: String,
    pub(super) is_of_plan: bool,
}

impl Side {
    /// The run with this id.
    pub(super) async fn of(backend: &Backend, id: &str) -> Result<Self, Trouble> {
        let run = backend.run(id).await?;
        let steps: Vec<StepAttempt> = backend.steps(id).await?;
        let plan = backend.plan(id).await?;
        Ok(Self::new(run, steps, plan.as_ref()))
    }

    pub(super) fn new(run: Run, mut steps: Vec<StepAttempt>, plan: Option<&RunPlan>) -> Self {
        let mut named = BTreeMap::new();
        for step in &mut steps {
            let words = StepWords {
                words: called(step),
                is_of_plan: plan.is_none() || !step.plan_step.is_empty(),
            };
            // Handovers of a run that plans are attempts at a step of its plan, whatever the run calls them.
            let rest = step.step.strip_prefix(&*step.plan_step);
            let is_so_called = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
            if !step.plan_step.is_empty() && !is_so_called {
                step.step.clone_from(&step.plan_step);
            }
            named.insert(step.step.clone(), words);
        }
        let record = record(&run, &steps, plan);
        Self { run, record, named }
    }

    /// A step in words, if it has it.
    pub(super) fn called(&self, step: &str) -> Option<&StepWords> {
        self.named.get(step)
    }
}
