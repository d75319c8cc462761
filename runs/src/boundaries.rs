//! Boundaries of a step at which tests hold a process, to kill it there.
//!
//! Only a build with the feature `boundaries` holds anything. A step that comes to a boundary looks into the folder that `AGENTHUB_BOUNDARIES`
//! names. Where there is a file `BOUNDARY.TASK`, the step renames it to `BOUNDARY.TASK.held`, and goes on once that file is gone. A second process that
//! reaches the boundary while the file is there is held as well; one that takes the step up when it is gone is not.

use crate::{event::RunEvent, id::RunId};

/// A boundary, behind what its name says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Boundary {
    /// The journal has that the step goes out.
    IntentSaved,
    /// The store of claim checks has what the agent is to get.
    InputStored,
    /// The task is on its topic.
    Published,
    /// The agent has answered.
    ResponseReceived,
    /// The store of claim checks has the answer.
    ObjectStored,
    /// The store of claim checks has the record that the task has a result.
    ResultRecorded,
    /// The result is on its topic.
    ResultPublished,
    /// The result has come from its topic.
    ResultReceived,
    /// The journal has taken the result in.
    ResultTakenIn,
    /// The journal has that the step has ended.
    ResultSaved,
    /// The last message of a run is on its topic. The run stands for the task.
    OutboxSent,
}

/// Waits where a step of this task has come to a boundary, for as long as it is held there.
#[cfg(feature = "boundaries")]
pub async fn reached(boundary: Boundary, task_id: &str) {
    let Some(folder) = std::env::var_os("AGENTHUB_BOUNDARIES") else {
        return;
    };
    let file = std::path::Path::new(&folder).join(format!("{boundary:?}.{task_id}"));
    let held = file.with_added_extension("held");
    let _ = std::fs::rename(file, &held);
    while held.exists() {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

/// Nothing, in this build.
#[cfg(not(feature = "boundaries"))]
pub async fn reached(_: Boundary, _: &str) {}

/// Waits where steps have ended with these events, as [`reached`].
#[cfg(feature = "boundaries")]
pub(crate) async fn saved(run: &RunId, events: &[RunEvent]) {
    for event in events {
        if let RunEvent::StepEnded { step, attempt, .. } = event {
            let key = crate::StepKey {
                run: run.clone(),
                step: step.clone(),
                attempt: *attempt,
            };
            reached(Boundary::ResultSaved, &key.task_id().to_string()).await;
        }
    }
}

/// Nothing, in this build.
#[cfg(not(feature = "boundaries"))]
pub(crate) async fn saved(_: &RunId, _: &[RunEvent]) {}
