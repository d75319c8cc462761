//! The runs that are on their way to their beginning, and who waits for it.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use agenthub_cortex::{Asked, CORTEX};
use agenthub_sdk::runs::RunId;
use tokio::{
    sync::watch,
    time::{Instant, timeout_at},
};
use uuid::Uuid;

use super::{
    error::Error,
    view::{RunState, RunView},
};

/// How long who starts a run waits for its beginning.
pub(super) const BEGINNING: Duration = Duration::from_secs(5);

/// The most runs that are on their way to their beginning.
const MAX_SUBMITTED: usize = 1_024;

/// The runs that are on their way to their beginning.
#[derive(Clone, Debug, Default)]
pub(super) struct Submitted(Arc<Mutex<HashMap<RunId, Submission>>>);

/// A run that is on its way.
#[derive(Clone, Debug)]
pub(super) struct Submission {
    pub(super) asked: Asked,
    pub(super) thread: String,
    pub(super) task_id: Uuid,
    at_ms: u64,
    stage: watch::Receiver<Stage>,
    /// Until when those wait who want it.
    until: Instant,
}

/// How far a run is on its way.
#[derive(Clone, Debug)]
pub(super) enum Stage {
    /// It is looked up whether it may begin.
    Checked,
    /// The hub is asked for it.
    Sent,
    /// It has begun, then or before, or does not begin.
    Ended(Result<Begun, Error>),
}

/// When a run has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Begun {
    Now,
    /// Under the same key.
    Before,
}

/// A run's place among those that are on their way, until this is dropped.
pub(super) struct Place {
    submitted: Submitted,
    run: RunId,
    stage: watch::Sender<Stage>,
    end: Option<Result<Begun, Error>>,
}

impl Submitted {
    fn lock(&self) -> MutexGuard<'_, HashMap<RunId, Submission>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether no more are taken.
    pub(super) fn is_full(&self) -> bool {
        self.lock().len() >= MAX_SUBMITTED
    }

    /// A run that is on its way.
    pub(super) fn get(&self, run: &RunId) -> Option<Submission> {
        self.lock().get(run).cloned()
    }

    /// The same, as it is shown.
    pub(super) fn view(&self, run: &RunId) -> Option<RunView> {
        self.lock().get(run).map(|s| s.view(run))
    }

    /// All of them.
    pub(super) fn views(&self) -> Vec<RunView> {
        let submitted = self.lock();
        submitted.iter().map(|(run, s)| s.view(run)).collect()
    }

    /// A place for this one, or the one that is on its way under its id already.
    pub(super) fn put(
        &self,
        run: &RunId,
        asked: &Asked,
        task_id: Uuid,
    ) -> Result<(Place, Submission), Box<Submission>> {
        let mut submitted = self.lock();
        if let Some(before) = submitted.get(run) {
            return Err(Box::new(before.clone()));
        }
        let (tell, stage) = watch::channel(Stage::Checked);
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let thread = asked.brief.thread_id.clone();
        let submission = Submission {
            asked: asked.clone(),
            thread: thread.unwrap_or_else(|| task_id.to_string()),
            task_id,
            at_ms: u64::try_from(since.as_millis()).unwrap_or(u64::MAX),
            stage,
            until: Instant::now() + BEGINNING,
        };
        submitted.insert(run.clone(), submission.clone());
        let place = Place {
            submitted: self.clone(),
            run: run.clone(),
            stage: tell,
            end: None,
        };
        Ok((place, submission))
    }
}

impl Place {
    pub(super) fn run(&self) -> &RunId {
        &self.run
    }

    /// It has come this far.
    pub(super) fn reach(&self, stage: Stage) {
        self.stage.send_replace(stage);
    }

    /// It goes no further.
    pub(super) fn end(mut self, end: Result<Begun, Error>) {
        self.end = Some(end);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.submitted.lock().remove(&self.run);
        // Whoever is told finds the place free.
        if let Some(end) = self.end.take() {
            self.stage.send_replace(Stage::Ended(end));
        }
    }
}

impl Submission {
    pub(super) fn view(&self, run: &RunId) -> RunView {
        let brief = &self.asked.brief;
        RunView {
            id: run.to_string(),
            mode: brief.mode.label().to_owned(),
            agent: brief.agent.clone().unwrap_or_else(|| CORTEX.to_owned()),
            thread_id: self.thread.clone(),
            state: RunState::Submitted,
            objective: brief.objective.clone(),
            created_at: self.at_ms,
            ended_at: None,
            phase: String::new(),
            depth: 0,
            tokens: 0,
            tokens_estimated: false,
            calls: 0,
            approvals: Vec::new(),
            result: None,
            error: None,
            task_id: self.task_id.to_string(),
            parent_task_id: String::new(),
            resumes: self.asked.resumes.clone(),
            series: brief.series.clone().unwrap_or_default(),
        }
    }

    /// Waits until it is known to begin or not to, and then until it has begun, or for as long as somebody waits for that.
    ///
    /// # Errors
    ///
    /// It did not begin.
    pub(super) async fn begun(mut self) -> Result<Begun, Error> {
        // Whatever is asked while it is checked has a deadline of its own.
        let known = self
            .stage
            .wait_for(|stage| !matches!(stage, Stage::Checked))
            .await;
        known.map_err(stopping)?;
        let until = self.until;
        match timeout_at(until, self.over()).await {
            Ok(begun) => begun,
            // It is still on its way.
            Err(_) => Ok(Begun::Now),
        }
    }

    /// Waits until it has begun, however long that takes.
    ///
    /// # Errors
    ///
    /// It did not begin.
    pub(super) async fn over(mut self) -> Result<Begun, Error> {
        loop {
            if let Stage::Ended(end) = &*self.stage.borrow_and_update() {
                return end.clone();
            }
            self.stage.changed().await.map_err(stopping)?;
        }
    }
}

fn stopping(_: watch::error::RecvError) -> Error {
    Error::Unavailable("Cortex is about to stop".to_owned())
}
