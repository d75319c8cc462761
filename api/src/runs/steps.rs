//! Steps of a run, attempt by attempt: the fold of its journal for those who look into what happened.

use std::collections::BTreeMap;

use agenthub_sdk::{
    internal::redacted_value,
    runs::{
        DelegationResult, RunEvent, RunId, StepId, StepRequest, StepResult,
        workflow_step::{StepEnd, reused_in},
    },
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::{
    Inner,
    error::Error,
    reading::{PAGE, Shelf},
    resources::{rfc3339, rfc3339_if},
    workflows::MODE,
};

/// State of a step whose result is that of an earlier run.
const REUSED: &str = "reused";

/// State of a step that a workflow goes on without.
const SKIPPED: &str = "skipped";

/// An attempt at a step of a run.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = StepAttempt)]
pub(crate) struct StepView {
    /// The step.
    pub(crate) step: String,
    /// From 1.
    pub(crate) attempt: u32,
    /// Kind of the step.
    pub(crate) kind: StepKind,
    /// The agent or the tool; empty for the other kinds.
    pub(crate) agent: String,
    /// `working`, or how it ended: `completed`, `failed`, `cancelled` and the other states of tasks; `reused` if the result of an earlier run stands;
    /// `skipped` if a workflow went on without it.
    pub(crate) state: String,
    /// Time of its beginning.
    #[serde(serialize_with = "rfc3339")]
    #[schema(value_type = String, format = DateTime)]
    pub(crate) begun_at: u64,
    /// Time of its end.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "rfc3339_if")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub(crate) ended_at: Option<u64>,
    /// Its task in the hub.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(required = false)]
    pub(crate) task_id: String,
    /// The request.
    pub(crate) request: Value,
    /// Result.
    #[serde(skip_serializing_if = "Value::is_null")]
    #[schema(required = false)]
    pub(crate) result: Value,
    /// Reason of the failure.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(required = false)]
    pub(crate) error: String,
}

/// Kind of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum StepKind {
    /// Work for an agent.
    Agent,
    /// A call of a tool.
    Tool,
    /// A question to a model.
    Model,
    /// A question to a person.
    Person,
    /// A wait.
    Wait,
    /// A message to the requester.
    Message,
    /// A decision of a workflow.
    Decision,
    /// Branches of a workflow that come together.
    Join,
    /// Steps within a step.
    Steps,
}

impl StepKind {
    /// The word for it.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Tool => "tool",
            Self::Model => "model",
            Self::Person => "person",
            Self::Wait => "wait",
            Self::Message => "message",
            Self::Decision => "decision",
            Self::Join => "join",
            Self::Steps => "steps",
        }
    }
}

/// Request and result of a step's last attempt, as its journal has them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct EndedStep {
    what: StepRequest,
    result: StepResult,
}

/// Steps that have ended, by their names.
pub(super) type EndedSteps = BTreeMap<StepId, EndedStep>;

/// The fold of a run's journal into its steps.
#[derive(Debug, Default)]
struct Fold {
    steps: Vec<StepView>,
    requests: BTreeMap<StepId, StepRequest>,
    ended: EndedSteps,
    /// Results of earlier runs that stand for those of this one where it asks for the same.
    reused: EndedSteps,
    is_workflow: bool,
}

impl Fold {
    fn apply(&mut self, event: &RunEvent) {
        match event {
            RunEvent::Started(started) if started.strategy == MODE => {
                self.is_workflow = true;
                self.reused = EndedSteps::deserialize(&started.input["reused"]).unwrap_or_default();
            }
            RunEvent::Noted { value, at_ms, .. } if self.is_workflow && value["type"] == "step" => {
                self.steps.extend(told(&value["data"], *at_ms));
            }
            RunEvent::Noted { step, at_ms, .. } if self.is_workflow => {
                let step = reused_in(step).map(StepId::new);
                let ended = step.and_then(|step| Some((self.reused.get(&step)?, step)));
                if let Some((EndedStep { what, result }, step)) = ended {
                    let mut view = begun(&step, 1, what, *at_ms);
                    view.end(result);
                    view.state = REUSED.to_owned();
                    view.ended_at = Some(*at_ms);
                    self.steps.push(view);
                }
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
                self.steps.push(begun(step, *attempt, what, *at_ms));
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
                let is_it =
                    |view: &&mut StepView| view.step == step.as_str() && view.attempt == *attempt;
                if let Some(view) = self.steps.iter_mut().rev().find(is_it) {
                    view.ended_at = Some(*at_ms);
                    view.end(result);
                    if self.is_workflow
                        && let StepEnd::Failed(reason) = StepEnd::of(result)
                    {
                        view.fail(reason);
                    }
                }
            }
            _ => {}
        }
    }

    /// The results that stand for a run again: those of earlier runs, and over them those of this one.
    fn standing(self) -> EndedSteps {
        let mut steps = self.reused;
        steps.extend(self.ended);
        steps
    }
}

/// A decision or a skipped step, as its workflow has noted it.
fn told(data: &Value, at_ms: u64) -> Option<StepView> {
    let metadata = &data["metadata"];
    let decision = &metadata["decision"];
    Some(StepView {
        step: data["stepName"].as_str()?.to_owned(),
        attempt: 1,
        kind: StepKind::deserialize(&metadata["kind"]).ok()?,
        agent: String::new(),
        state: match data["status"].as_str()? {
            "SKIPPED" => SKIPPED.to_owned(),
            _ => "completed".to_owned(),
        },
        begun_at: at_ms,
        ended_at: Some(at_ms),
        task_id: String::new(),
        request: Value::Null,
        result: match decision {
            Value::Null => Value::Null,
            decision => json!({ "decision": decision }),
        },
        error: String::new(),
    })
}

fn begun(step: &StepId, attempt: u32, what: &StepRequest, at_ms: u64) -> StepView {
    let (kind, agent, request) = match what {
        StepRequest::Delegated(sent) => {
            let handoff = &sent.handoff;
            let request = json!({
                "capability": handoff.capability,
                "text": handoff.text,
                "data": handoff.payload,
            });
            (StepKind::Agent, handoff.agent.clone(), request)
        }
        StepRequest::ToolCalled(call) => {
            let request = redacted_value(&call.arguments);
            (StepKind::Tool, call.name.clone(), request)
        }
        StepRequest::ModelAsked { .. } => (StepKind::Model, String::new(), Value::Null),
        StepRequest::ApprovalAsked(approval) => {
            (StepKind::Person, String::new(), approval.arguments.clone())
        }
        StepRequest::Waiting { until_ms } => (
            StepKind::Wait,
            String::new(),
            json!({ "untilMs": until_ms }),
        ),
        StepRequest::Said { text } => (StepKind::Message, String::new(), json!({ "text": text })),
    };
    StepView {
        step: step.to_string(),
        attempt,
        kind,
        agent,
        state: "working".to_owned(),
        begun_at: at_ms,
        ended_at: None,
        task_id: match what {
            StepRequest::Delegated(sent) => sent.task_id.clone(),
            _ => String::new(),
        },
        request,
        result: Value::Null,
        error: String::new(),
    }
}

impl StepView {
    fn end(&mut self, result: &StepResult) {
        let (state, value, error) = match result {
            StepResult::DelegationEnded(DelegationResult {
                agent,
                state,
                text,
                data,
                error,
                ..
            }) => {
                if !agent.is_empty() {
                    self.agent.clone_from(agent);
                }
                let value = json!({ "text": text, "data": data });
                (state.clone(), value, error.clone())
            }
            StepResult::ToolReturned(output) if output.is_error => {
                let error = redacted_value(&output.value).to_string();
                ("failed".to_owned(), Value::Null, error)
            }
            StepResult::ToolReturned(output) => {
                let value = redacted_value(&output.value);
                ("completed".to_owned(), value, String::new())
            }
            StepResult::ModelAnswered(_) | StepResult::Said | StepResult::Woke => {
                ("completed".to_owned(), Value::Null, String::new())
            }
            StepResult::Decided(decision) => {
                let state = match decision.approved {
                    true => "completed",
                    false => "refused",
                };
                (state.to_owned(), json!(decision), String::new())
            }
            StepResult::Failed(failure) => {
                ("failed".to_owned(), Value::Null, failure.message.clone())
            }
            StepResult::Cancelled => ("cancelled".to_owned(), Value::Null, String::new()),
        };
        (self.state, self.result, self.error) = (state, value, error);
    }

    /// Takes in why its workflow fails for it.
    fn fail(&mut self, reason: String) {
        if self.state == "completed" {
            "failed".clone_into(&mut self.state);
        }
        if self.state != "refused" {
            self.error = reason;
        }
    }
}

impl Inner {
    /// The steps of a run, in the order in which they began.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::Unavailable`].
    pub(super) async fn steps(&self, id: &str) -> Result<Vec<StepView>, Error> {
        let (shelf, run) = self.find(id).await?;
        Ok(shelf.folded_steps(&run).await?.steps)
    }
}

impl Shelf {
    /// The steps of a run that have ended, as its journal has them, with those of earlier runs that it went on from.
    pub(super) async fn ended_steps(&self, run: &RunId) -> Result<EndedSteps, Error> {
        Ok(self.folded_steps(run).await?.standing())
    }

    async fn folded_steps(&self, run: &RunId) -> Result<Fold, Error> {
        let (mut fold, mut seq) = (Fold::default(), 0);
        loop {
            let entries = self.read(run, seq, PAGE).await?;
            let Some(last) = entries.last() else {
                return Ok(fold);
            };
            seq = last.seq;
            for entry in &entries {
                fold.apply(&entry.event);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use agenthub_sdk::runs::{Budget, Decision, RunStarted};

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
