//! The port's requests and answers as the crate `genai` has them.

use genai::adapter::AdapterKind;
use genai::chat::{
    ChatMessage, ChatOptions, ChatRequest, ChatResponseFormat, ContentPart, JsonSpec,
    MessageContent, StreamEnd, ToolResponse,
};
use serde_json::Value;

use crate::model::{Error, Message, Output, Part, Request, Role, Tool, ToolCall, Usage, quote};

/// How a provider is made to answer with JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JsonStyle {
    /// It takes any JSON Schema.
    Schema,
    /// It takes schemas that name every field of every object, and otherwise promises JSON of some kind.
    ClosedSchema,
    /// It is told in words.
    Words,
}

impl JsonStyle {
    pub(super) fn of(kind: AdapterKind, model: &str) -> Self {
        match kind {
            AdapterKind::Gemini => Self::Schema,
            AdapterKind::Vertex if model.starts_with("gemini") => Self::Schema,
            AdapterKind::OpenAI | AdapterKind::Anthropic => Self::ClosedSchema,
            _ => Self::Words,
        }
    }
}

/// The request and its options.
pub(super) fn request(
    request: &Request,
    style: JsonStyle,
) -> Result<(ChatRequest, ChatOptions), Error> {
    let mut options = ChatOptions::default()
        .with_capture_usage(true)
        .with_capture_tool_calls(true)
        .with_capture_content(false);
    options.max_tokens = request.max_output_tokens;
    options.temperature = request.temperature;

    let mut messages: Vec<ChatMessage> = request.messages.iter().flat_map(message).collect();
    if let Output::Json { name, schema } = &request.output {
        let native =
            style == JsonStyle::Schema || (style == JsonStyle::ClosedSchema && is_closed(schema));
        options.response_format = Some(if native {
            ChatResponseFormat::JsonSpec(JsonSpec::new(clean_name(name)?, schema.clone()))
        } else {
            messages.insert(0, ChatMessage::system(in_words(schema)));
            ChatResponseFormat::JsonMode
        });
    }
    let mut chat = ChatRequest::from_messages(messages);
    if !request.tools.is_empty() {
        chat = chat.with_tools(
            request
                .tools
                .iter()
                .map(tool)
                .collect::<Result<Vec<_>, _>>()?,
        );
    }
    Ok((chat, options))
}

fn in_words(schema: &Value) -> String {
    format!(
        "Answer with one JSON value and nothing else, without any prose or code fence around it. It has to match this JSON \
         Schema:\n{schema}"
    )
}

/// Whether every object in the schema names all its fields, requires them and allows no other.
fn is_closed(schema: &Value) -> bool {
    match schema {
        Value::Object(map) => {
            let is_object = map.get("type").is_some_and(|kind| match kind {
                Value::Array(kinds) => kinds.iter().any(|kind| kind == "object"),
                kind => kind == "object",
            });
            let properties = map.get("properties").and_then(Value::as_object);
            let required = |name: &String| {
                map.get("required")
                    .and_then(Value::as_array)
                    .is_some_and(|all| all.iter().any(|one| one == name))
            };
            let closed = map.get("additionalProperties") == Some(&Value::Bool(false))
                && properties.is_some_and(|properties| properties.keys().all(required));
            (closed || !(is_object || properties.is_some())) && map.values().all(is_closed)
        }
        Value::Array(all) => all.iter().all(is_closed),
        _ => true,
    }
}

/// Providers take `[A-Za-z0-9_-]{1,64}` as the name of a schema or tool.
fn clean_name(name: &str) -> Result<&str, Error> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if (1..=64).contains(&name.len()) && name.chars().all(fits) {
        Ok(name)
    } else {
        Err(Error::InvalidRequest(format!(
            "`{name}` is no name for a schema or tool"
        )))
    }
}

fn tool(tool: &Tool) -> Result<genai::chat::Tool, Error> {
    let name = clean_name(&tool.name)?;
    Ok(genai::chat::Tool::new(name)
        .with_description(tool.description.clone())
        .with_schema(tool.parameters.clone()))
}

/// One message, or one per tool result, since some providers want those apart.
fn message(message: &Message) -> Vec<ChatMessage> {
    if message.role == Role::Tool {
        let results = message.parts.iter().filter_map(content);
        return results
            .map(|part| ChatMessage::tool(MessageContent::from_parts(vec![part])))
            .collect();
    }
    let parts: Vec<ContentPart> = message.parts.iter().filter_map(content).collect();
    if parts.is_empty() {
        return Vec::new();
    }
    let content = MessageContent::from_parts(parts);
    vec![match message.role {
        Role::System => ChatMessage::system(content),
        Role::Assistant => ChatMessage::assistant(content),
        Role::User | Role::Tool => ChatMessage::user(content),
    }]
}

fn content(part: &Part) -> Option<ContentPart> {
    Some(match part {
        // Providers refuse empty texts.
        Part::Text(text) if text.is_empty() => return None,
        Part::Text(text) => ContentPart::Text(text.clone()),
        Part::Data { label, value } => ContentPart::Text(quote::data(label, value)),
        Part::ToolCall(call) => ContentPart::ToolCall(genai::chat::ToolCall {
            call_id: call.id.clone(),
            fn_name: call.name.clone(),
            fn_arguments: call.arguments.clone(),
            thought_signatures: None,
        }),
        Part::ToolResult {
            call_id,
            name,
            value,
        } => {
            let text = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            ContentPart::ToolResponse(ToolResponse::new(call_id, text).with_fn_name(name))
        }
    })
}

/// The calls in an answer.
pub(super) fn tool_calls(end: StreamEnd) -> Vec<ToolCall> {
    let calls = end.captured_into_tool_calls().unwrap_or_default();
    calls
        .into_iter()
        .map(|call| ToolCall {
            id: call.call_id,
            name: call.fn_name,
            arguments: call.fn_arguments,
        })
        .collect()
}

/// The cost of an answer, where any of it is known.
pub(super) fn usage(usage: &genai::chat::Usage) -> Option<Usage> {
    let count = |tokens: Option<i32>| tokens.and_then(|tokens| u64::try_from(tokens).ok());
    let (input, output) = (count(usage.prompt_tokens), count(usage.completion_tokens));
    (input.is_some() || output.is_some()).then(|| Usage {
        input_tokens: input.unwrap_or(0),
        output_tokens: output.unwrap_or(0),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_schema_is_closed_when_every_object_names_all_its_fields() {
        let closed = |required: Value| {
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": required,
                   "additionalProperties": false})
        };
        for (schema, expected) in [
            (closed(json!(["a"])), true),
            (closed(json!([])), false),
            (
                json!({"type": "array", "items": closed(json!(["a"]))}),
                true,
            ),
            (json!({"type": "array", "items": {"type": "object"}}), false),
            (
                json!({"anyOf": [closed(json!(["a"])), {"type": ["object", "null"]}]}),
                false,
            ),
            (
                json!({"properties": {"a": {"type": "string"}}, "required": ["a"]}),
                false,
            ),
            (json!({"type": "string"}), true),
        ] {
            assert_eq!(is_closed(&schema), expected, "{schema}");
        }
    }

    #[test]
    fn data_reaches_the_provider_quoted() {
        let asked = Request::new(vec![
            Message::data("results", json!("</data>")),
            Message::user("what?"),
        ]);
        let (chat, _) = request(&asked, JsonStyle::Words).expect("a plain request");
        let texts: Vec<&str> = chat
            .messages
            .iter()
            .flat_map(|message| message.content.texts())
            .collect();
        assert_eq!(
            texts,
            [
                "<data label=\"results\">\"\\u003c/data\\u003e\"</data>",
                "what?"
            ]
        );
    }

    #[test]
    fn a_schema_that_a_provider_cannot_enforce_is_told_in_words() {
        let open = json!({"type": "object"});
        let asked = Request::new(vec![Message::user("decide")]).json("decision", open.clone());
        for (style, native) in [
            (JsonStyle::Schema, true),
            (JsonStyle::ClosedSchema, false),
            (JsonStyle::Words, false),
        ] {
            let (chat, options) = request(&asked, style).expect("a plain request");
            let told = chat.messages[0]
                .content
                .texts()
                .concat()
                .contains(&open.to_string());
            let enforced = matches!(
                options.response_format,
                Some(ChatResponseFormat::JsonSpec(_))
            );
            assert_eq!((enforced, told), (native, !native), "{style:?}");
        }
    }

    #[test]
    fn names_that_providers_refuse_are_refused_here() {
        for name in ["", "two words", &"x".repeat(65)] {
            let asked = Request::new(vec![Message::user("hi")]).json(name, json!({}));
            assert!(
                matches!(
                    request(&asked, JsonStyle::Schema),
                    Err(Error::InvalidRequest(_))
                ),
                "{name:?}"
            );
        }
    }
}
