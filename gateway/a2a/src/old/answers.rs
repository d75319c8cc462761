//! Answers of servers of 0.3, and requests to them.

use serde_json::{Value, json};

use super::message::{from_one, part_to_one, to_one};
use crate::{
    json::{Malformed, from_json, to_json},
    v1::{self, send_message_response, stream_response::Payload},
};

/// The parameters of `message/send` and `message/stream`.
pub(crate) fn send_params(request: &v1::SendMessageRequest) -> Value {
    let message = request
        .message
        .as_ref()
        .map_or(Value::Null, |m| from_one(to_json(m)));
    let mut params = json!({ "message": message });
    if let Some(config) = &request.configuration {
        let mut written = json!({"blocking": !config.return_immediately});
        if !config.accepted_output_modes.is_empty() {
            written["acceptedOutputModes"] = json!(config.accepted_output_modes);
        }
        if let Some(length) = config.history_length {
            written["historyLength"] = length.into();
        }
        params["configuration"] = written;
    }
    if let Some(metadata) = &request.metadata {
        params["metadata"] = agenthub_sdk::proto::json::from_struct(metadata);
    }
    params
}

/// The result of `tasks/get` and `tasks/cancel`.
///
/// # Errors
///
/// The field that is wrong.
pub(crate) fn read_task(task: Value) -> Result<v1::Task, Malformed> {
    from_json(task_to_one(task)?)
}

/// The result of `message/send`.
///
/// # Errors
///
/// The field that is wrong.
pub(crate) fn read_send(result: Value) -> Result<v1::SendMessageResponse, Malformed> {
    let payload = match result["kind"].as_str() {
        Some("message") => send_message_response::Payload::Message(from_json(to_one(result)?)?),
        _ => send_message_response::Payload::Task(read_task(result)?),
    };
    Ok(v1::SendMessageResponse {
        payload: Some(payload),
    })
}

/// An event of `message/stream` and `tasks/resubscribe`.
///
/// # Errors
///
/// The field that is wrong.
pub(crate) fn read_stream(mut event: Value) -> Result<v1::StreamResponse, Malformed> {
    let payload = match event["kind"].as_str() {
        Some("message") => Payload::Message(from_json(to_one(event)?)?),
        Some("task") => Payload::Task(read_task(event)?),
        Some("status-update") => {
            event["status"] = status_to_one(event["status"].take())?;
            Payload::StatusUpdate(from_json(event)?)
        }
        Some("artifact-update") => {
            event["artifact"] = artifact_to_one(event["artifact"].take())?;
            Payload::ArtifactUpdate(from_json(event)?)
        }
        kind => {
            return Err(Malformed {
                field: "kind".to_owned(),
                description: format!("{kind:?} is no event"),
            });
        }
    };
    Ok(v1::StreamResponse {
        payload: Some(payload),
    })
}

fn task_to_one(mut task: Value) -> Result<Value, Malformed> {
    task["status"] = status_to_one(task["status"].take())?;
    task["history"] = each(task["history"].take(), to_one)?;
    task["artifacts"] = each(task["artifacts"].take(), artifact_to_one)?;
    Ok(task)
}

fn each(list: Value, read: impl Fn(Value) -> Result<Value, Malformed>) -> Result<Value, Malformed> {
    match list {
        Value::Array(all) => all.into_iter().map(read).collect(),
        _ => Ok(json!([])),
    }
}

fn status_to_one(mut status: Value) -> Result<Value, Malformed> {
    let state = match status["state"].as_str().unwrap_or("unknown") {
        "unknown" => "unspecified".to_owned(),
        state => state.replace('-', "_"),
    };
    status["state"] = format!("TASK_STATE_{}", state.to_ascii_uppercase()).into();
    if let Some(message) = status.get_mut("message") {
        *message = to_one(message.take())?;
    }
    Ok(status)
}

fn artifact_to_one(mut artifact: Value) -> Result<Value, Malformed> {
    let Some(Value::Array(parts)) = artifact.get_mut("parts") else {
        return Ok(artifact);
    };
    for (n, part) in parts.iter_mut().enumerate() {
        *part = part_to_one(part.take()).ok_or_else(|| Malformed {
            field: format!("artifact.parts[{n}]"),
            description: "a part is of kind text, file (with uri or bytes) or data".to_owned(),
        })?;
    }
    Ok(artifact)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::old;

    fn task() -> v1::Task {
        from_json(json!({
            "id": "t", "contextId": "c",
            "status": {"state": "TASK_STATE_INPUT_REQUIRED", "timestamp": "2025-10-28T10:30:00Z", "message":
                {"messageId": "q", "role": "ROLE_AGENT", "parts": [{"text": "which?"}]}},
            "artifacts": [{"artifactId": "a", "parts": [{"raw": "AQI=", "filename": "x", "mediaType": "y/z"}]}],
            "history": [{"messageId": "m", "role": "ROLE_USER", "parts": [{"data": {"n": 1}}, {"url": "http://u"}]}],
            "metadata": {"k": true},
        }))
        .expect("a task")
    }

    #[test]
    fn what_is_written_for_clients_of_0_3_is_read_from_its_servers() {
        let task = task();
        assert_eq!(read_task(old::task(&task)), Ok(task.clone()));
        let answer = v1::SendMessageResponse {
            payload: Some(send_message_response::Payload::Task(task.clone())),
        };
        assert_eq!(read_send(old::send_response(&answer)), Ok(answer));
        let message = task.history[0].clone();
        let answer = v1::SendMessageResponse {
            payload: Some(send_message_response::Payload::Message(message.clone())),
        };
        assert_eq!(read_send(old::send_response(&answer)), Ok(answer));
        for payload in [
            Payload::Task(task.clone()),
            Payload::Message(message),
            Payload::StatusUpdate(v1::TaskStatusUpdateEvent {
                task_id: "t".into(),
                status: task.status.clone(),
                ..Default::default()
            }),
            Payload::ArtifactUpdate(v1::TaskArtifactUpdateEvent {
                task_id: "t".into(),
                artifact: task.artifacts.first().cloned(),
                append: true,
                ..Default::default()
            }),
        ] {
            let event = v1::StreamResponse {
                payload: Some(payload),
            };
            assert_eq!(read_stream(old::stream_response(&event)), Ok(event));
        }
        assert!(read_stream(json!({"kind": "sound"})).is_err());
    }

    #[test]
    fn a_message_is_sent_as_servers_of_0_3_read_it() {
        let request = v1::SendMessageRequest {
            message: task().history.pop(),
            configuration: Some(v1::SendMessageConfiguration {
                return_immediately: true,
                history_length: Some(2),
                ..Default::default()
            }),
            ..Default::default()
        };
        let read = old::send_request(send_params(&request)).expect("it reads it");
        assert_eq!(read, request);
    }
}
