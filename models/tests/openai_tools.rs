//! Tools in OpenAI's chat completions, streamed.

use agenthub_models::providers::Genai;
use agenthub_models::{
    LanguageModel, ModelError, PromptMessage, PromptRole, ToolSpec, Usage, deltas,
};
use serde_json::{Value, json};

use crate::contract::{self, question_for_tools, with_results};
use crate::openai::{answer, chunk, settings, text, usage};
use crate::provider::{Provider, Reply, ask, events_done, made};

/// The beginning of a call.
fn begins(index: u32, id: &str, name: &str, arguments: &str) -> Value {
    json!({"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
}

/// More of a call's arguments.
fn more(index: u32, arguments: &str) -> Value {
    json!({"index": index, "function": {"arguments": arguments}})
}

fn pieces(pieces: &[Value]) -> Value {
    chunk(json!({ "tool_calls": pieces }), None)
}

/// Two calls whose arguments come by turns, and both at once.
fn calls() -> Reply {
    events_done(&[
        chunk(json!({"role": "assistant", "content": null}), None),
        text("I ask both."),
        pieces(&[begins(0, "call_a", "agent_left", "")]),
        pieces(&[begins(1, "call_b", "agent_right", "{\"te")]),
        pieces(&[more(0, "{\"text\": "), more(1, "xt\": ")]),
        pieces(&[more(1, "\"ho\"}")]),
        pieces(&[more(0, "\"hi\"}")]),
        chunk(json!({}), Some("tool_calls")),
        usage(),
    ])
}

#[tokio::test]
async fn the_model_keeps_the_contract() {
    let provider = Provider::answering(|asked| {
        let messages = asked.body["messages"].as_array();
        let has_results = messages.is_some_and(|all| all.iter().any(|m| m["role"] == "tool"));
        if has_results { answer() } else { calls() }
    })
    .await;
    let model = Genai::new(settings(&provider)).expect("complete settings");
    contract::check_tools(&model).await;
}

#[tokio::test]
async fn calls_made_at_once_come_whole_and_only_words_are_handed_out() {
    let provider = Provider::start([calls()]).await;
    let model = Genai::new(settings(&provider)).expect("complete settings");
    let (sink, mut reader) = deltas();
    let completion = model
        .complete(question_for_tools(), sink)
        .await
        .expect("calls");
    assert_eq!(reader.next().await.as_deref(), Some("I ask both."));
    assert_eq!(reader.next().await, None);
    assert_eq!(completion.text, "I ask both.");
    assert_eq!(
        completion.tool_calls,
        [
            made("call_a", "agent_left", json!({"text": "hi"})),
            made("call_b", "agent_right", json!({"text": "ho"})),
        ]
    );
    assert_eq!(
        completion.usage,
        Some(Usage {
            input_tokens: 11,
            output_tokens: 3,
            is_estimated: false,
        })
    );
    let parameters =
        json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]});
    let function = |name: &str| {
        json!({"type": "function", "function": {
            "name": name, "description": "Repeats what it is told", "parameters": parameters, "strict": false,
        }})
    };
    assert_eq!(
        provider.asked_once().body["tools"],
        json!([function("agent_left"), function("agent_right")])
    );
}

#[tokio::test]
async fn results_go_back_under_the_ids_of_their_calls() {
    let provider = Provider::start([answer()]).await;
    let calls = [
        made("call_a", "agent_left", json!({"text": "hi"})),
        made("call_b", "agent_right", json!({"text": "ho"})),
    ];
    let request = with_results(question_for_tools(), &calls);
    let completion = ask(settings(&provider), request).await.expect("an answer");
    assert_eq!(completion.text, "Hello");

    let call = |id: &str, name: &str, arguments: &str| json!({"type": "function", "id": id, "function": {"name": name, "arguments": arguments}});
    assert_eq!(
        provider.asked_once().body["messages"],
        json!([
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Ask agent_left and agent_right to say hi."},
            {"role": "assistant", "content": "", "tool_calls": [
                call("call_a", "agent_left", "{\"text\":\"hi\"}"), call("call_b", "agent_right", "{\"text\":\"ho\"}"),
            ]},
            {"role": "tool", "content": "{\"error\":\"out of ink\"}", "tool_call_id": "call_a"},
            {"role": "tool", "content": "hi", "tool_call_id": "call_b"},
        ])
    );
}

#[tokio::test]
async fn a_tool_without_an_object_and_with_a_long_name_is_offered_and_called() {
    let name = "a tool with a name that is far too long for any provider, and full of spaces";
    let provider = Provider::answering(|asked| {
        let function = &asked.body["tools"][0]["function"];
        let name = function["name"].as_str().expect("a name");
        assert!(name.len() <= 64 && !name.contains(' '), "{name}");
        assert_eq!(function["parameters"]["type"], "object");
        events_done(&[
            pieces(&[begins(0, "call_a", name, "{\"input\": \"on\"}")]),
            chunk(json!({}), Some("tool_calls")),
        ])
    })
    .await;
    let mut request = question_for_tools();
    request.tools = vec![ToolSpec {
        name: name.into(),
        description: "Switches".into(),
        parameters: json!({"enum": ["on", "off"]}),
        agent: None,
    }];
    let completion = ask(settings(&provider), request.clone())
        .await
        .expect("a call");
    assert_eq!(completion.tool_calls, [made("call_a", name, json!("on"))]);

    let request = with_results(request, &completion.tool_calls);
    ask(settings(&provider), request).await.expect("a call");
    let asked = &provider.asked()[1].body;
    let function = &asked["messages"][2]["tool_calls"][0]["function"];
    assert_eq!(function["arguments"], "{\"input\":\"on\"}");
    assert_eq!(function["name"], asked["tools"][0]["function"]["name"]);
}

#[tokio::test]
async fn calls_of_servers_that_are_not_strict_about_the_format_are_read() {
    for (events, expected) in [
        // No arguments at all.
        (
            vec![pieces(&[begins(0, "call_a", "agent_left", "")])],
            vec![made("call_a", "agent_left", json!({}))],
        ),
        // Counted from 1.
        (
            vec![
                pieces(&[begins(1, "call_a", "agent_left", "")]),
                pieces(&[more(1, "{\"n\": 1}")]),
            ],
            vec![made("call_a", "agent_left", json!({"n": 1}))],
        ),
        // One id for all.
        (
            vec![
                pieces(&[begins(0, "call", "agent_left", "{\"n\": 1}")]),
                pieces(&[begins(1, "call", "agent_left", "{\"n\": 2}")]),
            ],
            vec![
                made("call", "agent_left", json!({"n": 1})),
                made("call_2", "agent_left", json!({"n": 2})),
            ],
        ),
        // Arguments that are no JSON: the model is to be told, so they are kept.
        (
            vec![pieces(&[begins(0, "call_a", "agent_left", "{\"n\": oops")])],
            vec![made("call_a", "agent_left", json!("{\"n\": oops"))],
        ),
    ] {
        let mut events = events;
        events.push(chunk(json!({}), Some("tool_calls")));
        let provider = Provider::start([events_done(&events)]).await;
        let completion = ask(settings(&provider), question_for_tools())
            .await
            .expect("calls");
        assert_eq!(completion.tool_calls, expected);
    }
}

#[tokio::test]
async fn a_call_that_was_cut_off_is_not_made() {
    let provider = Provider::start([events_done(&[
        pieces(&[begins(0, "call_a", "agent_left", "{\"text\": \"h")]),
        chunk(json!({}), Some("length")),
    ])])
    .await;
    let error = ask(settings(&provider), question_for_tools())
        .await
        .expect_err("there is no whole call");
    assert!(matches!(error, ModelError::Malformed(_)), "{error:?}");
}

#[tokio::test]
async fn a_broken_call_of_the_past_is_written_as_an_object() {
    let provider = Provider::start([answer()]).await;
    let calls = [made("call_a", "agent_left", json!("{\"n\": oops"))];
    let mut request = with_results(question_for_tools(), &calls);
    request
        .messages
        .push(PromptMessage::data("notes", json!(1)));
    assert_eq!(request.messages[2].role, PromptRole::Assistant);
    ask(settings(&provider), request).await.expect("an answer");
    let body = provider.asked_once().body;
    let arguments = &body["messages"][2]["tool_calls"][0]["function"]["arguments"];
    assert_eq!(arguments, "{\"input\":\"{\\\"n\\\": oops\"}");
}
