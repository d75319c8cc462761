//! Metrics of the hub.
//!
//! What happens is counted where it happens; what there is at a moment is read under the lock, from what is counted already.

mod gathering;
mod http;
mod names;
mod process;
mod rpc;
mod traced;

use std::{sync::Arc, time::Duration};

use agenthub_metrics::{Counter, Histogram, bounds};
use agenthub_proto::a2a::TaskState;

use crate::{mailbox::Batch, sealed::Sealed};

pub use self::gathering::collect_process;
pub use self::http::measured;
pub(crate) use self::rpc::{Calls, Measured};

/// Waiting time from which on the trace of what waited is an exemplar: reading an event is not for each.
const SLOW: Duration = Duration::from_millis(5);

/// The trace of an event; 0 if it has none.
fn trace_of(event: &Sealed) -> u128 {
    u128::from_str_radix(&event.trace_id, 16).unwrap_or(0)
}

/// Number of task states.
pub(crate) const STATES: usize = 9;

/// Metrics since the start.
#[derive(Debug)]
pub(crate) struct Metrics {
    /// Events published.
    pub(crate) events: Counter,
    /// Publishes refused.
    pub(crate) refused: Counter,
    /// Events handed to streams.
    pub(crate) deliveries: Counter,
    /// Those of them that were handed to one before.
    pub(crate) redeliveries: Counter,
    /// Deliveries acknowledged.
    pub(crate) acknowledged: Counter,
    /// Deliveries refused by their agents.
    pub(crate) returned: Counter,
    /// Deliveries given up.
    pub(crate) undelivered: Counter,
    /// Streams ended for not being read.
    pub(crate) cut_off: Counter,
    /// Time from the record of an event to its delivery to mailboxes.
    pub(crate) commit_wait: Histogram,
    /// Time in a mailbox before the first delivery.
    pub(crate) mailbox_wait: Histogram,
    /// Time for which the lock on the state is held.
    pub(crate) lock_hold: Histogram,
    /// Tasks that ended, by state.
    pub(crate) tasks_ended: [Counter; STATES],
    pub(crate) log: Arc<LogMetrics>,
    pub(crate) calls: Arc<Calls>,
    pub(crate) http: http::Requests,
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            events: Counter::default(),
            refused: Counter::default(),
            deliveries: Counter::default(),
            redeliveries: Counter::default(),
            acknowledged: Counter::default(),
            returned: Counter::default(),
            undelivered: Counter::default(),
            cut_off: Counter::default(),
            commit_wait: Histogram::new(&bounds::REQUESTS),
            mailbox_wait: Histogram::new(&bounds::REQUESTS),
            lock_hold: Histogram::new(&bounds::SHORT),
            tasks_ended: Default::default(),
            log: Arc::default(),
            calls: Arc::default(),
            http: http::Requests::default(),
        }
    }
}

impl Metrics {
    /// A batch goes to a stream, after this time in its mailbox.
    pub(crate) fn delivered(&self, batch: &Batch, waited: Duration) {
        let events = batch.len() as u64;
        if batch.attempts() > 1 {
            self.redeliveries.inc_by(events);
            return;
        }
        self.mailbox_wait.observe_several_times(waited, events);
        if waited >= SLOW && !batch.is_stored() {
            let trace_id = || trace_of(&batch.segment().first());
            self.mailbox_wait.note_now_and_then(waited, trace_id);
        }
    }

    /// An event is delivered to mailboxes, this long after its record.
    pub(crate) fn committed(&self, event: &Sealed, waited: Duration, events: u64) {
        self.commit_wait.observe_several_times(waited, events);
        if waited >= SLOW {
            self.commit_wait
                .note_now_and_then(waited, || trace_of(event));
        }
    }

    /// A task has ended in this state.
    pub(crate) fn task_ended(&self, state: TaskState) {
        let index = usize::try_from(i32::from(state)).unwrap_or_default();
        if let Some(counter) = self.tasks_ended.get(index) {
            counter.inc();
        }
    }
}

/// Metrics of the log on disk.
#[derive(Debug)]
pub(crate) struct LogMetrics {
    /// Time of a transaction, in which the sync of the one before may be waited for.
    pub(crate) commit: Histogram,
    /// Time of a sync.
    pub(crate) sync: Histogram,
    /// Records of a transaction.
    pub(crate) records: Histogram,
    /// Bytes of records that were written.
    pub(crate) bytes: Counter,
}

impl Default for LogMetrics {
    fn default() -> Self {
        Self {
            commit: Histogram::new(&bounds::REQUESTS),
            sync: Histogram::new(&bounds::REQUESTS),
            records: Histogram::new(&bounds::COUNTS),
            bytes: Counter::default(),
        }
    }
}
