//! The loop of one run: journals each action of [`run::next`](crate::run::next), then performs it.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use tokio::{
    sync::{mpsc, watch},
    task::JoinSet,
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{
    Command, DriveError, LeasedRun, REPLAYED,
    perform::{ReturnedStep, perform},
};
use crate::{
    boundaries,
    event::{RunEvent, RunOutcome, StepRequest, StepResult},
    id::StepKey,
    journal::{self, Entry, ProgressSize},
    progress::{self, Piece},
    run::{self, Action, Outgoing, Work},
    strategy::{Memory, Strategy},
    world::World,
};

/// Pause before a failed conclusion is retried.
const CONCLUDE_RETRY: Duration = Duration::from_secs(1);

/// Grace period for tools when the run is released.
const RELEASE_GRACE: Duration = Duration::from_millis(500);

/// A step in flight in this process.
struct InFlight {
    /// Cancelled when the step is recalled.
    recalled: CancellationToken,
    interrupt_cost: InterruptCost,
}

/// Cost of interrupting a step in flight.
#[derive(Clone, Copy, PartialEq, Eq)]
enum InterruptCost {
    /// A tool call, which may have side effects.
    Tool,
    /// A model call or message, which would be paid for or sent again.
    Spends,
    /// Free to interrupt: an agent continues on its own, and a wait can continue elsewhere.
    Waits,
}

impl InterruptCost {
    fn of(what: &Outgoing) -> Self {
        match what {
            Outgoing::Call(_) => Self::Tool,
            Outgoing::Ask(_) | Outgoing::Say(_) => Self::Spends,
            Outgoing::Delegate(_) | Outgoing::Wait(_) | Outgoing::Approve(_) => Self::Waits,
        }
    }
}

/// State of the loop of one run.
pub(super) struct RunLoop<'a> {
    leased: LeasedRun,
    strategy: &'a dyn Strategy,
    /// The strategy's cached state.
    memory: Memory,
    world: Arc<dyn World>,
    commands: watch::Receiver<Command>,
    out: HashMap<StepKey, InFlight>,
    recalled: HashSet<StepKey>,
    steps: JoinSet<ReturnedStep>,
    /// Progress of steps in flight.
    pieces: mpsc::Receiver<Piece>,
    piece: mpsc::Sender<Piece>,
    /// Events that were decided about and are not durable yet. No effect that follows from them has started.
    pending: Vec<RunEvent>,
    /// No further step begins.
    is_draining: bool,
}

impl<'a> RunLoop<'a> {
    pub(super) fn new(
        leased: LeasedRun,
        strategy: &'a dyn Strategy,
        world: Arc<dyn World>,
        commands: watch::Receiver<Command>,
    ) -> Self {
        let (piece, pieces) = mpsc::channel(progress::QUEUE_LENGTH);
        Self {
            leased,
            strategy,
            memory: Memory::default(),
            world,
            commands,
            out: HashMap::new(),
            recalled: HashSet::new(),
            steps: JoinSet::new(),
            pieces,
            piece,
            pending: Vec::new(),
            is_draining: false,
        }
    }

    /// Stops everything in flight in this process.
    pub(super) async fn end(mut self) -> LeasedRun {
        self.steps.shutdown().await;
        self.leased
    }

    /// Cancels the tools in flight and waits for the grace period. Results that arrive now are of interrupted work and
    /// are discarded.
    pub(super) async fn stop_tools(&mut self) {
        self.out
            .retain(|_, out| out.interrupt_cost == InterruptCost::Tool);
        for out in self.out.values() {
            out.recalled.cancel();
        }
        let stopped = async {
            while !self.out.is_empty() {
                match self.steps.join_next().await {
                    Some(Ok(returned)) => _ = self.out.remove(&returned.key),
                    Some(Err(_)) => {}
                    None => return,
                }
            }
        };
        // Tools that exceed the grace period are dropped.
        let _ = timeout(RELEASE_GRACE, stopped).await;
    }

    pub(super) async fn run(&mut self) -> Result<RunOutcome, DriveError> {
        for entry in std::mem::take(&mut self.leased.recent) {
            self.world.show(&entry, true);
        }
        if self.leased.is_new && self.leased.last == 1 {
            self.show_first();
        }
        loop {
            if let Some(command) = self.command() {
                self.flush().await?;
                self.obey(command).await?;
            }
            let actions = run::advance(
                &self.leased.run,
                &self.leased.facts,
                (self.strategy, &mut self.memory),
                self.world.now_ms(),
                self.leased.driver.max_open,
            );
            if actions.iter().any(|action| self.acts_at_once(action)) {
                self.flush().await?;
            }
            let mut events = Vec::new();
            let mut begun = Vec::new();
            let mut wake_at = u64::MAX;
            for action in actions {
                match action {
                    Action::Look(step, query) => {
                        let seen = self.world.look(&query).await;
                        let at_ms = self.world.now_ms();
                        events.push(self.leased.facts.observation(step, seen, at_ms));
                    }
                    Action::Note(event) => events.push(event),
                    Action::Begin(..) | Action::Resume(_) if self.is_draining => {}
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
            self.accept(events);
            // Without effects the next decision may add events to the same append.
            if !has_news || !begun.is_empty() || self.pending.len() >= REPLAYED {
                self.flush().await?;
            }
            for work in begun {
                self.send_out(work);
            }
            if !has_news {
                if self.is_drained() {
                    return Err(DriveError::Suspended);
                }
                self.wait(wake_at).await?;
            }
        }
    }

    /// True for an action with an effect before the next append: what it follows from must be durable.
    fn acts_at_once(&self, action: &Action) -> bool {
        match action {
            Action::Look(..) | Action::Recall(..) | Action::Conclude(_) => true,
            Action::Resume(work) => !self.out.contains_key(&work.key),
            Action::Note(_) | Action::Begin(..) | Action::WakeAt(_) | Action::Stop(_) => false,
        }
    }

    fn show_first(&self) {
        if let Some(started) = self.leased.facts.started() {
            let event = RunEvent::Started(started.clone());
            self.world.show(&Entry { seq: 1, event }, false);
        }
    }

    fn command(&mut self) -> Option<Command> {
        let command = self.commands.borrow_and_update().clone();
        (command != Command::Go).then_some(command)
    }

    async fn obey(&mut self, command: Command) -> Result<(), DriveError> {
        match command {
            Command::Go => Ok(()),
            Command::Drain => {
                self.is_draining = true;
                Ok(())
            }
            Command::Suspend => Err(DriveError::Suspended),
            Command::Cancel(_) if self.leased.facts.stopping().is_some() => Ok(()),
            Command::Cancel(reason) => {
                let event = self.stopping(RunOutcome::Cancelled { reason });
                self.append(vec![event]).await
            }
        }
    }

    /// True if the run can be released. A cancelled run first waits for the confirmation of its agents.
    fn is_drained(&self) -> bool {
        let is_waited_for = |out: &InFlight| out.interrupt_cost != InterruptCost::Waits;
        self.is_draining
            && self.leased.facts.stopping().is_none()
            && !self.out.values().any(is_waited_for)
    }

    fn stopping(&self, outcome: RunOutcome) -> RunEvent {
        RunEvent::Stopping {
            outcome,
            at_ms: self.world.now_ms(),
        }
    }

    /// Appends events to the journal. Their effects start after that.
    async fn append(&mut self, events: Vec<RunEvent>) -> Result<(), DriveError> {
        self.accept(events);
        self.flush().await
    }

    /// Adds events to the facts, and to the next append.
    fn accept(&mut self, events: Vec<RunEvent>) {
        for event in &events {
            self.leased.facts.apply(event);
        }
        self.pending.extend(events);
    }

    /// Makes all events durable, and shows them.
    async fn flush(&mut self) -> Result<(), DriveError> {
        let mut events = std::mem::take(&mut self.pending);
        while !events.is_empty() {
            let rest = events.split_off(events.len().min(REPLAYED));
            self.append_together(std::mem::replace(&mut events, rest))
                .await?;
        }
        Ok(())
    }

    async fn append_together(&mut self, events: Vec<RunEvent>) -> Result<(), DriveError> {
        let leased = &mut self.leased;
        let journal = &leased.driver.journal;
        let append = journal.append(&leased.run, leased.epoch, leased.last, &events);
        match timeout(leased.driver.lease, append).await {
            Ok(Ok(())) => {}
            Ok(Err(journal::JournalError::Fenced(_))) | Err(_) => return Err(DriveError::Fenced),
            Ok(Err(error)) => return Err(error.into()),
        }
        boundaries::saved(&leased.run, &events).await;
        for event in events {
            leased.last += 1;
            let entry = Entry {
                seq: leased.last,
                event,
            };
            self.world.show(&entry, false);
        }
        Ok(())
    }

    /// Dispatches a step, unless this driver has it in flight already.
    fn send_out(&mut self, work: Work) {
        self.spawn(work, CancellationToken::new());
    }

    fn spawn(&mut self, work: Work, recalled: CancellationToken) {
        if self.out.contains_key(&work.key) {
            return;
        }
        let out = InFlight {
            recalled: recalled.clone(),
            interrupt_cost: InterruptCost::of(&work.what),
        };
        self.out.insert(work.key.clone(), out);
        let world = Arc::clone(&self.world);
        let left = self.leased.facts.account().free();
        self.steps
            .spawn(perform(world, work, recalled, left, self.piece.clone()));
    }

    /// Recalls a step; one that is not in flight here and needs no notification ends at once.
    fn recall(&mut self, key: StepKey, what: StepRequest) -> Option<RunEvent> {
        if !self.recalled.insert(key.clone()) {
            return None;
        }
        if let Some(out) = self.out.get(&key) {
            out.recalled.cancel();
            return None;
        }
        let StepRequest::Delegated(sent) = what else {
            return Some(RunEvent::StepEnded {
                step: key.step,
                attempt: key.attempt,
                result: StepResult::Cancelled,
                spent: None,
                at_ms: self.world.now_ms(),
            });
        };
        // Recalled before its redispatch, the step is not sent; only the agent is told to stop.
        let recalled = CancellationToken::new();
        recalled.cancel();
        let work = Work {
            key,
            deadline_ms: Some(sent.deadline_ms),
            what: Outgoing::Delegate(sent),
        };
        self.spawn(work, recalled);
        None
    }

    /// Waits for an event that may allow a new decision.
    async fn wait(&mut self, wake_at: u64) -> Result<(), DriveError> {
        let returned = loop {
            let now = self.world.now_ms();
            let pause = Duration::from_millis(wake_at.saturating_sub(now));
            tokio::select! {
                biased;
                () = changed(&mut self.commands) => return Ok(()),
                Some(returned) = self.steps.join_next() => break returned,
                () = sleep(pause), if wake_at != u64::MAX => return Ok(()),
                Some(piece) = self.pieces.recv() => {
                    let events = self.progress(Some(piece));
                    self.append(events).await?;
                }
            }
        };
        let mut next = Some(returned);
        while let Some(returned) = next {
            // Panics are caught inside the step's task; a missing result means that the runtime is shutting down.
            let Ok(returned) = returned else {
                return Err(DriveError::Suspended);
            };
            let mut events = self.progress(None);
            self.out.remove(&returned.key);
            events.push(returned.event(self.world.now_ms()));
            // The steps that follow begin in the same append.
            self.accept(events);
            next = self.steps.try_join_next();
        }
        Ok(())
    }

    /// Progress events received so far. Includes everything that a step sent before its result.
    fn progress(&mut self, first: Option<Piece>) -> Vec<RunEvent> {
        let at_ms = self.world.now_ms();
        let mut pieces = first;
        let mut events = Vec::new();
        for _ in 0..=progress::QUEUE_LENGTH {
            let Some(piece) = pieces.take().or_else(|| self.pieces.try_recv().ok()) else {
                break;
            };
            if !self.out.contains_key(&piece.key) {
                continue;
            }
            if let Some(event) = progress::event_of(self.leased.progress, piece, at_ms) {
                self.leased.progress += ProgressSize::of([&event]);
                events.push(event);
            }
        }
        events
    }

    /// Reports the outcome to the requester, retrying until that succeeds; then the run is over.
    async fn conclude(&mut self, outcome: RunOutcome) -> Result<RunOutcome, DriveError> {
        let spent = self.leased.facts.spent();
        loop {
            let told = tokio::select! {
                biased;
                told = self.world.conclude(&outcome, spent) => told,
                () = suspended(&mut self.commands) => return Err(DriveError::Suspended),
            };
            match told {
                Ok(()) => break,
                Err(failure) if failure.is_retryable => {
                    tracing::warn!(run = %self.leased.run, %failure, "the outcome could not be told, trying again");
                    tokio::select! {
                        () = suspended(&mut self.commands) => return Err(DriveError::Suspended),
                        () = sleep(CONCLUDE_RETRY) => {}
                    }
                }
                Err(failure) => {
                    tracing::warn!(run = %self.leased.run, %failure, "the outcome came too late or to no avail");
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

/// Waits for a command; forever if the sender is gone.
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
