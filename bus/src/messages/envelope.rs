//! What is beside the body: CloudEvents in binary mode, the trace, the version of the body's schema.

use std::time::SystemTime;

use agenthub_sdk::proto::event::timestamp;
use serde_json::json;

use super::Body;
use crate::Message;

/// Header with the version of the body's schema.
pub const SCHEMA_VERSION: &str = "schema_version";

/// Header with the task of a stream's message, whose body has no field for it.
pub const TASK_ID: &str = "task_id";

/// The version of all schemas. Another one follows when a field changes its meaning, not when one is added.
pub const VERSION: &str = "1";

/// What is beside the body of a message. The same event has the same envelope, however often it is published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// Id of the event.
    pub id: String,
    /// Where it happened, a URI reference.
    pub source: String,
    /// When it happened.
    pub time: SystemTime,
    /// The trace that it belongs to, as W3C's Trace Context has it.
    pub traceparent: Option<String>,
    /// The task, for [`StreamChunk`](super::StreamChunk).
    pub task_id: Option<String>,
}

/// A message with a body. Its key is the run.
///
/// spec: EXE-3.4
pub fn message<B: Body>(body: &B, envelope: Envelope) -> Message {
    let required = [
        ("ce_source", envelope.source),
        ("ce_specversion", "1.0".to_owned()),
        ("ce_time", timestamp(envelope.time).to_string()),
        ("ce_type", B::TYPE.to_owned()),
        ("content-type", "application/json".to_owned()),
        (SCHEMA_VERSION, VERSION.to_owned()),
    ];
    let given = [
        ("traceparent", envelope.traceparent),
        (TASK_ID, envelope.task_id),
    ];
    let given = given
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    let headers = required.into_iter().chain(given);
    Message {
        headers: headers
            .map(|(name, value)| (name.to_owned(), value))
            .collect(),
        ..Message::json(envelope.id, body.run_id(), &json!(body))
    }
}
