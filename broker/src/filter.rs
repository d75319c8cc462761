//! Filters of subscriptions.

use agenthub_proto::{
    a2a::TaskState,
    agenthub::{self, Concern, EventKind},
};

use crate::{Error, id::TaskId, limits, traits::Traits};

/// All conditions must match; empty ones match everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Filter {
    pub(crate) kinds: Vec<EventKind>,
    pub(crate) concern: Concern,
    /// Task types, routing event types, or directory changes.
    pub(crate) types: Vec<String>,
    pub(crate) contexts: Vec<String>,
    pub(crate) states: Vec<TaskState>,
    pub(crate) tasks: Vec<TaskId>,
}

impl Filter {
    /// A filter for events of these kinds.
    pub(crate) fn kinds(kinds: &[EventKind]) -> Self {
        Self {
            kinds: kinds.to_vec(),
            ..Self::default()
        }
    }

    /// A filter that matches nothing.
    pub(crate) fn nothing() -> Self {
        Self::kinds(&[EventKind::Unspecified])
    }

    /// True if no event can match.
    pub(crate) fn is_nothing(&self) -> bool {
        let is_none = |kind: &EventKind| *kind == EventKind::Unspecified;
        !self.kinds.is_empty() && self.kinds.iter().all(is_none)
    }

    /// The filter of a `Connect` subscription.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] for an unknown enum value.
    pub(crate) fn from_wire(filter: &agenthub::Filter) -> Result<Self, Error> {
        let kinds = known(&filter.kinds, "filter.kinds", |n| {
            EventKind::try_from(n).ok()
        })?;
        let states = known(&filter.states, "filter.states", |n| {
            TaskState::try_from(n).ok()
        })?;
        let concern = known(&[filter.concern], "filter.concern", |n| {
            Concern::try_from(n).ok()
        })?;
        Ok(Self {
            kinds,
            concern: concern[0],
            types: filter.types.clone(),
            contexts: filter.contexts.clone(),
            states,
            tasks: Vec::new(),
        })
    }

    /// The filter in its wire form, without the parts that only server streams have.
    pub(crate) fn to_wire(&self) -> agenthub::Filter {
        agenthub::Filter {
            kinds: self.kinds.iter().map(|k| *k as i32).collect(),
            concern: self.concern.into(),
            types: self.types.clone(),
            contexts: self.contexts.clone(),
            states: self.states.iter().map(|s| *s as i32).collect(),
        }
    }

    /// Checks the limits.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if one is exceeded.
    pub(crate) fn check(&self) -> Result<(), Error> {
        limits::ids("filter.types", self.types.iter().map(String::as_str))?;
        limits::ids("filter.contexts", self.contexts.iter().map(String::as_str))?;
        limits::ids("filter.task_ids", self.tasks.iter().map(|t| &**t))?;
        Ok(())
    }

    /// True if events of this kind can match.
    pub(crate) fn takes(&self, kind: EventKind) -> bool {
        if self.kinds.is_empty() {
            return kind != EventKind::AgentCard;
        }
        self.kinds.contains(&kind)
    }

    /// True if an event with these traits matches, for an agent on this side of the task.
    pub(crate) fn accepts(&self, traits: &Traits<'_>, concern: Concern) -> bool {
        self.takes(traits.kind)
            && (self.concern == Concern::Unspecified
                || traits.kind == EventKind::AgentCard
                || self.concern == concern)
            && (self.types.is_empty() || self.types.iter().any(|t| is_of_type(traits, t)))
            && (self.contexts.is_empty() || self.contexts.iter().any(|c| c == traits.context))
            && (self.tasks.is_empty() || self.tasks.iter().any(|t| **t == *traits.task))
            && (self.states.is_empty() || traits.state.is_some_and(|s| self.states.contains(&s)))
    }
}

/// Parses enum numbers from the wire.
///
/// # Errors
///
/// [`Error::InvalidArgument`] for too many, and for an unknown number.
pub(crate) fn known<T>(
    numbers: &[i32],
    what: &str,
    read: impl Fn(i32) -> Option<T>,
) -> Result<Vec<T>, Error> {
    if numbers.len() > limits::VALUES {
        return Err(Error::InvalidArgument(format!(
            "{what} has {} values; at most {}",
            numbers.len(),
            limits::VALUES
        )));
    }
    numbers
        .iter()
        .map(|n| {
            read(*n).ok_or_else(|| Error::InvalidArgument(format!("{what}: {n} is no known value")))
        })
        .collect()
}

fn is_of_type(traits: &Traits<'_>, wanted: &str) -> bool {
    let kind = match traits.kind {
        EventKind::Unspecified => "",
        EventKind::Message => "message",
        EventKind::Task => "task",
        EventKind::StatusUpdate => "status_update",
        EventKind::ArtifactUpdate => "artifact",
        EventKind::AgentCard => "agent_card",
    };
    wanted == traits.task_type
        || wanted == kind
        || traits.event_type == Some(wanted)
        || traits.card_change == Some(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use agenthub_proto::{
        a2a::{Message, Role, TaskStatus},
        agenthub::{AgentEvent, AgentEventMetadata, TaskStatusUpdateEvent, agent_event::Payload},
    };

    fn message() -> AgentEvent {
        AgentEvent {
            payload: Some(Payload::Message(Message {
                context_id: "c1".into(),
                task_id: "t1".into(),
                ..Message::new(Role::User, "hi")
            })),
            routing: Some(AgentEventMetadata {
                event_type: "a2a.message".into(),
                ..Default::default()
            }),
            ..Default::default()
        }
    }

    fn status(state: TaskState) -> AgentEvent {
        AgentEvent {
            payload: Some(Payload::StatusUpdate(TaskStatusUpdateEvent {
                task_id: "t1".into(),
                status: Some(TaskStatus {
                    state: state.into(),
                    ..Default::default()
                }),
                ..Default::default()
            })),
            ..Default::default()
        }
    }

    fn passes(filter: &Filter, event: &AgentEvent) -> bool {
        filter.accepts(&Traits::of(event).with_task_type("echo"), Concern::Work)
    }

    /// spec: HUB-3
    #[test]
    fn every_field_narrows() {
        let event = message();
        let all = Filter::default();
        assert!(passes(&all, &event));
        for (good, bad) in [
            (
                Filter::kinds(&[EventKind::Message]),
                Filter::kinds(&[EventKind::Task]),
            ),
            (
                Filter {
                    types: vec!["echo".into()],
                    ..all.clone()
                },
                Filter {
                    types: vec!["other".into()],
                    ..all.clone()
                },
            ),
            (
                Filter {
                    types: vec!["a2a.message".into()],
                    ..all.clone()
                },
                Filter {
                    types: vec!["a2a.task".into()],
                    ..all.clone()
                },
            ),
            (
                Filter {
                    contexts: vec!["c1".into()],
                    ..all.clone()
                },
                Filter {
                    contexts: vec!["c2".into()],
                    ..all.clone()
                },
            ),
            (
                Filter {
                    tasks: vec!["t1".into()],
                    ..all.clone()
                },
                Filter {
                    tasks: vec!["t2".into()],
                    ..all.clone()
                },
            ),
            (
                Filter {
                    concern: Concern::Work,
                    ..all.clone()
                },
                Filter {
                    concern: Concern::Replies,
                    ..all.clone()
                },
            ),
        ] {
            assert!(passes(&good, &event), "{good:?}");
            assert!(!passes(&bad, &event), "{bad:?}");
        }
    }

    #[test]
    fn states_choose_among_what_tells_of_a_state() {
        let done = Filter {
            states: vec![TaskState::Completed],
            ..Filter::default()
        };
        assert!(passes(&done, &status(TaskState::Completed)));
        assert!(!passes(&done, &status(TaskState::Working)));
        assert!(!passes(&done, &message()));
    }

    #[test]
    fn unknown_numbers_are_refused() {
        let filter = agenthub::Filter {
            kinds: vec![99],
            ..Default::default()
        };
        assert!(Filter::from_wire(&filter).is_err());
    }

    /// promise 10
    #[test]
    fn lists_of_numbers_are_bounded() {
        let read = |count| known(&vec![1; count], "states", |n| TaskState::try_from(n).ok());
        assert_eq!(
            read(limits::VALUES).map(|read| read.len()),
            Ok(limits::VALUES)
        );
        assert!(read(limits::VALUES + 1).is_err());
    }
}
