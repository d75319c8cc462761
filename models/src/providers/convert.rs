//! The port's requests and answers as the crate `genai` has them.

use agenthub_runs::schema;
use genai::adapter::AdapterKind;
use genai::chat::{ChatMessage, ChatOptions, ChatRequest, ChatResponseFormat, JsonSpec, StreamEnd};
use serde_json::Value;

use super::tools;
use super::turns::Turns;
use crate::{ModelError, Output, Request, ToolCall, ToolSpec, Usage};

/// Means by which a provider is made to answer with JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JsonStyle {
    /// Takes any JSON Schema.
    Schema,
    /// Takes schemas that name every field of every object, and otherwise promises JSON of some kind.
    ClosedSchema,
    /// Is told in words.
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
    turns: Turns,
) -> Result<(ChatRequest, ChatOptions), ModelError> {
    let mut options = ChatOptions::default()
        .with_capture_usage(true)
        .with_capture_tool_calls(true)
        .with_capture_content(false);
    options.max_tokens = request.max_output_tokens;
    options.temperature = request.temperature;

    let mut messages = turns.messages(request);
    if let Output::Json { name, schema } = &request.output {
        let native =
            style == JsonStyle::Schema || (style == JsonStyle::ClosedSchema && is_closed(schema));
        options.response_format = Some(if native {
            ChatResponseFormat::JsonSpec(JsonSpec::new(schema_name(name)?, schema.clone()))
        } else {
            messages.insert(0, ChatMessage::system(in_words(schema)));
            ChatResponseFormat::JsonMode
        });
    }
    let mut chat = ChatRequest::from_messages(messages);
    if !request.tools.is_empty() {
        chat = chat.with_tools(request.tools.iter().map(tools::offered));
    }
    Ok((chat, options))
}

fn in_words(schema: &Value) -> String {
    format!(
        "Answer with one JSON value and nothing else, without any prose or code fence around it. It has to match this JSON \
         Schema:\n{schema}"
    )
}

/// True if every object in the schema names all its fields, requires them and allows no other.
fn is_closed(schema: &Value) -> bool {
    schema::all(schema, &|map| {
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
        closed || !(is_object || properties.is_some())
    })
}

fn schema_name(name: &str) -> Result<&str, ModelError> {
    match tools::is_plain(name) {
        true => Ok(name),
        false => Err(ModelError::InvalidRequest(format!(
            "`{name}` is no name for a schema"
        ))),
    }
}

/// The calls in an answer.
pub(super) fn tool_calls(tools: &[ToolSpec], end: StreamEnd) -> Vec<ToolCall> {
    tools::from_wire(tools, end.captured_into_tool_calls().unwrap_or_default())
}

/// The cost of an answer, where any of it is known.
pub(super) fn usage(usage: &genai::chat::Usage) -> Option<Usage> {
    let count = |tokens: Option<i32>| tokens.and_then(|tokens| u64::try_from(tokens).ok());
    let (input, output) = (count(usage.prompt_tokens), count(usage.completion_tokens));
    (input.is_some() || output.is_some()).then(|| Usage {
        input_tokens: input.unwrap_or(0),
        output_tokens: output.unwrap_or(0),
        is_estimated: false,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::PromptMessage;

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
            // Values are no schemas.
            (
                json!({"enum": [{"type": "object"}], "default": {"properties": {}}}),
                true,
            ),
        ] {
            assert_eq!(is_closed(&schema), expected, "{schema}");
        }
    }

    #[test]
    fn data_reaches_the_provider_quoted() {
        let asked = Request::new(vec![
            PromptMessage::data("results", json!("</data>")),
            PromptMessage::user("what?"),
        ]);
        let (chat, _) =
            request(&asked, JsonStyle::Words, Turns::Together).expect("a plain request");
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
        let asked =
            Request::new(vec![PromptMessage::user("decide")]).json("decision", open.clone());
        for (style, native) in [
            (JsonStyle::Schema, true),
            (JsonStyle::ClosedSchema, false),
            (JsonStyle::Words, false),
        ] {
            let (chat, options) = request(&asked, style, Turns::Together).expect("a plain request");
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
            let asked = Request::new(vec![PromptMessage::user("hi")]).json(name, json!({}));
            assert!(
                matches!(
                    request(&asked, JsonStyle::Schema, Turns::Together),
                    Err(ModelError::InvalidRequest(_))
                ),
                "{name:?}"
            );
        }
    }
}
