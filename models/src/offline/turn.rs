//! The user's last words, and the calls since.

use serde_json::Value;

use crate::{PromptMessage, PromptPart, PromptRole, Request, ToolCall};

/// The user's last words, and the calls since.
pub(super) struct Turn<'a> {
    /// The words; where there are none, what is handed over as data.
    pub(super) words: String,
    /// True if nobody said anything in words.
    pub(super) is_data: bool,
    /// The data that came with them.
    pub(super) input: Option<&'a Value>,
    pub(super) rounds: Vec<Round<'a>>,
}

/// The calls that were made at once, each with its result.
pub(super) struct Round<'a>(pub(super) Vec<(&'a ToolCall, Option<&'a Value>)>);

impl<'a> Turn<'a> {
    pub(super) fn of(request: &'a Request) -> Self {
        let messages = &request.messages;
        let last = |speaks: &dyn Fn(&PromptPart) -> bool| {
            let by_user = |m: &PromptMessage| m.role == PromptRole::User;
            messages
                .iter()
                .rposition(|m| by_user(m) && m.parts.iter().any(speaks))
        };
        // Where nobody says anything in words, what is handed over as data is what is asked.
        let start = last(&|part| matches!(part, PromptPart::Text(_)))
            .or_else(|| last(&|part| matches!(part, PromptPart::Data { .. })))
            .unwrap_or(0);
        let asked = messages.get(start);
        let said = asked.and_then(|message| {
            let given = || message.parts.iter().find_map(data_text);
            message.text().or_else(given)
        });
        let data = || asked.and_then(|message| message.parts.iter().find_map(data_json));
        let is_data = said.is_none();
        let words = said.or_else(data);
        let input = asked.and_then(|message| {
            message.parts.iter().find_map(|part| match part {
                PromptPart::Data { label, value } if label == "input" => Some(value),
                _ => None,
            })
        });
        let since = || messages.iter().skip(start);
        let results: Vec<(&str, &Value)> = since()
            .flat_map(|m| &m.parts)
            .filter_map(|part| match part {
                PromptPart::ToolResult { call_id, value, .. } => Some((call_id.as_str(), value)),
                _ => None,
            })
            .collect();
        let of = |call: &'a ToolCall| {
            let mut results = results.iter();
            let result = results.find(|(id, _)| *id == call.id);
            (call, result.map(|(_, value)| *value))
        };
        let rounds = since().map(|m| Round(calls(m).map(of).collect()));
        Self {
            words: words.unwrap_or_default(),
            is_data,
            input,
            rounds: rounds.filter(|round| !round.0.is_empty()).collect(),
        }
    }

    /// The data that came with the words and says anything else than they do.
    pub(super) fn data_beside_words(&self) -> Option<&'a Value> {
        let is_beside = |input: &&Value| {
            let is_text = match input.as_object() {
                Some(fields) if fields.len() == 1 => input["text"].as_str() == Some(&self.words),
                _ => input.as_str() == Some(&self.words),
            };
            !is_text && input.to_string() != self.words
        };
        self.input.filter(is_beside)
    }

    /// Every call.
    pub(super) fn calls(&self) -> impl Iterator<Item = &'a ToolCall> {
        self.rounds
            .iter()
            .flat_map(|r| r.0.iter().map(|(call, _)| *call))
    }

    /// Every result, with the name of its tool.
    pub(super) fn results(&self) -> impl Iterator<Item = (&'a str, &'a Value)> {
        let all = self.rounds.iter().flat_map(|round| &round.0);
        all.filter_map(|(call, result)| Some((call.name.as_str(), (*result)?)))
    }
}

fn calls(message: &PromptMessage) -> impl Iterator<Item = &ToolCall> {
    message.parts.iter().filter_map(|part| match part {
        PromptPart::ToolCall(call) => Some(call),
        _ => None,
    })
}

fn data_text(part: &PromptPart) -> Option<String> {
    let PromptPart::Data { value, .. } = part else {
        return None;
    };
    let text = value.as_str().or_else(|| value.get("text")?.as_str());
    text.map(str::to_owned)
}

fn data_json(part: &PromptPart) -> Option<String> {
    match part {
        PromptPart::Data { value, .. } => Some(value.to_string()),
        _ => None,
    }
}
