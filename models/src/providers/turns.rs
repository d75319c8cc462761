//! The conversation in the turns that a provider takes.

use genai::adapter::AdapterKind;
use genai::chat::{ChatMessage, ChatRole, ContentPart, MessageContent, ToolResponse};
use serde_json::Value;

use super::tools;
use crate::{PromptPart, PromptRole, Request, quote};

/// Order of turns that a provider wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turns {
    /// One turn per result of a tool.
    Apart,
    /// The results that stand together in one turn.
    Together,
    /// The user's and the model's turns alternate; the results of the model's calls lead the user's. Where there is no tool to
    /// call, there are no calls in the past either: they are told in words.
    Alternating,
}

impl Turns {
    pub(super) fn of(kind: AdapterKind) -> Self {
        match kind {
            AdapterKind::BedrockApi => Self::Alternating,
            AdapterKind::Ollama => Self::Apart,
            _ => Self::Together,
        }
    }

    /// The conversation of `request`.
    pub(super) fn messages(self, request: &Request) -> Vec<ChatMessage> {
        let in_words = self == Self::Alternating && request.tools.is_empty();
        let content = |part: &PromptPart| match in_words {
            true => told(part),
            false => content(request, part),
        };
        let single = request.messages.iter().flat_map(|message| {
            let parts: Vec<ContentPart> = message.parts.iter().filter_map(content).collect();
            self.split(message.role, parts)
        });
        match self {
            Self::Apart => single.collect(),
            Self::Together => joined(single, |role| *role == ChatRole::Tool),
            Self::Alternating => {
                let (system, others): (Vec<_>, Vec<_>) =
                    single.partition(|message| message.role == ChatRole::System);
                let mut turns = joined(others, |_| true);
                turns.iter_mut().for_each(results_first);
                [system, turns].concat()
            }
        }
    }

    /// A message as turns of its role, none of them empty.
    fn split(self, role: PromptRole, parts: Vec<ContentPart>) -> Vec<ChatMessage> {
        if parts.is_empty() {
            return Vec::new();
        }
        if role == PromptRole::Tool && self != Self::Alternating {
            let one = |part| ChatMessage::tool(MessageContent::from_parts(vec![part]));
            return parts.into_iter().map(one).collect();
        }
        let content = MessageContent::from_parts(parts);
        vec![match role {
            PromptRole::System => ChatMessage::system(content),
            PromptRole::Assistant => ChatMessage::assistant(content),
            PromptRole::User | PromptRole::Tool => ChatMessage::user(content),
        }]
    }
}

/// Neighbours of one role become one turn, where `join` says so.
fn joined(
    messages: impl IntoIterator<Item = ChatMessage>,
    join: impl Fn(&ChatRole) -> bool,
) -> Vec<ChatMessage> {
    let mut turns: Vec<ChatMessage> = Vec::new();
    for message in messages {
        match turns.last_mut() {
            Some(last) if last.role == message.role && join(&message.role) => {
                last.content.extend(message.content);
            }
            _ => turns.push(message),
        }
    }
    turns
}

fn results_first(turn: &mut ChatMessage) {
    let parts = std::mem::take(&mut turn.content);
    let is_result = |part: &ContentPart| matches!(part, ContentPart::ToolResponse(_));
    let (results, others): (Vec<_>, Vec<_>) = parts.into_iter().partition(is_result);
    turn.content = results.into_iter().chain(others).collect();
}

fn content(request: &Request, part: &PromptPart) -> Option<ContentPart> {
    Some(match part {
        // Providers refuse empty texts.
        PromptPart::Text(text) if text.trim().is_empty() => return None,
        PromptPart::Text(text) => ContentPart::Text(text.clone()),
        PromptPart::Data { label, value } => ContentPart::Text(quote::data(label, value)),
        PromptPart::ToolCall(call) => {
            let (fn_name, fn_arguments) = tools::to_wire(&request.tools, call);
            ContentPart::ToolCall(genai::chat::ToolCall {
                call_id: call.id.clone(),
                fn_name,
                fn_arguments,
                thought_signatures: None,
            })
        }
        PromptPart::ToolResult {
            call_id,
            name,
            value,
        } => {
            let text = match value {
                Value::String(text) if !text.trim().is_empty() => text.clone(),
                other => other.to_string(),
            };
            let response = ToolResponse::new(call_id, text);
            ContentPart::ToolResponse(response.with_fn_name(tools::wire_name(name)))
        }
    })
}

/// The part in words.
fn told(part: &PromptPart) -> Option<ContentPart> {
    let text = match part {
        PromptPart::Text(text) if text.trim().is_empty() => return None,
        PromptPart::Text(text) => text.clone(),
        PromptPart::Data { label, value } => quote::data(label, value),
        PromptPart::ToolCall(call) => format!("(I called {} with {}.)", call.name, call.arguments),
        PromptPart::ToolResult { name, value, .. } => quote::data(name, value),
    };
    Some(ContentPart::Text(text))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{PromptMessage, ToolCall, ToolSpec};

    fn call(id: &str) -> PromptPart {
        PromptPart::ToolCall(ToolCall {
            id: id.into(),
            name: "t".into(),
            arguments: json!({}),
        })
    }

    fn result(id: &str, value: Value) -> PromptPart {
        PromptPart::ToolResult {
            call_id: id.into(),
            name: "t".into(),
            value,
        }
    }

    /// A conversation with two calls at once, an instruction among their results, and data after them.
    fn conversation() -> Request {
        let mut request = Request::new(vec![
            PromptMessage::system("Lead."),
            PromptMessage::data("agents", json!([])),
            PromptMessage::user("go"),
            PromptMessage::new(PromptRole::Assistant, vec![call("1"), call("2")]),
            PromptMessage::new(PromptRole::Tool, vec![result("1", json!("one"))]),
            PromptMessage::data("notes", json!(1)),
            PromptMessage::new(PromptRole::Tool, vec![result("2", json!(""))]),
            PromptMessage::system("Be brief."),
            PromptMessage::user(" "),
            PromptMessage::user("well?"),
        ]);
        request.tools = vec![ToolSpec {
            name: "t".into(),
            description: String::new(),
            parameters: json!({"type": "object"}),
            agent: None,
        }];
        request
    }

    fn shown(messages: &[ChatMessage]) -> Vec<String> {
        let part = |part: &ContentPart| match part {
            ContentPart::Text(text) => text.clone(),
            ContentPart::ToolCall(call) => format!("call {}", call.call_id),
            ContentPart::ToolResponse(response) => {
                format!("{}={}", response.call_id, response.content)
            }
            other => format!("{other:?}"),
        };
        let parts = |m: &ChatMessage| m.content.parts().iter().map(part).collect::<Vec<_>>();
        let line = |m: &ChatMessage| format!("{}: {}", m.role, parts(m).join(", "));
        messages.iter().map(line).collect()
    }

    #[test]
    fn results_that_stand_together_are_one_turn_where_the_provider_wants_that() {
        let mut request = conversation();
        request.messages.swap(5, 6);
        for (turns, expected) in [
            (Turns::Apart, &["Tool: 1=one", "Tool: 2=\"\""][..]),
            (Turns::Together, &["Tool: 1=one, 2=\"\""]),
        ] {
            let shown = shown(&turns.messages(&request));
            let results: Vec<&String> = shown.iter().filter(|s| s.starts_with("Tool")).collect();
            assert_eq!(results, expected, "{turns:?}");
        }
    }

    #[test]
    fn alternating_turns_start_with_the_results() {
        assert_eq!(
            shown(&Turns::Alternating.messages(&conversation())),
            [
                "System: Lead.",
                "System: Be brief.",
                "User: <data label=\"agents\">[]</data>, go",
                "Assistant: call 1, call 2",
                "User: 1=one, 2=\"\", <data label=\"notes\">1</data>, well?",
            ]
        );
    }

    #[test]
    fn calls_of_tools_that_are_gone_are_told_in_words() {
        let mut request = conversation();
        request.tools.clear();
        let shown = shown(&Turns::Alternating.messages(&request));
        assert_eq!(
            shown[3],
            "Assistant: (I called t with {}.), (I called t with {}.)"
        );
        assert!(
            shown[4].starts_with("User: <data label=\"t\">\"one\"</data>, "),
            "{}",
            shown[4]
        );
    }
}
