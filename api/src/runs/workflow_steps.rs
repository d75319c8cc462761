//! State of the steps of a workflow's plan, folded from the journal of its run.

use std::collections::BTreeMap;

use agenthub_sdk::runs::{
    RunEvent, RunOutcome, StepId, StepRequest, StepResult,
    workflow_step::{StepEnd, WorkflowStep, counted_in, is_undo, reused_in},
};
use serde_json::{Value, json};

use super::resources::{PlanView, StepStanding};

/// The steps that have begun, by the names that the workflow's file has for them.
#[derive(Debug, Default)]
pub(super) struct WorkflowSteps {
    steps: BTreeMap<String, Begun>,
    /// Items of loops, where that many are known.
    items: BTreeMap<String, u64>,
    is_over: bool,
}

/// A step that has begun.
#[derive(Debug)]
struct Begun {
    standing: StepStanding,
    /// Parts of it that are out, such as items of a loop.
    open: usize,
    /// Items of the loop that have begun: each begins after those before it.
    items: u64,
    /// An item of the loop was called back.
    is_cut: bool,
}

impl Begun {
    fn new(standing: StepStanding) -> Self {
        Self {
            standing,
            open: 0,
            items: 0,
            is_cut: false,
        }
    }
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
                    StepEnd::Failed(_) if is_refusal(result) => StepStanding::Refused,
                    StepEnd::Completed => StepStanding::Completed,
                    StepEnd::Failed(_) => StepStanding::Failed,
                    StepEnd::Cancelled => StepStanding::Cancelled,
                };
                self.take(step, standing, false);
            }
            // An item of a loop is not its step.
            RunEvent::Noted { value, .. }
                if value["type"] == "step"
                    && value["data"]["stepName"] != value["data"]["step"] =>
            {
                let data = &value["data"];
                let step = data["step"].as_str().unwrap_or_default();
                let name = StepId::new(data["stepName"].as_str().unwrap_or_default());
                let item = WorkflowStep::of(&name).and_then(|named| item(&named));
                if let Some(step) = self.steps.get_mut(step) {
                    step.is_cut |= data["status"] == "CANCELLED";
                    // Of one whose steps were all left out there is nothing else.
                    step.items = step.items.max(item.map_or(0, |item| item.number));
                }
            }
            RunEvent::Noted { value, .. } if value["type"] == "step" => {
                let standing = match value["data"]["status"].as_str() {
                    Some("SKIPPED") => StepStanding::Skipped,
                    Some("FAILED") if value["data"]["metadata"]["behind"].is_string() => {
                        StepStanding::NotReached
                    }
                    Some("FAILED") => StepStanding::Failed,
                    Some("CANCELLED") => StepStanding::Cancelled,
                    _ => StepStanding::Completed,
                };
                let step = value["data"]["step"].as_str().unwrap_or_default();
                self.put(step, standing, 0);
            }
            RunEvent::Noted { step, value, .. } => {
                if let Some(reused) = reused_in(step) {
                    self.stands(&StepId::new(reused));
                }
                if let Some((step, known)) = counted_in(step).zip(value.as_u64()) {
                    self.items.insert(step.to_owned(), known);
                }
            }
            RunEvent::Ended { outcome, .. } => self.end(outcome),
            _ => {}
        }
    }

    /// Takes in that the result of an earlier run stands for a step, or for a part of one of which other parts may be out.
    fn stands(&mut self, step: &StepId) {
        if let Some(named) = WorkflowStep::of(step).filter(|_| !is_undo(step)) {
            let begun = self.steps.entry(named.step.to_owned());
            let begun = begun.or_insert(Begun::new(StepStanding::Completed));
            begun.items = begun.items.max(item(&named).map_or(0, |item| item.number));
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
        let item = item(&named);
        let is_cut = standing == StepStanding::Cancelled && item.is_some_and(|item| item.is_whole);
        let standing = match (begins, open, standing) {
            // Another part of it is out.
            (false, 1.., StepStanding::Completed | StepStanding::Cancelled) => {
                StepStanding::Working
            }
            (_, _, standing) => standing,
        };
        let begun = self.put(named.step, standing, open);
        begun.items = begun.items.max(item.map_or(0, |item| item.number));
        begun.is_cut |= is_cut;
    }

    fn put(&mut self, step: &str, standing: StepStanding, open: usize) -> &mut Begun {
        let begun = self.steps.entry(step.to_owned());
        let begun = begun.or_insert(Begun::new(standing));
        (begun.standing, begun.open) = (standing, open);
        begun
    }

    /// The run is over: what was out is called back, and so is the rest of a loop that did not come to all of its items.
    fn end(&mut self, outcome: &RunOutcome) {
        self.is_over = true;
        let is_whole = matches!(outcome, RunOutcome::Completed { .. });
        for (name, step) in &mut self.steps {
            let known = self.items.get(name).copied().unwrap_or_default();
            let is_cut = step.is_cut || step.items < known;
            let is_called_back = match step.standing {
                StepStanding::Working | StepStanding::AwaitingApproval => true,
                StepStanding::Completed => is_cut && !is_whole,
                _ => false,
            };
            if is_called_back {
                step.standing = StepStanding::Cancelled;
            }
        }
    }

    /// The plan of a run with this input; nothing if the journal of an earlier release has none.
    pub(super) fn plan(&self, input: &Value) -> Option<PlanView> {
        let steps = input["plan"]["steps"].as_object()?;
        let standing = |name: &str| match self.steps.get(name) {
            Some(step) => step.standing,
            None if self.is_over => StepStanding::NotReached,
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

/// The item of a loop that a step is about.
#[derive(Clone, Copy, Debug)]
struct Item {
    /// From 1.
    number: u64,
    /// The step is all of its work.
    is_whole: bool,
}

fn item(step: &WorkflowStep<'_>) -> Option<Item> {
    let within = step.name.strip_prefix(step.step)?.strip_prefix('/')?;
    let (index, is_whole) = match within.split_once('/') {
        Some((index, _)) => (index, false),
        None => (within, true),
    };
    let index: u64 = index.parse().ok()?;
    Some(Item {
        number: index.saturating_add(1),
        is_whole,
    })
}

/// True if a person did not allow what was asked for.
fn is_refusal(result: &StepResult) -> bool {
    matches!(result, StepResult::Decided(decision) if !decision.approved)
}

#[cfg(test)]
mod tests {
    use agenthub_sdk::runs::{
        Budget, Decision, EffectFailure, RunOutcome, Spent, workflow_step::reuse_note_of,
    };

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

    fn note(name: &str, status: &str) -> RunEvent {
        RunEvent::Noted {
            step: StepId::new(format!("{name}/ended")),
            value: json!({"type": "step", "data": {
                "step": name.split('/').next(), "stepName": name, "status": status,
            }}),
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
        // Issue 26, runs: a step that could not begin has failed; what the run ended before was not reached.
        steps.apply(&note("end", "FAILED"));
        let later = json!({"plan": {"steps": {"end": {}, "later": {}}}});
        steps.apply(&RunEvent::Ended {
            outcome: RunOutcome::failed("no"),
            spent: Spent::default(),
            at_ms: 9,
        });
        let plan = steps.plan(&later).expect("there is one");
        let states = ["end", "later"].map(|step| plan.states[step]);
        assert_eq!(states, [Failed, StepStanding::NotReached]);
    }

    /// Issue 26, runs: a step whose result an earlier run had is completed, and a loop of which a part stands is at work where others are.
    #[test]
    fn steps_that_stand_are_completed() {
        let input = json!({"plan": {"steps": {"draft": {}, "ask": {}, "each": {}}}});
        let mut steps = WorkflowSteps::default();
        let stands = |step: &str| RunEvent::Noted {
            step: StepId::new(reuse_note_of(step)),
            value: true.into(),
            at_ms: 2,
        };
        for event in [
            stands("draft"),
            begins("each/1"),
            stands("each/0"),
            begins("ask"),
        ] {
            steps.apply(&event);
        }
        let plan = steps.plan(&input).expect("there is one");
        let states = ["draft", "ask", "each"].map(|step| plan.states[step]);
        use StepStanding::{Completed, Working};
        assert_eq!(states, [Completed, Working, Working]);
    }

    /// Issue 26, runs: what was called back is cancelled, neither skipped nor failed, and so is the rest of a loop.
    #[test]
    fn what_was_out_when_a_run_was_cancelled_is_cancelled() {
        let input = json!({"plan": {"steps": {
            "draft": {}, "send": {}, "count": {}, "post": {}, "all": {}, "pack": {}, "sift": {}, "end": {},
        }}});
        let mut steps = WorkflowSteps::default();
        let counted = |step: &str, items: u64| RunEvent::Noted {
            step: StepId::new(format!("{step}/count")),
            value: items.into(),
            at_ms: 2,
        };
        for event in [
            begins("draft"),
            ends("draft", StepResult::Woke),
            begins("send/0"),
            begins("send/1"),
            ends("send/0", StepResult::Cancelled),
            ends("send/1", StepResult::Woke),
            // Those at the time of the end came back all the same.
            counted("count", 3),
            begins("count/0"),
            begins("count/1"),
            ends("count/0", StepResult::Woke),
            ends("count/1", StepResult::Woke),
            begins("post"),
            counted("all", 2),
            begins("all/0"),
            begins("all/1"),
            ends("all/0", StepResult::Woke),
            ends("all/1", StepResult::Woke),
            begins("pack/0/wrap"),
            ends("pack/0/wrap", StepResult::Cancelled),
            note("pack/0", "CANCELLED"),
            counted("sift", 2),
            begins("sift/0/wrap"),
            ends("sift/0/wrap", StepResult::Woke),
            note("sift/0", "COMPLETED"),
            // It had nothing to do.
            note("sift/1", "COMPLETED"),
        ] {
            steps.apply(&event);
        }
        let standing = |steps: &WorkflowSteps, step: &str| {
            let plan = steps.plan(&input).expect("there is one");
            plan.states[step]
        };
        use StepStanding::{Cancelled, Completed, NotReached, Working};
        assert_eq!(standing(&steps, "post"), Working);
        steps.apply(&RunEvent::Ended {
            outcome: RunOutcome::Cancelled {
                reason: "enough".to_owned(),
            },
            spent: Spent::default(),
            at_ms: 9,
        });
        let states = [
            "draft", "send", "count", "post", "all", "pack", "sift", "end",
        ];
        let states = states.map(|step| standing(&steps, step));
        assert_eq!(
            states,
            [
                Completed, Cancelled, Cancelled, Cancelled, Completed, Cancelled, Completed,
                NotReached
            ]
        );
    }

    /// Issue 26, runs: what a person did not allow is refused, and what needs it was not reached.
    #[test]
    fn a_step_that_a_person_refused_is_refused_and_those_behind_it_are_not_reached() {
        let input = json!({"plan": {"steps": {"ask": {}, "send": {}}}});
        let mut steps = WorkflowSteps::default();
        let refused = StepResult::Decided(Decision {
            approved: false,
            by: "ann".into(),
            comment: String::new(),
        });
        let behind = RunEvent::Noted {
            step: StepId::new("send/has-failed"),
            value: json!({"type": "step", "data": {"step": "send", "stepName": "send", "status": "FAILED",
                "metadata": {"kind": "agent", "error": "no", "behind": "ask"}}}),
            at_ms: 3,
        };
        for event in [begins("ask"), ends("ask", refused), behind] {
            steps.apply(&event);
        }
        let plan = steps.plan(&input).expect("there is one");
        let states = ["ask", "send"].map(|step| plan.states[step]);
        assert_eq!(states, [StepStanding::Refused, StepStanding::NotReached]);
    }
}
