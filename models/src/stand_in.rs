//! Common parts of the stand-ins for models.

use super::{DeltaSink, PromptPart, Request, ToolCall, Usage, estimate_tokens};

/// Pushes `text` in pieces of a few characters, and lets the reader run in between.
pub(super) async fn stream(text: &str, deltas: &DeltaSink) {
    const PIECE: usize = 8;
    stream_in(text, &[PIECE], deltas).await;
}

/// The same in pieces of so many characters; the last length goes for what is left.
pub(super) async fn stream_in(text: &str, lengths: &[usize], deltas: &DeltaSink) {
    let mut lengths = lengths.iter();
    let mut length = 0;
    let mut rest = text;
    while !rest.is_empty() {
        length = lengths.next().copied().unwrap_or(length).max(1);
        let end = rest
            .char_indices()
            .nth(length)
            .map_or(rest.len(), |(index, _)| index);
        let (piece, after) = rest.split_at(end);
        deltas.push(piece);
        rest = after;
        tokio::task::yield_now().await;
    }
}

/// Usage of `request` and its answer, by the rule of thumb.
pub(super) fn usage(request: &Request, answer: &str, calls: &[ToolCall]) -> Usage {
    let call_tokens = |call: &ToolCall| {
        estimate_tokens(&call.name) + estimate_tokens(&call.arguments.to_string())
    };
    let tool_tokens = |part: &PromptPart| match part {
        PromptPart::ToolCall(call) => call_tokens(call),
        PromptPart::ToolResult { value, .. } => estimate_tokens(&value.to_string()),
        PromptPart::Text(_) | PromptPart::Data { .. } => 0,
    };
    let tokens = |message: &super::PromptMessage| {
        estimate_tokens(&message.rendered()) + message.parts.iter().map(tool_tokens).sum::<usize>()
    };
    let input: usize = request.messages.iter().map(tokens).sum();
    let output = estimate_tokens(answer) + calls.iter().map(call_tokens).sum::<usize>();
    Usage {
        input_tokens: input as u64,
        output_tokens: output as u64,
        is_estimated: true,
    }
}
