//! Shows an answer while it grows.

use std::sync::{Mutex, MutexGuard, PoisonError};

use agenthub_proto::{
    a2a::{Artifact, Part},
    json::to_struct,
};
use serde_json::json;
use tokio::time::{Instant, timeout_at};

use super::growing::Growing;
use crate::{ANSWER_ARTIFACT, ArtifactUpdate, Error, Gathering, TaskContext, model::Deltas};

/// The part of a growing answer that is shown.
pub(super) enum VisiblePart {
    All,
    Nothing,
    /// One text of what is JSON.
    Part(Growing),
}

impl VisiblePart {
    /// The text to show of the answer's growth.
    fn of(&mut self, grown: String) -> Option<String> {
        match self {
            Self::All => Some(grown),
            Self::Nothing => None,
            Self::Part(growing) => growing.add(&grown),
        }
    }
}

/// The text of an answer that was shown. Only who is connected sees it; the whole answer comes with the task's last status.
#[derive(Debug, Default)]
pub(super) struct Growth {
    /// All that the artifact has, unless the process that began it was another one.
    shown: Mutex<String>,
}

impl Growth {
    /// Appends the pieces to the artifact `answer` as they come. Each answer begins the artifact anew.
    pub(super) async fn show(
        &self,
        mut pieces: Deltas,
        task: &TaskContext,
        mut shown: VisiblePart,
    ) {
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
                let appends = std::mem::replace(&mut begun, true);
                if let Err(error) = self.put(&text, appends, task).await {
                    tracing::debug!(%error, "an answer is shown no further");
                    return;
                }
            }
            if is_over {
                return;
            }
        }
    }

    /// Shows what the answer has beyond what was shown, so that in the end the artifact is the answer.
    pub(super) async fn end(&self, answer: &str, task: &TaskContext) {
        let shown = self.lock().clone();
        let (rest, appends) = match answer.strip_prefix(&*shown) {
            Some("") => return,
            Some(rest) if !shown.is_empty() => (rest, true),
            _ => (answer, false),
        };
        if let Err(error) = self.put(rest, appends, task).await {
            tracing::debug!(%error, "an answer's end is not shown");
        }
    }

    /// Takes back what was shown of an answer that broke off: the artifact begins anew, without text and with the metadata `withdrawn`.
    pub(super) async fn withdraw(&self, task: &TaskContext) {
        if self.lock().is_empty() {
            return;
        }
        let withdrawn = Artifact {
            metadata: Some(to_struct(&json!({ "withdrawn": true }))),
            ..artifact("")
        };
        self.lock().clear();
        let update = ArtifactUpdate::new(withdrawn).in_memory();
        if let Err(error) = task.publish_artifact(update).await {
            tracing::debug!(%error, "an answer that broke off is not withdrawn");
        }
    }

    async fn put(&self, text: &str, appends: bool, task: &TaskContext) -> Result<(), Error> {
        let update = ArtifactUpdate::new(artifact(text));
        let update = match appends {
            true => update.append(),
            false => update,
        };
        {
            let mut shown = self.lock();
            if !appends {
                shown.clear();
            }
            shown.push_str(text);
        }
        task.publish_artifact(update.in_memory()).await
    }

    fn lock(&self) -> MutexGuard<'_, String> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn artifact(text: &str) -> Artifact {
    Artifact {
        artifact_id: ANSWER_ARTIFACT.to_owned(),
        parts: vec![Part::text(text)],
        ..Default::default()
    }
}
