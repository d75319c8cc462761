//! The beginning of a run: once for each idempotency key, one at a time in its thread.

use std::time::Duration;

use agenthub_sdk::{
    Agent, Error as HubError, Message,
    durable::BeginError,
    proto::agenthub::AgentEventMetadata,
    runs::{
        RunEvent, RunId,
        journal::{self, Filter, State},
    },
};
use tokio::time::timeout;

use crate::{
    asked::Asked,
    brief::{Brief, Fault, Faults},
    handle::Handle,
    live::{Active, Begun, Coming, Place, Stage, StartError},
    orchestrator::{capabilities, inputs},
    origin::CORTEX,
    principal::{is_of, thread_of},
};

/// Deadline for an answer of the journal.
const ANSWER: Duration = Duration::from_secs(10);

/// The runs of a thread among which one is looked for.
const MAX_THREAD: usize = 1_000;

/// A run that was asked for.
#[derive(Clone, Debug)]
pub struct Started {
    /// Its id.
    pub run: RunId,
    /// The request, as far as the journal does not have it yet.
    pub coming: Coming,
    /// True if this call started it.
    pub is_new: bool,
}

impl Handle {
    /// Starts a run, or finds the one that was started under the same key. Returns when it has begun, or after 5 s. It begins also where this
    /// is dropped.
    ///
    /// # Errors
    ///
    /// [`StartError`].
    pub async fn start(&self, asked: Asked) -> Result<Started, StartError> {
        asked.brief.check()?;
        let task_id = asked.task_id();
        let run = Asked::run_of(task_id);
        let (is_mine, coming) = loop {
            let (place, coming) = self.live().come(&run, &asked, task_id)?;
            if let Some(place) = place {
                self.bring(place, coming.clone());
                break (true, coming);
            }
            match reused(&run, &asked, &coming.asked) {
                Ok(()) => break (false, coming),
                // That one may be the one that has the key wrongly.
                Err(error) => {
                    if coming.begun().await.is_ok() {
                        return Err(error);
                    }
                }
            }
        };
        let begun = coming.clone().begun().await?;
        Ok(Started {
            run,
            coming,
            is_new: is_mine && begun == Begun::Now,
        })
    }

    /// Brings a run to its beginning, whether or not anybody waits for that.
    fn bring(&self, place: Place, coming: Coming) {
        let cortex = self.clone();
        self.keep(async move {
            let run = place.run().clone();
            match cortex.checked(&run, &coming).await {
                Ok(Some(active)) => {
                    place.reach(Stage::Sent);
                    let end = cortex.begin(&run, &coming).await;
                    place.end(end.map(|()| Begun::Now));
                    drop(active);
                }
                Ok(None) => place.end(Ok(Begun::Before)),
                Err(error) => place.end(Err(error)),
            }
        });
    }

    /// Acquires the thread of a run that may begin; nothing where it began before.
    async fn checked(&self, run: &RunId, coming: &Coming) -> Result<Option<Active>, StartError> {
        let asked = &coming.asked;
        if asked.key.is_some()
            && let Some(before) = self.asked_before(run).await?
        {
            reused(run, asked, &before)?;
            return Ok(None);
        }
        self.suits_the_agents(&asked.brief).await?;
        self.take_thread(&asked.on_behalf_of, &coming.thread, run)
            .await
            .map(Some)
    }

    /// Checks the brief by the cards of the known agents, here or away: somebody offers what a person has to allow, and takes the material
    /// as it is. Agents that may be about to come back with Cortex are waited for.
    ///
    /// # Errors
    ///
    /// An approval names what nobody offers, a field is not as anybody takes it, or the agent to talk with is none that is known.
    async fn suits_the_agents(&self, brief: &Brief) -> Result<(), StartError> {
        let constraints = &brief.constraints;
        if brief.agent.is_none()
            && constraints.approvals.is_empty()
            && constraints.acceptance_criteria.is_empty()
            && brief.payload.is_empty()
        {
            return Ok(());
        }
        let directory = self.client().directory();
        let suits = || {
            let known = directory.all().into_iter().map(|entry| entry.card);
            let cards: Vec<_> = known.collect();
            let offered = capabilities(&cards);
            let named = constraints.names_offered(offered.iter().map(String::as_str));
            let is_somebody = match &brief.agent {
                Some(agent) if directory.get(agent).is_none() => Err(Fault::new(
                    "agent",
                    format!("is nobody: {}", directory.absence(agent)),
                )),
                _ => Ok(()),
            };
            Faults::of([named, is_somebody]).and_then(|()| brief.suits(&inputs(&cards)))
        };
        let is_missing = || suits().is_err();
        self.shared.wait_for_missing(&directory, is_missing).await;
        match directory.get(CORTEX) {
            Some(_) => suits().map_err(StartError::from),
            // Without Cortex in it the view is not there yet, and nothing can be told.
            None => Ok(()),
        }
    }

    /// The request that the run of this id began with, if there is one.
    async fn asked_before(&self, run: &RunId) -> Result<Option<Asked>, StartError> {
        let first = match timeout(ANSWER, self.journal().read(run, 0, 1)).await {
            Ok(Err(journal::JournalError::NotFound(_))) => None,
            read => answered(read)?.into_iter().next(),
        };
        let Some(RunEvent::Started(started)) = first.map(|entry| entry.event) else {
            return Ok(None);
        };
        Ok(Agent::message_of(&started).as_ref().and_then(Asked::of))
    }

    /// Makes the run the active one of its thread: in this process, and among the runs of the journal that are not over.
    async fn take_thread(
        &self,
        principal: &str,
        thread: &str,
        run: &RunId,
    ) -> Result<Active, StartError> {
        let busy = |other: RunId| StartError::ThreadBusy {
            thread: thread.to_owned(),
            run: other,
        };
        let live = self.live();
        let own = &thread_of(principal, thread);
        let active = match live.hold_thread(own, run) {
            Ok(active) => active,
            // Another process may have ended it.
            Err(other) if self.has_ended(thread, &other).await? => {
                live.is_over(&other);
                live.hold_thread(own, run).map_err(busy)?
            }
            Err(other) => return Err(busy(other)),
        };
        let filter = Filter {
            owner: Some(CORTEX.to_owned()),
            thread: Some(thread.to_owned()),
            states: vec![State::Working],
            limit: MAX_THREAD,
            ..Filter::default()
        };
        let at_work = answered(timeout(ANSWER, self.journal().list(&filter)).await)?;
        let mut others = at_work.into_iter().filter(|listed| listed.run != *run);
        match others.find(|listed| is_of(principal, listed)) {
            Some(other) => Err(busy(other.run)),
            None => Ok(active),
        }
    }

    /// True if the journal has the end of this run of a thread.
    async fn has_ended(&self, thread: &str, run: &RunId) -> Result<bool, StartError> {
        let filter = Filter {
            owner: Some(CORTEX.to_owned()),
            thread: Some(thread.to_owned()),
            states: vec![State::Completed, State::Failed, State::Cancelled],
            limit: MAX_THREAD,
            ..Filter::default()
        };
        let ended = answered(timeout(ANSWER, self.journal().list(&filter)).await)?;
        Ok(ended.iter().any(|listed| listed.run == *run))
    }

    /// Begins the run that Cortex's agent makes of this message, such as a fork of one of its runs.
    ///
    /// # Errors
    ///
    /// [`StartError::Refused`] with the reason why there is none, [`StartError::Conflict`], [`StartError::Unavailable`].
    pub async fn begin_of(
        &self,
        message: Message,
        routing: AgentEventMetadata,
    ) -> Result<(), StartError> {
        match self.starter.begin(message, routing).await {
            Ok(_) => Ok(()),
            Err(BeginError::Refused(why)) => Err(StartError::Refused(why)),
            Err(BeginError::Hub(error)) => Err(error.into()),
            Err(error) => Err(StartError::Unavailable(error.to_string())),
        }
    }

    /// Has Cortex's agent begin the run.
    async fn begin(&self, run: &RunId, coming: &Coming) -> Result<(), StartError> {
        let (message, routing) = coming.asked.message(coming.task_id);
        let error = match self.starter.begin(message, routing).await {
            Ok(_) => return Ok(()),
            Err(error) => error,
        };
        Err(match (error, &coming.asked.key) {
            // The same key, whose run the hub knows and the journal not.
            (BeginError::Hub(HubError::Conflict(_)), Some(key)) => StartError::KeyReused {
                key: key.clone(),
                run: run.clone(),
            },
            (BeginError::Refused(why), _) => StartError::Refused(why),
            (BeginError::Hub(error), _) => error.into(),
            (error, _) => StartError::Unavailable(error.to_string()),
        })
    }
}

/// A journal's answer, if it came in time.
fn answered<T>(
    answer: Result<Result<T, journal::JournalError>, tokio::time::error::Elapsed>,
) -> Result<T, StartError> {
    match answer {
        Ok(answer) => answer.map_err(|error| StartError::Unavailable(error.to_string())),
        Err(_) => {
            let why = "the journal does not answer";
            Err(StartError::Unavailable(why.to_owned()))
        }
    }
}

fn reused(run: &RunId, asked: &Asked, before: &Asked) -> Result<(), StartError> {
    match asked.is_same(before) {
        true => Ok(()),
        false => Err(StartError::KeyReused {
            key: asked.key.clone().unwrap_or_default(),
            run: run.clone(),
        }),
    }
}
