//! Messages that repeat a turn to the model: its calls and their results.

use serde_json::{Value, json};

use crate::{
    effect::DelegationResult,
    event::StepResult,
    model::{Completion, PromptMessage, PromptPart, PromptRole},
};

/// The model's turn, for the next question.
pub(super) fn model_turn(answer: &Completion) -> PromptMessage {
    let text = Some(PromptPart::Text(answer.text.clone())).filter(|_| !answer.text.is_empty());
    let calls = answer.tool_calls.iter().cloned().map(PromptPart::ToolCall);
    PromptMessage::new(
        PromptRole::Assistant,
        text.into_iter().chain(calls).collect(),
    )
}

/// Tool result of a step, for the model.
pub(super) fn result_for_model(result: &StepResult) -> Value {
    match result {
        StepResult::ToolReturned(output) if output.is_error => json!({ "error": output.value }),
        StepResult::ToolReturned(output) => output.value.clone(),
        StepResult::DelegationEnded(delegated) => delegated.for_model(),
        StepResult::Failed(failure) => json!({ "error": failure.message }),
        _ => json!({ "error": "it was called back" }),
    }
}

impl DelegationResult {
    /// Tool result of a delegation, for the model.
    fn for_model(&self) -> Value {
        let mut value = json!({ "agent": self.agent, "state": self.state });
        if !self.text.is_empty() {
            value["text"] = self.text.as_str().into();
        }
        if !self.data.is_empty() {
            value["data"] = self.data.clone().into();
        }
        if !self.error.is_empty() {
            value["error"] = self.error.as_str().into();
        }
        value
    }
}
