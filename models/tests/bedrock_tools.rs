//! Tools in Bedrock's `ConverseStream`.

use agenthub_models::providers::Genai;
use agenthub_models::{
    DeltaSink, LanguageModel, ModelError, PromptMessage, ToolSpec, Usage, deltas,
};
use serde_json::json;

use crate::bedrock::{answer, block_end, delta, end, response, settings, start, text};
use crate::contract::{self, question_for_tools, with_results};
use crate::event_stream::event;
use crate::provider::{Provider, Reply, ask, made};

fn call(index: u32, id: &str, name: &str, arguments: &[&str]) -> Vec<u8> {
    let tool = json!({"toolUse": {"name": name, "toolUseId": id}});
    let started = json!({"contentBlockIndex": index, "p": "abc", "start": tool});
    let input = |piece: &&str| delta(index, json!({"toolUse": {"input": piece}}));
    let pieces: Vec<Vec<u8>> = arguments.iter().map(input).collect();
    [
        event("contentBlockStart", &started),
        pieces.concat(),
        block_end(index),
    ]
    .concat()
}

fn calls() -> Reply {
    response(&[
        start(),
        text("I ask both."),
        block_end(0),
        call(
            1,
            "tooluse_a",
            "agent_left",
            &["", "{\"te", "xt\": \"hi", "\"}"],
        ),
        call(2, "tooluse_b", "agent_right", &["{\"text\": \"ho\"}"]),
        end("tool_use"),
    ])
}

#[tokio::test]
async fn the_model_keeps_the_contract() {
    let provider =
        Provider::answering(
            |asked| match asked.body.to_string().contains("toolResult") {
                true => answer(),
                false => calls(),
            },
        )
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
            made("tooluse_a", "agent_left", json!({"text": "hi"})),
            made("tooluse_b", "agent_right", json!({"text": "ho"})),
        ]
    );
    assert_eq!(
        completion.usage,
        Some(Usage {
            input_tokens: 21,
            output_tokens: 6,
            is_estimated: false,
        })
    );
    let schema =
        json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]});
    let spec = |name: &str| {
        json!({"toolSpec": {
            "name": name, "description": "Repeats what it is told", "inputSchema": {"json": schema},
        }})
    };
    assert_eq!(
        provider.asked_once().body["toolConfig"],
        json!({"tools": [spec("agent_left"), spec("agent_right")]})
    );
}

#[tokio::test]
async fn results_go_back_in_one_turn_of_the_user() {
    let provider = Provider::start([answer()]).await;
    let calls = [
        made("tooluse_a", "agent_left", json!({"text": "hi"})),
        made("tooluse_b", "agent_right", json!({"text": "ho"})),
    ];
    let mut request = with_results(question_for_tools(), &calls);
    request.messages.push(PromptMessage::user("Sum it up."));
    let completion = ask(settings(&provider), request).await.expect("an answer");
    assert_eq!(completion.text, "Hello");

    let used = |id: &str, name: &str, text: &str| json!({"toolUse": {"toolUseId": id, "name": name, "input": {"text": text}}});
    let result = |id: &str, text: &str| json!({"toolResult": {"toolUseId": id, "content": [{"text": text}]}});
    assert_eq!(
        provider.asked_once().body["messages"],
        json!([
            {"role": "user", "content": [{"text": "Ask agent_left and agent_right to say hi."}]},
            {"role": "assistant", "content": [
                used("tooluse_a", "agent_left", "hi"), used("tooluse_b", "agent_right", "ho"),
            ]},
            {"role": "user", "content": [
                result("tooluse_a", "{\"error\":\"out of ink\"}"), result("tooluse_b", "hi"), {"text": "Sum it up."},
            ]},
        ])
    );
}

#[tokio::test]
async fn without_tools_earlier_calls_are_told_in_words() {
    let provider = Provider::start([answer()]).await;
    let calls = [made("tooluse_a", "agent_left", json!({"text": "hi"}))];
    let mut request = with_results(question_for_tools(), &calls);
    request.tools.clear();
    ask(settings(&provider), request).await.expect("an answer");
    let body = provider.asked_once().body;
    assert_eq!(body.get("toolConfig"), None);
    let told = body["messages"].to_string();
    assert!(
        !told.contains("toolUse") && told.contains("out of ink"),
        "{told}"
    );
}

#[tokio::test]
async fn a_tool_without_an_object_and_with_a_long_name_is_offered_and_called() {
    let name = "a tool with a name that is far too long for any provider, and full of spaces";
    let provider = Provider::answering(|asked| {
        let spec = &asked.body["toolConfig"]["tools"][0]["toolSpec"];
        let name = spec["name"].as_str().expect("a name");
        assert!(name.len() <= 64 && !name.contains(' '), "{name}");
        assert_eq!(spec["inputSchema"]["json"]["type"], "object");
        response(&[
            start(),
            call(0, "tooluse_a", name, &["{\"input\": [1, 2]}"]),
            end("tool_use"),
        ])
    })
    .await;
    let mut request = question_for_tools();
    request.tools = vec![ToolSpec {
        name: name.into(),
        description: "Adds".into(),
        parameters: json!({"type": "array", "items": {"type": "integer"}}),
        agent: None,
    }];
    let completion = ask(settings(&provider), request.clone())
        .await
        .expect("a call");
    assert_eq!(
        completion.tool_calls,
        [made("tooluse_a", name, json!([1, 2]))]
    );

    let request = with_results(request, &completion.tool_calls);
    ask(settings(&provider), request).await.expect("a call");
    let asked = &provider.asked()[1].body;
    let used = &asked["messages"][1]["content"][0]["toolUse"];
    assert_eq!(used["input"], json!({"input": [1, 2]}));
    assert_eq!(
        used["name"],
        asked["toolConfig"]["tools"][0]["toolSpec"]["name"]
    );
}

#[tokio::test]
async fn arguments_are_empty_only_where_the_model_wrote_none() {
    for (pieces, expected) in [
        (&[][..], json!({})),
        (&["{}"], json!({})),
        (&["{\"text\": ", "oops"], json!("{\"text\": oops")),
    ] {
        let events = [
            start(),
            call(0, "tooluse_a", "agent_left", pieces),
            end("tool_use"),
        ];
        let provider = Provider::start([response(&events)]).await;
        let completion = ask(settings(&provider), question_for_tools())
            .await
            .expect("a call");
        assert_eq!(completion.tool_calls[0].arguments, expected, "{pieces:?}");
    }
}

#[tokio::test]
async fn a_call_that_was_cut_off_or_spoilt_is_not_made() {
    for reason in ["max_tokens", "malformed_tool_use"] {
        let call = call(0, "tooluse_a", "agent_left", &["{\"text\": \"h"]);
        let provider = Provider::start([response(&[start(), call, end(reason)])]).await;
        let model = Genai::new(settings(&provider)).expect("complete settings");
        let error = model
            .complete(question_for_tools(), DeltaSink::ignored())
            .await
            .expect_err("there is no whole call");
        assert!(matches!(error, ModelError::Malformed(_)), "{error:?}");
    }
}
