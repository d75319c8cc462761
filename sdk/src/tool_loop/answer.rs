//! Shows an answer while it grows.

use agenthub_proto::a2a::{Artifact, Part};
use tokio::time::{Instant, timeout_at};

use super::growing::Growing;
use crate::{ANSWER_ARTIFACT, ArtifactUpdate, Gathering, TaskContext, model::Deltas};

/// What is shown of an answer.
pub(super) enum Shown {
    All,
    Nothing,
    /// One text of what is JSON.
    Part(Growing),
}

impl Shown {
    /// What there is to show of what the answer has grown by.
    fn of(&mut self, grown: String) -> Option<String> {
        match self {
            Self::All => Some(grown),
            Self::Nothing => None,
            Self::Part(growing) => growing.add(&grown),
        }
    }
}

/// Appends the pieces to the artifact `answer` as they come. Only who is connected sees them; the whole answer comes with the task's
/// last status. Each answer begins the artifact anew.
pub(super) async fn show(mut pieces: Deltas, task: &TaskContext, mut shown: Shown) {
    let mut gathering = Gathering::default();
    let mut begun = false;
    loop {
        let next = match gathering.due() {
            None => Ok(pieces.next().await),
            Some(due) => timeout_at(due, pieces.next()).await,
        };
        let (ready, is_over) = match next {
            Ok(Some(piece)) => (gathering.add(&piece, Instant::now()), false),
            Ok(None) => (gathering.take(), true),
            Err(_) => (gathering.take(), false),
        };
        if let Some(text) = ready.and_then(|grown| shown.of(grown)) {
            let update = ArtifactUpdate::new(Artifact {
                artifact_id: ANSWER_ARTIFACT.to_owned(),
                parts: vec![Part::text(text)],
                ..Default::default()
            });
            let update = match std::mem::replace(&mut begun, true) {
                true => update.append(),
                false => update,
            };
            if let Err(error) = task.publish_artifact(update.in_memory()).await {
                tracing::debug!(%error, "an answer is shown no further");
                return;
            }
        }
        if is_over {
            return;
        }
    }
}
