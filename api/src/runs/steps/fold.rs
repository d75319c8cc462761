//! The fold of a run's journal into its steps.

use std::collections::{BTreeMap, HashMap};

use agenthub_sdk::{
    Agent,
    runs::{
        RunEvent, StepId, StepRequest, StepResult, redact,
        workflow_step::{StepEnd, WorkflowStep, counted_in, is_undo, reused_in},
    },
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    StepKind, StepView, begun,
    counts::{Counting, StepCounts},
};
use crate::runs::workflows::MODE;

/// State of a step whose result is that of an earlier run.
const REUSED: &str = "reused";

/// State of a step that a workflow goes on without.
const SKIPPED: &str = "skipped";

/// Request and result of a step's last attempt, as its journal has them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::runs) struct EndedStep {
    what: StepRequest,
    result: StepResult,
}

/// Steps that have ended, by their names.
pub(in crate::runs) type EndedSteps = BTreeMap<StepId, EndedStep>;

/// The fold of a run's journal into its steps.
#[derive(Debug, Default)]
pub(in crate::runs) struct Fold {
    pub(in crate::runs) steps: Vec<StepView>,
    counting: Counting,
    /// The latest of the steps with a name and the number of an attempt.
    places: HashMap<(String, u32), usize>,
    requests: BTreeMap<StepId, StepRequest>,
    /// The handover that an orchestrator noted last: the capability, and the step of its plan.
    named: Option<(String, String)>,
    ended: EndedSteps,
    /// Results of earlier runs that stand for those of this one where it asks for the same.
    reused: EndedSteps,
    is_workflow: bool,
    /// Beginning of a fork: what was recorded before was recorded by the other run.
    forked_ms: Option<u64>,
}

impl Fold {
    pub(in crate::runs) fn apply(&mut self, event: &RunEvent) {
        if let RunEvent::Started(started) = event {
            self.forked_ms = Agent::fork_of(started).map(|_| started.at_ms);
        }
        match event {
            RunEvent::Started(started) if started.strategy == MODE => {
                self.is_workflow = true;
                self.reused = EndedSteps::deserialize(&started.input["reused"]).unwrap_or_default();
            }
            RunEvent::Noted { value, at_ms, .. } if self.is_workflow && value["type"] == "step" => {
                if let Some(view) = self.told(&value["data"], *at_ms) {
                    self.add(view);
                }
            }
            RunEvent::Noted { step, value, .. }
                if self.is_workflow && counted_in(step).is_some() =>
            {
                let count = counted_in(step).zip(value.as_u64());
                if let Some((step, count)) = count {
                    self.counting.items(step, count);
                }
            }
            RunEvent::Noted { step, at_ms, .. } if self.is_workflow => {
                let step = reused_in(step).map(StepId::new);
                let ended = step.and_then(|step| Some((self.reused.get(&step)?, step)));
                if let Some((EndedStep { what, result }, step)) = ended {
                    let mut view = begun(&step, 1, what, *at_ms);
                    view.plan_step = self.plan_step(&step, what);
                    view.end(result);
                    view.state = REUSED.to_owned();
                    view.ended_at = Some(*at_ms);
                    self.add(view);
                }
            }
            RunEvent::Noted { value, .. } if value["type"] == "handoff" => {
                let text = |field: &str| value["data"][field].as_str().unwrap_or_default();
                self.named = Some((text("capability").to_owned(), text("step").to_owned()));
            }
            RunEvent::StepBegun {
                step,
                attempt,
                what,
                at_ms,
                ..
            } => {
                self.requests.insert(step.clone(), what.clone());
                self.ended.remove(step);
                let mut view = begun(step, *attempt, what, *at_ms);
                view.plan_step = self.plan_step(step, what);
                self.add(view);
            }
            RunEvent::StepEnded {
                step,
                attempt,
                result,
                at_ms,
                ..
            } => {
                if let Some(what) = self.requests.get(step) {
                    let ended = EndedStep {
                        what: what.clone(),
                        result: result.clone(),
                    };
                    self.ended.insert(step.clone(), ended);
                }
                let place = self.places.get(&(step.to_string(), *attempt));
                if let Some(view) = place.and_then(|at| self.steps.get_mut(*at)) {
                    view.ended_at = Some(*at_ms);
                    view.end(result);
                    if self.is_workflow
                        && let StepEnd::Failed(reason) = StepEnd::of(result)
                    {
                        view.fail(reason);
                    }
                    if view.state == "completed" && self.forked_ms > Some(*at_ms) {
                        REUSED.clone_into(&mut view.state);
                    }
                    self.counting.ended(view);
                }
            }
            _ => {}
        }
    }

    /// All attempts in numbers, by step of the plan.
    pub(in crate::runs) fn counts(&self) -> BTreeMap<String, StepCounts> {
        self.counting.all()
    }

    /// An attempt at a step.
    pub(in crate::runs) fn attempt(&self, step: &StepId, attempt: u32) -> Option<&StepView> {
        let place = self.places.get(&(step.to_string(), attempt))?;
        self.steps.get(*place)
    }

    fn add(&mut self, view: StepView) {
        self.counting.begun(&view);
        let place = (view.step.clone(), view.attempt);
        self.places.insert(place, self.steps.len());
        self.steps.push(view);
    }

    /// The step of the plan that a step of the run is an attempt at.
    fn plan_step(&self, step: &StepId, what: &StepRequest) -> String {
        if self.is_workflow {
            let named = WorkflowStep::of(step).filter(|_| !is_undo(step));
            return named.map_or("", |named| named.step).to_owned();
        }
        match what {
            StepRequest::ApprovalAsked(approval) => approval.subject.clone(),
            StepRequest::Delegated(sent) => {
                let named = self.named.as_ref();
                let named = named.filter(|(what, _)| *what == sent.handoff.capability);
                named.map_or("", |(_, step)| step).to_owned()
            }
            _ => String::new(),
        }
    }

    /// A decision, a step that was skipped or failed before it began, or an item of a loop, as its workflow has noted it. An item began with the first
    /// of its steps.
    fn told(&self, data: &Value, at_ms: u64) -> Option<StepView> {
        let metadata = &data["metadata"];
        // It did not begin: what it needs has failed, and says why.
        if metadata["behind"].is_string() {
            return None;
        }
        let decision = &metadata["decision"];
        let name = data["stepName"].as_str()?;
        let is_within = |step: &&StepView| {
            let within = step.step.strip_prefix(name);
            within.is_some_and(|within| within.starts_with('/'))
        };
        let within = self.steps.iter().filter(is_within);
        Some(StepView {
            step: name.to_owned(),
            attempt: 1,
            kind: StepKind::deserialize(&metadata["kind"]).ok()?,
            agent: String::new(),
            state: match data["status"].as_str()? {
                "SKIPPED" => SKIPPED,
                "FAILED" => "failed",
                "CANCELLED" => "cancelled",
                _ => "completed",
            }
            .to_owned(),
            begun_at: within.map(|step| step.begun_at).min().unwrap_or(at_ms),
            ended_at: Some(at_ms),
            task_id: String::new(),
            request: Value::Null,
            result: match decision {
                Value::Null => Value::Null,
                decision => json!({ "decision": decision }),
            },
            error: redact::error(metadata["error"].as_str().unwrap_or_default()),
            plan_step: data["step"].as_str().unwrap_or_default().to_owned(),
        })
    }

    /// The results that stand for a run again: those of earlier runs, and over them those of this one.
    pub(super) fn standing(self) -> EndedSteps {
        let mut steps = self.reused;
        steps.extend(self.ended);
        steps
    }
}

#[cfg(test)]
mod tests {
    use agenthub_sdk::runs::{
        Approval, Budget, Decision, DelegationResult, Handoff, RunStarted, SentHandoff,
    };

    use super::*;

    fn started(reused: Value) -> RunEvent {
        RunEvent::Started(RunStarted {
            strategy: MODE.to_owned(),
            input: json!({ "reused": reused }),
            thread: String::new(),
            origin: Value::Null,
            budget: Budget::default(),
            deadline_ms: None,
            at_ms: 1,
        })
    }

    fn waited() -> EndedStep {
        EndedStep {
            what: StepRequest::Waiting { until_ms: 9 },
            result: StepResult::Woke,
        }
    }

    fn comes(fold: &mut Fold, step: &str, result: StepResult) {
        let step = StepId::new(step);
        fold.apply(&RunEvent::StepBegun {
            step: step.clone(),
            attempt: 1,
            what: StepRequest::Waiting { until_ms: 9 },
            grant: Budget::default(),
            deadline_ms: None,
            at_ms: 2,
        });
        fold.apply(&RunEvent::StepEnded {
            step,
            attempt: 1,
            result,
            spent: None,
            at_ms: 3,
        });
    }

    #[test]
    fn an_item_of_a_loop_is_a_step_that_began_with_its_first_one() {
        let mut fold = Fold::default();
        fold.apply(&started(json!({})));
        comes(&mut fold, "pack/10/wrap", StepResult::Woke);
        comes(&mut fold, "pack/1/wrap", StepResult::Woke);
        fold.apply(&RunEvent::Noted {
            step: StepId::new("pack/1/ended"),
            value: json!({"type": "step", "data": {
                "step": "pack", "stepName": "pack/1", "status": "FAILED", "metadata": {"kind": "steps"},
            }}),
            at_ms: 9,
        });
        let item = fold.steps.last().expect("it is told");
        assert_eq!((&*item.step, item.kind), ("pack/1", StepKind::Steps));
        assert_eq!(
            (&*item.state, item.begun_at, item.ended_at),
            ("failed", 2, Some(9))
        );
        assert_eq!(fold.standing().len(), 2, "it is no result");
    }

    /// Issue 26, runs: why a step failed that could not begin, and which step of the plan each is.
    #[test]
    fn a_step_that_could_not_begin_says_why_and_each_names_that_of_its_plan() {
        let mut fold = Fold::default();
        fold.apply(&started(json!({})));
        comes(&mut fold, "pack/1/try-2", StepResult::Woke);
        comes(&mut fold, "undo/pack", StepResult::Woke);
        fold.apply(&RunEvent::Noted {
            step: StepId::new("b/has-failed"),
            value: json!({"type": "step", "data": {
                "step": "b", "stepName": "b", "status": "FAILED",
                "metadata": {"kind": "agent", "error": "password=hunter22 is not there"},
            }}),
            at_ms: 9,
        });
        let steps = fold
            .steps
            .iter()
            .map(|s| (&*s.step, &*s.plan_step, &*s.state, &*s.error));
        let steps: Vec<_> = steps.collect();
        assert_eq!(
            steps,
            [
                ("pack/1/try-2", "pack", "completed", ""),
                ("undo/pack", "", "completed", ""),
                ("b", "b", "failed", "password=[redacted] is not there"),
            ]
        );
    }

    /// Issue 26, runs: a handover of an orchestrator is an attempt at the step of its plan, and a question to a person waits.
    #[test]
    fn handovers_are_attempts_at_the_steps_of_the_plan() {
        let mut fold = Fold::default();
        fold.apply(&RunEvent::Noted {
            step: StepId::new("note-1"),
            value: json!({"type": "handoff", "data": {"capability": "write", "step": "content-write-2"}}),
            at_ms: 1,
        });
        let begun = |step: &str, what| RunEvent::StepBegun {
            step: StepId::new(step),
            attempt: 1,
            what,
            grant: Budget::default(),
            deadline_ms: None,
            at_ms: 2,
        };
        let handoff = Handoff {
            agent: "writer".to_owned(),
            capability: "write".to_owned(),
            ..Handoff::default()
        };
        let sent = SentHandoff {
            handoff,
            task_id: "t".to_owned(),
            message_id: "m".to_owned(),
            deadline_ms: 9,
            budget: Budget::default(),
        };
        fold.apply(&begun("handoff-8", StepRequest::Delegated(sent)));
        let approval = Approval::new("r", "ask", "", "", Value::Null);
        fold.apply(&begun("approval-1", StepRequest::ApprovalAsked(approval)));
        let steps: Vec<_> = fold
            .steps
            .iter()
            .map(|s| (&*s.plan_step, &*s.state))
            .collect();
        assert_eq!(
            steps,
            [("content-write-2", "working"), ("ask", "awaiting-approval")]
        );
    }

    #[test]
    fn results_of_all_runs_before_stand_and_those_that_a_run_took_are_its_steps() {
        let mut fold = Fold::default();
        fold.apply(&started(
            json!({ "a": waited(), "b": waited(), "c": waited() }),
        ));
        for note in ["a/reused", "b/joined"] {
            fold.apply(&RunEvent::Noted {
                step: StepId::new(note),
                value: true.into(),
                at_ms: 2,
            });
        }
        comes(&mut fold, "b", StepResult::Cancelled);
        let steps = fold.steps.iter().map(|step| (&*step.step, &*step.state));
        let steps: Vec<_> = steps.collect();
        assert_eq!(steps, [("a", "reused"), ("b", "cancelled")]);
        let standing = fold.standing();
        assert_eq!(standing.len(), 3);
        assert_eq!(standing[&StepId::new("a")], waited());
        assert_eq!(standing[&StepId::new("b")].result, StepResult::Cancelled);
    }

    #[test]
    fn decisions_and_skipped_steps_are_steps_as_they_were_noted() {
        let mut fold = Fold::default();
        fold.apply(&started(Value::Null));
        let notes = [
            (
                "way/decided",
                "way",
                "COMPLETED",
                json!({"kind": "decision", "decision": false}),
            ),
            ("a/skipped", "a", "SKIPPED", json!({"kind": "agent"})),
        ];
        for (note, step, status, metadata) in notes {
            let data = json!({"stepName": step, "status": status, "metadata": metadata});
            fold.apply(&RunEvent::Noted {
                step: StepId::new(note),
                value: json!({"type": "step", "data": data}),
                at_ms: 2,
            });
        }
        let told = fold.steps.iter().map(|s| (&*s.step, &*s.state, s.kind));
        assert_eq!(
            told.collect::<Vec<_>>(),
            [
                ("way", "completed", StepKind::Decision),
                ("a", "skipped", StepKind::Agent),
            ]
        );
        assert_eq!(fold.steps[0].result, json!({"decision": false}));
    }

    #[test]
    fn a_step_that_did_nothing_is_failed_and_errors_have_no_secrets() {
        let mut fold = Fold::default();
        fold.apply(&started(Value::Null));
        let agent = |state: &str, error: &str, data: Vec<Value>| {
            StepResult::DelegationEnded(DelegationResult {
                agent: "x".to_owned(),
                state: state.to_owned(),
                error: error.to_owned(),
                data,
                ..DelegationResult::default()
            })
        };
        let nothing = json!({"partial": true, "undone": "all", "results": []});
        comes(&mut fold, "a", agent("completed", "", vec![nothing]));
        comes(
            &mut fold,
            "b",
            agent("away", "password=hunter22", Vec::new()),
        );
        let refused = Decision {
            approved: false,
            by: "ann".to_owned(),
            comment: String::new(),
        };
        comes(&mut fold, "c", StepResult::Decided(refused));
        let told = fold.steps.iter().map(|s| (&*s.state, &*s.error));
        let told: Vec<_> = told.collect();
        assert_eq!(
            told,
            [
                ("failed", "x did nothing of it: "),
                ("away", "password=[redacted]"),
                ("refused", ""),
            ]
        );
    }
}
