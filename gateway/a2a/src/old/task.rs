//! Tasks and what is told of them.

use serde_json::{Value, json};

use super::message::{artifact_from_one, from_one};
use crate::{
    json::to_json,
    v1::{self, send_message_response, stream_response::Payload},
};

/// A task as 0.3 writes it.
pub(crate) fn task(task: &v1::Task) -> Value {
    let mut task = to_json(task);
    task["kind"] = "task".into();
    let current = task["status"].take();
    task["status"] = status(current);
    if let Value::Array(history) = task["history"].take() {
        task["history"] = history.into_iter().map(from_one).collect();
    } else {
        task["history"] = json!([]);
    }
    task["artifacts"] = match task["artifacts"].take() {
        Value::Array(artifacts) => artifacts.into_iter().map(artifact_from_one).collect(),
        _ => json!([]),
    };
    task
}

/// The result of `message/send`.
pub(crate) fn send_response(response: &v1::SendMessageResponse) -> Value {
    match &response.payload {
        Some(send_message_response::Payload::Task(shown)) => task(shown),
        Some(send_message_response::Payload::Message(message)) => from_one(to_json(message)),
        None => Value::Null,
    }
}

/// An event of `message/stream` and `tasks/resubscribe`.
pub(crate) fn stream_response(response: &v1::StreamResponse) -> Value {
    match &response.payload {
        Some(Payload::Task(shown)) => task(shown),
        Some(Payload::Message(message)) => from_one(to_json(message)),
        Some(Payload::StatusUpdate(update)) => {
            let mut json = to_json(update);
            json["kind"] = "status-update".into();
            let state = update.status.as_ref().map(v1::TaskStatus::state);
            json["final"] = state.is_some_and(is_final).into();
            let current = json["status"].take();
            json["status"] = status(current);
            json
        }
        Some(Payload::ArtifactUpdate(update)) => {
            let mut json = to_json(update);
            json["kind"] = "artifact-update".into();
            let artifact = json["artifact"].take();
            json["artifact"] = artifact_from_one(artifact);
            json
        }
        None => Value::Null,
    }
}

/// True if it is the last event of a stream.
fn is_final(state: v1::TaskState) -> bool {
    use v1::TaskState as S;
    !matches!(state, S::Unspecified | S::Submitted | S::Working)
}

fn status(mut status: Value) -> Value {
    let state = status["state"].as_str().unwrap_or_default();
    let state = state.trim_start_matches("TASK_STATE_").to_ascii_lowercase();
    status["state"] = match state.as_str() {
        "" | "unspecified" => "unknown".into(),
        state => state.replace('_', "-").into(),
    };
    if let Some(message) = status.get_mut("message") {
        *message = from_one(message.take());
    }
    status
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::old::send_request;

    #[test]
    fn a_client_of_0_3_reads_what_it_knows() {
        let request = send_request(json!({
            "message": {"kind": "message", "messageId": "m", "role": "user", "parts": [
                {"kind": "text", "text": "hi"},
                {"kind": "file", "file": {"bytes": "AQI=", "name": "a.bin", "mimeType": "x/y"}},
                {"kind": "data", "data": {"a": 1}},
            ]},
            "configuration": {"blocking": false, "historyLength": 3},
        }))
        .expect("it is one");
        let config = request.configuration.clone().unwrap_or_default();
        assert!(config.return_immediately);
        assert_eq!(config.history_length, Some(3));

        let shown = task(&v1::Task {
            id: "t".into(),
            context_id: "c".into(),
            status: Some(v1::TaskStatus {
                state: v1::TaskState::InputRequired.into(),
                ..Default::default()
            }),
            history: request.message.into_iter().collect(),
            ..Default::default()
        });
        assert_eq!(
            shown,
            json!({
                "kind": "task", "id": "t", "contextId": "c", "status": {"state": "input-required"}, "artifacts": [],
                "history": [{"kind": "message", "messageId": "m", "role": "user", "parts": [
                    {"kind": "text", "text": "hi"},
                    {"kind": "file", "file": {"bytes": "AQI=", "name": "a.bin", "mimeType": "x/y"}},
                    {"kind": "data", "data": {"a": 1}},
                ]}],
            })
        );
        let fault =
            send_request(json!({"message": {"role": "user", "parts": [{"kind": "sound"}]}}));
        assert_eq!(fault.expect_err("no part").field, "message.parts[0]");
    }

    #[test]
    fn a_question_is_the_last_event() {
        let update = |state: v1::TaskState| {
            stream_response(&v1::StreamResponse {
                payload: Some(Payload::StatusUpdate(v1::TaskStatusUpdateEvent {
                    task_id: "t".into(),
                    status: Some(v1::TaskStatus {
                        state: state.into(),
                        ..Default::default()
                    }),
                    ..Default::default()
                })),
            })
        };
        assert_eq!(update(v1::TaskState::Working)["final"], json!(false));
        let asked = update(v1::TaskState::InputRequired);
        assert_eq!(
            (&asked["final"], &asked["kind"]),
            (&json!(true), &json!("status-update"))
        );
        assert_eq!(
            update(v1::TaskState::Canceled)["status"]["state"],
            "canceled"
        );
    }
}
