//! Event ids: kind, subject, and time in seconds or nanoseconds since 1970. A repeated publish has an id that differs
//! only in that number ([`crate::dedupe::Seen`]).

use agenthub_proto::{
    agenthub::{AgentEvent, agent_event::Payload},
    wkt::Timestamp,
};

/// The id of an event of this kind.
pub(crate) fn join(kind: &str, about: &str, stamp: &str) -> String {
    [kind, "_", about, "_", stamp].concat()
}

/// The id of an event with this payload and time.
pub(crate) fn of(payload: &Payload, time: &Timestamp) -> String {
    let nanos = || {
        let nanos = i128::from(time.seconds) * 1_000_000_000 + i128::from(time.nanos);
        nanos.to_string()
    };
    match payload {
        Payload::Message(m) => join("evt", &m.message_id, &time.seconds.to_string()),
        Payload::Task(t) => join("task", &t.id, &nanos()),
        Payload::StatusUpdate(u) => join("status", &u.task_id, &nanos()),
        Payload::ArtifactUpdate(u) => join("artifact", &u.task_id, &nanos()),
        Payload::AgentCard(c) => {
            let about = [&*c.event_type, "_", &*c.agent_id].concat();
            join("agent", &about, &nanos())
        }
    }
}

/// The id that follows from an event's content.
pub(crate) fn of_event(event: &AgentEvent) -> Option<String> {
    let (payload, time) = event.payload.as_ref().zip(event.timestamp.as_ref())?;
    Some(of(payload, time))
}
