//! Stand-ins for a model where there is none: answers that are computed from the request.

use std::{fmt, sync::Arc};

use agenthub_sdk::{
    model::{
        Completion, DeltaSink, LanguageModel, ModelError, PromptPart, Request, STAND_IN, ToolCall,
        Undone, Usage,
    },
    runs::UNREAD,
};
use async_trait::async_trait;
use serde_json::Value;

/// The characters that are shown at a time.
const PIECE: usize = 24;

/// A computed answer.
pub(crate) enum Answer {
    /// An answer in words or, where a form is wanted, of that form, and the names of the parts that it leaves open where it does not tell them
    /// itself. It counts as done in part, whatever it is: no language model read the request.
    Computed(String, Vec<String>),
    /// Words on what it takes, in place of an answer that it cannot compute.
    Unable(&'static str),
    /// A tool is to be called first.
    Call(&'static str, Value),
}

/// Computes answers. The same request gets the same answer, at no cost.
#[derive(Clone, Copy)]
struct Computing(fn(&Request) -> Answer);

/// The model, or what computes in its place where it is none.
pub(crate) fn or(
    model: Arc<dyn LanguageModel>,
    compute: fn(&Request) -> Answer,
) -> Arc<dyn LanguageModel> {
    match model.name() == STAND_IN {
        true => Arc::new(Computing(compute)),
        false => model,
    }
}

/// The result of a tool, if it was called.
pub(crate) fn result<'a>(request: &'a Request, tool: &str) -> Option<&'a Value> {
    let mut parts = request.messages.iter().flat_map(|message| &message.parts);
    parts.find_map(|part| match part {
        PromptPart::ToolResult { name, value, .. } if name == tool => Some(value),
        _ => None,
    })
}

impl fmt::Debug for Computing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Computing")
    }
}

#[async_trait]
impl LanguageModel for Computing {
    fn name(&self) -> &str {
        STAND_IN
    }

    async fn complete(
        &self,
        request: Request,
        deltas: DeltaSink,
    ) -> Result<Completion, ModelError> {
        request.check()?;
        let mut completion = Completion {
            usage: Some(Usage::default()),
            ..Completion::default()
        };
        match (self.0)(&request) {
            Answer::Computed(text, open) => {
                completion.text = text;
                completion.undone = Some(Undone::Part);
                completion.lacks = open;
                completion.lacks.push(UNREAD.to_owned());
            }
            Answer::Unable(text) => {
                completion.text = text.to_owned();
                completion.undone = Some(Undone::All);
            }
            Answer::Call(name, arguments) => completion.tool_calls.push(ToolCall {
                id: name.to_owned(),
                name: name.to_owned(),
                arguments,
            }),
        }
        let chars: Vec<char> = completion.text.chars().collect();
        for piece in chars.chunks(PIECE) {
            deltas.push(&piece.iter().collect::<String>());
            tokio::task::yield_now().await;
        }
        Ok(completion)
    }
}
