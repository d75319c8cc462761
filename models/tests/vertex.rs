//! Vertex AI's `streamGenerateContent`.

use agenthub_models::providers::{Genai, Settings};
use agenthub_models::{
    ModelError, PromptMessage, PromptPart, PromptRole, Request, ToolCall, ToolSpec, Usage,
};
use serde_json::{Value, json};

use crate::contract;
use crate::provider::{
    KEY, Provider, Reply, ask, events, frames, gated, hands_out_while_it_grows, status, streamed,
};

fn chunk(parts: Value, finish: Option<&str>, output_tokens: u32) -> Value {
    let mut candidate = json!({"content": {"role": "model", "parts": parts}});
    if let Some(reason) = finish {
        candidate["finishReason"] = json!(reason);
    }
    json!({
        "candidates": [candidate],
        "usageMetadata": {
            "promptTokenCount": 12, "candidatesTokenCount": output_tokens, "totalTokenCount": 12 + output_tokens,
            "trafficType": "ON_DEMAND",
        },
        "modelVersion": "gemini-2.5-flash", "createTime": "2026-11-21T10:00:00Z", "responseId": "r",
    })
}

fn text(text: &str, finish: Option<&str>, output_tokens: u32) -> Value {
    chunk(json!([{"text": text}]), finish, output_tokens)
}

fn answer() -> Reply {
    events(&[text("Hel", None, 1), text("lo", Some("STOP"), 2)])
}

fn question() -> Request {
    Request::new(vec![
        PromptMessage::system("Be brief."),
        PromptMessage::user("Say hello."),
        PromptMessage::assistant("Which one?"),
        PromptMessage::user("Any."),
    ])
}

fn settings(provider: &Provider) -> Settings {
    Settings {
        project: Some("my-project".into()),
        location: Some("europe-west4".into()),
        ..provider.settings("vertex/gemini-2.5-flash", "")
    }
}

#[tokio::test]
async fn the_model_keeps_the_contract() {
    let provider = Provider::always(answer).await;
    contract::check(&Genai::new(settings(&provider)).expect("complete settings")).await;
}

#[tokio::test]
async fn the_model_keeps_the_contract_of_tools() {
    let provider = Provider::answering(|asked| {
        if asked.body["contents"]
            .to_string()
            .contains("functionResponse")
        {
            return answer();
        }
        let call = |name: &str| json!({"functionCall": {"name": name, "args": {"text": "hi"}}});
        let calls = json!([call("agent_left"), call("agent_right")]);
        events(&[chunk(calls, Some("STOP"), 5)])
    })
    .await;
    let model = Genai::new(settings(&provider)).expect("complete settings");
    contract::check_tools(&model).await;

    let asked = provider.asked();
    let turns = asked[1].body["contents"].as_array().expect("turns");
    let results = turns.last().expect("the results")["parts"].as_array();
    let names: Vec<_> = results
        .into_iter()
        .flatten()
        .map(|part| part["functionResponse"]["name"].as_str())
        .collect();
    assert_eq!(names, [Some("agent_left"), Some("agent_right")]);
}

#[tokio::test]
async fn an_answer_comes_with_its_usage_and_the_request_with_project_token_roles_and_schema() {
    let schema = json!({"type": "object", "properties": {"payload": {"type": "object"}}});
    let provider = Provider::start([answer()]).await;
    let mut request = question().json("decision", schema.clone());
    request.messages.insert(
        1,
        PromptMessage::data("agents", json!([{"id": "agent_echo"}])),
    );
    request.max_output_tokens = Some(50);
    let completion = ask(settings(&provider), request).await.expect("an answer");
    assert_eq!(completion.text, "Hello");
    assert_eq!(
        completion.usage,
        Some(Usage {
            input_tokens: 12,
            output_tokens: 2,
            is_estimated: false,
        })
    );

    let asked = provider.asked_once();
    assert_eq!(
        asked.path,
        "/v1/projects/my-project/locations/europe-west4/publishers/google/models/gemini-2.5-flash:streamGenerateContent?alt=sse"
    );
    assert_eq!(asked.header("authorization"), format!("Bearer {KEY}"));
    assert_eq!(
        asked.body["systemInstruction"]["parts"][0]["text"]
            .as_str()
            .map(str::trim),
        Some("Be brief.")
    );
    assert_eq!(
        asked.body["contents"],
        json!([
            {"role": "user", "parts": [{"text": "<data label=\"agents\">[{\"id\":\"agent_echo\"}]</data>"}]},
            {"role": "user", "parts": [{"text": "Say hello."}]},
            {"role": "model", "parts": [{"text": "Which one?"}]},
            {"role": "user", "parts": [{"text": "Any."}]},
        ])
    );
    let config = &asked.body["generationConfig"];
    assert_eq!(config["responseMimeType"], "application/json");
    assert_eq!(config["responseJsonSchema"], schema);
    assert_eq!(config["maxOutputTokens"], 50);
}

#[tokio::test]
async fn pieces_are_handed_out_while_the_answer_grows() {
    let (reply, open) = gated(
        &frames(&[text("Hel", None, 1)]),
        frames(&[text("lo", Some("STOP"), 2)]),
    );
    let provider = Provider::start([reply]).await;
    hands_out_while_it_grows(settings(&provider), question(), open).await;
}

#[tokio::test]
async fn tools_go_there_and_calls_come_back() {
    let call = json!([{"functionCall": {"name": "agent_echo", "args": {"text": "hi"}}}]);
    let provider = Provider::start([events(&[chunk(call, Some("STOP"), 5)])]).await;
    let earlier = ToolCall {
        id: "1".into(),
        name: "agent_echo".into(),
        arguments: json!({"text": "a"}),
    };
    let result = PromptPart::ToolResult {
        call_id: "1".into(),
        name: "agent_echo".into(),
        value: json!({"said": "a"}),
    };
    let mut request = question();
    request.messages.push(PromptMessage::new(
        PromptRole::Assistant,
        vec![PromptPart::ToolCall(earlier)],
    ));
    request
        .messages
        .push(PromptMessage::new(PromptRole::Tool, vec![result]));
    let parameters = json!({"type": "object", "properties": {"text": {"type": "string"}}});
    request.tools = vec![ToolSpec {
        name: "agent_echo".into(),
        description: "Echoes".into(),
        parameters,
        agent: None,
    }];
    let completion = ask(settings(&provider), request).await.expect("a call");
    let calls: Vec<_> = completion
        .tool_calls
        .iter()
        .map(|call| (call.name.as_str(), &call.arguments))
        .collect();
    assert_eq!(calls, [("agent_echo", &json!({"text": "hi"}))]);

    let body = provider.asked_once().body;
    assert_eq!(
        body["tools"][0]["functionDeclarations"][0]["name"],
        "agent_echo"
    );
    assert_eq!(
        body["contents"][3]["parts"][0]["functionCall"]["name"],
        "agent_echo"
    );
    assert_eq!(
        body["contents"][4]["parts"][0]["functionResponse"]["name"],
        "agent_echo"
    );
}

#[tokio::test]
async fn transient_failures_are_asked_again_and_others_are_not() {
    let failed = |code: u16, name: &str, message: &str| {
        status(
            code,
            &[],
            json!({"error": {"code": code, "message": message, "status": name}}),
        )
    };
    let busy = failed(
        429,
        "RESOURCE_EXHAUSTED",
        "Resource exhausted. Please try again later.",
    );
    let provider =
        Provider::start([busy, failed(503, "UNAVAILABLE", "overloaded"), answer()]).await;
    assert_eq!(
        ask(settings(&provider), question())
            .await
            .expect("the third attempt")
            .text,
        "Hello"
    );

    for (reply, expected) in [
        (
            failed(401, "UNAUTHENTICATED", "bad token"),
            ModelError::Unauthorized("the provider refused the key (HTTP 401)".into()),
        ),
        (
            failed(
                403,
                "PERMISSION_DENIED",
                "Permission 'aiplatform.endpoints.predict' denied",
            ),
            ModelError::Unauthorized(
                "Permission 'aiplatform.endpoints.predict' denied (HTTP 403)".into(),
            ),
        ),
        (
            failed(404, "NOT_FOUND", "no such model"),
            ModelError::InvalidRequest("no such model (HTTP 404)".into()),
        ),
    ] {
        let provider = Provider::start([reply]).await;
        assert_eq!(ask(settings(&provider), question()).await, Err(expected));
        assert_eq!(provider.asked().len(), 1);
    }
}

#[tokio::test]
async fn blocked_prompts_and_answers_are_refusals() {
    let blocked = json!({"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 3}});
    for reply in [events(&[blocked]), events(&[text("I", Some("SAFETY"), 1)])] {
        let provider = Provider::start([reply]).await;
        let error = ask(settings(&provider), question())
            .await
            .expect_err("it is blocked");
        assert!(matches!(error, ModelError::Refused(_)), "{error:?}");
    }
}

#[tokio::test]
async fn a_stream_that_breaks_is_no_answer() {
    let broken = streamed(
        "text/event-stream",
        vec!["data: {\"candidates\": [{\"con".into()],
    );
    for (reply, expected) in [
        (events(&[text("Hel", None, 1)]), "Unavailable"),
        (broken, "Malformed"),
        (streamed("text/event-stream", vec![]), "Malformed"),
    ] {
        let provider = Provider::start([reply]).await;
        let error = ask(settings(&provider), question())
            .await
            .expect_err("there is no whole answer");
        assert!(format!("{error:?}").starts_with(expected), "{error:?}");
        assert_eq!(provider.asked().len(), 1);
    }
}
