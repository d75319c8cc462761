//! Shortening of earlier tool results in long conversations.

use serde_json::Value;

use crate::model::{PromptMessage, PromptPart, estimate_tokens};

/// Maximum tokens of a conversation before earlier tool results are shortened, by [`estimate_tokens`]. Models with
/// tools have a context of at least 128,000 tokens, tools and answer included.
pub(super) const MAX_TOKENS: usize = 100_000;

/// Bytes of JSON kept of a shortened result.
const SHORTENED_BYTES: usize = 1024;

/// Shortens tool results, oldest first, until the conversation is within `max_tokens`, as far as possible, and no more
/// of them than necessary.
pub(super) fn shortened(mut messages: Vec<PromptMessage>, max_tokens: usize) -> Vec<PromptMessage> {
    let mut tokens: usize = messages.iter().flat_map(|m| &m.parts).map(tokens_of).sum();
    for part in messages.iter_mut().flat_map(|m| &mut m.parts) {
        if tokens <= max_tokens {
            break;
        }
        let before = tokens_of(part);
        if let PromptPart::ToolResult { value, .. } = part {
            shorten(value);
            tokens = tokens.saturating_sub(before) + tokens_of(part);
        }
    }
    messages
}

fn tokens_of(part: &PromptPart) -> usize {
    match part {
        PromptPart::Text(text) => estimate_tokens(text),
        PromptPart::Data { value, .. } | PromptPart::ToolResult { value, .. } => {
            estimate_tokens(&value.to_string())
        }
        PromptPart::ToolCall(call) => estimate_tokens(&call.arguments.to_string()),
    }
}

/// Replaces a long value by the beginning of its JSON text.
fn shorten(value: &mut Value) {
    let json = match &*value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    };
    if json.len() <= SHORTENED_BYTES {
        return;
    }
    let kept = &json[..json.floor_char_boundary(SHORTENED_BYTES)];
    let left_out = json.len() - kept.len();
    *value =
        format!("{kept} [… {left_out} bytes left out, for there is too much to repeat]").into();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::PromptRole;
    use serde_json::json;

    fn result(value: Value) -> PromptMessage {
        let result = PromptPart::ToolResult {
            call_id: "c".to_owned(),
            name: "read".to_owned(),
            value,
        };
        PromptMessage::new(PromptRole::Tool, vec![result])
    }

    fn lengths(messages: &[PromptMessage]) -> Vec<usize> {
        let parts = messages.iter().flat_map(|m| &m.parts);
        parts.map(|part| tokens_of(part) * 4).collect()
    }

    #[test]
    fn the_oldest_results_are_shortened_and_no_more_than_need_be() {
        let page = || result(json!({"page": "x".repeat(40_000)}));
        let messages = vec![
            PromptMessage::user("read"),
            page(),
            result(json!(1)),
            page(),
            page(),
        ];
        assert_eq!(shortened(messages.clone(), 31_000), messages);

        let some = shortened(messages.clone(), 25_000);
        assert_eq!(some[0], messages[0]);
        assert_eq!(some[2..], messages[2..]);
        let PromptPart::ToolResult { value, .. } = &some[1].parts[0] else {
            panic!("it was a result");
        };
        let text = value.as_str().expect("a text");
        assert!(text.starts_with("{\"page\":\"xxx"));
        assert!(
            text.ends_with("[… 38987 bytes left out, for there is too much to repeat]"),
            "{}",
            &text[1000..]
        );

        let all = lengths(&shortened(messages, 1));
        assert!(
            all.iter().all(|bytes| *bytes < SHORTENED_BYTES + 200),
            "{all:?}"
        );
    }

    #[test]
    fn the_last_results_are_shortened_where_they_alone_are_too_many() {
        let results: Vec<PromptMessage> = (0..64)
            .map(|_| result(json!("y".repeat(64 * 1024))))
            .collect();
        let fitting = shortened(results, MAX_TOKENS);
        let tokens: usize = lengths(&fitting).iter().sum::<usize>() / 4;
        assert!(tokens <= MAX_TOKENS, "{tokens}");
    }
}
