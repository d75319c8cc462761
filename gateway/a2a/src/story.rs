//! The part of a task that a stream shows: the task first, then each change once, in the order of the hub's log.

use std::time::Duration;

use agenthub_sdk::{
    internal::is_of_sdk,
    proto::{
        a2a,
        a2a::TaskState,
        agenthub::{AgentEvent, agent_event::Payload},
    },
};

use crate::{
    convert::{artifact_update_from_hub, status_update_from_hub, task_from_hub},
    v1::{StreamResponse, TaskStatusUpdateEvent, stream_response::Payload as StreamPayload},
};

/// Time for which the artifact is waited for of an agent that has completed its task without one: those of the original AgentHub send it behind.
pub(crate) const LATE: Duration = Duration::from_millis(250);

/// Time for which words of an agent wait for the status that ends its task, which has them as well.
pub(crate) const LAST_WORDS: Duration = Duration::from_millis(100);

/// End of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Until {
    /// The task has ended.
    Terminal,
    /// The task has ended, or waits for its requester.
    Interrupted,
}

/// Decides what a stream shows of the events of one task.
#[derive(Clone, Debug)]
pub(crate) struct Story {
    until: Until,
    /// The state that was shown last; `None` before the task.
    state: Option<TaskState>,
    /// Id of the message that was shown last, if an agent said it without a change of state.
    said: Option<String>,
    /// An artifact was shown.
    has_artifact: bool,
    is_over: bool,
}

impl Story {
    /// Begins with the first [`Payload::Task`].
    pub(crate) fn new(until: Until) -> Self {
        Self {
            until,
            state: None,
            said: None,
            has_artifact: false,
            is_over: false,
        }
    }

    /// Goes on to the end of the task, where this state was shown last; `None` before the task.
    pub(crate) fn resumed(state: Option<TaskState>) -> Self {
        Self {
            until: Until::Terminal,
            state,
            said: None,
            has_artifact: false,
            is_over: state.is_some_and(TaskState::is_terminal),
        }
    }

    /// The state that was shown last.
    pub(crate) fn state(&self) -> Option<TaskState> {
        self.state
    }

    /// Shows the task as it was read. That it waits for its requester ends nothing: the answer may be on its way.
    pub(crate) fn begin(&mut self, task: a2a::Task) -> StreamResponse {
        self.state = Some(task.state());
        self.has_artifact = !task.artifacts.is_empty();
        self.is_over = task.state().is_terminal();
        shown(StreamPayload::Task(task_from_hub(task)))
    }

    /// Shows the task as it was read, to a client that sent its message again: it ends where the answer to the first one did.
    pub(crate) fn begin_again(&mut self, task: a2a::Task) -> StreamResponse {
        let state = task.state();
        let shown = self.begin(task);
        self.enter(state);
        shown
    }

    /// True once nothing more is shown.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    fn enter(&mut self, state: TaskState) {
        self.state = Some(state);
        self.is_over =
            state.is_terminal() || self.until == Until::Interrupted && state.is_interrupted();
    }

    /// True if what was shown last is words of an agent that the status of the task's end may have as well.
    pub(crate) fn may_be_repeated(&self) -> bool {
        self.said.is_some()
    }

    /// True if an event has the words that were shown last, and more.
    pub(crate) fn is_repeated_by(&self, event: &Payload) -> bool {
        self.said.is_some() && said_with_status(event) == self.said.as_deref()
    }

    /// True if an event completes the task, and its artifact may come behind it.
    pub(crate) fn may_be_early(&self, event: &Payload) -> bool {
        !self.has_artifact && may_be_early(event)
    }

    /// The part of an event that is shown.
    pub(crate) fn take(&mut self, event: Payload) -> Option<StreamResponse> {
        if self.is_over() {
            return None;
        }
        self.said = None;
        match (event, self.state) {
            (Payload::Task(task), None) => Some(self.begin(task)),
            // A message was added. Of agents that send no status, this is how the state changes.
            (Payload::Task(task), Some(state)) => {
                let is_change = task.state() != state;
                if is_change {
                    self.enter(task.state());
                }
                let mut task = task_from_hub(task);
                let said = task.history.pop().filter(|m| m.role == AGENT);
                if said.is_none() && !is_change {
                    return None;
                }
                if !is_change {
                    self.said = said.as_ref().map(|said| said.message_id.clone());
                }
                if let (Some(status), Some(said)) = (&mut task.status, said)
                    && (status.message.is_none() || !is_change)
                {
                    status.message = Some(said);
                }
                Some(shown(StreamPayload::StatusUpdate(TaskStatusUpdateEvent {
                    task_id: task.id,
                    context_id: task.context_id,
                    status: task.status,
                    metadata: None,
                })))
            }
            (Payload::StatusUpdate(update), Some(_)) => {
                let state = update.status.as_ref().map(a2a::TaskStatus::state);
                self.enter(state.unwrap_or_default());
                let update = status_update_from_hub(update);
                Some(shown(StreamPayload::StatusUpdate(update)))
            }
            (Payload::ArtifactUpdate(update), Some(_)) => {
                self.has_artifact = true;
                let update = artifact_update_from_hub(update);
                Some(shown(StreamPayload::ArtifactUpdate(update)))
            }
            _ => None,
        }
    }
}

/// True if an event completes a task in the name of an agent of another library, which may send the artifact behind it.
pub(crate) fn may_be_early(event: &Payload) -> bool {
    let Payload::StatusUpdate(update) = event else {
        return false;
    };
    let state = update.status.as_ref().map(a2a::TaskStatus::state);
    state == Some(TaskState::Completed) && !is_of_sdk(update)
}

/// The id of the words with which an event shows its task: an agent has said them last.
pub(crate) fn words_of(event: &AgentEvent) -> Option<&str> {
    let Some(Payload::Task(task)) = &event.payload else {
        return None;
    };
    let last = task.history.last();
    last.filter(|said| said.role() == a2a::Role::Agent)
        .map(|said| said.message_id.as_str())
}

/// True if the next event is a status of the same task that has the words of this event, and so more than it.
pub(crate) fn are_repeated(event: &AgentEvent, next: &AgentEvent) -> bool {
    let words = words_of(event).filter(|_| event.task_id() == next.task_id());
    words.is_some() && next.payload.as_ref().and_then(said_with_status) == words
}

/// The id of the words that a status has, if it is one.
fn said_with_status(event: &Payload) -> Option<&str> {
    let Payload::StatusUpdate(update) = event else {
        return None;
    };
    let words = update.status.as_ref()?.update.as_ref()?;
    Some(&words.message_id)
}

const AGENT: i32 = crate::v1::Role::Agent as i32;

fn shown(payload: StreamPayload) -> StreamResponse {
    StreamResponse {
        payload: Some(payload),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agenthub_sdk::proto::agenthub;

    fn task(state: TaskState) -> a2a::Task {
        a2a::Task {
            id: "t".into(),
            status: Some(status(state)),
            history: vec![a2a::Message::new(a2a::Role::Agent, "words")],
            ..Default::default()
        }
    }

    /// The task with a message of its requester as the last one.
    fn asked(state: TaskState) -> a2a::Task {
        a2a::Task {
            history: vec![a2a::Message::new(a2a::Role::User, "more")],
            ..task(state)
        }
    }

    fn status(state: TaskState) -> a2a::TaskStatus {
        a2a::TaskStatus {
            state: state.into(),
            ..Default::default()
        }
    }

    fn update(state: TaskState) -> Payload {
        Payload::StatusUpdate(agenthub::TaskStatusUpdateEvent {
            task_id: "t".into(),
            status: Some(status(state)),
            ..Default::default()
        })
    }

    #[test]
    fn last_words_that_the_end_repeats_are_known_again() {
        use TaskState::{Completed, Working};
        let said = a2a::Message::new(a2a::Role::Agent, "words");
        let event = |state, message: &a2a::Message| {
            Payload::StatusUpdate(agenthub::TaskStatusUpdateEvent {
                status: Some(a2a::TaskStatus {
                    update: Some(message.clone()),
                    ..status(state)
                }),
                ..Default::default()
            })
        };
        let mut story = Story::new(Until::Terminal);
        story.begin(asked(Working));
        assert!(!story.may_be_repeated());
        let history = vec![said.clone()];
        story.take(Payload::Task(a2a::Task {
            history,
            ..task(Working)
        }));
        assert!(story.may_be_repeated());
        assert!(story.is_repeated_by(&event(Completed, &said)));
        let other = a2a::Message::new(a2a::Role::Agent, "words");
        assert!(!story.is_repeated_by(&event(Completed, &other)));
        assert!(!story.is_repeated_by(&artifact()));
        story.take(update(Working));
        assert!(!story.may_be_repeated());
        assert!(!story.is_repeated_by(&event(Completed, &said)));
    }

    fn artifact() -> Payload {
        Payload::ArtifactUpdate(agenthub::TaskArtifactUpdateEvent::default())
    }

    /// Payloads shown for these events: T task, S status, A artifact, - nothing.
    fn check(until: Until, events: Vec<Payload>, expect: &str, is_over: bool) {
        let mut story = Story::new(until);
        let shown: String = events
            .into_iter()
            .map(|event| match story.take(event).and_then(|s| s.payload) {
                None => '-',
                Some(StreamPayload::Task(_)) => 'T',
                Some(StreamPayload::StatusUpdate(_)) => 'S',
                Some(StreamPayload::ArtifactUpdate(_)) => 'A',
                Some(StreamPayload::Message(_)) => 'M',
            })
            .collect();
        assert_eq!((shown.as_str(), story.is_over()), (expect, is_over));
    }

    /// spec: A2A 1.0.1 §3.1.2
    #[test]
    fn the_task_comes_first_and_the_end_is_the_end() {
        use TaskState::{Completed, Submitted, Working};
        let events = vec![
            update(Working),
            Payload::Task(task(Submitted)),
            update(Working),
            artifact(),
            Payload::Task(asked(Working)),
            update(Completed),
            artifact(),
        ];
        check(Until::Terminal, events, "-TSA-S-", true);
    }

    /// spec: A2A 1.0.1 §11.7
    #[test]
    fn a_question_ends_what_was_sent_but_not_a_subscription() {
        use TaskState::{InputRequired, Submitted};
        let events = || vec![Payload::Task(task(Submitted)), update(InputRequired)];
        check(Until::Interrupted, events(), "TS", true);
        check(Until::Terminal, events(), "TS", false);
        let answered = vec![Payload::Task(task(InputRequired))];
        check(Until::Interrupted, answered, "T", false);
    }

    /// spec: A2A 1.0.1 §3.1.2
    #[test]
    fn a_message_of_the_agent_is_shown_with_the_state_that_there_is() {
        use TaskState::{InputRequired, Working};
        let events = |state| {
            vec![
                Payload::Task(asked(state)),
                Payload::Task(task(state)),
                Payload::Task(asked(state)),
            ]
        };
        check(Until::Terminal, events(Working), "TS-", false);
        check(Until::Interrupted, events(InputRequired), "TS-", false);
        let mut story = Story::new(Until::Terminal);
        story.begin(asked(Working));
        let said = story.take(Payload::Task(task(Working)));
        let Some(StreamPayload::StatusUpdate(update)) = said.and_then(|s| s.payload) else {
            panic!("a status")
        };
        let status = update.status.expect("a status");
        assert_eq!(status.message.expect("a message").parts.len(), 1);
    }

    #[test]
    fn an_answer_without_states_is_a_status() {
        let events = vec![
            Payload::Task(task(TaskState::Submitted)),
            Payload::Task(task(TaskState::Completed)),
        ];
        check(Until::Terminal, events, "TS", true);
        let mut story = Story::new(Until::Terminal);
        story.take(Payload::Task(task(TaskState::Submitted)));
        let shown = story.take(Payload::Task(task(TaskState::Completed)));
        let Some(StreamPayload::StatusUpdate(update)) = shown.and_then(|s| s.payload) else {
            panic!("a status")
        };
        assert!(update.status.and_then(|s| s.message).is_some());
    }
}
