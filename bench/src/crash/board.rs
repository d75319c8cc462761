//! State shared by the workers of a run.

use std::{
    sync::{Mutex, MutexGuard},
    time::Duration,
};

use tokio::{
    sync::Semaphore,
    time::{Instant, sleep},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    ledger::{Context, Ledger},
    operation::Operation,
};

/// Maximum operations of one context between publish and first effect. Keeps a bounded backlog in the hub.
pub(crate) const BACKLOG: usize = 48;

/// The ledger, and the limits on senders.
#[derive(Debug)]
pub(crate) struct Board {
    ledger: Mutex<Ledger>,
    backlog: Vec<Semaphore>,
    /// No further operations begin.
    pub(crate) closing: CancellationToken,
    /// All workers end.
    pub(crate) over: CancellationToken,
}

impl Board {
    pub(crate) fn new(contexts: &[Context]) -> Self {
        Self {
            ledger: Mutex::new(Ledger::new(contexts)),
            backlog: contexts.iter().map(|_| Semaphore::new(BACKLOG)).collect(),
            closing: CancellationToken::new(),
            over: CancellationToken::new(),
        }
    }

    pub(crate) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger
            .lock()
            .expect("no code panics while it holds the ledger")
    }

    /// Waits until another operation of this context may begin.
    pub(crate) async fn may_begin(&self, context: usize) {
        if let Some(backlog) = self.backlog.get(context)
            && let Ok(permit) = backlog.acquire().await
        {
            permit.forget();
        }
    }

    /// Marks an operation as ended.
    pub(crate) fn ended(&self, operation: Operation) {
        if let Some(backlog) = self.backlog.get(operation.context) {
            backlog.add_permits(1);
        }
    }

    /// Waits until all senders are done and all witnesses have seen every accepted operation, or nothing has changed
    /// for `patience`.
    pub(crate) async fn settle(&self, senders: &TaskTracker, patience: Duration) {
        const GLANCE: Duration = Duration::from_millis(50);
        let open = || (senders.len(), self.ledger().outstanding());
        let mut last = open();
        let mut since = Instant::now();
        while last != (0, 0) && since.elapsed() < patience {
            sleep(GLANCE).await;
            let left = open();
            if left != last {
                since = Instant::now();
            }
            last = left;
        }
    }
}
