//! What every adapter of the port promises.

use std::collections::BTreeSet;
use std::future::Future;

use agenthub_models::{
    Completion, DeltaSink, LanguageModel, ModelError, Offline, PromptMessage, PromptPart,
    PromptRole, Request, Scripted, ToolCall, ToolSpec, deltas,
};
use futures_util::FutureExt;
use futures_util::future::join_all;
use serde_json::json;

fn question() -> Request {
    Request::new(vec![
        PromptMessage::system("Be brief."),
        PromptMessage::user("Say something of some length."),
    ])
}

/// A request that asks for two tools.
pub(crate) fn question_for_tools() -> Request {
    let text =
        json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]});
    let tool = |name: &str| ToolSpec {
        name: name.into(),
        description: "Repeats what it is told".into(),
        parameters: text.clone(),
        agent: None,
    };
    let mut request = Request::new(vec![
        PromptMessage::system("Be brief."),
        PromptMessage::user("Ask agent_left and agent_right to say hi."),
    ]);
    request.tools = vec![tool("agent_left"), tool("agent_right")];
    request
}

/// The request after the calls were made, with a result for each: the first fails, the others say what they were told.
pub(crate) fn with_results(mut request: Request, calls: &[ToolCall]) -> Request {
    let made = calls.iter().cloned().map(PromptPart::ToolCall).collect();
    let results = calls
        .iter()
        .enumerate()
        .map(|(at, call)| PromptPart::ToolResult {
            call_id: call.id.clone(),
            name: call.name.clone(),
            value: match at {
                0 => json!({"error": "out of ink"}),
                _ => json!("hi"),
            },
        });
    let results = results.collect();
    request
        .messages
        .push(PromptMessage::new(PromptRole::Assistant, made));
    request
        .messages
        .push(PromptMessage::new(PromptRole::Tool, results));
    request
}

/// Checks `model`, which has to call what [`question_for_tools`] asks for, and to answer in words when it has the results.
pub(crate) async fn check_tools(model: &dyn LanguageModel) {
    let request = question_for_tools();
    let completion = model
        .complete(request.clone(), DeltaSink::ignored())
        .await
        .expect("the model calls");
    let calls = completion.tool_calls;
    assert_eq!(calls.len(), 2, "{calls:?}");
    let ids: BTreeSet<&str> = calls.iter().map(|call| call.id.as_str()).collect();
    assert_eq!(ids.len(), calls.len(), "ids are unique: {calls:?}");
    for call in &calls {
        assert!(!call.id.is_empty());
        assert!(
            request.tools.iter().any(|tool| tool.name == call.name),
            "{call:?}"
        );
        assert!(call.arguments["text"].is_string(), "{call:?}");
    }
    assert!(
        completion
            .usage
            .is_some_and(|usage| usage.output_tokens > 0)
    );

    let request = with_results(request, &calls);
    let answer = answered(model.complete(request, DeltaSink::ignored())).await;
    assert_eq!(answer.tool_calls, []);
}

/// Checks `model`, which has to answer any question with a text.
pub(crate) async fn check(model: &dyn LanguageModel) {
    assert!(!model.name().is_empty());
    pieces_together_are_the_text(model).await;
    nobody_has_to_read_the_pieces(model).await;
    a_request_without_a_message_is_a_clear_error(model).await;
    a_dropped_call_leaves_the_next_one_alone(model).await;
    calls_run_at_the_same_time(model).await;
}

async fn answered(call: impl Future<Output = Result<Completion, ModelError>>) -> Completion {
    let completion = call.await.expect("the model answers");
    assert!(!completion.text.is_empty());
    assert!(
        completion
            .usage
            .is_some_and(|usage| usage.input_tokens > 0 && usage.output_tokens > 0)
    );
    completion
}

async fn pieces_together_are_the_text(model: &dyn LanguageModel) {
    let (sink, mut reader) = deltas();
    let read = async {
        let mut pieces = Vec::new();
        while let Some(piece) = reader.next().await {
            pieces.push(piece);
        }
        pieces
    };
    let (completion, pieces) = tokio::join!(answered(model.complete(question(), sink)), read);
    assert_eq!(pieces.concat(), completion.text);
    assert!(pieces.len() > 1, "the answer came in one piece");
}

async fn nobody_has_to_read_the_pieces(model: &dyn LanguageModel) {
    let (sink, gone) = deltas();
    drop(gone);
    answered(model.complete(question(), sink)).await;
    let (sink, _idle) = deltas();
    answered(model.complete(question(), sink)).await;
    answered(model.complete(question(), DeltaSink::ignored())).await;
}

async fn a_request_without_a_message_is_a_clear_error(model: &dyn LanguageModel) {
    for messages in [
        vec![],
        vec![PromptMessage::system("Be brief.")],
        vec![PromptMessage::new(
            agenthub_models::PromptRole::User,
            vec![],
        )],
    ] {
        let error = model
            .complete(Request::new(messages), DeltaSink::ignored())
            .await
            .expect_err("nothing to answer");
        assert!(
            matches!(&error, ModelError::InvalidRequest(why) if why.contains("no message")),
            "{error}"
        );
        assert!(!error.is_retryable());
    }
}

async fn a_dropped_call_leaves_the_next_one_alone(model: &dyn LanguageModel) {
    let mut call = model.complete(question(), DeltaSink::ignored());
    assert!(
        (&mut call).now_or_never().is_none(),
        "the model answered before it was asked twice"
    );
    drop(call);
    answered(model.complete(question(), DeltaSink::ignored())).await;
}

async fn calls_run_at_the_same_time(model: &dyn LanguageModel) {
    let calls = (0..8).map(|_| answered(model.complete(question(), DeltaSink::ignored())));
    join_all(calls).await;
}

#[tokio::test]
async fn the_scripted_model_keeps_the_contract() {
    check(&Scripted::from_fn(|_| {
        Ok("a text that is long enough for several pieces".into())
    }))
    .await;
    check_tools(&Scripted::from_completion_fn(|request| {
        let has_results = request.messages.iter().any(|m| m.role == PromptRole::Tool);
        let call = |tool: &ToolSpec| ToolCall {
            id: tool.name.clone(),
            name: tool.name.clone(),
            arguments: json!({"text": "hi"}),
        };
        Ok(match has_results {
            true => Completion {
                text: "both are done".into(),
                ..Completion::default()
            },
            false => Completion {
                tool_calls: request.tools.iter().map(call).collect(),
                ..Completion::default()
            },
        })
    }))
    .await;
}

#[tokio::test]
async fn the_offline_model_keeps_the_contract() {
    check(&Offline).await;
    check_tools(&Offline).await;
}

#[tokio::test(start_paused = true)]
async fn a_scripted_model_answers_in_order_after_its_delay_and_remembers_the_requests() {
    let delay = std::time::Duration::from_millis(500);
    let failure = ModelError::Unavailable("on purpose".into());
    let answers = [
        Ok(Completion {
            text: "first".into(),
            ..Completion::default()
        }),
        Err(failure.clone()),
    ];
    let model = Scripted::answers(answers).delay(delay);
    let given_away = model.clone();

    let before = tokio::time::Instant::now();
    let first = given_away
        .complete(question(), DeltaSink::ignored())
        .await
        .expect("the first answer");
    assert_eq!(first.text, "first");
    assert_eq!(before.elapsed(), delay);
    assert_eq!(
        given_away.complete(question(), DeltaSink::ignored()).await,
        Err(failure)
    );
    let at_its_end = given_away.complete(question(), DeltaSink::ignored()).await;
    assert!(matches!(at_its_end, Err(ModelError::Unavailable(_))));
    assert_eq!(model.requests(), vec![question(); 3]);
}

#[tokio::test(start_paused = true)]
async fn a_scripted_model_counts_the_calls_that_it_answers_at_once() {
    let model = Scripted::from_fn(|_| Ok("yes".into())).delay(std::time::Duration::from_secs(1));
    let ask = || model.complete(question(), DeltaSink::ignored());
    assert!(
        ask().now_or_never().is_none(),
        "a dropped call counts no more"
    );
    for answer in join_all([ask(), ask(), ask()]).await {
        answer.expect("an answer");
    }
    ask().await.expect("an answer");
    assert_eq!(model.most_at_once(), 3);
}
