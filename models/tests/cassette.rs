//! Recordings: what a recorder writes, and what a replayer makes of it.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use agenthub_models::{
    Completion, DeltaSink, LanguageModel, ModelError, Offline, Output, PromptMessage, PromptRole,
    Recorder, Replayer, Request, Scripted, ToolCall, ToolSpec, deltas,
};
use futures_util::{FutureExt, future::join_all};
use serde_json::json;

use crate::contract::{check, check_tools};

/// A folder for a recording, and its path.
fn file() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("team.jsonl");
    (folder, file)
}

fn recorder(model: impl LanguageModel + 'static, file: &Path) -> Recorder {
    Recorder::new(Arc::new(model), file).expect("it can be written")
}

fn replayer(file: &Path) -> Replayer {
    Replayer::open(file).expect("it was recorded")
}

fn request(words: &str) -> Request {
    Request::new(vec![
        PromptMessage::system("You are the critic.\nBe fair."),
        PromptMessage::user(words),
    ])
}

async fn ask(model: &dyn LanguageModel, words: &str) -> Result<String, ModelError> {
    let answer = model.complete(request(words), DeltaSink::ignored()).await?;
    Ok(answer.text)
}

async fn missed(model: &dyn LanguageModel, request: Request) -> String {
    let answer = model.complete(request, DeltaSink::ignored()).await;
    match answer {
        Err(error @ ModelError::NotRecorded(_)) => {
            assert!(!error.is_retryable());
            error.to_string()
        }
        other => panic!("{other:?}"),
    }
}

/// A model that answers with the number of the call.
fn counting() -> Scripted {
    Scripted::texts((1..100).map(|n| format!("answer {n}")))
}

#[tokio::test(start_paused = true)]
async fn recorders_and_replayers_keep_the_contract() {
    let (_folder, file) = file();
    check(&recorder(Offline, &file)).await;
    check(&replayer(&file)).await;
    check_tools(&recorder(Offline, &file)).await;
    check_tools(&replayer(&file)).await;
}

#[tokio::test]
async fn the_same_request_gets_its_answers_in_order_and_then_the_last_again() {
    let (_folder, file) = file();
    let recorder = recorder(counting(), &file);
    for words in ["a", "b", "a", "a"] {
        ask(&recorder, words).await.expect("an answer");
    }
    let replayer = replayer(&file);
    for expected in ["answer 1", "answer 3", "answer 4", "answer 4"] {
        assert_eq!(ask(&replayer, "a").await.as_deref(), Ok(expected));
    }
    assert_eq!(ask(&replayer, "b").await.as_deref(), Ok("answer 2"));
    assert_eq!(replayer.name(), "scripted");
}

#[tokio::test]
async fn many_at_once_each_get_their_own() {
    let (_folder, file) = file();
    let model = Scripted::from_fn(|request| Ok(request.last_user_text().unwrap_or_default()));
    let recorder = recorder(model, &file);
    let words: Vec<String> = (0..50).map(|n| format!("question {n}")).collect();
    join_all(words.iter().map(|words| ask(&recorder, words))).await;
    let replayer = replayer(&file);
    for answers in join_all(words.iter().map(|words| ask(&replayer, words))).await {
        assert!(words.contains(&answers.expect("it was recorded")));
    }
}

#[tokio::test]
async fn failures_calls_and_pieces_are_as_they_were() {
    let (_folder, file) = file();
    let failure = ModelError::RateLimited {
        message: "slow down".into(),
        retry_after: Some(Duration::from_millis(1_500)),
    };
    let calls = Completion {
        tool_calls: vec![ToolCall {
            id: "c1".into(),
            name: "look".into(),
            arguments: json!({ "at": 0.1 }),
        }],
        ..Completion::default()
    };
    let text = Completion {
        text: "nün, nün, nün, nün".into(),
        ..Completion::default()
    };
    let model = Scripted::answers([Err(failure.clone()), Ok(calls.clone()), Ok(text)]);
    let recorder = recorder(model, &file);
    let mut told = Vec::new();
    let mut replayed = Vec::new();
    for _ in 0..3 {
        told.push(watched(&recorder).await);
    }
    let replayer = replayer(&file);
    for _ in 0..3 {
        replayed.push(watched(&replayer).await);
    }
    assert_eq!(told, replayed);
    assert_eq!(told[0].0, Err(failure));
    let called = told[1].0.clone().expect("an answer");
    assert_eq!(called.tool_calls, calls.tool_calls);
    assert!(told[2].1.len() > 1, "{told:?}");
}

async fn watched(model: &dyn LanguageModel) -> (Result<Completion, ModelError>, Vec<String>) {
    let (sink, mut reader) = deltas();
    let read = async {
        let mut pieces = Vec::new();
        while let Some(piece) = reader.next().await {
            pieces.push(piece);
        }
        pieces
    };
    tokio::join!(model.complete(request("a"), sink), read)
}

#[tokio::test]
async fn ids_and_times_of_another_run_are_put_into_the_answer() {
    let (one, two) = (
        "018f4e9a-1111-7222-8333-0123456789ab",
        "918f4e9a-1111-7222-8333-0123456789ab",
    );
    let (_folder, file) = file();
    let echo = Scripted::from_fn(|request| {
        Ok(format!("I saw {}", request.last_user_text().expect("some")))
    });
    let recorder = recorder(echo, &file);
    ask(&recorder, &format!("run_{one} at 2026-11-22T08:00:00Z"))
        .await
        .expect("an answer");
    let other = format!("run_{two} at 2027-01-01T00:00:00.123Z");
    let answer = ask(&replayer(&file), &other).await.expect("it is the same");
    assert_eq!(answer, format!("I saw {other}"));
}

#[tokio::test]
async fn a_changed_prompt_is_shown_beside_the_recorded_one() {
    let (_folder, file) = file();
    let recorder = recorder(counting(), &file);
    ask(&recorder, "Judge the poem about autumn.")
        .await
        .expect("an answer");
    let other = Request::new(vec![
        PromptMessage::system("You are the writer."),
        PromptMessage::user("Judge the poem about winter."),
    ]);
    recorder
        .complete(other, DeltaSink::ignored())
        .await
        .expect("an answer");

    let replayer = replayer(&file);
    let said = missed(&replayer, request("Judge the poem about winter.")).await;
    for part in [
        "You are the critic.",
        &format!("--record {}", file.display()),
        "line 2",
        "-Judge the poem about autumn.",
        "+Judge the poem about winter.",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(!said.contains("You are the writer"), "{said}");

    let stranger = Request::new(vec![
        PromptMessage::system("Dance."),
        PromptMessage::user("Now."),
    ]);
    let said = missed(&replayer, stranger).await;
    for part in ["Dance.", "You are the critic.", "You are the writer."] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[tokio::test]
async fn everything_that_the_model_is_told_counts_and_a_long_difference_is_bounded() {
    let (_folder, file) = file();
    ask(&recorder(counting(), &file), "a")
        .await
        .expect("an answer");
    let replayer = replayer(&file);
    let tool = ToolSpec {
        name: "agent_echo".into(),
        description: "Repeats".into(),
        parameters: json!({ "type": "object" }),
        agent: None,
    };
    for (part, changed) in [
        (
            "+[temperature 0.5]",
            Request {
                temperature: Some(0.5),
                ..request("a")
            },
        ),
        (
            "+[at most 9 tokens]",
            Request {
                max_output_tokens: Some(9),
                ..request("a")
            },
        ),
        (
            "+[tool agent_echo]",
            Request {
                tools: vec![tool],
                ..request("a")
            },
        ),
        (
            "+JSON named form",
            Request {
                output: Output::Json {
                    name: "form".into(),
                    schema: json!({}),
                },
                ..request("a")
            },
        ),
        (
            "+[assistant]",
            Request {
                messages: [request("a").messages, vec![PromptMessage::assistant("b")]].concat(),
                ..Request::default()
            },
        ),
    ] {
        let said = missed(&replayer, changed).await;
        assert!(said.contains(part), "{part}: {said}");
    }
    let lines: String = (0..5_000).map(|n| format!("line {n}\n")).collect();
    let said = missed(&replayer, request(&lines)).await;
    assert!(said.lines().count() < 70, "{said}");
    let long = missed(&replayer, request(&"x".repeat(100_000))).await;
    assert!(long.len() < 2_000, "{long}");
}

#[tokio::test]
async fn one_that_was_not_asked_for_yet_is_compared_first() {
    let (_folder, file) = file();
    let recorder = recorder(counting(), &file);
    for words in ["Count to three.", "Count to seventy, slowly."] {
        ask(&recorder, words).await.expect("an answer");
    }
    let replayer = replayer(&file);
    ask(&replayer, "Count to three.").await.expect("recorded");
    let said = missed(&replayer, request("Count to four.")).await;
    assert!(said.contains("-Count to seventy, slowly."), "{said}");
    ask(&replayer, "Count to seventy, slowly.")
        .await
        .expect("recorded");
    let said = missed(&replayer, request("Count to four.")).await;
    assert!(said.contains("asked as well"), "{said}");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_was_given_up_waits_to_be_given_up_again() {
    let (_folder, file) = file();
    let slow = counting().delay(Duration::from_secs(60));
    let recorder = recorder(slow, &file);
    let call = tokio::time::timeout(Duration::from_secs(1), ask(&recorder, "a"));
    call.await.expect_err("it takes longer");
    let replayer = replayer(&file);
    assert!(ask(&replayer, "a").now_or_never().is_none());
    let said = missed(&replayer, request("a")).await;
    assert!(said.contains("given up"), "{said}");

    ask(&recorder, "a").await.expect("an answer");
    let answered = self::replayer(&file);
    assert_eq!(ask(&answered, "a").await.as_deref(), Ok("answer 1"));
}

#[tokio::test]
async fn a_recorder_that_dies_loses_no_answer() {
    let (_folder, file) = file();
    let recorder = recorder(counting(), &file);
    ask(&recorder, "a").await.expect("an answer");
    let whole = fs::read_to_string(&file).expect("it is there while the recorder is");
    ask(&recorder, "b").await.expect("an answer");
    let both = fs::read(&file).expect("it is there");
    for end in [whole.len(), whole.len() + 1, both.len() - 2] {
        fs::write(&file, &both[..end]).expect("it can be written");
        let replayer = replayer(&file);
        assert_eq!(replayer.is_torn(), end > whole.len());
        assert_eq!(ask(&replayer, "a").await.as_deref(), Ok("answer 1"));
        missed(&replayer, request("b")).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_recording_stays_until_there_is_an_answer_that_replaces_it() {
    let (_folder, file) = file();
    ask(&recorder(counting(), &file), "a")
        .await
        .expect("an answer");
    let former = fs::read(&file).expect("it is there");

    let failure = ModelError::Unauthorized("no such key".into());
    let slow = Scripted::answers([Err(failure.clone()), Ok(Completion::default())]);
    let recorder = recorder(slow.delay(Duration::from_secs(60)), &file);
    assert_eq!(ask(&recorder, "b").await, Err(failure.clone()));
    let call = tokio::time::timeout(Duration::from_secs(1), ask(&recorder, "c"));
    call.await.expect_err("it takes longer");
    assert_eq!(fs::read(&file).expect("it is there"), former);

    let answered = recorder.beside(Arc::new(counting()));
    ask(&answered, "d").await.expect("an answer");
    let replayer = replayer(&file);
    assert_eq!(ask(&replayer, "b").await, Err(failure));
    assert_eq!(ask(&replayer, "d").await.as_deref(), Ok("answer 1"));
    missed(&replayer, request("a")).await;
    assert!(
        ask(&replayer, "c").now_or_never().is_none(),
        "it was given up"
    );
}

#[tokio::test]
async fn models_of_one_process_share_a_file() {
    let (_folder, file) = file();
    let first = recorder(counting(), &file);
    let second = first.beside(Arc::new(Offline));
    ask(&first, "a").await.expect("an answer");
    let said = ask(&second, "b").await.expect("an answer");
    let replayer = replayer(&file);
    assert_eq!(ask(&replayer, "b").await, Ok(said));
    assert_eq!(ask(&replayer, "a").await.as_deref(), Ok("answer 1"));

    let error = Recorder::new(Arc::new(Offline), &file).expect_err("it is taken");
    assert!(error.to_string().contains("already"), "{error}");
    drop((first, second));
    Recorder::new(Arc::new(Offline), &file).expect("it is free");
}

#[cfg(unix)]
#[tokio::test]
async fn a_recording_is_its_owner_s_alone() {
    use std::os::unix::fs::PermissionsExt;
    let (_folder, file) = file();
    let _recorder = recorder(Offline, &file);
    let mode = fs::metadata(&file).expect("it is there").permissions();
    assert_eq!(mode.mode() & 0o777, 0o600);
}

#[test]
fn what_is_no_recording_is_neither_played_nor_replaced() {
    let (folder, file) = file();
    let open = |file: &Path| match Replayer::open(file) {
        Err(error @ ModelError::Misconfigured(_)) => error.to_string(),
        other => panic!("{other:?}"),
    };
    assert!(open(&file).contains("is not there"), "{}", open(&file));
    fs::write(&file, "").expect("it can be written");
    assert!(open(&file).contains("is empty"), "{}", open(&file));

    for text in [&b"precious words\n"[..], b"\xff\xfe\x00\n\x01"] {
        fs::write(&file, text).expect("it can be written");
        assert!(open(&file).contains("no recording"), "{}", open(&file));
        let error = Recorder::new(Arc::new(Offline), &file).expect_err("it is not one");
        assert!(error.to_string().contains("left alone"), "{error}");
        assert_eq!(fs::read(&file).expect("it is there"), text);
    }
    let nowhere = folder.path().join("no/folder/x.jsonl");
    let error = Recorder::new(Arc::new(Offline), nowhere).expect_err("there is no folder");
    assert!(error.to_string().contains("cannot be written"), "{error}");
}

#[tokio::test]
async fn an_answer_of_a_model_with_tools_is_found_by_its_results() {
    let (_folder, file) = file();
    let model = Scripted::from_completion_fn(|request| {
        let done = request.messages.iter().any(|m| m.role == PromptRole::Tool);
        Ok(match done {
            true => Completion {
                text: "done".into(),
                ..Completion::default()
            },
            false => Completion {
                tool_calls: vec![ToolCall {
                    id: "c".into(),
                    name: "agent_left".into(),
                    arguments: json!({"text": "hi"}),
                }],
                ..Completion::default()
            },
        })
    });
    let recorder = recorder(model, &file);
    let asked = crate::contract::question_for_tools();
    let calls = recorder.complete(asked.clone(), DeltaSink::ignored()).await;
    let calls = calls.expect("calls").tool_calls;
    let with_results = crate::contract::with_results(asked.clone(), &calls);
    let last = recorder.complete(with_results.clone(), DeltaSink::ignored());
    last.await.expect("an answer");
    let replayer = replayer(&file);
    let last = replayer.complete(with_results, DeltaSink::ignored()).await;
    assert_eq!(last.expect("recorded").text, "done");
    let first = replayer.complete(asked, DeltaSink::ignored()).await;
    assert_eq!(first.expect("recorded").tool_calls, calls);
}
