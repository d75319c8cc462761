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
    /// The principal of the routing, for readers of journals.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    on_behalf_of: String,
    /// True if another task led to it, for readers of journals.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_part: bool,
}

impl Origin {
    pub(super) fn write(&self) -> Value {
        let written = Written {
            message: STANDARD.encode(self.message.encode_to_vec()),
            routing: STANDARD.encode(self.routing.encode_to_vec()),
            trace: self.trace.to_string(),
            on_behalf_of: self.routing.on_behalf_of.clone(),
            is_part: !self.routing.parent_task_id.is_empty(),
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
    use agenthub_runs::RunStarted;

    #[test]
    fn an_origin_comes_back() {
        let origin = origin();
        assert_eq!(Origin::read(&origin.write()), Some(origin));
        assert_eq!(Origin::read(&Value::Null), None);
    }

    /// Issue 25, on whose behalf: runs know who started them, and those of earlier releases do not.
    #[test]
    fn a_journal_says_on_whose_behalf_a_run_is() {
        let started = |origin: Value| RunStarted {
            strategy: "tool_loop".to_owned(),
            input: Value::Null,
            thread: String::new(),
            origin,
            budget: Default::default(),
            deadline_ms: None,
            at_ms: 0,
        };
        let mut written = origin().write();
        assert_eq!(started(written.clone()).on_behalf_of(), "alice");
        let fields = written.as_object_mut().expect("it is an object");
        fields.remove("on_behalf_of");
        assert!(Origin::read(&written).is_some());
        assert_eq!(started(written).on_behalf_of(), "");
        assert_eq!(started(Value::Null).on_behalf_of(), "");
    }

    /// Issue 26, runs: a list of the runs that people asked for leaves out those that they led to.
    #[test]
    fn a_journal_says_whether_another_task_led_to_a_run() {
        let is_part = |parent: &str| {
            let mut origin = origin();
            origin.routing.parent_task_id = parent.to_owned();
            origin.write()["is_part"].clone()
        };
        assert_eq!(
            (is_part("t-1"), is_part("")),
            (Value::Bool(true), Value::Null)
        );
    }

    fn origin() -> Origin {
        Origin {
            message: Message::new(Role::User, "hi").with_metadata("not a number", f64::NAN),
            routing: AgentEventMetadata {
                from_agent_id: "user".into(),
                hops: 3,
                on_behalf_of: "alice".into(),
                ..Default::default()
            },
            trace: TraceContext::start(),
        }
    }
}
