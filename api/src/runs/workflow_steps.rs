//! State of the steps of a workflow's plan, folded from the journal of its run.

use std::collections::BTreeMap;

use agenthub_sdk::runs::{
    RunEvent, StepId, StepRequest,
    workflow_step::{StepEnd, WorkflowStep, is_undo},
};
use serde_json::{Value, json};

use super::resources::{PlanView, StepStanding};

/// The steps that have begun, by the names that the workflow's file has for them.
#[derive(Debug, Default)]
pub(super) struct WorkflowSteps {
    steps: BTreeMap<String, Begun>,
    is_over: bool,
}

/// A step that has begun.
#[derive(Debug)]
struct Begun {
    standing: StepStanding,
    /// Parts of it that are out, such as items of a loop.
    open: usize,
}

impl WorkflowSteps {
    /// Takes in what happened next.
    pub(super) fn apply(&mut self, event: &RunEvent) {
        match event {
            RunEvent::StepBegun { step, what, .. } => {
                let standing = match what {
                    StepRequest::ApprovalAsked(_) => StepStanding::AwaitingApproval,
                    _ => StepStanding::Working,
                };
                self.take(step, standing, true);
            }
            RunEvent::StepEnded { step, result, .. } => {
                let standing = match StepEnd::of(result) {
                    StepEnd::Completed => StepStanding::Completed,
                    StepEnd::Failed(_) => StepStanding::Failed,
                    StepEnd::Cancelled => StepStanding::Skipped,
                };
                self.take(step, standing, false);
            }
            // An item of a loop is not its step.
            RunEvent::Noted { value, .. }
                if value["type"] == "step"
                    && value["data"]["stepName"] != value["data"]["step"] => {}
            RunEvent::Noted { value, .. } if value["type"] == "step" => {
                let standing = match value["data"]["status"].as_str() {
                    Some("SKIPPED") => StepStanding::Skipped,
                    _ => StepStanding::Completed,
                };
                let step = value["data"]["step"].as_str().unwrap_or_default();
                self.put(step, standing, 0);
            }
            RunEvent::Ended { .. } => self.is_over = true,
            _ => {}
        }
    }

    fn take(&mut self, step: &StepId, standing: StepStanding, begins: bool) {
        let Some(named) = WorkflowStep::of(step).filter(|_| !is_undo(step)) else {
            return;
        };
        let before = self.steps.get(named.step).map_or(0, |step| step.open);
        let open = match begins {
            true => before + 1,
            false => before.saturating_sub(1),
        };
        let standing = match (begins, open, standing) {
            // Another part of it is out.
            (false, 1.., StepStanding::Completed) => StepStanding::Working,
            (_, _, standing) => standing,
        };
        self.put(named.step, standing, open);
    }

    fn put(&mut self, step: &str, standing: StepStanding, open: usize) {
        self.steps.insert(step.to_owned(), Begun { standing, open });
    }

    /// The plan of a run with this input; nothing if the journal of an earlier release has none.
    pub(super) fn plan(&self, input: &Value) -> Option<PlanView> {
        let steps = input["plan"]["steps"].as_object()?;
        let standing = |name: &str| match self.steps.get(name) {
            Some(step) => step.standing,
            None if self.is_over => StepStanding::Skipped,
            None => StepStanding::Waiting,
        };
        Some(PlanView {
            version: 1,
            plan: json!({ "steps": steps, "input": input["input"] }),
            states: steps
                .keys()
                .map(|name| (name.clone(), standing(name)))
                .collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use agenthub_sdk::runs::{Budget, EffectFailure, StepResult};

    use super::*;

    fn begins(step: &str) -> RunEvent {
        RunEvent::StepBegun {
            step: StepId::new(step),
            attempt: 1,
            what: StepRequest::Waiting { until_ms: 9 },
            grant: Budget::default(),
            deadline_ms: None,
            at_ms: 2,
        }
    }

    fn ends(step: &str, result: StepResult) -> RunEvent {
        RunEvent::StepEnded {
            step: StepId::new(step),
            attempt: 1,
            result,
            spent: None,
            at_ms: 3,
        }
    }

    #[test]
    fn the_plan_has_the_steps_of_the_workflow_with_their_states_and_its_input() {
        let input = json!({
            "input": {"x": 1},
            "plan": {"steps": {"a": {}, "each": {}, "way": {}, "no": {}, "bad": {}, "end": {}}},
        });
        let mut steps = WorkflowSteps::default();
        let note = |name: &str, status: &str| RunEvent::Noted {
            step: StepId::new(format!("{name}/note")),
            value: json!({"type": "step", "data": {
                "step": name.split('/').next(), "stepName": name, "status": status,
            }}),
            at_ms: 3,
        };
        for event in [
            begins("a"),
            ends("a", StepResult::Woke),
            note("way", "COMPLETED"),
            note("no", "SKIPPED"),
            begins("each/0"),
            begins("each/1"),
            ends("each/0", StepResult::Woke),
            note("each/0", "COMPLETED"),
            begins("bad"),
            ends("bad", StepResult::Failed(EffectFailure::lasting("no"))),
            begins("undo/a"),
        ] {
            steps.apply(&event);
        }
        let plan = steps.plan(&input).expect("there is one");
        assert_eq!(plan.plan["input"], json!({"x": 1}));
        assert_eq!(plan.plan["steps"], input["plan"]["steps"]);
        use StepStanding::{Completed, Failed, Skipped, Waiting, Working};
        let states = ["a", "each", "way", "no", "bad", "end"].map(|step| plan.states[step]);
        assert_eq!(
            states,
            [Completed, Working, Completed, Skipped, Failed, Waiting]
        );
        assert_eq!(steps.plan(&Value::Null), None);
    }
}
