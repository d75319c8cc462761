//! An answer while it grows.

use std::collections::HashMap;

use genai::adapter::AdapterKind;
use genai::chat::{StopReason, StreamEnd};
use serde_json::Value;

use super::convert;
use crate::{Completion, DeltaSink, ModelError, Output, Request, ToolCall, ToolSpec};

/// The longest answer that is read, in bytes of text or of one call's arguments.
const MAX_ANSWER: usize = 4 << 20;

pub(super) struct Answer<'a> {
    text: String,
    /// State of the arguments of each call, by its id.
    arguments: HashMap<String, String>,
    deltas: &'a DeltaSink,
    tools: &'a [ToolSpec],
    wants_json: bool,
}

impl<'a> Answer<'a> {
    pub(super) fn new(request: &'a Request, deltas: &'a DeltaSink) -> Self {
        Self {
            text: String::new(),
            arguments: HashMap::new(),
            deltas,
            tools: &request.tools,
            wants_json: request.output != Output::Text,
        }
    }

    /// True if anybody may have read a part of it.
    pub(super) fn was_handed_out(&self) -> bool {
        !self.text.is_empty()
    }

    pub(super) fn push(&mut self, piece: &str) -> Result<(), ModelError> {
        fits(self.text.len() + piece.len())?;
        self.text.push_str(piece);
        self.deltas.push(piece);
        Ok(())
    }

    /// A call as far as it has come.
    pub(super) fn call_grows(&mut self, call: genai::chat::ToolCall) -> Result<(), ModelError> {
        if let Value::String(arguments) = call.fn_arguments {
            fits(arguments.len())?;
            self.arguments.insert(call.call_id, arguments);
        }
        Ok(())
    }

    /// The stream ended without an end.
    pub(super) fn broken_off(&self) -> ModelError {
        if self.text.is_empty() && self.arguments.is_empty() {
            ModelError::Malformed("the response holds no answer".into())
        } else {
            ModelError::Unavailable("the answer broke off".into())
        }
    }

    pub(super) fn finish(
        &mut self,
        end: StreamEnd,
        kind: AdapterKind,
    ) -> Result<Completion, ModelError> {
        let usage = end.captured_usage.as_ref().and_then(convert::usage);
        let stop = end.captured_stop_reason.clone();
        let mut tool_calls = convert::tool_calls(self.tools, end);
        // OpenAI marks the end of its stream; elsewhere an end without a reason is a connection that was lost.
        if stop.is_none() && kind != AdapterKind::OpenAI {
            return Err(self.broken_off());
        }
        stopped(stop.as_ref(), self.wants_json || !tool_calls.is_empty())?;
        if self.text.is_empty() && tool_calls.is_empty() {
            return Err(ModelError::Malformed("it is empty".into()));
        }
        tool_calls
            .iter_mut()
            .for_each(|call| keep_broken(call, &self.arguments));
        Ok(Completion {
            text: std::mem::take(&mut self.text),
            tool_calls,
            usage,
            undone: None,
            lacks: Vec::new(),
        })
    }
}

fn fits(length: usize) -> Result<(), ModelError> {
    match length <= MAX_ANSWER {
        true => Ok(()),
        false => Err(ModelError::Malformed(format!(
            "it is longer than {MAX_ANSWER} bytes"
        ))),
    }
}

/// Refuses an answer that its provider stopped. Of what has to be `whole`, a part is no use.
fn stopped(reason: Option<&StopReason>, whole: bool) -> Result<(), ModelError> {
    match reason {
        Some(StopReason::ContentFilter(reason)) => Err(ModelError::Refused(format!(
            "its filter stopped it ({reason})"
        ))),
        Some(StopReason::MaxTokens(_)) if whole => Err(ModelError::Malformed(
            "it was cut off at the limit of its length".into(),
        )),
        // Bedrock's and Gemini's, which the crate `genai` doesn't know.
        Some(StopReason::Other(reason)) => match reason.as_str() {
            "content_filtered" | "guardrail_intervened" => Err(ModelError::Refused(format!(
                "its filter stopped it ({reason})"
            ))),
            "malformed_tool_use" | "malformed_model_output" | "MALFORMED_FUNCTION_CALL" => Err(
                ModelError::Malformed(format!("the model could not write it ({reason})")),
            ),
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}

/// Arguments that are no JSON stay as they came, for the model to be told of them. For Bedrock the crate `genai` makes them
/// an empty object, with which the tool must not be called.
fn keep_broken(call: &mut ToolCall, arguments: &HashMap<String, String>) {
    let came = arguments
        .get(&call.id)
        .filter(|came| !came.trim().is_empty());
    if let Some(came) = came
        && serde_json::from_str::<Value>(came).is_err()
    {
        call.arguments = came.clone().into();
    }
}
