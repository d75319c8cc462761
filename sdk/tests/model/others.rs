//! The other providers, each with an answer that goes well.

use agenthub_sdk::model::{Message, Request, Usage};
use serde_json::json;

use crate::provider::{KEY, Provider, ask, events, streamed};

fn question() -> Request {
    Request::new(vec![
        Message::system("Be brief."),
        Message::user("Say hello."),
    ])
}

#[tokio::test]
async fn anthropic_answers() {
    let event = |name: &str, mut data: serde_json::Value| {
        data["type"] = json!(name);
        format!("event: {name}\ndata: {data}\n\n")
    };
    let delta = |text: &str| json!({"index": 0, "delta": {"type": "text_delta", "text": text}});
    let message = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "content": [], "model": "claude-test",
        "stop_reason": null, "usage": {"input_tokens": 9, "output_tokens": 1},
    });
    let ended = json!({"delta": {"stop_reason": "end_turn", "stop_sequence": null}, "usage": {"output_tokens": 4}});
    let reply = streamed(
        "text/event-stream",
        vec![
            event("message_start", json!({"message": message})),
            event(
                "content_block_start",
                json!({"index": 0, "content_block": {"type": "text", "text": ""}}),
            ),
            event("ping", json!({})),
            event("content_block_delta", delta("Hel")),
            event("content_block_delta", delta("lo")),
            event("content_block_stop", json!({"index": 0})),
            event("message_delta", ended),
            event("message_stop", json!({})),
        ],
    );
    let provider = Provider::start([reply]).await;
    let completion = ask(
        provider.settings("anthropic/claude-test", "/v1"),
        question(),
    )
    .await
    .expect("an answer");
    assert_eq!(completion.text, "Hello");
    assert_eq!(
        completion.usage,
        Some(Usage {
            input_tokens: 9,
            output_tokens: 4
        })
    );

    let asked = provider.asked_once();
    assert_eq!(asked.path, "/v1/messages");
    assert_eq!(asked.header("x-api-key"), KEY);
    assert_eq!(asked.header("anthropic-version"), "2023-06-01");
    assert_eq!(asked.body["system"], "Be brief.");
    assert_eq!(
        asked.body["messages"],
        json!([{"role": "user", "content": "Say hello."}])
    );
}

#[tokio::test]
async fn ollama_answers() {
    let line = |text: &str| {
        let message = json!({"role": "assistant", "content": text});
        format!(
            "{}\n",
            json!({"model": "llama", "created_at": "2026-11-21T10:00:00Z", "message": message, "done": false})
        )
    };
    let last = json!({
        "model": "llama", "created_at": "2026-11-21T10:00:00Z", "message": {"role": "assistant", "content": ""},
        "done": true, "done_reason": "stop", "prompt_eval_count": 8, "eval_count": 2,
    });
    let lines = vec![line("Hel"), line("lo"), format!("{last}\n")];
    let provider = Provider::start([streamed("application/x-ndjson", lines)]).await;
    let request = question().json("greeting", json!({"type": "object"}));
    let completion = ask(provider.settings("ollama/llama", ""), request)
        .await
        .expect("an answer");
    assert_eq!(completion.text, "Hello");
    assert_eq!(
        completion.usage,
        Some(Usage {
            input_tokens: 8,
            output_tokens: 2
        })
    );

    let asked = provider.asked_once();
    assert_eq!(asked.path, "/api/chat");
    assert_eq!(asked.body["model"], "llama");
    assert_eq!(asked.body["format"], "json");
    assert_eq!(
        asked.body["messages"][1],
        json!({"role": "system", "content": "Be brief."})
    );
}

#[tokio::test]
async fn gemini_answers() {
    let candidate =
        json!({"content": {"role": "model", "parts": [{"text": "Hello"}]}, "finishReason": "STOP"});
    let usage = json!({"promptTokenCount": 7, "candidatesTokenCount": 1, "totalTokenCount": 8});
    let provider = Provider::start([events(&[
        json!({"candidates": [candidate], "usageMetadata": usage}),
    ])])
    .await;
    let completion = ask(
        provider.settings("gemini/gemini-test", "/v1beta"),
        question(),
    )
    .await
    .expect("an answer");
    assert_eq!(completion.text, "Hello");

    let asked = provider.asked_once();
    assert_eq!(
        asked.path,
        "/v1beta/models/gemini-test:streamGenerateContent?alt=sse"
    );
    assert_eq!(asked.header("x-goog-api-key"), KEY);
}
