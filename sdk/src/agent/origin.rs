//! The message that a run is for, as its journal has it, so that another process can answer it.

use agenthub_proto::{a2a::Message, agenthub::AgentEventMetadata, trace::TraceContext};
use base64::{Engine, engine::general_purpose::STANDARD};
use prost::Message as _;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A message and its way back.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Origin {
    pub(super) message: Message,
    pub(super) routing: AgentEventMetadata,
    /// The run's place in its trace.
    pub(super) trace: TraceContext,
}

/// The form in a journal: protobuf as base64. Fields are added, never renamed.
#[derive(Serialize, Deserialize)]
struct Written {
    message: String,
    routing: String,
    trace: String,
}

impl Origin {
    pub(super) fn write(&self) -> Value {
        let written = Written {
            message: STANDARD.encode(self.message.encode_to_vec()),
            routing: STANDARD.encode(self.routing.encode_to_vec()),
            trace: self.trace.to_string(),
        };
        serde_json::to_value(written).expect("it has only texts")
    }

    /// Reads an origin; `None` for anything else.
    pub(super) fn read(value: &Value) -> Option<Self> {
        let written = Written::deserialize(value).ok()?;
        let message = STANDARD.decode(written.message).ok()?;
        let routing = STANDARD.decode(written.routing).ok()?;
        Some(Self {
            message: Message::decode(&*message).ok()?,
            routing: AgentEventMetadata::decode(&*routing).ok()?,
            trace: written.trace.parse().ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agenthub_proto::a2a::Role;

    #[test]
    fn an_origin_comes_back() {
        let origin = Origin {
            message: Message::new(Role::User, "hi").with_metadata("not a number", f64::NAN),
            routing: AgentEventMetadata {
                from_agent_id: "user".into(),
                hops: 3,
                ..Default::default()
            },
            trace: TraceContext::start(),
        };
        assert_eq!(Origin::read(&origin.write()), Some(origin));
        assert_eq!(Origin::read(&Value::Null), None);
    }
}
