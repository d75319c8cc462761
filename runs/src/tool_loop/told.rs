//! What the model is told of its own turns and of what they led to.

use serde_json::{Value, json};

use crate::{
    effect::Delegated,
    event::StepResult,
    model::{Completion, Message, Part, Role},
};

/// The turn of the model, as the next question repeats it.
pub(super) fn asked(answer: &Completion) -> Message {
    let text = Some(Part::Text(answer.text.clone())).filter(|_| !answer.text.is_empty());
    let calls = answer.tool_calls.iter().cloned().map(Part::ToolCall);
    Message::new(Role::Assistant, text.into_iter().chain(calls).collect())
}

/// What a model is told of a call.
pub(super) fn told(result: &StepResult) -> Value {
    match result {
        StepResult::ToolReturned(output) if output.is_error => json!({ "error": output.value }),
        StepResult::ToolReturned(output) => output.value.clone(),
        StepResult::DelegationEnded(delegated) => delegated.told(),
        StepResult::Failed(failure) => json!({ "error": failure.message }),
        _ => json!({ "error": "it was called back" }),
    }
}

impl Delegated {
    /// What a model is told of it.
    fn told(&self) -> Value {
        let mut told = json!({ "agent": self.agent, "state": self.state });
        if !self.text.is_empty() {
            told["text"] = self.text.as_str().into();
        }
        if !self.data.is_empty() {
            told["data"] = self.data.clone().into();
        }
        if !self.error.is_empty() {
            told["error"] = self.error.as_str().into();
        }
        told
    }
}
