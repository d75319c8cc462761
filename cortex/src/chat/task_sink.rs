//! Frames on the task that they belong to.

use agenthub_proto::{
    a2a::{Artifact, Part},
    cortex::Frame as Wire,
    json,
};
use agenthub_sdk::{ArtifactUpdate, TaskContext, TaskUpdate, internal::ANSWER_ARTIFACT};
use async_trait::async_trait;
use serde_json::{Value, json};

use super::frame_feed::FrameSink;
use crate::frame::{self, Frame};

/// Text goes into the artifact `answer`, which whoever is connected sees grow; the task keeps the whole answer in its last
/// status. Everything else is a status update whose metadata has the frame.
pub(crate) struct TaskSink {
    task: TaskContext,
}

impl TaskSink {
    /// The sink of this message's task, if it has one.
    pub(crate) fn of(context: &TaskContext) -> Option<Self> {
        let has_task = !context.task_id().is_empty();
        has_task.then(|| Self {
            task: context.clone(),
        })
    }
}

#[async_trait]
impl FrameSink for TaskSink {
    async fn show(&mut self, frame: &Frame, wire: Wire) -> bool {
        let metadata = frame::metadata(&wire);
        let shown = match frame {
            Frame::Delta { text, append } => {
                let update = chunk(text, *append, metadata);
                self.task.publish_artifact(update).await
            }
            frame => {
                let line = match frame {
                    // It is in the artifact, and in the last status.
                    Frame::Message(_) | Frame::Complete(..) => String::new(),
                    frame => frame.line(),
                };
                let update = TaskUpdate::new(line).metadata("frame", metadata);
                self.task.publish_update(update).await
            }
        };
        if let Err(error) = &shown {
            tracing::debug!(%error, frame = frame.kind(), "a frame could not be shown");
        }
        shown.is_ok()
    }
}

fn chunk(text: &str, append: bool, mut frame: Value) -> ArtifactUpdate {
    if let Some(fields) = frame.as_object_mut() {
        // The text is in the artifact.
        fields.remove("message");
    }
    let update = ArtifactUpdate::new(Artifact {
        artifact_id: ANSWER_ARTIFACT.to_owned(),
        parts: vec![Part::text(text)],
        metadata: Some(json::to_struct(&json!({ "frame": frame }))),
        ..Default::default()
    })
    .in_memory();
    match append {
        true => update.append(),
        false => update,
    }
}
