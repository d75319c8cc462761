//! Span of one step of a run: its request and its result.

use super::{
    Event, Kind, SpanError, Value,
    conventions::{
        AGENT, AGENTHUB, APPROVAL, APPROVAL_ID, APPROVED, CAPABILITY, CHAT, EXECUTE_TOOL,
        INPUT_TOKENS, INVOKE_AGENT, MAX_TOKENS, OUTPUT_TOKENS, PROVIDER, REQUEST_MODEL, STATE,
        TASK, TOKENS, TOOL_CALL_ID, TOOL_CALLS, TOOL_NAME, TOOL_TYPE, model,
    },
    reading::{artifacts, evaluations},
};
use crate::{
    approval::{Approval, Decision},
    budget::Spent,
    effect::{DelegationResult, SentHandoff, ToolOutput},
    event::{StepRequest, StepResult},
    model::{Completion, ToolCall, Usage},
};

/// Span of a step in flight.
#[derive(Clone, Debug)]
pub(super) struct OpenSpan {
    pub(super) attempt: u32,
    pub(super) at_ms: u64,
    pub(super) operation: &'static str,
    /// The agent, model, tool or capability.
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) attributes: Vec<(&'static str, Value)>,
    pub(super) events: Vec<Event>,
    pub(super) error: Option<SpanError>,
    /// Requested capability of an agent.
    capability: String,
}

impl OpenSpan {
    /// Starts a span; `None` for requests without one. `asked` is the run's model.
    pub(super) fn of(what: &StepRequest, asked: &str, attempt: u32, at_ms: u64) -> Option<Self> {
        let mut capability = String::new();
        let (operation, name, kind, attributes) = match what {
            StepRequest::ModelAsked {
                max_output_tokens, ..
            } => {
                let (provider, name) = model(asked);
                let mut attributes = vec![
                    (PROVIDER, Value::from(provider)),
                    (REQUEST_MODEL, name.into()),
                ];
                attributes.extend(max_output_tokens.map(|n| (MAX_TOKENS, u64::from(n).into())));
                (CHAT, name, Kind::Client, attributes)
            }
            StepRequest::ToolCalled(ToolCall { id, name, .. }) => {
                let attributes = vec![
                    (TOOL_NAME, name.as_str().into()),
                    (TOOL_CALL_ID, id.as_str().into()),
                    (TOOL_TYPE, "function".into()),
                ];
                (EXECUTE_TOOL, name.as_str(), Kind::Internal, attributes)
            }
            StepRequest::Delegated(SentHandoff {
                handoff, task_id, ..
            }) => {
                let mut attributes = vec![(PROVIDER, Value::from(AGENTHUB))];
                if !handoff.capability.is_empty() {
                    attributes.push((CAPABILITY, handoff.capability.as_str().into()));
                }
                attributes.push((TASK, task_id.as_str().into()));
                capability.clone_from(&handoff.capability);
                (
                    INVOKE_AGENT,
                    handoff.agent.as_str(),
                    Kind::Client,
                    attributes,
                )
            }
            StepRequest::ApprovalAsked(Approval {
                id,
                agent,
                capability,
                ..
            }) => {
                let attributes = vec![
                    (AGENT, agent.as_str().into()),
                    (CAPABILITY, capability.as_str().into()),
                    (APPROVAL_ID, id.as_str().into()),
                ];
                (APPROVAL, capability.as_str(), Kind::Internal, attributes)
            }
            StepRequest::Said { .. } | StepRequest::Waiting { .. } => return None,
        };
        Some(Self {
            attempt,
            at_ms,
            operation,
            name: name.to_owned(),
            kind,
            attributes,
            events: Vec::new(),
            error: None,
            capability,
        })
    }

    /// Adds the result.
    pub(super) fn ended(&mut self, result: &StepResult, spent: Option<Spent>, at_ms: u64) {
        match result {
            StepResult::ModelAnswered(answer) => self.answered(answer),
            StepResult::ToolReturned(ToolOutput { value, is_error }) => {
                let message = value.as_str().unwrap_or_default();
                self.error = is_error.then(|| SpanError::new("tool", message));
            }
            StepResult::DelegationEnded(delegated) => self.handed_back(delegated, spent, at_ms),
            StepResult::Decided(Decision { approved, .. }) => {
                self.attributes.push((APPROVED, (*approved).into()));
            }
            StepResult::Failed(failure) => {
                self.error = Some(SpanError::new("failed", &failure.message));
            }
            StepResult::Cancelled => {
                self.error = Some(SpanError::new("cancelled", "it was called back"));
            }
            StepResult::Said | StepResult::Woke => {}
        }
    }

    fn answered(&mut self, answer: &Completion) {
        self.attributes.extend(answer.usage.iter().flat_map(used));
        if !answer.tool_calls.is_empty() {
            let calls = answer.tool_calls.len() as u64;
            self.attributes.push((TOOL_CALLS, calls.into()));
        }
    }

    fn handed_back(&mut self, delegated: &DelegationResult, spent: Option<Spent>, at_ms: u64) {
        if self.name.is_empty() {
            self.name.clone_from(&delegated.agent);
        }
        if !self.name.is_empty() {
            self.attributes.push((AGENT, self.name.as_str().into()));
        }
        self.attributes
            .push((STATE, delegated.state.as_str().into()));
        if let Some(spent) = spent {
            self.attributes.push((TOKENS, spent.tokens.into()));
        }
        self.events = evaluations(&self.capability, &delegated.data, at_ms);
        self.events.extend(artifacts(&delegated.data, at_ms));
        if delegated.state != "completed" {
            self.error = Some(SpanError::new(&delegated.state, &delegated.error));
        }
    }
}

/// Token counts of a model call, as attributes.
pub(super) fn used(usage: &Usage) -> [(&'static str, Value); 2] {
    [
        (INPUT_TOKENS, usage.input_tokens.into()),
        (OUTPUT_TOKENS, usage.output_tokens.into()),
    ]
}
