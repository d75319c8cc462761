//! A delegated task as the fold of the events that came back.

use agenthub_proto::{
    a2a::{Role, Task, TaskState, TaskStatus},
    agenthub::{AgentEvent, TaskStatusUpdateEvent, agent_event::Payload},
};
use agenthub_runs::Spent;

use super::Update;
use crate::{Outcome, agent::is_of_sdk, outcome::assemble, usage};

/// State of a delegated task.
#[derive(Debug)]
pub(super) struct Fold {
    task: Task,
    /// The agent that was asked; empty if the hub chose.
    asked: String,
    agent: String,
    spent: Option<Spent>,
    model: String,
    /// The task has ended, and its artifact may follow.
    ended_early: bool,
}

/// Effect of an event on who waits for the outcome.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Ending {
    /// No end.
    No,
    /// An end, unless an artifact follows soon.
    Perhaps(Outcome),
    /// The end.
    Yes(Outcome),
}

impl Fold {
    /// State before the first event. `asked` is the agent's id, or `id@version`, or empty.
    pub(super) fn new(task_id: &str, asked: &str) -> Self {
        let asked = asked.split('@').next().unwrap_or_default().to_owned();
        Self {
            task: Task {
                id: task_id.to_owned(),
                ..Default::default()
            },
            agent: asked.clone(),
            asked,
            spent: None,
            model: String::new(),
            ended_early: false,
        }
    }

    /// Takes an event of the task in. Returns what to show, and whether this was the outcome.
    pub(super) fn apply(&mut self, event: &AgentEvent) -> (Option<Update>, Ending) {
        match &event.payload {
            Some(Payload::StatusUpdate(update)) => {
                self.note_agent(event, update.status.as_ref());
                self.task.status.clone_from(&update.status);
                self.spent = usage::spent(update.metadata.as_ref());
                self.model = usage::model(update.metadata.as_ref());
                let state = self.task.state();
                self.ended_early = self.is_early(event, update);
                let ending = match state.is_terminal() || state.is_interrupted() {
                    true if self.ended_early => Ending::Perhaps(self.outcome()),
                    true => Ending::Yes(self.outcome()),
                    false => Ending::No,
                };
                (Some(Update::Status(update.clone())), ending)
            }
            Some(Payload::ArtifactUpdate(update)) => {
                // What may be lost is no part of the task, so that every way to its outcome gives the same.
                if !event.position.is_empty() {
                    assemble(&mut self.task.artifacts, update);
                }
                let ending = match self.ended_early && update.last_chunk {
                    true => Ending::Yes(self.outcome()),
                    false => Ending::No,
                };
                (Some(Update::Artifact(update.clone())), ending)
            }
            Some(Payload::Message(message)) => {
                if !self.asked.is_empty() && event.sender() != self.asked {
                    return (None, Ending::No);
                }
                self.task.history.push(message.clone());
                // Where that was the answer, the hub completes the task.
                if self.agent.is_empty() && message.role() == Role::Agent {
                    event.sender().clone_into(&mut self.agent);
                }
                (Some(Update::Message(message.clone())), Ending::No)
            }
            Some(Payload::Task(_) | Payload::AgentCard(_)) | None => (None, Ending::No),
        }
    }

    /// Agents of other libraries may say that a task is completed and send its artifact after that; those of this SDK never do, and say in each
    /// status what they are. The hub's own word is the last one.
    fn is_early(&self, event: &AgentEvent, update: &TaskStatusUpdateEvent) -> bool {
        self.task.state() == TaskState::Completed
            && self.task.artifacts.is_empty()
            && !event.sender().is_empty()
            && !is_of_sdk(update)
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
            model: self.model.clone(),
            ..Outcome::of(&self.task)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::AGENT_TYPE;
    use agenthub_proto::{
        a2a::{Artifact, Message, Part},
        agenthub::{AgentEventMetadata, TaskArtifactUpdateEvent, TaskStatusUpdateEvent},
        json,
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
        let mut fold = Fold::new("t", "worker@1.0.0");
        let mut endings = events.iter().map(|event| fold.apply(event).1).enumerate();
        endings.find_map(|(n, ending)| match ending {
            Ending::Yes(outcome) => Some((n + 1, outcome)),
            Ending::Perhaps(_) | Ending::No => None,
        })
    }

    /// A status as an agent of this SDK sends it.
    fn of_sdk(status: AgentEvent) -> AgentEvent {
        let Some(Payload::StatusUpdate(mut update)) = status.payload else {
            panic!("{status:?}");
        };
        update.metadata = Some(json::to_struct(&serde_json::json!({AGENT_TYPE: "worker"})));
        AgentEvent {
            payload: Some(Payload::StatusUpdate(update)),
            ..status
        }
    }

    /// spec: HUB-5.3
    #[test]
    fn an_artifact_may_follow_the_end() {
        let completed = || status(TaskState::Completed, "Task completed");
        let mut late = chunk("Echo: hi");
        if let Some(Payload::ArtifactUpdate(update)) = &mut late.payload {
            update.last_chunk = true;
        }
        let mut fold = Fold::new("t", "worker");
        let Ending::Perhaps(outcome) = fold.apply(&completed()).1 else {
            panic!("an artifact may follow");
        };
        assert_eq!(outcome.text, "Task completed", "if none does");
        let Ending::Yes(outcome) = fold.apply(&late).1 else {
            panic!("it has followed");
        };
        assert_eq!(outcome.text, "Echo: hi");
        assert!(outcome.is_completed());

        let (n, _) = outcome_of(&[of_sdk(completed())]);
        assert_eq!(n, 1, "agents of this SDK send it before");
        let (n, _) = outcome_of(&[late, completed()]);
        assert_eq!(n, 2, "it was there");
        let mut of_hub = completed();
        of_hub.routing = None;
        assert_eq!(outcome_of(&[of_hub]).0, 1, "the hub sends none");
        let failed = status(TaskState::Failed, "no");
        assert_eq!(outcome_of(&[failed]).0, 1, "none is expected");
    }

    fn outcome_of(events: &[AgentEvent]) -> (usize, Outcome) {
        outcome(events).expect("it has ended")
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
        let mut fold = Fold::new("t", "worker");
        let mut lossy = chunk("Hel");
        lossy.position.clear();
        assert!(matches!(fold.apply(&lossy).0, Some(Update::Artifact(_))));
        let ending = fold.apply(&of_sdk(status(TaskState::Completed, "Hello"))).1;
        let Ending::Yes(outcome) = ending else {
            panic!("it completed: {ending:?}");
        };
        assert_eq!(
            (outcome.text.as_str(), outcome.artifacts.len()),
            ("Hello", 0)
        );
    }

    #[test]
    fn an_agent_without_states_answers_with_a_message() {
        let mut completed = status(TaskState::Completed, "Echo: hi");
        completed.routing = None;
        let (n, outcome) = outcome_of(&[message("Echo: hi"), completed]);
        assert_eq!((n, outcome.text.as_str()), (2, "Echo: hi"));
        assert!(outcome.is_completed());
        assert_eq!(outcome.agent, "worker");
    }

    #[test]
    fn what_is_said_on_the_way_is_no_outcome() {
        let (n, outcome) =
            outcome_of(&[message("on it"), of_sdk(status(TaskState::Completed, "42"))]);
        assert_eq!((n, outcome.text.as_str()), (2, "42"));
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
