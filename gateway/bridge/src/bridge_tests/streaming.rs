//! Tests of answers that come token by token.

use super::*;

fn token(text: &str, append: bool) -> Value {
    let artifact = json!({ "artifactId": "a", "parts": [{ "text": text }] });
    json!({ "artifactUpdate": { "taskId": "t", "contextId": "c", "artifact": artifact, "append": append } })
}

fn state(state: &str) -> Value {
    json!({ "statusUpdate": { "taskId": "t", "contextId": "c", "status": { "state": state } } })
}

/// spec: EXE-6.1, EXE-6.2, EXE-6.3, EXE-6.4
#[tokio::test]
async fn a_streamed_answer_is_published_token_by_token_and_stored_as_a_whole() {
    let world = World::start(true).await;
    world.streams(&[
        state("TASK_STATE_WORKING"),
        token("roses ", false),
        token("are ", true),
        token("red", true),
        state("TASK_STATE_COMPLETED"),
    ]);
    let result = world.result("writer", "write").await;
    assert_eq!(result.status, Outcome::Completed);
    assert_eq!(world.output(&result).await, "roses are red");
    let stream = world.published("stream.writer");
    assert!(stream.iter().all(|m| m.headers[TASK_ID] == "task-1"));
    let chunks: Vec<StreamChunk> = stream
        .iter()
        .map(|message| read(message).expect("it fits its schema"))
        .collect();
    let shown: Vec<_> = chunks
        .iter()
        .map(|c| (c.sequence, c.content.as_str(), c.is_end_of_stream))
        .collect();
    let expected = [
        (1, "roses ", false),
        (2, "are ", false),
        (3, "red", false),
        (4, "", true),
    ];
    assert_eq!(shown, expected);
}

/// spec: EXE-6.5
#[tokio::test]
async fn a_stream_that_ends_in_a_failure_is_reported_with_what_arrived() {
    let world = World::start(true).await;
    world.streams(&[token("roses ", false), state("TASK_STATE_FAILED")]);
    let result = world.result("writer", "write").await;
    assert_eq!(result.status, Outcome::Failed);
    assert_eq!(result.error_message.as_deref(), Some("the agent failed"));
    assert_eq!(world.output(&result).await, "roses ");
    let stream = world.published("stream.writer");
    let last: StreamChunk = read(&stream[1]).expect("it fits its schema");
    assert!(last.is_end_of_stream);
}

/// The agent's connection breaks, and it does not know the task when it is asked for it again.
///
/// spec: EXE-6.5
#[tokio::test]
async fn a_stream_that_breaks_off_is_reported_with_what_arrived() {
    let world = World::start(true).await;
    world.streams(&[state("TASK_STATE_WORKING"), token("roses ", false)]);
    let result = world.result("writer", "write").await;
    assert_eq!(result.status, Outcome::Failed);
    let why = result.error_message.as_deref().expect("a reason");
    assert!(why.contains("404"), "{why}");
    assert_eq!(world.output(&result).await, "roses ");
    let stream = world.published("stream.writer");
    let chunks = stream.iter().map(|chunk| {
        let chunk: StreamChunk = read(chunk).expect("it fits its schema");
        (chunk.sequence, chunk.content, chunk.is_end_of_stream)
    });
    let expected = [(1, "roses ".to_owned(), false), (2, String::new(), true)];
    assert_eq!(chunks.collect::<Vec<_>>(), expected);
}
