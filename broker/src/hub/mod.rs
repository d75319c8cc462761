//! The hub: a lock around its state, and the calls that services make. Nothing here blocks.

mod agent_calls;
mod away;
mod backlog;
mod bodies;
mod cancelling;
mod cards;
mod charging;
mod claiming;
mod coming;
mod core;
mod dead_letters_admin;
mod delivering;
mod directory;
mod enders;
mod failure;
mod gauges;
mod giving_up;
mod held;
mod hello;
mod keeper;
mod latest_cards;
mod listing;
mod locked;
mod mailboxes_admin;
mod opening;
mod orphans;
mod outgoing;
mod own_tasks;
mod pending;
mod portions;
mod probes;
mod publish;
mod registering;
mod seek;
mod session;
mod sessions;
mod settled;
mod status_listing;
mod storage;
mod sweep;
mod task_calls;
mod timekeeper;
mod tries;
mod unused;
mod waiting_tasks;

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::SystemTime,
};

use agenthub_access::Identities;
use agenthub_proto::agenthub::{AgentEventMetadata, Hello};
use tokio::{sync::SetOnce, task::spawn_blocking};
use tokio_util::{
    sync::CancellationToken,
    task::{TaskTracker, task_tracker::TaskTrackerToken},
};

use self::core::{Core, Now};
pub use self::failure::Failure;
use self::locked::Locked;
use self::storage::Opening;
pub(crate) use self::{
    gauges::Gauges,
    opening::StreamRequest,
    outgoing::{End, Outgoing},
    publish::{Body, Envelope, Passing, Receipt, Repetition, Run},
    session::{Session, Together},
    sessions::{Kind, Opened},
};
use crate::{
    Caller, Error,
    log::{Commit, Commits, Failed, LogId, OpenError, Position},
    metrics::Metrics,
    settings::{Settings, Storage},
};

/// A hub. Clones are handles to the same hub.
#[derive(Clone, Debug)]
pub struct Hub {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    settings: Settings,
    core: Mutex<Core>,
    commits: Commits,
    reader: bodies::Reader,
    /// Reason of the failure. Waiting for it is not woken by every commit.
    failure: SetOnce<Failure>,
    metrics: Arc<Metrics>,
    since: SystemTime,
    /// Id of the log: changes on a restart without a folder.
    log: LogId,
    /// Address where it is served.
    address: OnceLock<SocketAddr>,
    is_draining: AtomicBool,
    /// Namespaces beside this hub's that cannot be opened, each with the reason.
    closed_spaces: Mutex<BTreeMap<String, String>>,
    stop: CancellationToken,
    tasks: TaskTracker,
    /// Number of times that the state was locked.
    #[cfg(test)]
    locks: std::sync::atomic::AtomicUsize,
}

impl Hub {
    /// Notes whether a namespace beside this hub's can be opened, and if not, why.
    pub fn note_space(&self, name: &str, trouble: Option<&str>) {
        let closed = self.shared.closed_spaces.lock();
        let mut closed = closed.unwrap_or_else(PoisonError::into_inner);
        match trouble {
            Some(why) => _ = closed.insert(name.to_owned(), why.to_owned()),
            None => _ = closed.remove(name),
        }
    }

    /// Namespaces beside this hub's that cannot be opened, each with the reason.
    pub fn closed_spaces(&self) -> BTreeMap<String, String> {
        let closed = self.shared.closed_spaces.lock();
        closed.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Starts a hub from its log. Needs a Tokio runtime; call [`stop`](Self::stop) at the end.
    ///
    /// # Errors
    ///
    /// [`OpenError`] if the log cannot be opened or is damaged.
    pub fn start(settings: Settings) -> Result<Self, OpenError> {
        let metrics = Arc::new(Metrics::default());
        let Opening {
            log,
            mut state,
            upkeep,
            work,
        } = storage::open(&settings, &metrics.log)?;
        let until = tokio::time::Instant::now() + settings.presence_lease;
        state.mailboxes.resume(until);
        let commits = log.commits();
        let reader = bodies::Reader::new(log.history());
        let hub = Self {
            shared: Arc::new(Shared {
                log: log.id(),
                core: Mutex::new(Core::new(settings.clone(), metrics.clone(), log, state)),
                settings,
                commits: commits.clone(),
                reader,
                failure: SetOnce::new(),
                metrics,
                since: SystemTime::now(),
                address: OnceLock::new(),
                closed_spaces: Mutex::default(),
                is_draining: AtomicBool::new(false),
                stop: CancellationToken::new(),
                tasks: TaskTracker::new(),
                #[cfg(test)]
                locks: Default::default(),
            }),
        };
        let Shared { stop, tasks, .. } = &*hub.shared;
        tasks.spawn(timekeeper::keep_time(hub.clone(), stop.clone()));
        tasks.spawn(timekeeper::probe(hub.clone(), stop.clone()));
        if hub.settings().storage != Storage::Memory {
            hub.spawn(deliver_committed(hub.clone(), commits));
        }
        hub.spawn(bodies::bury_stored(hub.clone()));
        if let Some(work) = work {
            hub.spawn(work);
        }
        if let Some(upkeep) = upkeep {
            tasks.spawn(keeper::keep_log(hub.clone(), upkeep, stop.clone()));
        }
        Ok(hub)
    }

    /// Decides on whose behalf callers act, and what these may, by these identities.
    pub(crate) fn know(&self, identities: Identities) {
        self.core().identities = Some(identities);
    }

    /// Waits until the hub fails, and returns the reason: the process has to end then, and to restart from its disk.
    pub async fn failed(&self) -> Failure {
        self.shared.failure.wait().await.clone()
    }

    /// True if it has [failed](Self::failed).
    pub fn has_failed(&self) -> bool {
        self.shared.failure.get().is_some()
    }

    /// Waits until everything up to a position is durable.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] if the log fails before that: it is unknown then whether the records are durable.
    pub(crate) async fn safe(&self, position: Position) -> Result<(), Error> {
        self.shared.commits.safe(position).await.map_err(|Failed| {
            Error::Unavailable(
                "the hub's log has failed; whether this was accepted will be known when the hub is back".to_owned(),
            )
        })
    }

    /// Number of times that the state was locked.
    #[cfg(test)]
    pub(crate) fn locks(&self) -> usize {
        self.shared.locks.load(Ordering::Relaxed)
    }

    /// Waits until everything so far is durable.
    ///
    /// # Errors
    ///
    /// See [`safe`](Self::safe).
    pub(crate) async fn synced(&self) -> Result<(), Error> {
        let last = self.core().last();
        self.safe(last).await
    }

    /// Commits of the log.
    pub(crate) fn commits(&self) -> &Commits {
        &self.shared.commits
    }

    /// Ends every stream with a reason on which clients reconnect, and refuses new ones.
    pub fn drain(&self) {
        self.shared.is_draining.store(true, Ordering::Relaxed);
        if let Some(mut core) = self.try_core() {
            core.sessions.drain();
        }
    }

    /// True if [`drain`](Self::drain) was called.
    pub fn is_draining(&self) -> bool {
        self.shared.is_draining.load(Ordering::Relaxed)
    }

    /// Stops all background work, and waits until it has stopped and the log has written everything. Later changes do
    /// not reach the log.
    pub async fn stop(&self) {
        self.drain();
        self.shared.stop.cancel();
        self.shared.tasks.close();
        self.shared.tasks.wait().await;
        if let Some(mut core) = self.try_core() {
            core.tell_tries(Now::read());
        }
        let writing = self.try_core().and_then(|mut core| core.log.close());
        if let Some(writing) = writing {
            // A panic of the thread has been logged.
            let _ = spawn_blocking(move || writing.join()).await;
        }
    }

    /// Runs a task until it ends or the hub stops.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let stop = self.shared.stop.clone();
        // Boxed: wrappers of a future store it several times, and every agent has such tasks.
        let task = Box::pin(task);
        self.shared
            .tasks
            .spawn(stop.run_until_cancelled_owned(task));
    }

    /// A token that delays the [stop](Self::stop) of the hub until it is dropped.
    pub(crate) fn running(&self) -> TaskTrackerToken {
        self.shared.tasks.token()
    }

    fn admit(&self) -> Result<(), Error> {
        if self.is_draining() {
            return Err(Error::Unavailable(
                "the hub is shutting down; connect again".to_owned(),
            ));
        }
        Ok(())
    }

    /// The hub's settings.
    pub fn settings(&self) -> &Settings {
        &self.shared.settings
    }

    /// Sets the address for the hub's card. Only the first call has an effect.
    pub(crate) fn is_at(&self, address: SocketAddr) {
        let _ = self.shared.address.set(address);
    }

    /// The log's id.
    pub(crate) fn log(&self) -> LogId {
        self.shared.log
    }

    pub(crate) fn metrics(&self) -> &Arc<Metrics> {
        &self.shared.metrics
    }

    /// Locks the state; the changes under one guard are one group of the log.
    ///
    /// # Panics
    ///
    /// Panics if the hub has [failed](Self::failed) in a panic. The call that needs the state ends.
    pub(crate) fn core(&self) -> Locked<'_> {
        self.try_core()
            .expect("code panicked while it changed the hub's state")
    }

    /// The same for cleanup code; `None` if the state is lost.
    pub(crate) fn try_core(&self) -> Option<Locked<'_>> {
        #[cfg(test)]
        self.shared.locks.fetch_add(1, Ordering::Relaxed);
        Locked::new(
            &self.shared.core,
            &self.shared.failure,
            &self.shared.metrics.lock_hold,
        )
    }

    pub(crate) fn publish(
        &self,
        caller: &Caller,
        body: Body,
        routing: AgentEventMetadata,
        repetition: Repetition,
    ) -> Result<Receipt, Error> {
        let result = self
            .core()
            .publish(caller, body, routing, repetition, Now::read());
        if result.is_err() {
            self.shared.metrics.refused.inc();
        }
        result
    }

    pub(crate) async fn open_stream(
        &self,
        caller: &Caller,
        request: StreamRequest,
    ) -> Result<Session, Error> {
        self.admit()?;
        let opened = self.core().open_stream(caller, request, Now::read())?;
        let mut session = self.session(caller, opened);
        session.open().await?;
        session.prepare().await?;
        Ok(session)
    }

    pub(crate) async fn connect(
        &self,
        caller: &Caller,
        kind: Kind,
        hello: Hello,
        claims: &[(u32, Position)],
    ) -> Result<Session, Error> {
        self.admit()?;
        let claims = hello::claims(claims);
        let opened = self
            .core()
            .connect(caller, kind, hello, claims, Now::read())?;
        let mut session = self.session(caller, opened);
        session.open().await?;
        Ok(session)
    }

    fn session(&self, caller: &Caller, opened: Opened) -> Session {
        Session {
            hub: self.clone(),
            caller: caller.clone(),
            opened,
            said_goodbye: false,
        }
    }
}

/// Delivers durable events until the log is gone. Reports a failure of the log.
async fn deliver_committed(hub: Hub, mut commits: Commits) {
    while let Some(commit) = commits.next().await {
        if let Commit::Failed(reason) = commit {
            // It has failed already.
            let _ = hub.shared.failure.set(Failure::Log(reason));
        }
        drop(hub.core());
    }
}

#[cfg(test)]
mod tests;
