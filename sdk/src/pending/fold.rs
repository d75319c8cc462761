//! A delegated task as the fold of the events that came back.

use agenthub_proto::{
    a2a::{Message, Role, Task, TaskState, TaskStatus},
    agenthub::{AgentEvent, agent_event::Payload},
};
use agenthub_runs::Spent;

use super::Update;
use crate::{Outcome, outcome::assemble, usage};

/// What is known of a delegated task.
#[derive(Debug)]
pub(super) struct Fold {
    task: Task,
    /// Who was asked; empty if the hub chose.
    asked: String,
    agent: String,
    has_status: bool,
    spent: Option<Spent>,
}

impl Fold {
    /// Nothing yet. `asked` is the agent's id, or `id@version`, or empty. `is_known` says that what came before this is not here to see,
    /// so that a message need not be the agent's first word.
    pub(super) fn new(task_id: &str, asked: &str, is_known: bool) -> Self {
        let asked = asked.split('@').next().unwrap_or_default().to_owned();
        Self {
            task: Task {
                id: task_id.to_owned(),
                ..Default::default()
            },
            agent: asked.clone(),
            asked,
            has_status: is_known,
            spent: None,
        }
    }

    /// Takes an event of the task in. Returns what to show, and the outcome if this was it.
    pub(super) fn apply(&mut self, event: &AgentEvent) -> (Option<Update>, Option<Outcome>) {
        match &event.payload {
            Some(Payload::StatusUpdate(update)) => {
                self.has_status = true;
                self.note_agent(event, update.status.as_ref());
                self.task.status.clone_from(&update.status);
                self.spent = usage::spent(update.metadata.as_ref());
                let state = self.task.state();
                let ended = state.is_terminal() || state.is_interrupted();
                let outcome = ended.then(|| self.outcome());
                (Some(Update::Status(update.clone())), outcome)
            }
            Some(Payload::ArtifactUpdate(update)) => {
                // What may be lost is no part of the task, so that every way to its outcome gives the same.
                if !event.position.is_empty() {
                    assemble(&mut self.task.artifacts, update);
                }
                (Some(Update::Artifact(update.clone())), None)
            }
            Some(Payload::Message(message)) => {
                if !self.asked.is_empty() && event.sender() != self.asked {
                    return (None, None);
                }
                self.task.history.push(message.clone());
                let outcome = self.is_answer(message).then(|| {
                    self.agent = event.sender().to_owned();
                    self.task.status = Some(TaskStatus {
                        state: TaskState::Completed.into(),
                        ..Default::default()
                    });
                    self.outcome()
                });
                (Some(Update::Message(message.clone())), outcome)
            }
            Some(Payload::Task(_) | Payload::AgentCard(_)) | None => (None, None),
        }
    }

    /// An agent that reports no states answers with a message, and the hub completes the task.
    fn is_answer(&self, message: &Message) -> bool {
        !self.has_status && message.role() == Role::Agent
    }

    /// Statuses that the hub makes itself (a deadline, a cancellation) don't say who worked.
    fn note_agent(&mut self, event: &AgentEvent, status: Option<&TaskStatus>) {
        let working = status.is_some_and(|s| s.state() == TaskState::Working);
        if !event.sender().is_empty() && (self.agent.is_empty() || working) {
            event.sender().clone_into(&mut self.agent);
        }
    }

    fn outcome(&self) -> Outcome {
        Outcome {
            agent: self.agent.clone(),
            spent: self.spent,
            ..Outcome::of(&self.task)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agenthub_proto::{
        a2a::{Artifact, Part},
        agenthub::{AgentEventMetadata, TaskArtifactUpdateEvent, TaskStatusUpdateEvent},
    };

    fn event(payload: Payload) -> AgentEvent {
        AgentEvent {
            payload: Some(payload),
            position: "p".into(),
            routing: Some(AgentEventMetadata {
                from_agent_id: "worker".into(),
                ..Default::default()
            }),
            ..Default::default()
        }
    }

    fn status(state: TaskState, text: &str) -> AgentEvent {
        let update = (!text.is_empty()).then(|| Message::new(Role::Agent, text));
        event(Payload::StatusUpdate(TaskStatusUpdateEvent {
            status: Some(TaskStatus {
                state: state.into(),
                update,
                timestamp: None,
            }),
            ..Default::default()
        }))
    }

    fn message(text: &str) -> AgentEvent {
        event(Payload::Message(Message::new(Role::Agent, text)))
    }

    fn chunk(text: &str) -> AgentEvent {
        event(Payload::ArtifactUpdate(TaskArtifactUpdateEvent {
            artifact: Some(Artifact {
                artifact_id: "a".into(),
                parts: vec![Part::text(text)],
                ..Default::default()
            }),
            append: true,
            ..Default::default()
        }))
    }

    /// Folds the events; returns how many had come when the outcome was there, and the outcome.
    fn outcome(events: &[AgentEvent]) -> Option<(usize, Outcome)> {
        let mut fold = Fold::new("t", "worker@1.0.0", false);
        events
            .iter()
            .enumerate()
            .find_map(|(n, event)| fold.apply(event).1.map(|outcome| (n + 1, outcome)))
    }

    #[test]
    fn the_terminal_status_decides() {
        let (n, outcome) = outcome(&[
            status(TaskState::Working, ""),
            message("thinking"),
            chunk("Hel"),
            chunk("lo"),
            status(TaskState::Completed, "done"),
        ])
        .expect("it completed");
        assert_eq!(n, 5);
        assert_eq!(outcome.text, "Hello");
        assert_eq!(outcome.agent, "worker");
        assert_eq!(outcome.message.map(|m| m.text()), Some("done".into()));
        assert_eq!(outcome.artifacts.len(), 1);
    }

    #[test]
    fn what_may_be_lost_is_shown_but_is_no_result() {
        let mut fold = Fold::new("t", "worker", false);
        let mut lossy = chunk("Hel");
        lossy.position.clear();
        assert!(matches!(fold.apply(&lossy).0, Some(Update::Artifact(_))));
        let (_, outcome) = fold.apply(&status(TaskState::Completed, "Hello"));
        let outcome = outcome.expect("it completed");
        assert_eq!(
            (outcome.text.as_str(), outcome.artifacts.len()),
            ("Hello", 0)
        );
    }

    #[test]
    fn an_agent_without_states_answers_with_a_message() {
        let (n, outcome) = outcome(&[message("Echo: hi"), message("more")]).expect("it answered");
        assert_eq!((n, outcome.text.as_str()), (1, "Echo: hi"));
        assert!(outcome.is_completed());
    }

    #[test]
    fn a_question_is_an_outcome_and_a_stranger_is_not() {
        let mut stranger = message("psst");
        stranger.routing = Some(AgentEventMetadata {
            from_agent_id: "stranger".into(),
            ..Default::default()
        });
        let (n, outcome) =
            outcome(&[stranger, status(TaskState::InputRequired, "which?")]).expect("it asked");
        assert_eq!((n, outcome.state), (2, TaskState::InputRequired));
        assert_eq!(outcome.error, "which?");
    }
}
