//! Runs that come: they are asked for, and their journal does not have their beginning yet.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use agenthub_sdk::{Error as HubError, Failure, runs::RunId};
use tokio::{
    sync::watch,
    time::{Instant, timeout_at},
};
use uuid::Uuid;

use super::LiveRuns;
use crate::{asked::Asked, brief::Faults};

/// Time that whoever starts a run waits for its beginning.
const BEGINNING: Duration = Duration::from_secs(5);

/// The most runs that come at one time.
const MAX_COMING: usize = 1_024;

/// A run that comes.
#[derive(Clone, Debug)]
pub struct Coming {
    /// The request.
    pub asked: Asked,
    /// Its thread.
    pub thread: String,
    /// Its task, and the message of that.
    pub task_id: Uuid,
    /// Time of the request, in milliseconds since 1970.
    pub at_ms: u64,
    stage: watch::Receiver<Stage>,
    /// Time until which its requesters wait.
    until: Instant,
}

/// The way of a run to its beginning.
#[derive(Clone, Debug)]
pub(crate) enum Stage {
    /// Being checked.
    Checked,
    /// Being written down.
    Sent,
    /// Has begun, or does not.
    Ended(Result<Begun, StartError>),
}

/// Beginning of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begun {
    /// By this request.
    Now,
    /// Earlier, under the same key.
    Before,
}

/// The reason why a run does not begin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    /// The brief does not keep to its bounds.
    #[error(transparent)]
    Invalid(#[from] Faults),
    /// Another run of the thread is active.
    #[error("run {run} of thread {thread:?} is active")]
    ThreadBusy {
        /// The thread.
        thread: String,
        /// The run.
        run: RunId,
    },
    /// The idempotency key is that of another request.
    #[error("the idempotency key {key:?} was used for run {run}")]
    KeyReused {
        /// The key.
        key: String,
        /// The run that it started.
        run: RunId,
    },
    /// Cortex does not take the run.
    #[error("{0}")]
    Refused(Failure),
    /// A quota of the principal is used up.
    #[error("{reason}")]
    OverQuota {
        /// The quota, and when to come back.
        reason: String,
        /// Time after which there is room, if that is known.
        retry_after: Option<Duration>,
    },
    /// The hub has another message under its id.
    #[error("{0}")]
    Conflict(String),
    /// Not possible at the moment.
    #[error("{0}")]
    Unavailable(String),
}

impl From<HubError> for StartError {
    fn from(error: HubError) -> Self {
        match error {
            HubError::OverQuota {
                reason,
                retry_after,
            } => Self::OverQuota {
                reason,
                retry_after,
            },
            HubError::Conflict(why) => Self::Conflict(why),
            error => Self::Unavailable(error.to_string()),
        }
    }
}

/// The place of a run among those that come, until this is dropped.
pub(crate) struct Place {
    live: LiveRuns,
    run: RunId,
    stage: watch::Sender<Stage>,
    end: Option<Result<Begun, StartError>>,
}

impl LiveRuns {
    /// A run that comes.
    pub fn coming(&self, run: &RunId) -> Option<Coming> {
        self.lock().runs.get(run)?.coming.clone()
    }

    /// All runs that come, 1,024 at most.
    pub fn all_coming(&self) -> Vec<(RunId, Coming)> {
        let state = self.lock();
        let coming = state.coming.iter().filter_map(|run| {
            let coming = state.runs.get(run)?.coming.clone()?;
            Some((run.clone(), coming))
        });
        coming.collect()
    }

    /// Lets a run come. Where one comes already under its id, that one is returned, without a place.
    ///
    /// # Errors
    ///
    /// [`StartError::Unavailable`] where too many come.
    pub(crate) fn come(
        &self,
        run: &RunId,
        asked: &Asked,
        task_id: Uuid,
    ) -> Result<(Option<Place>, Coming), StartError> {
        let mut state = self.lock();
        if let Some(before) = state.runs.get(run).and_then(|live| live.coming.clone()) {
            return Ok((None, before));
        }
        if state.coming.len() >= MAX_COMING {
            let why = "too many runs are on their way to their beginning";
            return Err(StartError::Unavailable(why.to_owned()));
        }
        let (tell, stage) = watch::channel(Stage::Checked);
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let thread = asked.brief.thread_id.clone();
        let coming = Coming {
            asked: asked.clone(),
            thread: thread.unwrap_or_else(|| task_id.to_string()),
            task_id,
            at_ms: u64::try_from(since.as_millis()).unwrap_or(u64::MAX),
            stage,
            until: Instant::now() + BEGINNING,
        };
        state.run(run).coming = Some(coming.clone());
        state.coming.insert(run.clone());
        let place = Place {
            live: self.clone(),
            run: run.clone(),
            stage: tell,
            end: None,
        };
        Ok((Some(place), coming))
    }
}

impl Place {
    pub(crate) fn run(&self) -> &RunId {
        &self.run
    }

    /// Notes how far it has come.
    pub(crate) fn reach(&self, stage: Stage) {
        self.stage.send_replace(stage);
    }

    /// Ends its way.
    pub(crate) fn end(mut self, end: Result<Begun, StartError>) {
        self.end = Some(end);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.live.lock();
        state.coming.remove(&self.run);
        if let Some(live) = state.runs.get_mut(&self.run) {
            live.coming = None;
        }
        state.settle(&self.run);
        drop(state);
        // Whoever is told finds the place free.
        if let Some(end) = self.end.take() {
            self.stage.send_replace(Stage::Ended(end));
        }
    }
}

impl Coming {
    /// Waits until it is known to begin or not to, and then until it has begun, or until 5 s after it was asked for.
    ///
    /// # Errors
    ///
    /// It does not begin.
    pub async fn begun(mut self) -> Result<Begun, StartError> {
        // Whatever is asked while it is checked has a deadline of its own.
        let known = self
            .stage
            .wait_for(|stage| !matches!(stage, Stage::Checked))
            .await;
        known.map_err(stopping)?;
        let until = self.until;
        match timeout_at(until, self.over()).await {
            Ok(begun) => begun,
            // It still comes.
            Err(_) => Ok(Begun::Now),
        }
    }

    /// Waits until it has begun, however long that takes.
    ///
    /// # Errors
    ///
    /// It does not begin.
    pub async fn over(mut self) -> Result<Begun, StartError> {
        loop {
            if let Stage::Ended(end) = &*self.stage.borrow_and_update() {
                return end.clone();
            }
            self.stage.changed().await.map_err(stopping)?;
        }
    }
}

fn stopping(_: watch::error::RecvError) -> StartError {
    StartError::Unavailable("Cortex is about to stop".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::brief::Brief;

    fn asked() -> Asked {
        Asked {
            brief: Brief::default(),
            key: Some("k".to_owned()),
            resumes: None,
            on_behalf_of: String::new(),
            trace: None,
        }
    }

    #[tokio::test]
    async fn a_run_comes_once_and_everybody_hears_how_that_ends() {
        let (live, run) = (LiveRuns::default(), RunId::new("r"));
        let (place, first) = live
            .come(&run, &asked(), Uuid::nil())
            .expect("there is room");
        let (none, second) = live
            .come(&run, &asked(), Uuid::nil())
            .expect("there is room");
        assert!(none.is_none(), "it comes already");
        assert_eq!(live.all_coming().len(), 1);
        let refused = StartError::Refused(Failure::rejected("no"));
        place.expect("it is the first").end(Err(refused.clone()));
        assert_eq!(first.begun().await, Err(refused.clone()));
        assert_eq!(second.over().await, Err(refused));
        assert!(live.all_coming().is_empty() && live.lock().runs.is_empty());
    }

    #[tokio::test]
    async fn so_many_come_at_one_time_and_no_more() {
        let live = LiveRuns::default();
        let come = |number: usize| {
            let run = RunId::new(number.to_string());
            live.come(&run, &asked(), Uuid::nil())
        };
        let places: Result<Vec<_>, _> = (0..MAX_COMING).map(come).collect();
        let mut places = places.expect("there is room");
        let full = come(MAX_COMING).map(drop);
        assert!(matches!(full, Err(StartError::Unavailable(_))), "{full:?}");
        places.pop();
        come(MAX_COMING).expect("there is room again");
    }
}
