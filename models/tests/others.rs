//! The other providers, each with an answer that goes well.

use agenthub_models::Usage;
use agenthub_models::providers::Genai;
use serde_json::{Value, json};

use crate::contract;
use crate::provider::{KEY, Provider, ask, events, question, streamed};

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
            output_tokens: 4,
            is_estimated: false,
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
async fn anthropic_calls_tools_and_takes_their_results_in_one_turn() {
    let event = move |mut data: Value, name: &str| {
        data["type"] = json!(name);
        format!("event: {name}\ndata: {data}\n\n")
    };
    let called = move |index: u32, id: &str, name: &str, arguments: &str| {
        let block = json!({"type": "tool_use", "id": id, "name": name, "input": {}});
        let delta = json!({"type": "input_json_delta", "partial_json": arguments});
        [
            event(
                json!({"index": index, "content_block": block}),
                "content_block_start",
            ),
            event(
                json!({"index": index, "delta": delta}),
                "content_block_delta",
            ),
            event(json!({"index": index}), "content_block_stop"),
        ]
        .concat()
    };
    let message = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "content": [], "model": "claude-test",
        "stop_reason": null, "usage": {"input_tokens": 9, "output_tokens": 1},
    });
    let spoken = [
        event(
            json!({"index": 0, "content_block": {"type": "text", "text": ""}}),
            "content_block_start",
        ),
        event(
            json!({"index": 0, "delta": {"type": "text_delta", "text": "Done."}}),
            "content_block_delta",
        ),
        event(json!({"index": 0}), "content_block_stop"),
    ];
    let response = move |blocks: &[String], reason: &str| {
        let ended = json!({"delta": {"stop_reason": reason, "stop_sequence": null}, "usage": {"output_tokens": 4}});
        let mut events = vec![event(json!({ "message": message }), "message_start")];
        events.extend_from_slice(blocks);
        events.push(event(ended, "message_delta"));
        events.push(event(json!({}), "message_stop"));
        streamed("text/event-stream", events)
    };
    let provider = Provider::answering(move |asked| {
        if asked.body["messages"].to_string().contains("tool_result") {
            return response(&spoken, "end_turn");
        }
        let calls = [
            called(0, "toolu_a", "agent_left", "{\"text\": \"hi\"}"),
            called(1, "toolu_b", "agent_right", "{\"text\": \"ho\"}"),
        ];
        response(&calls, "tool_use")
    })
    .await;
    let model = Genai::new(provider.settings("anthropic/claude-test", "/v1"));
    contract::check_tools(&model.expect("complete settings")).await;

    let asked = provider.asked();
    let turns = asked[1].body["messages"].as_array().expect("turns");
    assert_eq!(turns.len(), 3, "{turns:?}");
    let result =
        |id: &str, text: &str| json!({"type": "tool_result", "tool_use_id": id, "content": text});
    assert_eq!(
        turns[2],
        json!({"role": "user", "content": [
            result("toolu_a", "{\"error\":\"out of ink\"}"), result("toolu_b", "hi"),
        ]})
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
            output_tokens: 2,
            is_estimated: false,
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
