//! Bodies of records.

use agenthub_bus::messages::events::{
    MirroredMessage, MirroredPart, MirroredState, Side, TaskStateName,
};
use agenthub_sdk::proto::{
    a2a::{Message, Part, Role, TaskState, file_part::File, part::Part as Content},
    agenthub::{AgentEvent, AgentEventMetadata, TaskStatusUpdateEvent},
    json,
    wkt::Struct,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::Serialize;
use serde_json::{Map, Value};

/// Longest body of a record, in bytes: Kafka takes a record of 1 MB unless it is told otherwise.
pub(super) const LONGEST_BODY: usize = 900 << 10;

/// The body of a message's record. One that is too long leaves its parts out.
pub(super) fn message_body(message: &Message, routing: &AgentEventMetadata) -> Vec<u8> {
    let whole = MirroredMessage {
        message_id: message.message_id.clone(),
        context_id: message.context_id.clone(),
        task_id: given(&message.task_id),
        role: match message.role() {
            Role::Agent => Side::Agent,
            Role::User | Role::Unspecified => Side::User,
        },
        sender: routing.from_agent_id.clone(),
        recipient: given(&routing.to_agent_id),
        topics: routing.subscriptions.clone(),
        task_type: given(message.task_type()),
        parts: parts(&message.content),
        metadata: fields(message.metadata.as_ref()),
        left_out_bytes: None,
    };
    let bytes = body(&whole);
    if bytes.len() <= LONGEST_BODY {
        return bytes;
    }
    let short = MirroredMessage {
        parts: Vec::new(),
        left_out_bytes: Some(bytes.len() as u64),
        ..whole
    };
    body(&short)
}

/// The state of a task, and the body of its record; `None` if it says none. One that is too long leaves its parts out.
pub(super) fn state_body(
    update: &TaskStatusUpdateEvent,
    event: &AgentEvent,
    routing: &AgentEventMetadata,
) -> Option<(TaskStateName, Vec<u8>)> {
    let status = update.status.as_ref()?;
    let state = match status.state() {
        TaskState::Unspecified => return None,
        TaskState::Submitted => TaskStateName::Submitted,
        TaskState::Working => TaskStateName::Working,
        TaskState::InputRequired => TaskStateName::InputRequired,
        TaskState::AuthRequired => TaskStateName::AuthRequired,
        TaskState::Completed => TaskStateName::Completed,
        TaskState::Failed => TaskStateName::Failed,
        TaskState::Cancelled => TaskStateName::Cancelled,
        TaskState::Rejected => TaskStateName::Rejected,
    };
    let said = status.update.as_ref();
    let time = status.timestamp.or(event.timestamp).unwrap_or_default();
    let whole = MirroredState {
        task_id: update.task_id.clone(),
        context_id: update.context_id.clone(),
        state,
        is_final: update.r#final,
        sender: routing.from_agent_id.clone(),
        recipient: given(&routing.to_agent_id),
        timestamp: time.to_string(),
        parts: said.map(|said| parts(&said.content)).unwrap_or_default(),
        metadata: fields(update.metadata.as_ref()),
        left_out_bytes: None,
    };
    let bytes = body(&whole);
    if bytes.len() <= LONGEST_BODY {
        return Some((state, bytes));
    }
    let short = MirroredState {
        parts: Vec::new(),
        left_out_bytes: Some(bytes.len() as u64),
        ..whole
    };
    Some((state, body(&short)))
}

pub(super) fn body(of: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(of).expect("its keys are texts")
}

fn parts(content: &[Part]) -> Vec<MirroredPart> {
    content.iter().map(part).collect()
}

fn part(part: &Part) -> MirroredPart {
    let none = MirroredPart::default();
    match &part.part {
        Some(Content::Text(text)) => MirroredPart {
            text: Some(text.clone()),
            ..none
        },
        Some(Content::Data(_)) => MirroredPart {
            data: Some(part.as_data().unwrap_or_default()),
            ..none
        },
        Some(Content::File(file)) => {
            let (uri, bytes) = match &file.file {
                Some(File::FileWithUri(uri)) => (Some(uri.clone()), None),
                Some(File::FileWithBytes(bytes)) => (None, Some(STANDARD.encode(bytes))),
                None => (None, None),
            };
            MirroredPart {
                uri,
                bytes,
                content_type: given(&file.mime_type),
                name: given(&file.name),
                ..none
            }
        }
        None => none,
    }
}

fn fields(metadata: Option<&Struct>) -> Map<String, Value> {
    match metadata.map(json::from_struct) {
        Some(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}

/// A text that is there.
pub(super) fn given(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}
