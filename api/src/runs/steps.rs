//! Steps of a run, attempt by attempt, for those who look into what happened. They are the fold of its journal (`steps/fold.rs`).

mod counts;
mod fold;

use agenthub_sdk::{
    internal::redacted_value,
    runs::{DelegationResult, RunId, StepId, StepRequest, StepResult},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

pub(crate) use self::counts::StepCounts;
pub(super) use self::{
    counts::selected,
    fold::{EndedSteps, Fold},
};
use super::{
    Inner,
    error::Error,
    reading::{PAGE, Shelf},
    resources::{rfc3339, rfc3339_if},
    viewer::FoundRun,
};

/// The most steps on a page.
const MAX_LISTED: u32 = 500;

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
    /// `working`, `awaiting-approval`, or how it ended: `completed`, `failed`, `cancelled` and the other states of tasks; `reused` if the result of an
    /// earlier run stands; `skipped` if a workflow went on without it.
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
    /// The step of the run's plan that it is an attempt at; empty if it is none of a plan.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(required = false)]
    pub(crate) plan_step: String,
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
        state: match what {
            StepRequest::ApprovalAsked(_) => "awaiting-approval",
            _ => "working",
        }
        .to_owned(),
        begun_at: at_ms,
        ended_at: None,
        task_id: match what {
            StepRequest::Delegated(sent) => sent.task_id.clone(),
            _ => String::new(),
        },
        request,
        result: Value::Null,
        error: String::new(),
        plan_step: String::new(),
    }
}

/// The state of a step with this result, in a word.
pub(super) fn state_of(result: &StepResult) -> String {
    match result {
        StepResult::DelegationEnded(ended) => ended.state.clone(),
        StepResult::ToolReturned(output) if output.is_error => "failed".to_owned(),
        StepResult::Decided(decision) if !decision.approved => "refused".to_owned(),
        StepResult::Failed(_) => "failed".to_owned(),
        StepResult::Cancelled => "cancelled".to_owned(),
        StepResult::ToolReturned(_)
        | StepResult::Decided(_)
        | StepResult::ModelAnswered(_)
        | StepResult::Said
        | StepResult::Woke => "completed".to_owned(),
    }
}

impl StepView {
    fn end(&mut self, result: &StepResult) {
        let (value, error) = match result {
            StepResult::DelegationEnded(DelegationResult {
                agent,
                text,
                data,
                error,
                ..
            }) => {
                if !agent.is_empty() {
                    self.agent.clone_from(agent);
                }
                (json!({ "text": text, "data": data }), error.clone())
            }
            StepResult::ToolReturned(output) if output.is_error => {
                (Value::Null, redacted_value(&output.value).to_string())
            }
            StepResult::ToolReturned(output) => (redacted_value(&output.value), String::new()),
            StepResult::Decided(decision) => (json!(decision), String::new()),
            StepResult::Failed(failure) => (Value::Null, failure.message.clone()),
            StepResult::ModelAnswered(_)
            | StepResult::Said
            | StepResult::Woke
            | StepResult::Cancelled => (Value::Null, String::new()),
        };
        self.state = state_of(result);
        (self.result, self.error) = (value, error);
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

/// The selection of steps to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StepQuery {
    /// Attempts at this step of the plan.
    pub(crate) plan_step: Option<String>,
    /// Attempts in this state.
    pub(crate) state: Option<String>,
    /// The most on a page; all if not given.
    pub(crate) limit: Option<u32>,
    /// The token of the page.
    pub(crate) page_token: Option<String>,
}

impl StepQuery {
    fn fits(&self, step: &StepView) -> bool {
        let is = |wanted: &Option<String>, is: &str| wanted.as_ref().is_none_or(|w| w == is);
        is(&self.plan_step, &step.plan_step) && is(&self.state, &step.state)
    }

    /// The page of these steps, and the token of the next one.
    fn page<'a>(&self, all: &'a [StepView]) -> Result<(Vec<&'a StepView>, Option<String>), Error> {
        let limit = self.limit.unwrap_or(u32::MAX);
        if self.limit.is_some_and(|limit| limit > MAX_LISTED) {
            return Err(Error::Invalid {
                at: "page_size".to_owned(),
                why: format!("is {limit}; it is at most {MAX_LISTED}"),
            });
        }
        let before = match &self.page_token {
            None => 0,
            Some(token) => token.parse().map_err(|_| Error::Invalid {
                at: "page_token".to_owned(),
                why: format!("is {token:?}, which no page of steps gave"),
            })?,
        };
        let (mut page, mut next) = (Vec::new(), None);
        let fitting = all.iter().enumerate().skip(before);
        for (at, step) in fitting.filter(|(_, step)| self.fits(step)) {
            if page.len() == limit as usize {
                next = Some(at.to_string());
                break;
            }
            page.push(step);
        }
        Ok((page, next))
    }
}

impl Inner {
    /// The steps of a run, in the order in which they began, and the token of the next page if there is one.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::Invalid`], [`Error::Unavailable`].
    pub(super) async fn steps(
        &self,
        found: &FoundRun,
        query: &StepQuery,
    ) -> Result<(Vec<StepView>, Option<String>), Error> {
        let (_, caught) = self.caught_up(found).await?;
        let (page, next) = query.page(caught.standing().steps())?;
        Ok((page.into_iter().cloned().collect(), next))
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
    use super::*;

    fn step(name: &str, state: &str) -> StepView {
        let waiting = StepRequest::Waiting { until_ms: 9 };
        StepView {
            state: state.to_owned(),
            plan_step: "send".to_owned(),
            ..begun(&StepId::new(name), 1, &waiting, 1)
        }
    }

    /// Issue 26, cost: the items of a loop are taken a page at a time.
    #[test]
    fn steps_come_in_pages_each_once() {
        let all: Vec<StepView> = (0..10)
            .map(|n| step(&n.to_string(), if n == 3 { "failed" } else { "completed" }))
            .collect();
        let mut query = StepQuery {
            plan_step: Some("send".to_owned()),
            state: Some("completed".to_owned()),
            limit: Some(4),
            page_token: None,
        };
        let mut seen = Vec::new();
        loop {
            let (page, next) = query.page(&all).expect("a page");
            assert!(page.len() <= 4);
            seen.extend(page.iter().map(|step| step.step.clone()));
            query.page_token = next;
            if query.page_token.is_none() {
                break;
            }
        }
        assert_eq!(seen, ["0", "1", "2", "4", "5", "6", "7", "8", "9"]);
        let of_none = StepQuery {
            plan_step: Some("other".to_owned()),
            ..StepQuery::default()
        };
        assert!(of_none.page(&all).is_ok_and(|(page, _)| page.is_empty()));
        let wrong = [
            StepQuery {
                limit: Some(MAX_LISTED + 1),
                ..StepQuery::default()
            },
            StepQuery {
                page_token: Some("x".to_owned()),
                ..StepQuery::default()
            },
        ];
        for query in wrong {
            assert!(matches!(query.page(&all), Err(Error::Invalid { .. })));
        }
    }
}
