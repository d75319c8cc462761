//! Answers that are data.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::model::{Message, Request};

/// How often an answer that cannot be used is asked for again.
pub(super) const CORRECTIONS: u32 = 2;

/// What the model is told where its tools keep the provider from holding it to the schema.
const IN_WORDS: &str = "Once you need no further tool, answer with one JSON object that fits this JSON Schema, and with nothing else:";

/// What the model is told of an answer that cannot be used.
const AGAIN: &str = "Your answer could not be used; the `rejected` block says why. Give the whole answer again, mended.";

/// Data that the answer has to be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Form {
    /// What it is, such as `report`; `[A-Za-z0-9_-]{1,64}`.
    pub name: String,
    /// Its JSON Schema.
    pub schema: Value,
}

/// A look whether an answer fits the form. It sees a [`Verdict`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Look {
    /// The answer, as the model wrote it.
    pub answer: String,
}

/// Whether an answer fits the form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It does.
    Fits {
        /// What was made of it, in words.
        text: String,
        /// What was made of it.
        data: Value,
    },
    /// It does not: why, in words for the model.
    Rejected(String),
}

impl Form {
    /// Asks for an answer of this form. With tools on offer the model is told in words, since not every provider takes both.
    pub(super) fn ask_for(&self, request: &mut Request) {
        match request.tools.is_empty() {
            true => *request = std::mem::take(request).json(&*self.name, self.schema.clone()),
            false => {
                let told = Message::system(format!("{IN_WORDS}\n{}", self.schema));
                request.messages.push(told);
            }
        }
    }
}

/// The turns that say what is wrong with an answer.
pub(super) fn rejected(answer: &str, reason: &str) -> Vec<Message> {
    let said = (!answer.trim().is_empty()).then(|| Message::assistant(answer));
    let told = [
        Message::data("rejected", json!({ "reason": reason })),
        Message::system(AGAIN),
    ];
    said.into_iter().chain(told).collect()
}
