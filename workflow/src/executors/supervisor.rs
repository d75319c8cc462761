//! Has every run executed that nobody drives.

use std::{
    collections::HashMap, future::pending, panic::AssertUnwindSafe, sync::Arc, time::Duration,
};

use agenthub_sdk::{
    Agent,
    durable::{Executed, ExecutedRun},
    runs::{
        RunEvent, RunId,
        journal::{Entry, JournalError},
    },
};
use futures_util::FutureExt;
use tokio::{
    sync::Notify,
    task::JoinSet,
    time::{Instant, sleep, sleep_until, timeout},
};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{
    Place, Program,
    admission::{Family, admitted},
    execute,
    restarts::{Deaths, LONGEST, Verdict},
};
use crate::executor::NAME;

/// Pause between two looks for runs whose drivers are gone. Those of this process's recorder are told at once.
const LOOK: Duration = Duration::from_secs(5);

/// Deadline for an answer of the journal.
const ANSWER: Duration = Duration::from_secs(10);

/// Runs that are looked at together.
const MOST_WAITING: usize = 100_000;

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
    /// Begins to look for runs and to execute them, at most `most` at once; runs that wait for runs within them do not count.
    pub fn start(place: Place, spawn: Spawn, most: usize, recorded: Arc<Notify>) -> Self {
        let stop = CancellationToken::new();
        let supervising = Supervising::new(place, spawn, most, recorded, stop.clone());
        let mut tasks = JoinSet::new();
        tasks.spawn(supervising.run());
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

/// A run that is executed here, or is to be again.
struct InHand {
    family: Family,
    deaths: Deaths,
    /// Time at which it is executed again.
    again: Option<Instant>,
}

/// An executor that has ended: its run, and why it says that it ended.
type Ended = (RunId, Option<String>);

struct Supervising {
    /// Executors' names begin with it.
    name: String,
    place: Place,
    spawn: Spawn,
    most: usize,
    recorded: Arc<Notify>,
    stop: CancellationToken,
    /// Families of the runs that wait.
    waiting: HashMap<RunId, Family>,
    in_hand: HashMap<RunId, InHand>,
    executing: JoinSet<Ended>,
}

impl Supervising {
    fn new(
        place: Place,
        spawn: Spawn,
        most: usize,
        recorded: Arc<Notify>,
        stop: CancellationToken,
    ) -> Self {
        Self {
            name: format!("executor.{}", Uuid::new_v4().simple()),
            place,
            spawn,
            most: most.max(1),
            recorded,
            stop,
            waiting: HashMap::new(),
            in_hand: HashMap::new(),
            executing: JoinSet::new(),
        }
    }

    async fn run(mut self) {
        let stop = self.stop.clone();
        loop {
            match stop.run_until_cancelled(self.look()).await {
                Some(Ok(())) => {}
                Some(Err(error)) => tracing::warn!(%error, "no look for runs that wait"),
                None => break,
            }
            self.begin_again();
            let again = self
                .in_hand
                .values()
                .filter_map(|in_hand| in_hand.again)
                .min();
            tokio::select! {
                () = stop.cancelled() => break,
                () = self.recorded.notified() => {}
                Some(ended) = self.executing.join_next() => {
                    if let Ok(ended) = ended {
                        self.ended(ended).await;
                    }
                }
                () = sleep(LOOK) => {}
                () = async { match again {
                    Some(at) => sleep_until(at).await,
                    None => pending().await,
                } } => {}
            }
        }
        while self.executing.join_next().await.is_some() {}
    }

    /// Begins runs that wait, as far as there is room.
    async fn look(&mut self) -> Result<(), JournalError> {
        let journal = Arc::clone(&self.place.journal);
        let free = journal.adoptable(NAME, &self.name, MOST_WAITING);
        let free = within(free).await?;
        let mut waiting = Vec::new();
        let mut known = std::mem::take(&mut self.waiting);
        for run in free {
            if self.in_hand.contains_key(&run) {
                continue;
            }
            let family = match known.remove(&run) {
                Some(family) => family,
                None => match within(journal.read(&run, 0, 1)).await {
                    Ok(entries) => family(&entries),
                    // Whom it lends its place, or is lent one by, is seen at the next look.
                    Err(error) if error.is_retryable() => {
                        tracing::warn!(%run, %error, "a run waits for its journal");
                        continue;
                    }
                    // Its executor says what is wrong with it.
                    Err(_) => Family::default(),
                },
            };
            waiting.push((run, family));
        }
        let in_hand = self.in_hand.values().map(|in_hand| &in_hand.family);
        let begin: Vec<RunId> = admitted(&waiting, in_hand, self.most)
            .into_iter()
            .cloned()
            .collect();
        self.waiting = waiting.into_iter().collect();
        for run in begin {
            let family = self.waiting.remove(&run).unwrap_or_default();
            self.spawn(&run, None);
            let in_hand = InHand {
                family,
                deaths: Deaths::default(),
                again: None,
            };
            self.in_hand.insert(run, in_hand);
        }
        Ok(())
    }

    /// Executes runs again whose pause is over.
    fn begin_again(&mut self) {
        let now = Instant::now();
        let mut due = Vec::new();
        for (run, in_hand) in &mut self.in_hand {
            if in_hand.again.is_some_and(|at| at <= now) {
                in_hand.again = None;
                due.push(run.clone());
            }
        }
        for run in due {
            self.spawn(&run, None);
        }
    }

    /// Has a run executed; with `give_up`, only ended, for this reason.
    fn spawn(&mut self, run: &RunId, give_up: Option<String>) {
        let executed = ExecutedRun {
            run: run.clone(),
            // Its own executor before has ended, so that the next one takes over at once.
            driver: format!("{}.{run}", self.name),
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
            let why = match program {
                Some(program) => program.execute(&run, &executed.driver, &stop).await,
                None => in_task(&place, executed, stop.clone()).await,
            };
            if gives_up && why.is_some() {
                // It could not even be ended: not at once again.
                stop.run_until_cancelled(sleep(LONGEST)).await;
            }
            (run, why)
        });
    }

    /// Lets go of a run that is over, and has another one executed again.
    async fn ended(&mut self, (run, why): Ended) {
        let Some(in_hand) = self.in_hand.get(&run) else {
            return;
        };
        let seen = in_hand.deaths.last;
        let last = match self.last(&run, seen).await {
            Ok(Some(last)) => last,
            Ok(None) => {
                self.in_hand.remove(&run);
                return;
            }
            Err(error) => {
                // The journal is to blame, and no death of the run's.
                tracing::warn!(%run, %error, "not known whether a run is over");
                if let Some(in_hand) = self.in_hand.get_mut(&run) {
                    in_hand.again = Some(Instant::now() + LONGEST);
                }
                return;
            }
        };
        if self.stop.is_cancelled() {
            return;
        }
        let why = why.unwrap_or_default();
        let Some(in_hand) = self.in_hand.get_mut(&run) else {
            return;
        };
        match in_hand.deaths.another(last) {
            Verdict::Again(pause) => {
                let pause_ms = pause.as_millis();
                tracing::warn!(%run, why, pause_ms, "an executor ended before its run, which is executed again");
                in_hand.again = Some(Instant::now() + pause);
            }
            Verdict::GiveUp => {
                tracing::error!(%run, why, "a run ends its executors again and again, and is given up");
                let why = format!("its executors ended again and again before it did: {why}");
                self.spawn(&run, Some(why));
            }
        }
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

/// Executes a run in this task. Returns why it ended, if it did not with the run.
async fn in_task(place: &Place, executed: ExecutedRun, stop: CancellationToken) -> Option<String> {
    let executing = AssertUnwindSafe(execute(place, executed, stop)).catch_unwind();
    match executing.await {
        Ok(Ok(Executed::Over(_) | Executed::Left)) => None,
        Ok(Err(error)) => Some(error.to_string()),
        Err(_) => Some("it panicked".to_owned()),
    }
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

async fn within<T>(
    asked: impl Future<Output = Result<T, JournalError>>,
) -> Result<T, JournalError> {
    let late = |_| JournalError::Unavailable("no answer in time".to_owned());
    timeout(ANSWER, asked).await.map_err(late)?
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use agenthub_sdk::runs::{
        Budget, RunStarted,
        journal::{Claim, Journal, JournalDecorator, MemoryJournal},
    };
    use async_trait::async_trait;
    use serde_json::Value;

    use super::*;

    /// A journal that does not answer the first times that it is read.
    #[derive(Debug)]
    struct Stumbling {
        inner: MemoryJournal,
        failures: AtomicU32,
    }

    #[async_trait]
    impl JournalDecorator for Stumbling {
        fn inner(&self) -> &dyn Journal {
            &self.inner
        }

        async fn read(
            &self,
            run: &RunId,
            after: u64,
            limit: usize,
        ) -> Result<Vec<Entry>, JournalError> {
            let fails = |left: u32| left.checked_sub(1);
            let (set, fetch) = (Ordering::Relaxed, Ordering::Relaxed);
            match self.failures.fetch_update(set, fetch, fails) {
                Ok(_) => Err(JournalError::Unavailable("it stumbles".to_owned())),
                Err(_) => self.inner.read(run, after, limit).await,
            }
        }
    }

    #[tokio::test]
    async fn a_run_whose_family_cannot_be_read_yet_waits() {
        let inner = MemoryJournal::default();
        let (run, lease) = (RunId::new("r"), Duration::from_secs(60));
        let first = RunEvent::Started(RunStarted {
            strategy: "workflow".to_owned(),
            input: Value::Null,
            thread: String::new(),
            origin: Value::Null,
            budget: Budget::default(),
            deadline_ms: None,
            at_ms: 1_000,
        });
        let claim = Claim { driver: "d", lease };
        let opened = inner.open(&run, NAME, claim, Some(&first)).await;
        let epoch = opened.expect("it is free").epoch;
        inner.release(&run, epoch).await.expect("it is let go");
        let journal = Arc::new(Stumbling {
            inner,
            failures: AtomicU32::new(1),
        });
        let mut supervising = Supervising::new(
            Place::new("http://nowhere.test", journal),
            Spawn::Tasks,
            1,
            Arc::default(),
            CancellationToken::new(),
        );
        supervising.look().await.expect("the journal has runs");
        assert!(supervising.in_hand.is_empty(), "whose place is it?");
        supervising.look().await.expect("the journal has runs");
        assert!(supervising.in_hand.contains_key(&run));
    }
}
