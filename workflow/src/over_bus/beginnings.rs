//! Times at which steps began, which stand in their messages.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};

use agenthub_sdk::{
    durable::Journal,
    runs::{RunEvent, RunId, StepRequest, journal::Entry},
};

/// Entries that are read together.
const PAGE: usize = 256;

/// Beginnings of the steps of a run that are about to go out, by their tasks.
#[derive(Debug, Default)]
pub(crate) struct Beginnings(Mutex<HashMap<String, u64>>);

impl Beginnings {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes an entry of the run's journal in.
    pub(crate) fn show(&self, entry: &Entry) {
        if let Some((task_id, at_ms)) = begun(entry) {
            self.lock().insert(task_id.to_owned(), at_ms);
        }
    }

    /// The beginning of a task's step. That of a run which was taken up is in the journal alone.
    pub(crate) async fn of(
        &self,
        task_id: &str,
        run: &RunId,
        journal: &Arc<dyn Journal>,
    ) -> SystemTime {
        let shown = self.lock().remove(task_id);
        let at_ms = match shown {
            Some(at_ms) => Some(at_ms),
            None => in_journal(task_id, run, journal).await,
        };
        at_ms.map_or_else(SystemTime::now, |at_ms| {
            SystemTime::UNIX_EPOCH + Duration::from_millis(at_ms)
        })
    }
}

async fn in_journal(task_id: &str, run: &RunId, journal: &Arc<dyn Journal>) -> Option<u64> {
    let mut after = 0;
    loop {
        let entries = match journal.read(run, after, PAGE).await {
            Ok(entries) => entries,
            Err(error) => {
                tracing::warn!(%run, task_id, %error, "the journal does not say when a step began");
                return None;
            }
        };
        after = entries.last()?.seq;
        let found = entries.iter().filter_map(begun);
        if let Some((_, at_ms)) = found.into_iter().find(|(id, _)| *id == task_id) {
            return Some(at_ms);
        }
    }
}

/// The task that an entry sends out, and when.
fn begun(entry: &Entry) -> Option<(&str, u64)> {
    match &entry.event {
        RunEvent::StepBegun {
            what: StepRequest::Delegated(sent),
            at_ms,
            ..
        } => Some((&sent.task_id, *at_ms)),
        _ => None,
    }
}
