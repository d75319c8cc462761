//! Outcome of a task.

use agenthub_proto::{
    a2a::{Artifact, Message, Part, Task, TaskState, part},
    agenthub::TaskArtifactUpdateEvent,
};
use agenthub_runs::Spent;

use crate::usage;

/// Outcome of a task: its first terminal state, or the first one in which it waits for its requester.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The task.
    pub task_id: String,
    /// The agent that worked on it; empty if nobody did.
    pub agent: String,
    /// Terminal, or `InputRequired` or `AuthRequired`.
    pub state: TaskState,
    /// The result in words: the artifacts' text if there is any, else what came with the state, else the agent's last message. Of
    /// a task that was not completed it is what had come until then.
    pub text: String,
    /// The results, their chunks joined.
    pub artifacts: Vec<Artifact>,
    /// The text that came with the state, or else the agent's last message.
    pub message: Option<Message>,
    /// The reason why the task was not completed, in the words of the agent or the hub; empty if it was.
    pub error: String,
    /// Usage of the task; nothing where its agent does not tell.
    pub spent: Option<Spent>,
    /// The model that the agent thought with, as `provider/model`; empty where it does not tell.
    pub model: String,
}

impl Outcome {
    /// True if the agent did what it was asked.
    pub fn is_completed(&self) -> bool {
        self.state == TaskState::Completed
    }

    /// The outcome that a task in this state has.
    pub fn of(task: &Task) -> Self {
        let state = task.state();
        let update = task.status.as_ref().and_then(|s| s.update.clone());
        let error = match state {
            TaskState::Completed => String::new(),
            _ => match update.as_ref().map(Message::text) {
                Some(text) if !text.is_empty() => text,
                _ => format!("the task is {}", state.label()),
            },
        };
        let last_message = || {
            let agent = agenthub_proto::a2a::Role::Agent;
            task.history.iter().rev().find(|m| m.role() == agent)
        };
        Self {
            task_id: task.id.clone(),
            agent: task.assignee().to_owned(),
            state,
            text: task.outcome_text(),
            artifacts: task.artifacts.clone(),
            message: update.or_else(|| last_message().cloned()),
            error,
            spent: usage::spent(task.metadata.as_ref()),
            model: usage::model(task.metadata.as_ref()),
        }
    }
}

/// Adds an artifact, or a chunk of one, to those there are. Text that is appended to text continues it.
pub fn assemble(artifacts: &mut Vec<Artifact>, update: &TaskArtifactUpdateEvent) {
    let Some(artifact) = &update.artifact else {
        return;
    };
    let known = artifacts
        .iter_mut()
        .find(|a| a.artifact_id == artifact.artifact_id);
    match known {
        None => artifacts.push(artifact.clone()),
        Some(known) if update.append => {
            for part in &artifact.parts {
                append(&mut known.parts, part);
            }
        }
        Some(known) => known.clone_from(artifact),
    }
}

fn append(parts: &mut Vec<Part>, part: &Part) {
    use part::Part::Text;
    match (parts.last_mut(), &part.part) {
        (
            Some(Part {
                part: Some(Text(known)),
                metadata,
            }),
            Some(Text(more)),
        ) if *metadata == part.metadata => {
            known.push_str(more);
        }
        _ => parts.push(part.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agenthub_proto::a2a::{Role, TaskStatus};

    fn chunk(id: &str, text: &str, append: bool) -> TaskArtifactUpdateEvent {
        TaskArtifactUpdateEvent {
            artifact: Some(Artifact {
                artifact_id: id.into(),
                parts: vec![Part::text(text)],
                ..Default::default()
            }),
            append,
            ..Default::default()
        }
    }

    #[test]
    fn chunks_join_and_a_whole_artifact_replaces_them() {
        let mut artifacts = Vec::new();
        for update in [
            chunk("a", "Hel", false),
            chunk("b", "other", false),
            chunk("a", "lo", true),
        ] {
            assemble(&mut artifacts, &update);
        }
        let texts: Vec<String> = artifacts.iter().map(Artifact::text).collect();
        assert_eq!(texts, ["Hello", "other"]);

        assemble(&mut artifacts, &chunk("a", "again", false));
        assert_eq!(artifacts[0].text(), "again");
    }

    #[test]
    fn a_failure_has_the_agents_words() {
        let task = Task {
            id: "t".into(),
            status: Some(TaskStatus {
                state: TaskState::Failed.into(),
                update: Some(Message::new(Role::Agent, "disk full")),
                timestamp: None,
            }),
            ..Default::default()
        };
        let outcome = Outcome::of(&task);
        assert_eq!(outcome.error, "disk full");
        assert!(!outcome.is_completed());
    }
}
