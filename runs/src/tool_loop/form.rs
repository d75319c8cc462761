//! Structured answers.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::model::{PromptMessage, Request};

/// Number of corrections requested for an invalid answer.
pub(super) const CORRECTIONS: u32 = 2;

/// Instruction that describes the form while tools are offered.
const IN_WORDS: &str = "Once you need no further tool, answer with one JSON object that fits this JSON Schema, and with nothing else:";

/// Instruction after an invalid answer.
const AGAIN: &str = "Your answer could not be used; the `rejected` block says why. Give the whole answer again, mended.";

/// Required structure of the answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AnswerForm {
    /// Name, such as `report`; `[A-Za-z0-9_-]{1,64}`.
    pub name: String,
    /// JSON Schema.
    pub schema: Value,
}

/// ToolQuery that validates an answer. Its result is a [`Verdict`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FormCheck {
    /// The model's answer.
    pub answer: String,
}

/// Result of a validation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Valid.
    Fits {
        /// The answer as text.
        text: String,
        /// The answer as data.
        data: Value,
    },
    /// Invalid: the reason, for the model.
    Rejected(String),
}

impl AnswerForm {
    /// Requests an answer of this form. If tools are offered, the form is described in the instructions, since not
    /// every provider supports both.
    pub(super) fn ask_for(&self, request: &mut Request) {
        match request.tools.is_empty() {
            true => *request = std::mem::take(request).json(&*self.name, self.schema.clone()),
            false => {
                let told = PromptMessage::system(format!("{IN_WORDS}\n{}", self.schema));
                request.messages.push(told);
            }
        }
    }
}

/// The messages that report an invalid answer.
pub(super) fn rejected(answer: &str, reason: &str) -> Vec<PromptMessage> {
    let said = (!answer.trim().is_empty()).then(|| PromptMessage::assistant(answer));
    let told = [
        PromptMessage::data("rejected", json!({ "reason": reason })),
        PromptMessage::system(AGAIN),
    ];
    said.into_iter().chain(told).collect()
}
