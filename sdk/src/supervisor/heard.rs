//! The part of an agent's answer that it has shown, for when there will be no other.

use std::sync::{Mutex, MutexGuard, PoisonError};

use agenthub_proto::a2a::Artifact;
use agenthub_runs::DelegationResult;

use crate::{ANSWER_ARTIFACT, Update, assemble, bounds};

/// The growing answer of an agent.
#[derive(Debug, Default)]
pub(super) struct Heard(Mutex<Vec<Artifact>>);

impl Heard {
    pub(super) fn add(&self, update: &Update) {
        let Update::Artifact(update) = update else {
            return;
        };
        let id = update.artifact.as_ref().map(|a| &*a.artifact_id);
        let mut heard = self.lock();
        let length: usize = heard.iter().map(|a| a.text().len()).sum();
        let has_room = !update.append || length < bounds::MAX_TOLD;
        if id == Some(ANSWER_ARTIFACT) && has_room {
            assemble(&mut heard, update);
        }
    }

    /// The result of the work; where the agent did not come to its end, with what was heard until then.
    pub(super) fn kept(&self, mut ended: DelegationResult) -> DelegationResult {
        let says_nothing = ended.text.is_empty() || ended.text == ended.error;
        if ended.state != "completed" && says_nothing {
            let texts: Vec<String> = self.lock().iter().map(Artifact::text).collect();
            let text = texts.join("\n");
            if !text.trim().is_empty() {
                ended.text = text;
            }
        }
        ended
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Artifact>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agenthub_proto::{a2a::Part, agenthub::TaskArtifactUpdateEvent};

    fn chunk(id: &str, text: &str, append: bool) -> Update {
        Update::Artifact(TaskArtifactUpdateEvent {
            artifact: Some(Artifact {
                artifact_id: id.to_owned(),
                parts: vec![Part::text(text)],
                ..Artifact::default()
            }),
            append,
            ..TaskArtifactUpdateEvent::default()
        })
    }

    fn ended(state: &str, text: &str, error: &str) -> DelegationResult {
        DelegationResult {
            state: state.to_owned(),
            text: text.to_owned(),
            error: error.to_owned(),
            ..DelegationResult::default()
        }
    }

    /// spec: SOP-8.7
    #[test]
    fn what_an_agent_streamed_before_it_failed_is_kept() {
        let heard = Heard::default();
        for update in [
            chunk(ANSWER_ARTIFACT, "I look.", false),
            chunk("other", "no", false),
            chunk(ANSWER_ARTIFACT, "Half ", false),
            chunk(ANSWER_ARTIFACT, "of it", true),
        ] {
            heard.add(&update);
        }
        for (before, after) in [
            (ended("failed", "disk full", "disk full"), "Half of it"),
            (ended("away", "", "gone"), "Half of it"),
            (
                ended("failed", "a durable part", "disk full"),
                "a durable part",
            ),
            (ended("completed", "all", ""), "all"),
        ] {
            assert_eq!(heard.kept(before).text, after);
        }
    }

    #[test]
    fn no_more_is_kept_than_can_be_told() {
        let heard = Heard::default();
        for _ in 0..100 {
            heard.add(&chunk(ANSWER_ARTIFACT, &"x".repeat(4096), true));
        }
        let kept = heard.kept(ended("failed", "", "")).text.len();
        assert!(kept <= bounds::MAX_TOLD + 4096, "{kept}");
    }
}
