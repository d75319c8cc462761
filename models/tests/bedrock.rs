//! Bedrock's `ConverseStream`.

use agenthub_models::providers::{Genai, Settings};
use agenthub_models::{ModelError, PromptMessage, Usage};
use serde_json::{Value, json};

use crate::contract;
use crate::event_stream::{MEDIA_TYPE, event, exception};
use crate::provider::{
    KEY, Provider, Reply, ask, gated_as, hands_out_while_it_grows, question, status, streamed_bytes,
};

pub(crate) fn delta(index: u32, delta: Value) -> Vec<u8> {
    // AWS pads its events so that their length tells nothing.
    let payload = json!({"contentBlockIndex": index, "delta": delta, "p": "abcdefgh"});
    event("contentBlockDelta", &payload)
}

pub(crate) fn text(text: &str) -> Vec<u8> {
    delta(0, json!({ "text": text }))
}

pub(crate) fn start() -> Vec<u8> {
    event("messageStart", &json!({"p": "abc", "role": "assistant"}))
}

pub(crate) fn block_end(index: u32) -> Vec<u8> {
    event(
        "contentBlockStop",
        &json!({"contentBlockIndex": index, "p": "abc"}),
    )
}

pub(crate) fn end(reason: &str) -> Vec<u8> {
    let usage = json!({"inputTokens": 21, "outputTokens": 6, "totalTokens": 27});
    let metadata = json!({"metrics": {"latencyMs": 700}, "p": "ab", "usage": usage});
    [
        event("messageStop", &json!({"p": "abcd", "stopReason": reason})),
        event("metadata", &metadata),
    ]
    .concat()
}

/// A response with these events, cut where no event ends.
pub(crate) fn response(events: &[Vec<u8>]) -> Reply {
    let bytes = events.concat();
    streamed_bytes(MEDIA_TYPE, bytes.chunks(50).map(<[u8]>::to_vec))
}

pub(crate) fn answer() -> Reply {
    response(&[
        start(),
        text("Hel"),
        text("lo"),
        block_end(0),
        end("end_turn"),
    ])
}

pub(crate) fn settings(provider: &Provider) -> Settings {
    provider.settings("bedrock/amazon.nova-pro-v1:0", "")
}

#[tokio::test]
async fn the_model_keeps_the_contract() {
    let provider = Provider::always(answer).await;
    contract::check(&Genai::new(settings(&provider)).expect("complete settings")).await;
}

#[tokio::test]
async fn an_answer_comes_with_its_usage_and_the_request_with_key_model_and_alternating_turns() {
    let provider = Provider::start([answer()]).await;
    let mut request = question();
    request
        .messages
        .insert(1, PromptMessage::data("agents", json!([{"id": "</data>"}])));
    request.messages.extend([
        PromptMessage::assistant("Hello."),
        PromptMessage::system("In French."),
        PromptMessage::user("Again."),
    ]);
    request.max_output_tokens = Some(50);
    request.temperature = Some(0.5);
    let completion = ask(settings(&provider), request).await.expect("an answer");
    assert_eq!(completion.text, "Hello");
    assert_eq!(
        completion.usage,
        Some(Usage {
            input_tokens: 21,
            output_tokens: 6,
            is_estimated: false,
        })
    );

    let asked = provider.asked_once();
    assert_eq!(asked.path, "/model/amazon.nova-pro-v1%3A0/converse-stream");
    assert_eq!(asked.header("authorization"), format!("Bearer {KEY}"));
    assert_eq!(
        asked.body,
        json!({
            "system": [{"text": "Be brief."}, {"text": "In French."}],
            "messages": [
                {"role": "user", "content": [
                    {"text": "<data label=\"agents\">[{\"id\":\"\\u003c/data\\u003e\"}]</data>"},
                    {"text": "Say hello."},
                ]},
                {"role": "assistant", "content": [{"text": "Hello."}]},
                {"role": "user", "content": [{"text": "Again."}]},
            ],
            "inferenceConfig": {"maxTokens": 50, "temperature": 0.5},
        })
    );
}

#[tokio::test]
async fn pieces_are_handed_out_while_the_answer_grows() {
    let rest = [text("lo"), end("end_turn")].concat();
    let (reply, open) = gated_as(MEDIA_TYPE, [start(), text("Hel")].concat(), rest);
    let provider = Provider::start([reply]).await;
    hands_out_while_it_grows(settings(&provider), question(), open).await;
}

#[tokio::test]
async fn json_is_asked_for_in_words() {
    let provider = Provider::start([answer()]).await;
    let request = question().json("greeting", json!({"type": "object"}));
    ask(settings(&provider), request).await.expect("an answer");
    let told = provider.asked_once().body["system"].to_string();
    assert!(told.contains("JSON Schema"), "{told}");
}

#[tokio::test]
async fn transient_failures_are_asked_again_and_others_are_not() {
    let failed = |code: u16, kind: &str, message: &str| {
        status(
            code,
            &[("x-amzn-errortype", kind)],
            json!({ "message": message }),
        )
    };
    let busy = failed(429, "ThrottlingException", "Too many tokens, please wait");
    let broken = exception(
        "modelStreamErrorException",
        &json!({"message": "try again"}),
    );
    let provider = Provider::start([
        busy,
        failed(503, "ServiceUnavailableException", "overloaded"),
        response(&[start(), broken]),
        answer(),
    ])
    .await;
    let completion = ask(settings(&provider), question()).await;
    assert_eq!(completion.expect("the fourth attempt").text, "Hello");

    for (reply, expected) in [
        (
            failed(
                403,
                "AccessDeniedException",
                "You don't have access to the model",
            ),
            ModelError::Unauthorized("You don't have access to the model (HTTP 403)".into()),
        ),
        (
            failed(400, "ValidationException", "The model ID is invalid."),
            ModelError::InvalidRequest("The model ID is invalid. (HTTP 400)".into()),
        ),
    ] {
        let provider = Provider::start([reply]).await;
        assert_eq!(ask(settings(&provider), question()).await, Err(expected));
        assert_eq!(provider.asked().len(), 1);
    }
}

#[tokio::test]
async fn filtered_answers_are_refusals() {
    for reason in ["guardrail_intervened", "content_filtered"] {
        let reply = response(&[start(), text("Sorry"), block_end(0), end(reason)]);
        let provider = Provider::start([reply]).await;
        let error = ask(settings(&provider), question())
            .await
            .expect_err("it is filtered");
        assert!(
            matches!(&error, ModelError::Refused(why) if why.contains(reason)),
            "{error:?}"
        );
    }
}

#[tokio::test]
async fn a_stream_that_breaks_is_no_answer() {
    let mut damaged = text("Hel");
    damaged[40] ^= 1;
    for (events, expected) in [
        (vec![start(), text("Hel")], "Unavailable"),
        (
            vec![start(), text("Hel"), text("lo")[..20].to_vec()],
            "Unavailable",
        ),
        (vec![start(), text("Hel"), damaged], "Unavailable"),
        (vec![], "Malformed"),
    ] {
        let provider = Provider::start([response(&events)]).await;
        let error = ask(settings(&provider), question())
            .await
            .expect_err("there is no whole answer");
        assert!(format!("{error:?}").starts_with(expected), "{error:?}");
        assert_eq!(provider.asked().len(), 1);
    }
}
