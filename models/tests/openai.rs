//! OpenAI's chat completions, streamed.

use agenthub_models::providers::{Genai, Settings};
use agenthub_models::{PromptMessage, Usage};
use serde_json::{Value, json};

use crate::contract;
use crate::provider::{
    DONE, KEY, Provider, Reply, ask, events_done, frames, gated, hands_out_while_it_grows, question,
};

pub(crate) fn chunk(delta: Value, finish: Option<&str>) -> Value {
    json!({
        "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-test",
        "choices": [{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish}],
    })
}

pub(crate) fn text(text: &str) -> Value {
    chunk(json!({"content": text}), None)
}

pub(crate) fn usage() -> Value {
    json!({
        "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-test", "choices": [],
        "usage": {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14},
    })
}

pub(crate) fn answer() -> Reply {
    let start = chunk(json!({"role": "assistant", "content": ""}), None);
    events_done(&[
        start,
        text("Hel"),
        text("lo"),
        chunk(json!({}), Some("stop")),
        usage(),
    ])
}

pub(crate) fn settings(provider: &Provider) -> Settings {
    provider.settings("openai/gpt-test", "/v1")
}

#[tokio::test]
async fn the_model_keeps_the_contract() {
    let provider = Provider::always(answer).await;
    contract::check(&Genai::new(settings(&provider)).expect("complete settings")).await;
}

#[tokio::test]
async fn an_answer_comes_with_its_usage_and_the_request_with_key_roles_and_quoted_data() {
    let provider = Provider::start([answer()]).await;
    let mut request = question();
    request
        .messages
        .insert(1, PromptMessage::data("agents", json!([{"id": "</data>"}])));
    request.max_output_tokens = Some(50);
    request.temperature = Some(0.5);
    let completion = ask(settings(&provider), request).await.expect("an answer");
    assert_eq!(completion.text, "Hello");
    assert_eq!(
        completion.usage,
        Some(Usage {
            input_tokens: 11,
            output_tokens: 3,
            is_estimated: false,
        })
    );

    let asked = provider.asked_once();
    assert_eq!(asked.path, "/v1/chat/completions");
    assert_eq!(asked.header("authorization"), format!("Bearer {KEY}"));
    assert_eq!(asked.body["model"], "gpt-test");
    assert_eq!(asked.body["stream"], true);
    assert_eq!(asked.body["stream_options"], json!({"include_usage": true}));
    assert_eq!(asked.body["max_tokens"], 50);
    assert_eq!(asked.body["temperature"], 0.5);
    assert_eq!(
        asked.body["messages"],
        json!([
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "<data label=\"agents\">[{\"id\":\"\\u003c/data\\u003e\"}]</data>"},
            {"role": "user", "content": "Say hello."},
        ])
    );
}

#[tokio::test]
async fn pieces_are_handed_out_while_the_answer_grows() {
    let rest = frames(&[text("lo"), chunk(json!({}), Some("stop"))]) + DONE;
    let (reply, open) = gated(&frames(&[text("Hel")]), rest);
    let provider = Provider::start([reply]).await;
    hands_out_while_it_grows(settings(&provider), question(), open).await;
}

#[tokio::test]
async fn a_closed_schema_is_enforced_and_an_open_one_is_told() {
    let closed = json!({
        "type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"], "additionalProperties": false,
    });
    let open = json!({"type": "object", "properties": {"payload": {"type": "object"}}});
    let provider = Provider::always(answer).await;
    for schema in [&closed, &open] {
        ask(
            settings(&provider),
            question().json("decision", schema.clone()),
        )
        .await
        .expect("an answer");
    }
    let asked = provider.asked();
    assert_eq!(
        asked[0].body["response_format"],
        json!({"type": "json_schema", "json_schema": {"name": "decision", "strict": true, "schema": closed}})
    );
    assert_eq!(
        asked[1].body["response_format"],
        json!({"type": "json_object"})
    );
    let told = asked[1].body["messages"][0].to_string();
    assert!(
        told.contains("JSON Schema") && told.contains("payload"),
        "{told}"
    );
}
