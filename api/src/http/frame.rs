//! A frame as JSON.

use agenthub_proto::{cortex as pb, json};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// A frame that a run shows while it works.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Frame {
    /// `start`, `phase`, `plan_update`, `handoff`, `delta`, `tool_call`, `tool_result`, `message`, `step`, `approval`, `warning`, `metrics`,
    /// `error` or `complete`. The first frame is `start`; the last one, and only that, is `complete` or `error`.
    #[serde(rename = "type")]
    pub(crate) kind: String,
    /// Rises by one from 1.
    #[schema(minimum = 1)]
    pub(crate) sequence: u64,
    /// The run.
    pub(crate) correlation_id: String,
    /// The thread that the run belongs to.
    pub(crate) thread_id: String,
    /// Text for people.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(required = false)]
    pub(crate) message: String,
    /// In `phase` frames: planning, analysis, generation, qa or finalization.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(required = false)]
    pub(crate) phase: String,
    /// Data of the type; in `complete` the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub(crate) data: Option<Map<String, Value>>,
    /// In `metrics` frames: the tokens of one decision or handoff; in the last one, where `data.total` is true, of the whole run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tokens: Option<u64>,
    /// In `metrics` frames and in the last one: the milliseconds that it took so far.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) duration_ms: Option<u64>,
}

impl From<pb::Frame> for Frame {
    fn from(frame: pb::Frame) -> Self {
        let data = frame.data.as_ref().map(json::from_struct);
        let data = match data {
            Some(Value::Object(data)) => Some(data),
            _ => None,
        };
        let kind = frame.r#type;
        let tokens = data
            .as_ref()
            .and_then(|data| data.get("tokens"))
            .and_then(whole);
        let is_timed = matches!(&*kind, "metrics" | "complete" | "error");
        Self {
            tokens: tokens.filter(|_| kind == "metrics"),
            duration_ms: (is_timed || frame.duration_ms > 0).then_some(frame.duration_ms),
            kind,
            sequence: frame.sequence,
            correlation_id: frame.correlation_id,
            thread_id: frame.context_id,
            message: frame.message,
            phase: frame.phase,
            data,
        }
    }
}

/// Structs have no whole numbers of their own.
fn whole(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| {
        let number = value.as_f64()?;
        // Beyond this, a double does not hold every whole number.
        (0.0..=9_007_199_254_740_992.0)
            .contains(&number)
            .then_some(number as u64)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn wire(kind: &str) -> pb::Frame {
        pb::Frame {
            r#type: kind.to_owned(),
            sequence: 3,
            correlation_id: "r".to_owned(),
            context_id: "t".to_owned(),
            ..pb::Frame::default()
        }
    }

    /// spec: ORC-4
    #[test]
    fn every_frame_says_whose_it_is_and_nothing_that_it_does_not_have() {
        assert_eq!(
            json!(Frame::from(wire("start"))),
            json!({"type": "start", "sequence": 3, "correlationId": "r", "threadId": "t"})
        );
        let metrics = pb::Frame {
            data: Some(json::to_struct(&json!({"tokens": 42, "calls": 2}))),
            duration_ms: 1500,
            ..wire("metrics")
        };
        assert_eq!(
            json!(Frame::from(metrics)),
            json!({
                "type": "metrics", "sequence": 3, "correlationId": "r", "threadId": "t",
                "data": {"tokens": 42, "calls": 2}, "tokens": 42, "durationMs": 1500,
            })
        );
        let phase = pb::Frame {
            message: "planning".to_owned(),
            phase: "planning".to_owned(),
            ..wire("phase")
        };
        let phase = json!(Frame::from(phase));
        assert_eq!(phase["phase"], "planning");
        assert!(phase.get("durationMs").is_none());
        assert_eq!(json!(Frame::from(wire("complete")))["durationMs"], 0);
    }
}
