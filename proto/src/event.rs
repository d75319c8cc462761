//! Methods on events.

use prost_types::Timestamp;

use crate::{
    a2a::TaskState,
    agenthub::{AgentCardEvent, AgentEvent, EventKind, Priority, agent_event::Payload},
};

/// `AgentCardEvent.event_type` of the changes in the directory of agents.
pub mod card_change {
    /// An agent is known from here on.
    pub const REGISTERED: &str = "registered";
    /// Its card has changed, or another version of it has come.
    pub const UPDATED: &str = "updated";
    /// It is gone for good.
    pub const UNREGISTERED: &str = "unregistered";
    /// It can be reached.
    pub const ONLINE: &str = "online";
    /// It cannot be reached now.
    pub const OFFLINE: &str = "offline";
}

impl AgentEvent {
    /// What the event is.
    pub fn kind(&self) -> EventKind {
        match self.payload {
            None => EventKind::Unspecified,
            Some(Payload::Message(_)) => EventKind::Message,
            Some(Payload::Task(_)) => EventKind::Task,
            Some(Payload::StatusUpdate(_)) => EventKind::StatusUpdate,
            Some(Payload::ArtifactUpdate(_)) => EventKind::ArtifactUpdate,
            Some(Payload::AgentCard(_)) => EventKind::AgentCard,
        }
    }

    /// The task it belongs to; empty if none.
    pub fn task_id(&self) -> &str {
        match &self.payload {
            Some(Payload::Message(m)) => &m.task_id,
            Some(Payload::Task(t)) => &t.id,
            Some(Payload::StatusUpdate(u)) => &u.task_id,
            Some(Payload::ArtifactUpdate(u)) => &u.task_id,
            Some(Payload::AgentCard(_)) | None => "",
        }
    }

    /// The conversation it belongs to; empty if none.
    pub fn context_id(&self) -> &str {
        match &self.payload {
            Some(Payload::Message(m)) => &m.context_id,
            Some(Payload::Task(t)) => &t.context_id,
            Some(Payload::StatusUpdate(u)) => &u.context_id,
            Some(Payload::ArtifactUpdate(u)) => &u.context_id,
            Some(Payload::AgentCard(_)) | None => "",
        }
    }

    /// The state of the task that it tells of, if it tells of one.
    pub fn task_state(&self) -> Option<TaskState> {
        match &self.payload {
            Some(Payload::Task(t)) => Some(t.state()),
            Some(Payload::StatusUpdate(u)) => Some(
                u.status
                    .as_ref()
                    .map_or(TaskState::Unspecified, |s| s.state()),
            ),
            _ => None,
        }
    }

    /// The sender; empty if unknown.
    pub fn sender(&self) -> &str {
        self.routing.as_ref().map_or("", |r| &r.from_agent_id)
    }

    /// Which context goes first; medium if nothing was said.
    pub fn priority(&self) -> Priority {
        match self.routing.as_ref().map(|r| r.priority()) {
            None | Some(Priority::Unspecified) => Priority::Medium,
            Some(priority) => priority,
        }
    }
}

impl AgentCardEvent {
    /// Whether the agent could be reached when the event was made.
    pub fn is_online(&self) -> bool {
        self.flag("online")
    }

    /// Whether the event belongs to the snapshot that a subscription starts with.
    pub fn is_snapshot(&self) -> bool {
        self.flag("snapshot")
    }

    fn flag(&self, key: &str) -> bool {
        use prost_types::value::Kind;
        self.metadata
            .as_ref()
            .and_then(|m| m.fields.get(key))
            .is_some_and(|v| v.kind == Some(Kind::BoolValue(true)))
    }
}

/// The time of the system clock. Before 1970 it is 1970.
pub fn timestamp(time: std::time::SystemTime) -> Timestamp {
    let since = time
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default();
    Timestamp {
        seconds: i64::try_from(since.as_secs()).unwrap_or(i64::MAX),
        nanos: since.subsec_nanos().cast_signed(),
    }
}

/// The system time of a timestamp; `None` before 1970 or beyond what the clock can show.
pub fn system_time(timestamp: &Timestamp) -> Option<std::time::SystemTime> {
    let since = std::time::Duration::new(
        u64::try_from(timestamp.seconds).ok()?,
        u32::try_from(timestamp.nanos)
            .ok()
            .filter(|n| *n < 1_000_000_000)?,
    );
    std::time::UNIX_EPOCH.checked_add(since)
}

/// The length of a duration; `None` below zero or if it is malformed. Unlike the conversion of `prost-types`, it takes any number.
pub fn duration(duration: &prost_types::Duration) -> Option<std::time::Duration> {
    let seconds = u64::try_from(duration.seconds).ok()?;
    let nanos = u32::try_from(duration.nanos)
        .ok()
        .filter(|n| *n < 1_000_000_000)?;
    Some(std::time::Duration::new(seconds, nanos))
}

/// A duration on the wire; the longest there is for one that is longer.
pub fn wire_duration(duration: std::time::Duration) -> prost_types::Duration {
    prost_types::Duration {
        seconds: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        nanos: i32::try_from(duration.subsec_nanos()).unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use prost_types::Duration;

    use super::duration;

    #[test]
    fn any_duration_can_be_read() {
        let of = |seconds, nanos| duration(&Duration { seconds, nanos });
        assert_eq!(
            of(1, 500_000_000),
            Some(std::time::Duration::from_millis(1500))
        );
        for (seconds, nanos) in [(i64::MIN, 0), (0, i32::MIN), (-1, 5), (1, i32::MAX)] {
            assert_eq!(of(seconds, nanos), None);
        }
        assert!(of(i64::MAX, 999_999_999).is_some());
    }
}
