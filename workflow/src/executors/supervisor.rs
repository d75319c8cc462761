//! Has every run executed that nobody drives.

#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeSet, HashMap},
    future::pending,
    panic::AssertUnwindSafe,
    sync::Arc,
    time::{Duration, SystemTime},
};

use agenthub_sdk::{
    Agent,
    durable::{ExecuteError, Executed, ExecutedRun},
    runs::{
        Facts, RunEvent, RunId, StepId,
        journal::{Claim, Entry, JournalError},
        workflow_step::GIVEN_UP,
    },
};
use futures_util::FutureExt;
use serde_json::json;
use tokio::{
    sync::mpsc,
    task::JoinSet,
    time::{Instant, MissedTickBehavior, interval, sleep, sleep_until, timeout},
};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{
    Place, Program,
    admission::{Admission, Family},
    claiming::{BEGINNING, Claimed, claim, kept_until_taken_over},
    execute,
    restarts::{Deaths, LONGEST, Verdict},
};
use crate::executor::NAME;

/// Pause between two looks for runs whose drivers are gone. Those of this process's recorder are told at once.
const LOOK: Duration = Duration::from_secs(5);

/// Deadline for an answer of the journal.
const ANSWER: Duration = Duration::from_secs(10);

/// Runs that wait here; further ones are found by a later look.
const MOST_WAITING: usize = 100_000;

/// Pause before a run is executed again whose journal does not answer.
const NO_JOURNAL: Duration = Duration::from_secs(5);

/// Runs of the recorder that are taken in together.
const TOGETHER: usize = 64;

/// Entries that are read together.
const PAGE: usize = 256;

/// Form of executors.
#[derive(Clone, Debug)]
pub enum Spawn {
    /// A task of this process for each run.
    Tasks,
    /// A process for each run.
    Processes(Program),
}

/// Executors of all runs in a journal that nobody else drives. [`stop`](Self::stop) it; dropping it breaks the executors off.
#[derive(Debug)]
pub struct Supervisor {
    stop: CancellationToken,
    supervising: JoinSet<()>,
}

impl Supervisor {
    /// Begins to look for runs and to execute them, at most `most` at once; runs that wait for runs within them do not count. Runs that
    /// `recorded` names begin at once, others when they are found by the next look.
    pub fn start(place: Place, spawn: Spawn, most: usize, recorded: mpsc::Receiver<RunId>) -> Self {
        let stop = CancellationToken::new();
        let supervising = Supervising::new(place, spawn, most, stop.clone());
        let mut tasks = JoinSet::new();
        tasks.spawn(supervising.run(recorded));
        Self {
            stop,
            supervising: tasks,
        }
    }

    /// Has all executors let their runs go, and waits until they have ended. Another supervisor goes on with the runs.
    pub async fn stop(mut self) {
        self.stop.cancel();
        while self.supervising.join_next().await.is_some() {}
    }
}

/// End of an executor that was not told to stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Departure {
    /// It ended with its run, or says so.
    WithRun,
    /// The journal did not answer, which says nothing of the run.
    NoJournal(String),
    /// It died, for this reason.
    Died(String),
}

/// An executor that has ended, and its run; no departure if it was told to stop.
type Ended = (RunId, Option<Departure>);

struct Supervising {
    /// Executors' names begin with it.
    name: String,
    place: Place,
    spawn: Spawn,
    stop: CancellationToken,
    admission: Admission,
    /// Deaths of the executors of the runs in hand.
    deaths: HashMap<RunId, Deaths>,
    /// Runs in hand that are executed again, by time.
    again: BTreeSet<(Instant, RunId)>,
    executing: JoinSet<Ended>,
}

impl Supervising {
    fn new(place: Place, spawn: Spawn, most: usize, stop: CancellationToken) -> Self {
        Self {
            name: format!("executor.{}", Uuid::new_v4().simple()),
            place,
            spawn,
            stop,
            admission: Admission::new(most.max(1)),
            deaths: HashMap::new(),
            again: BTreeSet::new(),
            executing: JoinSet::new(),
        }
    }

    async fn run(mut self, mut recorded: mpsc::Receiver<RunId>) {
        let stop = self.stop.clone();
        let mut looks = interval(LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut fresh = Vec::new();
        loop {
            let again = self.again.first().map(|(at, _)| *at);
            tokio::select! {
                () = stop.cancelled() => break,
                _ = looks.tick() => {
                    match stop.run_until_cancelled(self.look()).await {
                        Some(Ok(())) => {}
                        Some(Err(error)) => tracing::warn!(%error, "no look for runs that wait"),
                        None => break,
                    }
                }
                1.. = recorded.recv_many(&mut fresh, TOGETHER) => {
                    for run in fresh.drain(..) {
                        self.take_in(run).await;
                    }
                }
                Some(ended) = self.executing.join_next() => {
                    if let Ok(ended) = ended {
                        self.ended(ended).await;
                    }
                }
                () = async { match again {
                    Some(at) => sleep_until(at).await,
                    None => pending().await,
                } } => self.begin_again(),
            }
            self.begin().await;
        }
        while self.executing.join_next().await.is_some() {}
    }

    /// Brings the queue up to date with the journal.
    async fn look(&mut self) -> Result<(), JournalError> {
        let journal = Arc::clone(&self.place.journal);
        let free = journal.adoptable(NAME, &self.name, MOST_WAITING);
        let mut found = Vec::new();
        for run in within(free).await? {
            let family = match self.admission.knows(&run) {
                true => None,
                false => self.family(&run).await,
            };
            found.push((run, family));
        }
        self.admission.arrange(found);
        Ok(())
    }

    /// Takes in a run that was recorded. One that cannot be read, or finds no room, is found by the next look.
    async fn take_in(&mut self, run: RunId) {
        if self.admission.len() >= MOST_WAITING || self.admission.knows(&run) {
            return;
        }
        if let Some(family) = self.family(&run).await {
            self.admission.push(run, family);
        }
    }

    /// Tasks by which a run is related. Without them it waits, as it is not known whom it lends its place, or is lent one by.
    async fn family(&self, run: &RunId) -> Option<Family> {
        match within(self.place.journal.read(run, 0, 1)).await {
            Ok(entries) => Some(family(&entries)),
            Err(error) if error.is_retryable() => {
                tracing::warn!(%run, %error, "a run waits for its journal");
                None
            }
            // Its executor says what is wrong with it.
            Err(_) => Some(Family::default()),
        }
    }

    /// Begins runs that wait, as far as there is room.
    async fn begin(&mut self) {
        while let Some(run) = self.admission.begin() {
            match claim(&self.place, &run, &self.driver(&run)).await {
                Ok(Claimed::Ours(epoch)) => {
                    self.deaths.insert(run.clone(), Deaths::default());
                    self.spawn(&run, Some(epoch), None);
                }
                Ok(Claimed::Unreadable) => {
                    self.deaths.insert(run.clone(), Deaths::default());
                    self.spawn(&run, None, None);
                }
                Ok(Claimed::Others) => self.admission.leave(&run),
                Err(error) => {
                    // It is found by the next look.
                    tracing::warn!(%run, %error, "a run that waits cannot begin");
                    self.admission.leave(&run);
                    return;
                }
            }
        }
    }

    /// Name of the run's executors as drivers in the journal: each takes over at once from the one before it, which has ended.
    fn driver(&self, run: &RunId) -> String {
        format!("{}.{run}", self.name)
    }

    /// Executes runs again whose pause is over.
    fn begin_again(&mut self) {
        let now = Instant::now();
        while let Some((at, _)) = self.again.first()
            && *at <= now
            && let Some((_, run)) = self.again.pop_first()
        {
            self.spawn(&run, None, None);
        }
    }

    /// Has a run executed; with `give_up`, only ended, for this reason. `epoch` is that of the lease which the executor takes over.
    fn spawn(&mut self, run: &RunId, epoch: Option<u64>, give_up: Option<String>) {
        let executed = ExecutedRun {
            run: run.clone(),
            driver: self.driver(run),
            give_up,
        };
        let (place, stop) = (self.place.clone(), self.stop.clone());
        let program = match (&self.spawn, &executed.give_up) {
            (Spawn::Processes(program), None) => Some(program.clone()),
            _ => None,
        };
        tracing::debug!(%run, "a run is executed");
        self.executing.spawn(async move {
            let run = executed.run.clone();
            let gives_up = executed.give_up.is_some();
            let executing = async {
                match program {
                    Some(program) => program.execute(&run, &executed.driver, &stop).await,
                    None => in_task(&place, executed, stop.clone()).await,
                }
            };
            tokio::pin!(executing);
            let departed = tokio::select! {
                departed = &mut executing => departed,
                () = kept_until_taken_over(&place, &run, epoch) => executing.await,
            };
            if gives_up && matches!(departed, Some(Departure::Died(_))) {
                // It could not even be ended: not at once again.
                stop.run_until_cancelled(sleep(LONGEST)).await;
            }
            (run.clone(), departed)
        });
    }

    /// Lets go of a run that is over, and has another one executed again.
    async fn ended(&mut self, (run, departed): Ended) {
        let Some(seen) = self.deaths.get(&run).map(|deaths| deaths.last) else {
            return;
        };
        let last = match self.last(&run, seen).await {
            Ok(Some(last)) => {
                if last > seen {
                    self.goes_on(&run);
                }
                last
            }
            Ok(None) => {
                self.goes_on(&run);
                self.admission.leave(&run);
                self.deaths.remove(&run);
                return;
            }
            Err(error) => return self.without_journal(run, &error.to_string()),
        };
        if self.stop.is_cancelled() {
            return;
        }
        let why = match departed {
            Some(Departure::NoJournal(why)) => return self.without_journal(run, &why),
            Some(Departure::Died(why)) => why,
            Some(Departure::WithRun) | None => String::new(),
        };
        let Some(deaths) = self.deaths.get_mut(&run) else {
            return;
        };
        match deaths.another(last) {
            Verdict::Again(pause) => {
                let pause_ms = pause.as_millis();
                tracing::warn!(%run, why, pause_ms, "an executor ended before its run, which is executed again");
                self.again.insert((Instant::now() + pause, run));
            }
            Verdict::GiveUp => {
                tracing::error!(%run, why, "a run ends its executors again and again, and is given up");
                let why = format!("its executors ended again and again before it did: {why}");
                match self.note_given_up(&run, &why).await {
                    // The next executor takes back what was done.
                    Ok(Some(noted)) => {
                        if let Some(deaths) = self.deaths.get_mut(&run) {
                            deaths.given_up(noted);
                        }
                        self.spawn(&run, None, None);
                    }
                    Ok(None) | Err(JournalError::Unreadable { .. }) => {
                        let left =
                            format!("`agenthub runs steps {run}` shows what is not taken back");
                        self.spawn(&run, None, Some(format!("{why}; {left}")));
                    }
                    Err(error) => self.without_journal(run, &error.to_string()),
                }
            }
        }
    }

    /// Counts the deaths anew of the executors whose runs wait for this one, which goes on: they have nothing to say meanwhile.
    fn goes_on(&mut self, run: &RunId) {
        for waiting in self.admission.ancestors(run) {
            if let Some(deaths) = self.deaths.get_mut(&waiting) {
                deaths.forgive();
            }
        }
    }

    /// Notes in a run's journal that it is given up for this reason; the number of the note. `None` if it is there already, or the run has its
    /// outcome.
    async fn note_given_up(&self, run: &RunId, why: &str) -> Result<Option<u64>, JournalError> {
        let driver = self.driver(run);
        let claim = Claim {
            driver: &driver,
            lease: BEGINNING,
        };
        let journal = &self.place.journal;
        let opened = within(journal.open(run, NAME, claim, &[])).await?;
        let facts = Facts::of(opened.entries.iter().map(|entry| &entry.event));
        let step = StepId::new(GIVEN_UP);
        if facts.noted(&step).is_some() || facts.stopping().is_some() {
            return Ok(None);
        }
        let message = format!("{why}; what was done is taken back");
        let noted = RunEvent::Noted {
            step,
            value: json!({ "type": "warning", "message": message, "why": why }),
            at_ms: now_ms(),
        };
        within(journal.append(run, opened.epoch, opened.last, &[noted])).await?;
        Ok(Some(opened.last + 1))
    }

    /// Executes a run again later, as the journal does not answer. That is no death of the run's.
    fn without_journal(&mut self, run: RunId, why: &str) {
        let pause_ms = NO_JOURNAL.as_millis();
        tracing::warn!(%run, why, pause_ms, "the journal does not answer: the run waits");
        self.again.insert((Instant::now() + NO_JOURNAL, run));
    }

    /// Number of the run's last event, of which those up to `seen` are known; nothing if the run is over or gone.
    async fn last(&self, run: &RunId, seen: u64) -> Result<Option<u64>, JournalError> {
        let mut last = seen;
        loop {
            let entries = match within(self.place.journal.read(run, last, PAGE)).await {
                Ok(entries) => entries,
                Err(JournalError::NotFound(_)) => return Ok(None),
                Err(error) => return Err(error),
            };
            let Some(Entry { seq, event }) = entries.last() else {
                return Ok(Some(last));
            };
            if matches!(event, RunEvent::Ended { .. }) {
                return Ok(None);
            }
            last = *seq;
        }
    }
}

/// Executes a run in this task; no departure if it was told to stop.
async fn in_task(
    place: &Place,
    executed: ExecutedRun,
    stop: CancellationToken,
) -> Option<Departure> {
    let executing = AssertUnwindSafe(execute(place, executed, stop)).catch_unwind();
    match executing.await {
        Ok(Ok(Executed::Over(_))) => Some(Departure::WithRun),
        Ok(Ok(Executed::Left)) => None,
        Ok(Err(ExecuteError::Journal(error))) if error.is_retryable() => {
            Some(Departure::NoJournal(error.to_string()))
        }
        Ok(Err(error)) => Some(Departure::Died(error.to_string())),
        Err(_) => Some(Departure::Died("it panicked".to_owned())),
    }
}

/// Milliseconds since 1970.
fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    })
}

/// The family of a run with this beginning.
fn family(entries: &[Entry]) -> Family {
    match entries.first().map(|entry| &entry.event) {
        Some(RunEvent::Started(started)) => Family {
            task: Agent::message_of(started).map_or_else(String::new, |message| message.task_id),
            parent: Agent::parent_of(started),
        },
        _ => Family::default(),
    }
}

pub(super) async fn within<T>(
    asked: impl Future<Output = Result<T, JournalError>>,
) -> Result<T, JournalError> {
    let late = |_| JournalError::Unavailable("no answer in time".to_owned());
    timeout(ANSWER, asked).await.map_err(late)?
}
