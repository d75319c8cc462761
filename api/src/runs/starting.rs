//! How a run begins: once for each idempotency key, one at a time in each thread.

use std::sync::Arc;

use agenthub_cortex::{Active, Asked, CORTEX, brief::Constraints, capabilities};
use agenthub_sdk::{
    Agent, Error as HubError,
    durable::BeginError,
    runs::{
        RunEvent, RunId,
        journal::{Filter, State},
    },
};
use tokio::time::timeout_at;

use super::{
    Inner,
    error::Error,
    submitted::{Begun, Place, Stage, Submission},
    view::StartedRun,
};

impl Inner {
    /// Starts a run, or finds the one that was started under the same key.
    pub(super) async fn begin(self: &Arc<Self>, asked: Asked) -> Result<StartedRun, Error> {
        let task_id = asked.task_id();
        let run = Asked::run_of(task_id);
        if self.submitted.is_full() {
            let why = "too many runs are on their way to their beginning";
            return Err(Error::Unavailable(why.to_owned()));
        }
        let (is_mine, submission) = loop {
            match self.submitted.put(&run, &asked, task_id) {
                Ok((place, submission)) => {
                    self.bring(place, submission.clone());
                    break (true, submission);
                }
                Err(before) => match reused(&run, &asked, &before.asked) {
                    Ok(()) => break (false, *before),
                    // That one may be the one that has the key wrongly.
                    Err(error) => {
                        if before.begun().await.is_ok() {
                            return Err(error);
                        }
                    }
                },
            }
        };
        let shown = submission.view(&run);
        let begun = submission.begun().await?;
        let run = match self.get(run.as_str()).await {
            Err(Error::NotFound { .. }) => shown,
            run => run?,
        };
        let is_new = is_mine && begun == Begun::Now;
        Ok(StartedRun { run, is_new })
    }

    /// Brings a run to its beginning, whether or not anybody waits for that.
    fn bring(self: &Arc<Self>, place: Place, submission: Submission) {
        let inner = Arc::clone(self);
        self.cortex.keep(async move {
            let run = place.run().clone();
            match inner.checked(&run, &submission).await {
                Ok(Some(active)) => {
                    place.reach(Stage::Sent);
                    let end = inner.hand_in(&run, &submission).await;
                    place.end(end.map(|()| Begun::Now));
                    drop(active);
                }
                Ok(None) => place.end(Ok(Begun::Before)),
                Err(error) => place.end(Err(error)),
            }
        });
    }

    /// Its hold of its thread, if it may begin; none if it has begun before.
    async fn checked(&self, run: &RunId, submission: &Submission) -> Result<Option<Active>, Error> {
        let asked = &submission.asked;
        if asked.key.is_some()
            && let Some(before) = self.asked_before(run).await?
        {
            reused(run, asked, &before)?;
            return Ok(None);
        }
        self.approvals_are_offered(&asked.brief.constraints).await?;
        self.take_thread(&submission.thread, run).await.map(Some)
    }

    /// Whether somebody offers what a person has to allow, here or away. Who may be about to come back with Cortex is waited for.
    ///
    /// # Errors
    ///
    /// An approval names what nobody offers.
    async fn approvals_are_offered(&self, constraints: &Constraints) -> Result<(), Error> {
        if constraints.approvals.is_empty() {
            return Ok(());
        }
        let directory = self.cortex.client().directory();
        let mut changed = directory.changed();
        let until = self.cortex.returning_until();
        loop {
            changed.mark_unchanged();
            let known = directory.all();
            let cards: Vec<_> = known.into_iter().map(|entry| entry.card).collect();
            let offered = capabilities(&cards);
            let named = constraints.names_offered(offered.iter().map(String::as_str));
            let Err(fault) = named else {
                return Ok(());
            };
            if !matches!(timeout_at(until, changed.changed()).await, Ok(Ok(()))) {
                // Without Cortex in it the view is not there yet, and nothing can be told.
                return match directory.get(CORTEX) {
                    Some(_) => Err(fault.into()),
                    None => Ok(()),
                };
            }
        }
    }

    /// Waits for the beginning of a run that is on its way: until 5 s after it was asked for, and then in what is returned.
    ///
    /// # Errors
    ///
    /// It does not begin.
    pub(super) async fn beginning(
        &self,
        run: &RunId,
    ) -> Result<Option<impl Future<Output = Result<(), Error>> + Send + 'static + use<>>, Error>
    {
        let submission = self.submitted.get(run);
        if let Some(submission) = submission {
            submission.begun().await?;
        }
        let late = self.submitted.get(run);
        Ok(late.map(|late| async { late.over().await.map(drop) }))
    }

    /// What the run that has this id was asked for, if there is one.
    async fn asked_before(&self, run: &RunId) -> Result<Option<Asked>, Error> {
        let first = self.home.read(run, 0, 1).await?.into_iter().next();
        let Some(first) = first else {
            return Ok(None);
        };
        let RunEvent::Started(started) = &first.event else {
            return Ok(None);
        };
        let message = Agent::message_of(started);
        Ok(message.as_ref().and_then(Asked::of))
    }

    /// Makes the run the active one of its thread.
    async fn take_thread(&self, thread: &str, run: &RunId) -> Result<Active, Error> {
        let busy = |other: &RunId| Error::ThreadBusy {
            thread: thread.to_owned(),
            run: other.to_string(),
        };
        let threads = self.cortex.threads();
        let active = match threads.take(thread, run) {
            Ok(active) => active,
            Err(other) => {
                let is_over = match self.get(other.as_str()).await {
                    Ok(other) => other.state.is_over(),
                    Err(Error::NotFound { .. }) => false,
                    Err(error) => return Err(error),
                };
                if !is_over {
                    return Err(busy(&other));
                }
                threads.is_over(thread, &other);
                threads.take(thread, run).map_err(|other| busy(&other))?
            }
        };
        let filter = Filter {
            owner: Some(CORTEX.to_owned()),
            thread: Some(thread.to_owned()),
            states: vec![State::Working],
            limit: 2,
            ..Filter::default()
        };
        let at_work = self.home.list(&filter).await?;
        match at_work.iter().find(|listed| listed.run != *run) {
            Some(other) => Err(busy(&other.run)),
            None => Ok(active),
        }
    }

    /// Has Cortex begin the run.
    async fn hand_in(&self, run: &RunId, submission: &Submission) -> Result<(), Error> {
        let (message, routing) = submission.asked.message(submission.task_id);
        let error = match self.cortex.starter().begin(message, routing).await {
            Ok(_) => return Ok(()),
            Err(error) => error,
        };
        Err(match (error, &submission.asked.key) {
            // The same key, whose run the hub knows and the journal not.
            (BeginError::Hub(HubError::Conflict(_)), Some(key)) => Error::KeyReused {
                key: key.clone(),
                run: run.to_string(),
            },
            (BeginError::Refused(why), _) => Error::Refused(why),
            (error, _) => Error::Unavailable(error.to_string()),
        })
    }
}

fn reused(run: &RunId, asked: &Asked, before: &Asked) -> Result<(), Error> {
    match asked.is_same(before) {
        true => Ok(()),
        false => Err(Error::KeyReused {
            key: asked.key.clone().unwrap_or_default(),
            run: run.to_string(),
        }),
    }
}
