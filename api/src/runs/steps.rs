//! Steps of a run, attempt by attempt, for those who look into what happened. They are the fold of its journal (`steps/fold.rs`).

mod fold;

use agenthub_sdk::{
    internal::redacted_value,
    runs::{DelegationResult, RunId, StepId, StepRequest, StepResult},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

pub(super) use self::fold::EndedSteps;
use self::fold::Fold;
use super::{
    Inner,
    error::Error,
    reading::{PAGE, Shelf},
    resources::{rfc3339, rfc3339_if},
};

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
