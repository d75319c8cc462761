//! OpenAI's chat completions, streamed.

use std::time::Duration;

use agenthub_sdk::model::genai::{Genai, Settings};
use agenthub_sdk::model::{
    Error, LanguageModel, Message, Part, Request, Role, Tool, ToolCall, Usage, deltas,
};
use serde_json::{Value, json};

use crate::contract;
use crate::provider::{
    DONE, KEY, Provider, Reply, ask, events, events_done, frames, gated, status, streamed,
};

fn chunk(delta: Value, finish: Option<&str>) -> Value {
    json!({
        "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-test",
        "choices": [{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish}],
    })
}

fn text(text: &str) -> Value {
    chunk(json!({"content": text}), None)
}

fn usage() -> Value {
    json!({
        "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-test", "choices": [],
        "usage": {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14},
    })
}

fn answer() -> Reply {
    let start = chunk(json!({"role": "assistant", "content": ""}), None);
    events_done(&[
        start,
        text("Hel"),
        text("lo"),
        chunk(json!({}), Some("stop")),
        usage(),
    ])
}

fn question() -> Request {
    Request::new(vec![
        Message::system("Be brief."),
        Message::user("Say hello."),
    ])
}

fn settings(provider: &Provider) -> Settings {
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
        .insert(1, Message::data("agents", json!([{"id": "</data>"}])));
    request.max_output_tokens = Some(50);
    request.temperature = Some(0.5);
    let completion = ask(settings(&provider), request).await.expect("an answer");
    assert_eq!(completion.text, "Hello");
    assert_eq!(
        completion.usage,
        Some(Usage {
            input_tokens: 11,
            output_tokens: 3
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
    let model = Genai::new(settings(&provider)).expect("complete settings");
    let (sink, mut reader) = deltas();
    let read = async {
        assert_eq!(reader.next().await.as_deref(), Some("Hel"));
        open.send(()).expect("the provider waits for the reader");
        assert_eq!(reader.next().await.as_deref(), Some("lo"));
        assert_eq!(reader.next().await, None);
    };
    let (completion, ()) = tokio::join!(model.complete(question(), sink), read);
    assert_eq!(completion.expect("an answer").text, "Hello");
}

#[tokio::test]
async fn nothing_is_repeated_once_a_piece_was_handed_out() {
    let provider = Provider::start([events(&[text("Hel"), text("lo")]), answer()]).await;
    let (sink, mut reader) = deltas();
    let model = Genai::new(settings(&provider)).expect("complete settings");
    let completion = model.complete(question(), sink).await;
    assert_eq!(
        completion,
        Err(Error::Unavailable("the answer broke off".into()))
    );
    assert_eq!(provider.asked().len(), 1);
    assert_eq!(reader.next().await.as_deref(), Some("Hel"));
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

#[tokio::test]
async fn tools_go_there_and_calls_come_back() {
    let call = |index: u32, id: Value, name: Value, arguments: &str| {
        let function = json!({"name": name, "arguments": arguments});
        chunk(
            json!({"tool_calls": [{"index": index, "id": id, "type": "function", "function": function}]}),
            None,
        )
    };
    let more = |arguments: &str| {
        chunk(
            json!({"tool_calls": [{"index": 0, "function": {"arguments": arguments}}]}),
            None,
        )
    };
    let provider = Provider::start([events_done(&[
        call(0, json!("call_1"), json!("agent_echo"), ""),
        more("{\"text\":"),
        more("\"hi\"}"),
        chunk(json!({}), Some("tool_calls")),
        usage(),
    ])])
    .await;
    let parameters = json!({"type": "object", "properties": {"text": {"type": "string"}}});
    let earlier = ToolCall {
        id: "call_0".into(),
        name: "agent_echo".into(),
        arguments: json!({"text": "a"}),
    };
    let result = Part::ToolResult {
        call_id: "call_0".into(),
        name: "agent_echo".into(),
        value: json!("Echo: a"),
    };
    let mut request = question();
    request
        .messages
        .push(Message::new(Role::Assistant, vec![Part::ToolCall(earlier)]));
    request
        .messages
        .push(Message::new(Role::Tool, vec![result]));
    request.tools = vec![Tool {
        name: "agent_echo".into(),
        description: "Echoes".into(),
        parameters: parameters.clone(),
    }];

    let completion = ask(settings(&provider), request).await.expect("a call");
    assert_eq!(completion.text, "");
    let expected = ToolCall {
        id: "call_1".into(),
        name: "agent_echo".into(),
        arguments: json!({"text": "hi"}),
    };
    assert_eq!(completion.tool_calls, [expected]);

    let body = provider.asked_once().body;
    assert_eq!(body["tools"][0]["function"]["name"], "agent_echo");
    assert_eq!(body["tools"][0]["function"]["parameters"], parameters);
    assert_eq!(body["messages"][2]["tool_calls"][0]["id"], "call_0");
    assert_eq!(
        body["messages"][3],
        json!({"role": "tool", "content": "Echo: a", "tool_call_id": "call_0"})
    );
}

#[tokio::test]
async fn transient_failures_are_asked_again() {
    let busy = || {
        status(
            429,
            &[("retry-after", "0")],
            json!({"error": {"message": "slow down"}}),
        )
    };
    let broken = || status(503, &[], "upstream");
    let provider = Provider::start([busy(), broken(), answer()]).await;
    let completion = ask(settings(&provider), question())
        .await
        .expect("the third attempt answers");
    assert_eq!(completion.text, "Hello");
    assert_eq!(provider.asked().len(), 3);
}

#[tokio::test]
async fn retries_end() {
    let provider =
        Provider::always(|| status(500, &[], json!({"error": {"message": "oh no"}}))).await;
    let settings = Settings {
        max_retries: 2,
        ..settings(&provider)
    };
    let error = ask(settings, question())
        .await
        .expect_err("it never answers");
    assert_eq!(error, Error::Unavailable("oh no (HTTP 500)".into()));
    assert!(error.is_retryable());
    assert_eq!(provider.asked().len(), 3);
}

#[tokio::test]
async fn a_wait_beyond_the_deadline_is_left_to_the_caller() {
    for wait in ["3600", "1e19"] {
        let busy = move || {
            status(
                429,
                &[("retry-after", wait)],
                json!({"error": {"message": "quota"}}),
            )
        };
        let provider = Provider::always(busy).await;
        let error = ask(settings(&provider), question())
            .await
            .expect_err("the quota is used up");
        let seconds = wait.parse().expect("a number");
        let retry_after = Some(Duration::from_secs_f64(seconds));
        assert_eq!(
            error,
            Error::RateLimited {
                message: "quota (HTTP 429)".into(),
                retry_after
            }
        );
        assert_eq!(provider.asked().len(), 1);
    }
}

#[tokio::test]
async fn what_cannot_succeed_is_not_asked_again_and_keys_stay_secret() {
    let wrong_key = json!({"error": {"message": format!("Incorrect API key provided: {KEY}.")}});
    let missing = json!({"error": {"message": format!("no model for {KEY}")}});
    for (code, body, expected) in [
        (
            401,
            &wrong_key,
            Error::Unauthorized("the provider refused the key (HTTP 401)".into()),
        ),
        (
            404,
            &missing,
            Error::InvalidRequest("no model for … (HTTP 404)".into()),
        ),
        (307, &json!({}), Error::InvalidRequest("HTTP 307".into())),
    ] {
        let body = body.clone();
        let provider =
            Provider::always(move || status(code, &[("location", "http://127.0.0.1:1/")], &body))
                .await;
        let error = ask(settings(&provider), question())
            .await
            .expect_err("it is refused");
        assert_eq!(error, expected);
        assert_eq!(provider.asked().len(), 1);
    }
    let provider = Provider::start([]).await;
    let shown = format!(
        "{:?}",
        Genai::new(settings(&provider)).expect("complete settings")
    );
    assert!(!shown.contains(KEY), "{shown}");
}

#[tokio::test]
async fn a_body_that_is_no_answer_is_malformed() {
    for reply in [
        streamed(
            "text/event-stream",
            vec!["data: {\"choices\": [\n\n".into()],
        ),
        streamed(
            "text/html",
            vec!["<html>welcome to the captive portal</html>".into()],
        ),
        streamed("text/event-stream", vec![]),
        streamed("text/event-stream", vec!["data: [DONE]\n\n".into()]),
        events_done(&[chunk(json!({}), Some("stop"))]),
    ] {
        let provider = Provider::start([reply]).await;
        let error = ask(settings(&provider), question())
            .await
            .expect_err("there is no answer");
        assert!(matches!(error, Error::Malformed(_)), "{error:?}");
        assert_eq!(provider.asked().len(), 1);
    }
}

#[tokio::test]
async fn filters_and_limits_are_told() {
    let provider = Provider::start([events_done(&[
        text("I"),
        chunk(json!({}), Some("content_filter")),
    ])])
    .await;
    let error = ask(settings(&provider), question())
        .await
        .expect_err("it is filtered");
    assert!(matches!(error, Error::Refused(_)), "{error:?}");

    let cut = || events_done(&[text("{\"a\":"), chunk(json!({}), Some("length")), usage()]);
    let provider = Provider::start([cut(), cut()]).await;
    let whole = ask(settings(&provider), question())
        .await
        .expect("a text may be cut");
    assert_eq!(whole.text, "{\"a\":");
    let error = ask(settings(&provider), question().json("a", json!({})))
        .await
        .expect_err("JSON may not");
    assert!(matches!(error, Error::Malformed(_)), "{error:?}");
}

#[tokio::test]
async fn errors_in_the_stream_are_told() {
    let overloaded = json!({"error": {"message": "overloaded", "type": "server_error"}});
    let provider = Provider::start([events(&[overloaded]), answer()]).await;
    let completion = ask(settings(&provider), question())
        .await
        .expect("nothing was handed out, so it is asked again");
    assert_eq!(completion.text, "Hello");
}

#[tokio::test]
async fn a_stalled_provider_is_given_up() {
    let (halfway, _never_opened) = gated(&frames(&[text("Hel")]), String::new());
    for reply in [Reply::Silence, halfway] {
        let provider = Provider::start([reply]).await;
        let timeout = Duration::from_millis(300);
        let settings = Settings {
            timeout,
            ..settings(&provider)
        };
        assert_eq!(
            ask(settings, question()).await,
            Err(Error::Timeout(timeout))
        );
        assert_eq!(provider.asked().len(), 1);
    }
}

#[tokio::test]
async fn nobody_at_the_endpoint_is_said_plainly() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = free
        .local_addr()
        .expect("a bound port has an address")
        .port();
    drop(free);
    let mut settings = Settings::new("openai/gpt-test");
    settings.endpoint = Some(format!("http://127.0.0.1:{port}/v1"));
    settings.max_retries = 0;
    let error = ask(settings, question())
        .await
        .expect_err("nobody is there");
    assert_eq!(
        error.to_string(),
        "the model is unavailable: cannot connect to its endpoint"
    );
}
