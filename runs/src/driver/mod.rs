//! The one shell around runs: it writes down what [`run::next`](crate::run::next) says, and then does it.

mod keeper;
mod perform;

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use tokio::{
    sync::watch,
    task::JoinSet,
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use crate::{
    event::{Begun, RunEvent, RunOutcome, Started, StepResult},
    facts::Facts,
    id::{RunId, StepKey},
    journal::{self, Claim, Entry, Journal},
    run::{self, Action, Outgoing, Work},
    strategy::Strategy,
    world::World,
};
use keeper::Keeper;
use perform::{Returned, perform};

/// The entries that are shown again when a run is taken up.
const SHOWN_AGAIN: usize = 32;

/// How long to wait before who waits is told again.
const TELL_AGAIN: Duration = Duration::from_secs(1);

/// Drives runs: each by one driver at a time, many at once by one driver.
#[derive(Clone, Debug)]
pub struct Driver {
    journal: Arc<dyn Journal>,
    name: String,
    lease: Duration,
    max_open: usize,
}

/// What a driver is told from outside.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Command {
    /// Go on.
    #[default]
    Go,
    /// Nobody wants the result any more, and why.
    Cancel(String),
    /// Let the run go, for another driver to take up.
    Suspend,
}

/// Why a run was not driven to its end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DriveError {
    /// As it was told to.
    #[error("the run was let go")]
    Suspended,
    /// Another driver has it, or it could not be kept.
    #[error("the run's lease was lost")]
    Fenced,
    /// What happened could not be written down.
    #[error(transparent)]
    Journal(#[from] journal::Error),
}

impl Driver {
    /// How long a run is a driver's without renewal: 15 s.
    pub const LEASE: Duration = Duration::from_secs(15);

    /// The steps of one run that are out at one time: 16.
    pub const MAX_OPEN: usize = 16;

    /// A driver. No two that live may have the same name; one that comes back under its name takes its own runs over at once.
    pub fn new(journal: Arc<dyn Journal>, name: impl Into<String>) -> Self {
        Self {
            journal,
            name: name.into(),
            lease: Self::LEASE,
            max_open: Self::MAX_OPEN,
        }
    }

    /// How long a run is this driver's without renewal.
    #[must_use]
    pub fn lease(mut self, lease: Duration) -> Self {
        self.lease = lease;
        self
    }

    /// The steps of one run that are out at one time; at least 1.
    #[must_use]
    pub fn max_open(mut self, max_open: usize) -> Self {
        self.max_open = max_open.max(1);
        self
    }

    /// The journal.
    pub fn journal(&self) -> &Arc<dyn Journal> {
        &self.journal
    }

    /// The driver's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Takes a run in hand; one that does not exist begins with `first`. Once this returns, it will not be forgotten. Drive it at
    /// once: the lease is not renewed before.
    ///
    /// # Errors
    ///
    /// Those of [`Journal::open`].
    pub async fn open(
        &self,
        run: RunId,
        owner: &str,
        first: Option<Started>,
    ) -> Result<InHand, journal::Error> {
        let claim = Claim {
            driver: &self.name,
            lease: self.lease,
        };
        let first = first.map(RunEvent::Started);
        let opened = self
            .journal
            .open(&run, owner, claim, first.as_ref())
            .await?;
        Ok(InHand {
            facts: Facts::of(opened.entries.iter().map(|e| &e.event)),
            last: opened.entries.last().map_or(0, |e| e.seq),
            recent: match opened.is_new {
                true => Vec::new(),
                false => last(opened.entries, SHOWN_AGAIN),
            },
            is_new: opened.is_new,
            epoch: opened.epoch,
            driver: self.clone(),
            run,
        })
    }
}

fn last(mut entries: Vec<Entry>, count: usize) -> Vec<Entry> {
    let from = entries.len().saturating_sub(count);
    entries.split_off(from)
}

/// A run that this driver has taken in hand. Dropping it leaves the run to others once its lease is over.
#[derive(Debug)]
pub struct InHand {
    driver: Driver,
    run: RunId,
    epoch: u64,
    /// The place of the last event.
    last: u64,
    facts: Facts,
    /// What may not have been shown.
    recent: Vec<Entry>,
    is_new: bool,
}

impl InHand {
    /// The run.
    pub fn run(&self) -> &RunId {
        &self.run
    }

    /// What is known of it.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Whether it began just now.
    pub fn is_new(&self) -> bool {
        self.is_new
    }

    /// Lets the run go without doing anything about it.
    ///
    /// # Errors
    ///
    /// [`journal::Error::Unavailable`].
    pub async fn release(self) -> Result<(), journal::Error> {
        self.driver.journal.release(&self.run, self.epoch).await
    }

    /// Drives the run to its end and returns how it ended, once who waits for it was told. Dropping the future stops everything that
    /// it does in this process; the run can be taken up when its lease is over.
    ///
    /// # Errors
    ///
    /// [`DriveError`]. Whatever was out in this process is stopped by then.
    pub async fn drive(
        self,
        strategy: &dyn Strategy,
        world: Arc<dyn World>,
        commands: watch::Receiver<Command>,
    ) -> Result<RunOutcome, DriveError> {
        if let Some(outcome) = self.facts.ended() {
            let outcome = outcome.clone();
            self.release().await?;
            return Ok(outcome);
        }
        let keeper = Keeper::start(&self);
        let mut driving = Driving {
            hand: self,
            strategy,
            world,
            commands,
            keeper,
            out: HashMap::new(),
            called_back: HashSet::new(),
            steps: JoinSet::new(),
        };
        let result = driving.run().await;
        driving.steps.shutdown().await;
        if matches!(result, Ok(_) | Err(DriveError::Suspended)) {
            driving.hand.release().await?;
        }
        result
    }
}

/// A run at work.
struct Driving<'a> {
    hand: InHand,
    strategy: &'a dyn Strategy,
    world: Arc<dyn World>,
    commands: watch::Receiver<Command>,
    keeper: Keeper,
    /// What is out in this process, and how to call it back.
    out: HashMap<StepKey, CancellationToken>,
    called_back: HashSet<StepKey>,
    steps: JoinSet<Returned>,
}

impl Driving<'_> {
    async fn run(&mut self) -> Result<RunOutcome, DriveError> {
        for entry in std::mem::take(&mut self.hand.recent) {
            self.world.show(&entry, true).await;
        }
        if self.hand.is_new {
            self.show_first().await;
        }
        loop {
            if let Some(command) = self.command() {
                self.obey(command).await?;
            }
            let actions = run::next(
                &self.hand.run,
                &self.hand.facts,
                self.strategy,
                self.world.now_ms(),
                self.hand.driver.max_open,
            );
            let mut events = Vec::new();
            let mut begun = Vec::new();
            let mut wake_at = u64::MAX;
            for action in actions {
                match action {
                    Action::Look(step, query) => {
                        let seen = self.world.look(&query).await;
                        let at_ms = self.world.now_ms();
                        events.push(self.hand.facts.observation(step, seen, at_ms));
                    }
                    Action::Begin(event, work) => {
                        events.push(event);
                        begun.push(work);
                    }
                    Action::Resume(work) => self.send_out(work),
                    Action::Recall(key, what) => events.extend(self.recall(key, what)),
                    Action::WakeAt(at_ms) => wake_at = wake_at.min(at_ms),
                    Action::Stop(outcome) => events.push(self.stopping(outcome)),
                    Action::Conclude(outcome) => return self.conclude(outcome).await,
                }
            }
            let has_news = !events.is_empty();
            self.append(events).await?;
            for work in begun {
                self.send_out(work);
            }
            if !has_news {
                self.wait(wake_at).await?;
            }
        }
    }

    async fn show_first(&self) {
        if let Some(started) = self.hand.facts.started() {
            let event = RunEvent::Started(started.clone());
            self.world.show(&Entry { seq: 1, event }, false).await;
        }
    }

    fn command(&mut self) -> Option<Command> {
        let command = self.commands.borrow_and_update().clone();
        (command != Command::Go).then_some(command)
    }

    async fn obey(&mut self, command: Command) -> Result<(), DriveError> {
        match command {
            Command::Go => Ok(()),
            Command::Suspend => Err(DriveError::Suspended),
            Command::Cancel(_) if self.hand.facts.stopping().is_some() => Ok(()),
            Command::Cancel(reason) => {
                let event = self.stopping(RunOutcome::Cancelled { reason });
                self.append(vec![event]).await
            }
        }
    }

    fn stopping(&self, outcome: RunOutcome) -> RunEvent {
        RunEvent::Stopping {
            outcome,
            at_ms: self.world.now_ms(),
        }
    }

    /// Writes down what happened; only then it is so.
    async fn append(&mut self, events: Vec<RunEvent>) -> Result<(), DriveError> {
        if events.is_empty() {
            return Ok(());
        }
        let hand = &mut self.hand;
        let journal = &hand.driver.journal;
        let append = journal.append(&hand.run, hand.epoch, hand.last, &events);
        let appended = tokio::select! {
            biased;
            appended = timeout(hand.driver.lease, append) => appended,
            () = self.keeper.lost() => return Err(DriveError::Fenced),
        };
        match appended {
            Ok(Ok(())) => {}
            Ok(Err(journal::Error::Fenced(_))) | Err(_) => return Err(DriveError::Fenced),
            Ok(Err(error)) => return Err(error.into()),
        }
        for event in events {
            hand.last += 1;
            hand.facts.apply(&event);
            let entry = Entry {
                seq: hand.last,
                event,
            };
            self.world.show(&entry, false).await;
        }
        Ok(())
    }

    /// Sends a step out, unless this driver has it out already.
    fn send_out(&mut self, work: Work) {
        if self.out.contains_key(&work.key) {
            return;
        }
        let called_back = CancellationToken::new();
        self.out.insert(work.key.clone(), called_back.clone());
        let world = Arc::clone(&self.world);
        let left = self.hand.facts.account().free();
        self.steps.spawn(perform(world, work, called_back, left));
    }

    /// Calls a step back; what this driver does not have out, and what nobody needs to be told of, just ends.
    fn recall(&mut self, key: StepKey, what: Begun) -> Option<RunEvent> {
        if !self.called_back.insert(key.clone()) {
            return None;
        }
        if let Some(out) = self.out.get(&key) {
            out.cancel();
            return None;
        }
        match what {
            Begun::Delegated(sent) => {
                let deadline_ms = Some(sent.deadline_ms);
                let what = Outgoing::Delegate(sent);
                self.send_out(Work {
                    key: key.clone(),
                    what,
                    deadline_ms,
                });
                if let Some(out) = self.out.get(&key) {
                    out.cancel();
                }
                None
            }
            _ => Some(RunEvent::StepEnded {
                step: key.step,
                attempt: key.attempt,
                result: StepResult::Cancelled,
                spent: None,
                at_ms: self.world.now_ms(),
            }),
        }
    }

    /// Waits until something has happened.
    async fn wait(&mut self, wake_at: u64) -> Result<(), DriveError> {
        let now = self.world.now_ms();
        let pause = Duration::from_millis(wake_at.saturating_sub(now));
        let returned = tokio::select! {
            biased;
            () = self.keeper.lost() => return Err(DriveError::Fenced),
            () = changed(&mut self.commands) => return Ok(()),
            Some(returned) = self.steps.join_next_with_id() => returned,
            () = sleep(pause), if wake_at != u64::MAX => return Ok(()),
        };
        let (_, returned) = returned.unwrap_or_else(|error| {
            // What a step does is caught where it happens; this is the runtime going down.
            (error.id(), Returned::broken())
        });
        let Some(event) = returned.event(self.world.now_ms()) else {
            return Ok(());
        };
        if let Some(key) = &returned.key {
            self.out.remove(key);
        }
        self.append(vec![event]).await
    }

    /// Tells who waits, however often that takes; then the run is over.
    async fn conclude(&mut self, outcome: RunOutcome) -> Result<RunOutcome, DriveError> {
        let spent = self.hand.facts.spent();
        loop {
            let told = tokio::select! {
                biased;
                () = self.keeper.lost() => return Err(DriveError::Fenced),
                told = self.world.conclude(&outcome, spent) => told,
            };
            match told {
                Ok(()) => break,
                Err(failure) if failure.is_retryable => {
                    tracing::warn!(run = %self.hand.run, %failure, "the outcome could not be told, trying again");
                    tokio::select! {
                        () = self.keeper.lost() => return Err(DriveError::Fenced),
                        () = suspended(&mut self.commands) => return Err(DriveError::Suspended),
                        () = sleep(TELL_AGAIN) => {}
                    }
                }
                Err(failure) => {
                    tracing::warn!(run = %self.hand.run, %failure, "the outcome came too late or to no avail");
                    break;
                }
            }
        }
        let at_ms = self.world.now_ms();
        let ended = RunEvent::Ended {
            outcome: outcome.clone(),
            spent,
            at_ms,
        };
        self.append(vec![ended]).await?;
        Ok(outcome)
    }
}

/// Waits for a command; for ever, if nobody can give one.
async fn changed(commands: &mut watch::Receiver<Command>) {
    if commands.changed().await.is_err() {
        std::future::pending::<()>().await;
    }
}

async fn suspended(commands: &mut watch::Receiver<Command>) {
    if commands.wait_for(|c| *c == Command::Suspend).await.is_err() {
        std::future::pending::<()>().await;
    }
}
