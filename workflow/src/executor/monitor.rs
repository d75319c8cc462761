//! Tells the monitoring topic how a run goes.
//!
//! Messages follow from the run's journal. Those of entries that are new wait in a queue for the bus, for a moment longer than they must,
//! so that several go out together beside the steps and not between them. Where the queue overflows, and where a run is
//! recovered, the journal is read instead, so that each message is published at least once. The run's last message is published before
//! the journal says that the run has ended.

mod publisher;

#[cfg(test)]
mod tests;

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use agenthub_bus::{Bus, HubBus, Message};
use agenthub_sdk::{
    TaskContext,
    durable::Journal,
    runs::{EffectFailure, RunId, journal::Entry},
};
use tokio::{
    sync::{Notify, mpsc, watch},
    task::JoinSet,
    time::timeout,
};

use self::publisher::Publisher;
use crate::{
    monitoring::{of_end, of_step},
    over_bus::BusRoute,
};

/// Messages that wait for the bus.
const QUEUE: usize = 256;

/// Place of the run's last message, behind every entry.
const END: u64 = u64::MAX;

/// Deadline for the end of a run to be told in one try.
const FINISH: Duration = Duration::from_secs(30);

/// The monitoring messages of one run. Dropping it stops them.
#[derive(Debug)]
pub(super) struct Monitor {
    shared: Arc<Shared>,
    queue: mpsc::Sender<(u64, Message)>,
    /// True once nothing but the run's last message will follow.
    finishing: watch::Sender<bool>,
    /// Number of the entry up to which all messages are published, [`END`] once the last one is.
    published: watch::Receiver<u64>,
    _publisher: JoinSet<()>,
}

#[derive(Debug)]
struct Shared {
    run: RunId,
    journal: Arc<dyn Journal>,
    bus: Arc<dyn Bus>,
    /// Number of the last entry with a message. The messages up to it are in the queue, or in the journal alone.
    shown: AtomicU64,
    /// True if there are messages that are not in the queue.
    is_behind: AtomicBool,
    behind: Notify,
    /// The run's last message.
    last: Mutex<Option<Message>>,
}

impl Monitor {
    /// The monitoring messages of a task's run: on the bus of its route, or on the task's hub.
    pub(super) fn of(
        task: &TaskContext,
        run: &RunId,
        journal: &Arc<dyn Journal>,
        route: Option<&BusRoute>,
    ) -> Self {
        let bus = match route {
            Some(route) => Arc::clone(route.bus()),
            None => Arc::new(HubBus::new(task.client().clone())),
        };
        Self::new(run.clone(), Arc::clone(journal), bus)
    }

    fn new(run: RunId, journal: Arc<dyn Journal>, bus: Arc<dyn Bus>) -> Self {
        let (queue, waiting) = mpsc::channel(QUEUE);
        let (sender, published) = watch::channel(0);
        let shared = Arc::new(Shared {
            run,
            journal,
            bus,
            shown: AtomicU64::new(0),
            is_behind: AtomicBool::new(false),
            behind: Notify::new(),
            last: Mutex::default(),
        });
        let (finishing, told) = watch::channel(false);
        let publisher = Publisher {
            shared: Arc::clone(&shared),
            published: sender,
            finishing: told,
        };
        let mut tasks = JoinSet::new();
        tasks.spawn(publisher.run(waiting));
        Self {
            shared,
            queue,
            finishing,
            published,
            _publisher: tasks,
        }
    }

    /// Takes an entry in. `again` says that the run was recovered, and the entry is one of its last.
    pub(super) fn show(&self, entry: &Entry, again: bool) {
        let run = &self.shared.run;
        if let Some(message) = of_end(run, entry) {
            *self.shared.last() = Some(message);
            return;
        }
        let message = of_step(run, entry);
        let has_message = message.is_some() || again;
        let is_queued = match message {
            _ if again => false,
            None => true,
            Some(message) => self.queue.try_send((entry.seq, message)).is_ok(),
        };
        if has_message {
            self.shared.shown.fetch_max(entry.seq, Ordering::Release);
        }
        if !is_queued {
            self.shared.is_behind.store(true, Ordering::Release);
            self.shared.behind.notify_one();
        }
    }

    /// Publishes the run's last message, with what waits before it.
    ///
    /// # Errors
    ///
    /// The bus cannot be reached. What it refuses is left out.
    pub(super) async fn finish(&self) -> Result<(), EffectFailure> {
        self.finishing.send_replace(true);
        let mut published = self.published.clone();
        match timeout(FINISH, published.wait_for(|seq| *seq == END)).await {
            Ok(_) => Ok(()),
            Err(_) => Err(EffectFailure::passing("the bus does not answer")),
        }
    }
}

impl Shared {
    fn last(&self) -> MutexGuard<'_, Option<Message>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_behind(&self) -> bool {
        self.is_behind.load(Ordering::Acquire)
    }
}
