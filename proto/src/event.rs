//! Methods on events.

use prost_types::Timestamp;

use crate::{
    a2a::TaskState,
    agenthub::{
        AgentCardEvent, AgentEvent, AgentEventMetadata, EventKind, Priority, agent_event::Payload,
    },
};

/// Topic of the events of a type, which is also the `event_type` of their routing.
pub fn topic(event: &str) -> String {
    format!("event.{event}")
}

impl AgentEventMetadata {
    /// Routing of an event of a type, which is no task: the agents that registered for its [topic] get it, and nobody else.
    pub fn of_event(event: &str) -> Self {
        Self {
            event_type: topic(event),
            subscriptions: vec![topic(event)],
            matching_only: true,
            ..Self::default()
        }
    }
}

/// Values of `AgentCardEvent.event_type`: changes in the directory of agents.
pub mod card_change {
    /// The agent was added.
    pub const REGISTERED: &str = "registered";
    /// Its card changed, or another version was added.
    pub const UPDATED: &str = "updated";
    /// The agent was removed.
    pub const UNREGISTERED: &str = "unregistered";
    /// The agent became reachable.
    pub const ONLINE: &str = "online";
    /// The agent became unreachable.
    pub const OFFLINE: &str = "offline";
}

impl AgentEvent {
    /// The event's kind.
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

    /// Id of its task; empty if none.
    pub fn task_id(&self) -> &str {
        match &self.payload {
            Some(Payload::Message(m)) => &m.task_id,
            Some(Payload::Task(t)) => &t.id,
            Some(Payload::StatusUpdate(u)) => &u.task_id,
            Some(Payload::ArtifactUpdate(u)) => &u.task_id,
            Some(Payload::AgentCard(_)) | None => "",
        }
    }

    /// Id of its conversation; empty if none.
    pub fn context_id(&self) -> &str {
        match &self.payload {
            Some(Payload::Message(m)) => &m.context_id,
            Some(Payload::Task(t)) => &t.context_id,
            Some(Payload::StatusUpdate(u)) => &u.context_id,
            Some(Payload::ArtifactUpdate(u)) => &u.context_id,
            Some(Payload::AgentCard(_)) | None => "",
        }
    }

    /// The reported state of the task, if the event reports one.
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

    /// Its priority; medium if not set.
    pub fn priority(&self) -> Priority {
        match self.routing.as_ref().map(|r| r.priority()) {
            None | Some(Priority::Unspecified) => Priority::Medium,
            Some(priority) => priority,
        }
    }
}

impl AgentCardEvent {
    /// True if the agent was reachable when the event was created.
    pub fn is_online(&self) -> bool {
        self.flag("online")
    }

    /// True if the event belongs to the snapshot at the beginning of a subscription.
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

/// A system time as a timestamp. Times before 1970 become 1970.
pub fn timestamp(time: std::time::SystemTime) -> Timestamp {
    let since = time
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default();
    Timestamp {
        seconds: i64::try_from(since.as_secs()).unwrap_or(i64::MAX),
        nanos: since.subsec_nanos().cast_signed(),
    }
}

/// A timestamp as a system time; `None` before 1970 or beyond the range of the clock.
pub fn system_time(timestamp: &Timestamp) -> Option<std::time::SystemTime> {
    let since = std::time::Duration::new(
        u64::try_from(timestamp.seconds).ok()?,
        u32::try_from(timestamp.nanos)
            .ok()
            .filter(|n| *n < 1_000_000_000)?,
    );
    std::time::UNIX_EPOCH.checked_add(since)
}

/// The length of a duration; `None` if negative or malformed. Unlike the conversion of `prost-types`, it takes any
/// number.
pub fn duration(duration: &prost_types::Duration) -> Option<std::time::Duration> {
    let seconds = u64::try_from(duration.seconds).ok()?;
    let nanos = u32::try_from(duration.nanos)
        .ok()
        .filter(|n| *n < 1_000_000_000)?;
    Some(std::time::Duration::new(seconds, nanos))
}

/// A duration on the wire; the maximum for longer ones.
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
