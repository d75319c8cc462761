//! A frame as JSON, as the service's HTTP has it.

use agenthub_proto::{cortex::Frame, json};
use serde_json::{Map, Value};

/// The frame; what it does not have is left out.
pub(crate) fn json_of(frame: &Frame) -> Value {
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| _ = fields.insert(name.to_owned(), value);
    put("type", frame.r#type.as_str().into());
    put("sequence", frame.sequence.into());
    put("correlationId", frame.correlation_id.as_str().into());
    put("threadId", frame.context_id.as_str().into());
    if !frame.message.is_empty() {
        put("message", frame.message.as_str().into());
    }
    if !frame.phase.is_empty() {
        put("phase", frame.phase.as_str().into());
    }
    if let Some(data) = &frame.data {
        let data = json::from_struct(data);
        if let ("metrics", Some(tokens)) = (&*frame.r#type, data.get("tokens")) {
            put("tokens", tokens.clone());
        }
        put("data", data);
    }
    if frame.duration_ms > 0 {
        put("durationMs", frame.duration_ms.into());
    }
    Value::Object(fields)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// spec: ORC-4
    #[test]
    fn a_frame_has_its_form() {
        let frame = Frame {
            r#type: "metrics".to_owned(),
            sequence: 7,
            correlation_id: "r1".to_owned(),
            context_id: "t1".to_owned(),
            data: Some(json::to_struct(&json!({"tokens": 42}))),
            duration_ms: 5,
            ..Frame::default()
        };
        let expected = r#"{"type":"metrics","sequence":7,"correlationId":"r1","threadId":"t1","tokens":42,"data":{"tokens":42},"durationMs":5}"#;
        assert_eq!(json_of(&frame).to_string(), expected);
    }
}
