//! Supervisors on a hub, with a journal that counts and fails.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use agenthub_sdk::{
    Agent, Card, Client, Delegation, Pending, RunningAgent, Skill, TaskContext,
    durable::Journal,
    runs::{
        Budget, RunEvent, RunId, RunStarted,
        journal::{Claim, Entry, JournalDecorator, JournalError, MemoryJournal, OpenedRun},
    },
    testing::TestHub,
};
use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::{
    sync::{mpsc, watch},
    task::JoinSet,
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{BEGINNING, Claimed, Spawn, Supervising, Supervisor, claim};
use crate::{
    RUN,
    executor::NAME,
    executors::{Place, Program, recorder},
};

const PATIENCE: Duration = Duration::from_secs(60);

/// A journal that counts what it is asked, and does not answer while it is away.
#[derive(Debug, Default)]
struct Watched {
    inner: MemoryJournal,
    /// Runs that were listed as free.
    listed: AtomicUsize,
    /// The drivers of leases that were taken.
    drivers: Mutex<Vec<String>>,
    is_away: AtomicBool,
    /// Calls that were not answered.
    failed: watch::Sender<usize>,
    /// Reads that fail after an executor has been given its run.
    failing_starts: AtomicUsize,
}

impl Watched {
    fn answer(&self) -> Result<(), JournalError> {
        match self.is_away.load(Ordering::SeqCst) {
            true => Err(self.failure()),
            false => Ok(()),
        }
    }

    fn failure(&self) -> JournalError {
        self.failed.send_modify(|failed| *failed += 1);
        JournalError::Unavailable("it is away".to_owned())
    }

    /// Waits until this many calls were not answered.
    async fn has_failed(&self, times: usize) {
        let mut failed = self.failed.subscribe();
        let failed = timeout(PATIENCE, failed.wait_for(|failed| *failed >= times)).await;
        drop(failed.expect("it is asked").expect("it is there"));
    }
}

#[async_trait]
impl JournalDecorator for Watched {
    fn inner(&self) -> &dyn Journal {
        &self.inner
    }

    fn is_durable(&self) -> bool {
        true
    }

    async fn open(
        &self,
        run: &RunId,
        owner: &str,
        claim: Claim<'_>,
        first: &[RunEvent],
    ) -> Result<OpenedRun, JournalError> {
        self.answer()?;
        let opened = self.inner.open(run, owner, claim, first).await?;
        let mut drivers = self.drivers.lock().expect("no panic");
        drivers.push(claim.driver.to_owned());
        Ok(opened)
    }

    async fn append(
        &self,
        run: &RunId,
        epoch: u64,
        after: u64,
        events: &[RunEvent],
    ) -> Result<(), JournalError> {
        self.answer()?;
        self.inner.append(run, epoch, after, events).await
    }

    async fn renew(&self, run: &RunId, epoch: u64, lease: Duration) -> Result<(), JournalError> {
        self.answer()?;
        self.inner.renew(run, epoch, lease).await
    }

    async fn read(
        &self,
        run: &RunId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Entry>, JournalError> {
        self.answer()?;
        let is_claimed = self
            .drivers
            .lock()
            .expect("no panic")
            .iter()
            .any(|d| d.ends_with(run.as_str()));
        let failing = &self.failing_starts;
        if is_claimed
            && failing
                .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1))
                .is_ok()
        {
            return Err(self.failure());
        }
        self.inner.read(run, after, limit).await
    }

    async fn adoptable(
        &self,
        owner: &str,
        driver: &str,
        limit: usize,
    ) -> Result<Vec<RunId>, JournalError> {
        self.answer()?;
        let free = self.inner.adoptable(owner, driver, limit).await?;
        self.listed.fetch_add(free.len(), Ordering::SeqCst);
        Ok(free)
    }
}

/// A hub with the agent that records runs, and a supervisor of tasks.
struct Stage {
    hub: TestHub,
    journal: Arc<Watched>,
    recorder: RunningAgent,
    supervisors: Vec<Supervisor>,
    client: Client,
    _telling: JoinSet<()>,
}

impl Stage {
    /// With this many supervisors, which are told of all runs, and at most `most` runs at once for each.
    async fn start(supervisors: usize, most: usize) -> Self {
        let hub = TestHub::start().await;
        let journal = Arc::new(Watched::default());
        let shared: Arc<dyn Journal> = Arc::clone(&journal) as _;
        let (recorder, mut recorded) = recorder(&hub.url(), Arc::clone(&shared));
        let recorder = recorder.start(hub.url()).await.expect("a hub");
        let place = Place::new(hub.url(), shared);
        let mut told = Vec::new();
        let supervisors = (0..supervisors).map(|_| {
            let (tell, runs) = mpsc::channel(64);
            told.push(tell);
            Supervisor::start(place.clone(), Spawn::Tasks, most, runs)
        });
        let supervisors = supervisors.collect();
        let mut telling = JoinSet::new();
        telling.spawn(async move {
            while let Some(run) = recorded.recv().await {
                for tell in &told {
                    tell.send(run.clone()).await.expect("it is at work");
                }
            }
        });
        Self {
            client: hub.client().await,
            journal,
            recorder,
            supervisors,
            _telling: telling,
            hub,
        }
    }

    async fn ask(&self, workflow: Value) -> Pending {
        let asked = Delegation::to(NAME)
            .capability(RUN)
            .payload(json!({ "workflow": workflow }));
        self.client.delegate(asked).await.expect("the hub takes it")
    }

    async fn stop(self) {
        for supervisor in self.supervisors {
            supervisor.stop().await;
        }
        self.recorder.stop().await;
    }
}

async fn outcome(pending: Pending) -> String {
    let ended = timeout(PATIENCE, pending.outcome()).await;
    let outcome = ended.expect("it ends").expect("an outcome");
    assert_eq!(outcome.error, "");
    outcome.text
}

/// spec: EXE-1.1, EXE-1.5
#[tokio::test]
async fn a_long_queue_is_not_listed_for_each_run_that_is_asked_for_or_ends() {
    const RUNS: usize = 30;
    let stage = Stage::start(1, 2).await;
    let began = Instant::now();
    let mut asked = Vec::new();
    for _ in 0..RUNS {
        let workflow = json!({ "steps": { "a": { "wait": "1ms" } }, "output": "done" });
        asked.push(stage.ask(workflow).await);
    }
    for pending in asked {
        assert_eq!(outcome(pending).await, "done");
    }
    // A look every five seconds, and one at the beginning.
    let looks = 2 + began.elapsed().as_secs() as usize / 5;
    let listed = stage.journal.listed.load(Ordering::SeqCst);
    assert!(listed <= looks * RUNS, "{listed} runs in {looks} looks");
    stage.stop().await;
}

/// spec: EXE-1.5
#[tokio::test]
async fn of_two_supervisors_each_executes_other_runs() {
    const RUNS: usize = 12;
    let stage = Stage::start(2, 1).await;
    let mut asked = Vec::new();
    for _ in 0..RUNS {
        let workflow = json!({ "steps": { "a": { "wait": "100ms" } }, "output": "done" });
        asked.push(stage.ask(workflow).await);
    }
    for pending in asked {
        assert_eq!(outcome(pending).await, "done");
    }
    let drivers = stage.journal.drivers.lock().expect("no panic").clone();
    let mut executors: Vec<&str> = drivers
        .iter()
        .filter_map(|d| d.strip_prefix("executor."))
        .collect();
    executors.sort_unstable();
    executors.dedup();
    assert_eq!(
        executors.len(),
        RUNS,
        "each run has one executor: {executors:?}"
    );
    stage.stop().await;
}

/// spec: EXE-4.3, EXE-4.4
#[tokio::test]
async fn a_journal_that_fails_midway_is_no_death_and_the_run_goes_on() {
    let stage = Stage::start(1, 4).await;
    let skill = Skill::new("work", "Work", "Works");
    let (asked, mut steps) = watch::channel(Vec::<String>::new());
    let may = watch::Sender::new(false);
    let is_free = may.subscribe();
    let worker = Agent::worker(Card::new("worker", "Works").skill(&skill)).on(
        &skill,
        move |_: TaskContext, text: String| {
            asked.send_modify(|steps| steps.push(text.clone()));
            let mut is_free = is_free.clone();
            async move {
                is_free
                    .wait_for(|may| *may)
                    .await
                    .expect("the test is there");
                text
            }
        },
    );
    let worker = worker.start(stage.hub.url()).await.expect("a hub");
    let workflow = json!({
        "steps": {
            "one": { "agent": "worker", "skill": "work", "text": "one" },
            "two": { "agent": "worker", "skill": "work", "text": "two", "depends_on": ["one"] },
        },
        "output": "${two.output.text}",
    });
    let pending = stage.ask(workflow).await;
    let at_work = steps.wait_for(|steps| steps.len() == 1);
    drop(
        timeout(PATIENCE, at_work)
            .await
            .expect("it begins")
            .expect("it is there"),
    );
    // The step's result finds no journal: its executor cannot go on, and takes the run up again until it can.
    stage.journal.is_away.store(true, Ordering::SeqCst);
    may.send_replace(true);
    stage.journal.has_failed(8).await;
    stage.journal.is_away.store(false, Ordering::SeqCst);
    assert_eq!(outcome(pending).await, "two");
    let steps = steps.borrow().clone();
    assert_eq!(steps, ["one", "two"], "no step runs again");
    worker.stop().await;
    stage.stop().await;
}

/// spec: EXE-4.4
#[tokio::test]
async fn a_journal_that_fails_as_an_executor_begins_is_no_death() {
    let stage = Stage::start(1, 4).await;
    stage.journal.failing_starts.store(1, Ordering::SeqCst);
    let began = Instant::now();
    let workflow = json!({ "steps": { "a": { "wait": "1ms" } }, "output": "done" });
    assert_eq!(outcome(stage.ask(workflow).await).await, "done");
    let waited = began.elapsed();
    assert!(
        waited >= Duration::from_secs(5),
        "{waited:?}: after a death it is only 250 ms"
    );
    stage.stop().await;
}

/// A run that nobody drives.
async fn recorded(journal: &Watched) -> RunId {
    let run = RunId::new("r");
    let first = RunEvent::Started(RunStarted {
        strategy: "workflow".to_owned(),
        input: Value::Null,
        thread: String::new(),
        origin: Value::Null,
        budget: Budget::default(),
        deadline_ms: None,
        at_ms: 1_000,
    });
    let claim = Claim {
        driver: "r",
        lease: PATIENCE,
    };
    let opened = Journal::open(journal, &run, NAME, claim, std::slice::from_ref(&first)).await;
    let epoch = opened.expect("it is free").epoch;
    let released = Journal::release(journal, &run, epoch).await;
    released.expect("it is let go");
    run
}

/// spec: EXE-1.5
#[tokio::test(start_paused = true)]
async fn a_run_whose_executor_takes_long_to_begin_is_not_begun_by_another_supervisor() {
    let journal = Arc::new(Watched::default());
    let run = recorded(&journal).await;
    let place = Place::new("http://nowhere.test", journal);
    // It takes no lease, and ends with its standard input.
    let slow = Spawn::Processes(Program {
        path: "/bin/sh".into(),
        args: ["-c", "read never"].map(Into::into).into(),
    });
    let supervising = || Supervising::new(place.clone(), slow.clone(), 1, CancellationToken::new());
    let (mut first, second) = (supervising(), supervising());
    first.look().await.expect("the journal has runs");
    first.begin().await;
    for _ in 0..4 {
        sleep(BEGINNING * 2).await;
        assert_eq!(
            claim(&second.place, &run, &second.driver(&run)).await,
            Ok(Claimed::Others)
        );
    }
    // One that never begins holds nobody up.
    sleep(BEGINNING * 10).await;
    assert!(matches!(
        claim(&second.place, &run, &second.driver(&run)).await,
        Ok(Claimed::Ours(_))
    ));
}

#[tokio::test]
async fn a_run_whose_family_cannot_be_read_yet_waits() {
    let journal = Arc::new(Watched::default());
    let run = recorded(&journal).await;
    journal.failing_starts.store(1, Ordering::SeqCst);
    let place = Place::new("http://nowhere.test", journal);
    let mut supervising = Supervising::new(place, Spawn::Tasks, 1, CancellationToken::new());
    for is_known in [false, true] {
        supervising.look().await.expect("the journal has runs");
        assert_eq!(
            supervising.admission.knows(&run),
            is_known,
            "whose place is it?"
        );
    }
}
