//! A request for people to read, line by line.

use serde_json::Value;

use super::super::{Output, PromptMessage, PromptPart, PromptRole, Request};

/// The characters of a title, at most.
const MAX_TITLE: usize = 80;

/// The asker: the first line of what the model is told to be, else of what it is told.
pub(super) fn asker(request: &Request) -> String {
    let of = |role: PromptRole| request.messages.iter().filter(move |m| m.role == role);
    let told = of(PromptRole::System).chain(of(PromptRole::User));
    let texts = told.filter_map(PromptMessage::text);
    let first = texts
        .filter_map(|text| {
            text.lines()
                .map(|line| line.trim().trim_start_matches('#').trim())
                .find(|line| !line.is_empty())
                .map(str::to_owned)
        })
        .next();
    cut(&first.unwrap_or_else(|| "nobody".to_owned()), MAX_TITLE)
}

/// The text, or its first characters and an ellipsis.
pub(super) fn cut(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Everything that a request says. Sentences have lines of their own, so that a difference shows where it is.
pub(super) fn shown(request: &Request) -> String {
    let mut lines = Lines::default();
    for message in &request.messages {
        lines.title(match message.role {
            PromptRole::System => "system",
            PromptRole::User => "user",
            PromptRole::Assistant => "assistant",
            PromptRole::Tool => "tool",
        });
        for part in &message.parts {
            match part {
                PromptPart::Text(text) => lines.text(text),
                PromptPart::Data { label, value } => lines.value(&format!("data {label}"), value),
                PromptPart::ToolCall(call) => {
                    lines.value(
                        &format!("call {} ({})", call.name, call.id),
                        &call.arguments,
                    );
                }
                PromptPart::ToolResult {
                    call_id,
                    name,
                    value,
                } => lines.value(&format!("result of {name} ({call_id})"), value),
            }
        }
    }
    for tool in &request.tools {
        lines.title(&format!("tool {}", tool.name));
        lines.text(&tool.description);
        lines.value("parameters", &tool.parameters);
    }
    if let Output::Json { name, schema } = &request.output {
        lines.title("answer");
        lines.value(&format!("JSON named {name}"), schema);
    }
    if let Some(temperature) = request.temperature {
        lines.title(&format!("temperature {temperature}"));
    }
    if let Some(tokens) = request.max_output_tokens {
        lines.title(&format!("at most {tokens} tokens"));
    }
    lines.0
}

#[derive(Default)]
struct Lines(String);

impl Lines {
    fn line(&mut self, line: &str) {
        self.0.push_str(line);
        self.0.push('\n');
    }

    fn title(&mut self, title: &str) {
        self.line(&format!("[{title}]"));
    }

    fn text(&mut self, text: &str) {
        for line in text.lines() {
            for sentence in line.split_inclusive(". ") {
                self.line(sentence.trim_end());
            }
        }
    }

    fn value(&mut self, what: &str, value: &Value) {
        match value {
            Value::String(text) => {
                self.line(&format!("{what}:"));
                self.text(text);
            }
            value => self.line(&format!("{what}: {value:#}")),
        }
    }
}
