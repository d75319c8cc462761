//! SendStreamingMessage and SubscribeToTask.

use serde_json::{Value, json};

use crate::harness::{Events, FLOOD, Stage, follow_up, message, state};

/// The shape of a stream: T task, S status, A artifact.
fn shape(events: &[Value]) -> String {
    let kind = |event: &Value| match event.as_object().and_then(|e| e.keys().next()) {
        Some(key) if key == "task" => 'T',
        Some(key) if key == "statusUpdate" => 'S',
        Some(key) if key == "artifactUpdate" => 'A',
        _ => '?',
    };
    events.iter().map(kind).collect()
}

/// spec: A2A 1.0.1 §3.1.2, §3.5.2
#[tokio::test]
async fn a_stream_begins_with_the_task_and_ends_with_it() {
    let stage = Stage::start().await;
    let events = stage.stream("SendStreamingMessage", message("draw")).await;
    let events = events.rest().await;
    let shape = shape(&events);
    assert!(shape.starts_with("TS"), "{shape}");
    assert_eq!(shape.matches('A').count(), 3, "{shape}");
    assert_eq!(
        state(events.last().expect("an end")),
        "TASK_STATE_COMPLETED"
    );
    let chunks: Vec<&Value> = events
        .iter()
        .map(|e| &e["artifactUpdate"])
        .filter(|a| !a.is_null())
        .collect();
    let texts: Vec<&Value> = chunks
        .iter()
        .map(|a| &a["artifact"]["parts"][0]["text"])
        .collect();
    assert_eq!(texts, ["a ", "red ", "cat"]);
    assert_eq!(chunks[1]["append"], true);
    assert!(events.iter().skip(1).all(|e| {
        let update = e.as_object().and_then(|e| e.values().next()).expect("one");
        update["taskId"] == events[0]["task"]["id"]
            && update["contextId"] == events[0]["task"]["contextId"]
    }));
    stage.stop().await;
}

/// The task goes on: a stream that ended without a word would say that it was over.
///
/// spec: A2A 1.0.1 §3.1.6
#[tokio::test]
async fn a_hub_that_stops_says_so_to_the_streams_that_are_open() {
    let stage = Stage::start().await;
    let id = stage.at_work().await;
    let mut events = stage.stream("SubscribeToTask", json!({"id": id})).await;
    let task = events.next().await.expect("the task");
    assert_eq!(task["task"]["id"], id);
    stage.gateway.close().await;
    let mut last = Value::Null;
    while let Some(event) = events.next().await {
        last = event;
    }
    let said = last["error"]["message"].as_str().unwrap_or_default();
    assert!(said.contains("about to stop"), "{last}");
    stage.stop().await;
}

/// spec: A2A 1.0.1 §3.1.2
#[tokio::test]
async fn the_last_words_of_an_agent_are_shown_once() {
    let stage = Stage::start().await;
    let events = stage.stream("SendStreamingMessage", message("hi")).await;
    let events = events.rest().await;
    let words = |event: &&Value| {
        let text = &event["statusUpdate"]["status"]["message"]["parts"][0]["text"];
        text.as_str().is_some_and(|text| !text.is_empty())
    };
    let said: Vec<&Value> = events.iter().filter(words).collect();
    assert_eq!(said.len(), 1, "{events:?}");
    assert_eq!(state(said[0]), "TASK_STATE_COMPLETED");
    stage.stop().await;
}

/// spec: A2A 1.0.1 §3.1.6, §3.5.2
#[tokio::test]
async fn every_stream_of_a_task_shows_the_same_in_the_same_order() {
    let stage = Stage::start().await;
    let id = stage.at_work().await;
    let subscribe = async || {
        let mut events = stage.stream("SubscribeToTask", json!({"id": id})).await;
        let first = events.next().await.expect("the task");
        assert_eq!(first["task"]["id"], id.as_str());
        assert_eq!(state(&first), "TASK_STATE_WORKING");
        events
    };
    let (one, two) = (subscribe().await, subscribe().await);
    // Whoever leaves takes nothing from the others.
    drop(subscribe().await);
    stage.done("CancelTask", json!({"id": id})).await;
    let (one, two) = (one.rest().await, two.rest().await);
    assert_eq!(one, two);
    assert_eq!(state(one.last().expect("an end")), "TASK_STATE_CANCELED");
    stage.stop().await;
}

/// spec: A2A 1.0.1 §3.1.6
#[tokio::test]
async fn a_task_that_waits_can_be_subscribed_to_and_one_that_has_ended_cannot() {
    let stage = Stage::start().await;
    let asked = stage.send("ask").await;
    let id = asked["id"].as_str().expect("an id");
    let headers = [("a2a-version", "1.0")];
    for method in ["GET", "POST"] {
        let path = format!("/agents/painter/tasks/{id}:subscribe");
        let mut events = Events::of(stage.ask(method, &path, &headers, "").await);
        let first = events.next().await.expect("the task");
        assert_eq!(state(&first), "TASK_STATE_INPUT_REQUIRED", "{method}");
    }
    let mut events = stage.stream("SubscribeToTask", json!({"id": id})).await;
    events.next().await.expect("the task");
    stage.done("SendMessage", follow_up("blue", &asked)).await;
    let rest = events.rest().await;
    assert_eq!(state(rest.last().expect("an end")), "TASK_STATE_COMPLETED");

    assert_eq!(
        stage.code("SubscribeToTask", json!({"id": id})).await,
        -32004
    );
    assert_eq!(
        stage.code("SubscribeToTask", json!({"id": "no"})).await,
        -32001
    );
    stage.stop().await;
}

/// spec: A2A 1.0.1 §11.7
#[tokio::test]
async fn a_stream_ends_when_the_agent_asks_and_goes_on_with_the_answer() {
    let stage = Stage::start().await;
    let events = stage.stream("SendStreamingMessage", message("ask")).await;
    let events = events.rest().await;
    assert_eq!(
        state(events.last().expect("an end")),
        "TASK_STATE_INPUT_REQUIRED"
    );
    let answer = follow_up("blue", &events[0]["task"]);
    let events = stage
        .stream("SendStreamingMessage", answer)
        .await
        .rest()
        .await;
    let shape = shape(&events);
    assert!(
        shape.starts_with('T') && !shape[1..].contains('T'),
        "{shape}"
    );
    assert_eq!(
        state(events.last().expect("an end")),
        "TASK_STATE_COMPLETED"
    );
    stage.stop().await;
}

/// spec: A2A 1.0.1 §11.7
#[tokio::test]
async fn http_and_json_stream_the_events_themselves() {
    let stage = Stage::start().await;
    let headers = [("a2a-version", "1.0"), ("content-type", "application/json")];
    let body = message("draw").to_string();
    let answer = stage.ask("POST", "/message:stream", &headers, body).await;
    assert_eq!(answer.headers()["content-type"], "text/event-stream");
    let events = Events::of(answer).rest().await;
    assert!(shape(&events).starts_with("TS"));
    stage.stop().await;
}

/// spec: A2A 1.0.1 §3.5.2
#[tokio::test]
async fn a_stream_that_is_read_late_misses_nothing() {
    let stage = Stage::start().await;
    let mut events = stage.stream("SendStreamingMessage", message("flood")).await;
    let first = events.next().await.expect("the task");
    let id = json!({"id": first["task"]["id"]});
    // This one is read as it comes.
    let mut other = stage.stream("SubscribeToTask", id).await;
    let mut shown = other.next().await.expect("the task");
    while state(&shown) != "TASK_STATE_COMPLETED" {
        shown = other.next().await.expect("it goes on");
    }
    let events = events.rest().await;
    let said = events.iter().filter_map(|event| {
        let message = &event["statusUpdate"]["status"]["message"];
        message["parts"][0]["text"].as_str()
    });
    let said: Vec<&str> = said.collect();
    let all: Vec<String> = (0..FLOOD).map(|n| n.to_string()).collect();
    let numbers: Vec<&str> = said
        .iter()
        .copied()
        .filter(|text| *text != "over")
        .collect();
    assert_eq!(numbers, all);
    assert_eq!(said.last(), Some(&"over"));
    stage.stop().await;
}

/// spec: A2A 1.0.1 §3.5.2
#[tokio::test]
async fn a_thousand_streams_of_a_task_are_open_at_once() {
    let stage = Stage::start().await;
    let id = stage.at_work().await;
    let mut streams = Vec::new();
    for _ in 0..1_000 {
        let mut events = stage.stream("SubscribeToTask", json!({"id": id})).await;
        events.next().await.expect("the task");
        streams.push(events);
    }
    stage.done("CancelTask", json!({"id": id})).await;
    for events in streams {
        let last = events.rest().await.pop();
        assert_eq!(state(&last.expect("an end")), "TASK_STATE_CANCELED");
    }
    stage.stop().await;
}
