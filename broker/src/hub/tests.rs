//! Tests of the hub's state without sockets and clocks, for situations that are hard to reach from outside.

mod away;
mod bodies;
mod bounds;
mod directory;
mod failing;
mod fold;
mod full;
mod load;
mod online;
mod orphans;
mod passing;
mod portions;
mod runs;
mod streams;
mod ticks;
mod together;
mod waiting;

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, SystemTime},
};

use agenthub_proto::{
    a2a::{AgentCard, Message, Role, TaskState},
    agenthub::{self, AgentEventMetadata, EventKind, Hello, SeekMailboxRequest, Subscription},
};
use tokio::time::Instant;

use super::{
    core::{Core, Now},
    hello,
    opening::StreamRequest,
    outgoing::{End, Outgoing},
    publish::{Body, Receipt, Repetition},
    seek::Seek,
    sessions::{Kind, Opened},
};
use crate::{
    Caller, Error,
    access::Call,
    bodies::Bodies,
    filter::Filter,
    id::SessionId,
    log::{
        Commit, Commits, Committer, EventLog, History, LogId, MemoryLog, Position, Record,
        Registration,
    },
    mailbox::Batch,
    metrics::Metrics,
    sealed::Sealed,
    settings::Settings,
    snapshot,
    state::State,
    tasks::Query,
};

/// A log that keeps every record.
#[derive(Debug)]
struct Keeping {
    log: MemoryLog,
    records: Arc<Mutex<Vec<Record>>>,
    commits: Arc<Committer>,
    is_stalled: Arc<AtomicBool>,
}

impl EventLog for Keeping {
    fn id(&self) -> LogId {
        self.log.id()
    }

    fn next_position(&self) -> Position {
        self.log.next_position()
    }

    fn admit(&self) -> Result<(), Error> {
        self.commits.latest().admit()
    }

    fn admit_accepted(&self) -> Result<(), Error> {
        self.commits.latest().admit_accepted()
    }

    fn append(&mut self, record: Record) {
        self.records
            .lock()
            .expect("one thread")
            .push(record.clone());
        self.log.append(record);
    }

    fn commit(&mut self) {
        self.log.commit();
        if !self.is_stalled.load(Ordering::Relaxed) {
            self.commits.announce(self.log.commits().latest().clone());
        }
    }

    fn abandon(&mut self) {
        self.log.abandon();
    }

    fn commits(&self) -> Commits {
        self.commits.subscribe()
    }

    fn history(&self) -> Arc<dyn History> {
        self.log.history()
    }
}

/// A state with a fixed secret for fingerprints.
fn blank(settings: &Settings) -> State {
    let mut state = State::new(settings);
    state.dedupe.set_secret([7; 16].into());
    state
}

struct Bench {
    records: Arc<Mutex<Vec<Record>>>,
    commits: Arc<Committer>,
    is_stalled: Arc<AtomicBool>,
    core: Core,
    now: Now,
}

impl Bench {
    fn new(settings: Settings) -> Self {
        let state = blank(&settings);
        Self::with(settings, state)
    }

    /// Restarts the hub with its state.
    fn restarted(self) -> Self {
        let Core {
            settings, state, ..
        } = self.core;
        let mut next = Self::with(settings, state);
        next.now = self.now;
        next
    }

    fn with(settings: Settings, state: State) -> Self {
        let log = Keeping {
            log: MemoryLog::new(settings.log_events, settings.log_bytes),
            records: Arc::default(),
            commits: Arc::new(Committer::new(Commit::Upto(Position(0)))),
            is_stalled: Arc::default(),
        };
        Self {
            records: log.records.clone(),
            commits: log.commits.clone(),
            is_stalled: log.is_stalled.clone(),
            core: Core::new(settings, Arc::new(Metrics::default()), Box::new(log), state),
            now: Now {
                instant: Instant::now(),
                time: SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000),
            },
        }
    }

    fn moment(&self) -> snapshot::Moment {
        snapshot::Moment {
            instant: self.now.instant,
            time: self.now.time,
        }
    }

    /// From now on nothing becomes durable by itself.
    fn stall(&mut self) {
        self.is_stalled.store(true, Ordering::Relaxed);
    }

    /// Makes the log durable up to a position.
    fn make_safe(&mut self, position: Position) {
        self.commits.announce(Commit::Upto(position));
        self.core();
    }

    /// Fills the disk; nothing becomes durable any more.
    fn fill_disk(&mut self) {
        let safe = self.core().safe();
        self.stall();
        self.commits.announce(Commit::Full(safe));
    }

    /// The state, with all earlier deliveries made, and given-up mail processed.
    fn core(&mut self) -> &mut Core {
        let now = self.now;
        self.core.end_group(|| now);
        loop {
            let positions = self.core.giving_up.to_read();
            if positions.is_empty() {
                return &mut self.core;
            }
            let found = self.events_at(&positions);
            self.core.bury_read(&positions, &found, now);
            self.core.end_group(|| now);
        }
    }

    /// Sets the memory limit for bodies.
    fn bound_bodies(&mut self, bytes: usize) {
        self.core.state.mailboxes.bodies = Bodies::new(bytes);
    }

    fn events_at(&self, positions: &[Position]) -> HashMap<Position, Arc<Sealed>> {
        let found = self.core.log.history().at(positions);
        found.expect("it is in memory").into_iter().collect()
    }

    /// A delivery as a stream sends it.
    fn filled(&self, batch: &Batch) -> Batch {
        match batch.is_stored() {
            true => batch
                .filled(&self.events_at(batch.positions()))
                .expect("the log has it"),
            false => batch.clone(),
        }
    }

    fn wait(&mut self, time: Duration) {
        self.now.instant += time;
        self.now.time += time;
        let now = self.now;
        while self.core().tick(now) {}
    }

    fn publish(&mut self, body: Body, from: &str, to: &str) -> Result<Receipt, Error> {
        let routing = AgentEventMetadata {
            from_agent_id: from.into(),
            to_agent_id: to.into(),
            ..Default::default()
        };
        let caller = Caller::anonymous();
        let receipt = self
            .core
            .publish(&caller, body, routing, Repetition::Accept, self.now);
        self.core();
        receipt
    }

    fn work(&mut self, task: &str, from: &str, to: &str) -> Result<Receipt, Error> {
        let message = Message {
            task_id: task.into(),
            ..Message::new(Role::User, "go")
        };
        self.publish(Body::Message(message), from, to)
    }

    fn connect(&mut self, agent: &str, instance: &str, subscription: Subscription) -> Opened {
        let hello = Hello {
            protocol_version: 1,
            agent_id: agent.into(),
            instance_id: instance.into(),
            subscription: vec![subscription],
            ..Default::default()
        };
        let caller = Caller::anonymous();
        let opened = self
            .core
            .connect(&caller, Kind::Connect, hello, Vec::new(), self.now);
        self.open(opened.expect("a good hello"))
    }

    /// Opens the subscriptions of a stream.
    fn open(&mut self, mut opened: Opened) -> Opened {
        let (caller, now) = (Caller::anonymous(), self.now);
        while opened.is_under_way() {
            let more = self.core().open_more(&caller, &mut opened, now);
            more.expect("there is room");
        }
        opened
    }

    fn stream(&mut self, agent: &str, kinds: &[EventKind]) -> Opened {
        let request = StreamRequest {
            call: Call::SubscribeToMessages,
            agent: agent.into(),
            filter: Filter::kinds(kinds),
            after: String::new(),
            observes: None,
            recent: 0,
        };
        self.core
            .open_stream(&Caller::anonymous(), request, self.now)
            .expect("a good request")
    }

    fn take(&mut self, session: SessionId) -> Outgoing {
        let now = self.now;
        self.core().take(session, &[u32::MAX], 64, now)
    }

    fn close(&mut self, session: SessionId, said_goodbye: bool) {
        let now = self.now;
        self.core().close(session, said_goodbye, now);
    }

    fn seek(&mut self, request: &SeekMailboxRequest) -> Result<(), Error> {
        let (caller, now) = (Caller::anonymous(), self.now);
        let seek = self.core().plan_seek(request)?;
        let mut again = Vec::new();
        if let Some((after, upto)) = seek.again {
            let page = self.core.log.history().page(after, upto)?;
            self.core.missing(&seek, &page.events, &mut again, now)?;
        }
        if seek.again.is_some() {
            self.core.admit()?;
        }
        let Seek {
            agent,
            name,
            skipped,
            ..
        } = &seek;
        while self
            .core
            .skip_some(&caller, agent, name, *skipped, "skipped", now)
            > 0
        {}
        if !again.is_empty() {
            self.core.put_again(&caller, &seek, &again, now)?;
        }
        Ok(())
    }

    fn state(&self, task: &str) -> TaskState {
        let entry = self.core.state.tasks.get(task).expect("it is known");
        entry.state()
    }

    fn states(&self, state: TaskState) -> usize {
        let (mut found, mut before) = (0, None);
        loop {
            let page = self.core.state.tasks.list(&Query {
                states: vec![state],
                limit: usize::MAX,
                before,
                ..Query::default()
            });
            found += page.tasks.len();
            before = page.next;
            if before.is_none() {
                return found;
            }
        }
    }
}

fn durable(name: &str) -> Subscription {
    Subscription {
        name: name.into(),
        lifetime: agenthub::Lifetime::Durable.into(),
        ..Default::default()
    }
}

fn of_instance(name: &str) -> Subscription {
    Subscription {
        lifetime: agenthub::Lifetime::Instance.into(),
        ..durable(name)
    }
}
