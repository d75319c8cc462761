//! All values of a hub at a moment.

use agenthub_metrics::{Snapshot, runs, topics};
use agenthub_proto::a2a::TaskState;

use super::{STATES, names, process};
use crate::{Hub, hub::Gauges, mailboxes::CLASSES};

impl Hub {
    /// Adds the hub's metrics. What it costs depends neither on the number of tasks, nor on that of agents and mailboxes.
    pub fn collect(&self, into: &mut Snapshot) {
        let metrics = self.metrics();
        into.labelled(&names::BUILD, &[env!("CARGO_PKG_VERSION")], 1_u64);
        into.number(&names::UP_SINCE, self.since().as_secs_f64());
        into.number(&names::FAILED, self.has_failed());
        for (name, counter) in [
            (&names::EVENTS, &metrics.events),
            (&names::REFUSED, &metrics.refused),
            (&names::DELIVERIES, &metrics.deliveries),
            (&names::REDELIVERIES, &metrics.redeliveries),
            (&names::ACKNOWLEDGED, &metrics.acknowledged),
            (&names::RETURNED, &metrics.returned),
            (&names::UNDELIVERED, &metrics.undelivered),
            (&names::CUT_OFF, &metrics.cut_off),
            (&names::LOG_BYTES, &metrics.log.bytes),
        ] {
            into.counter(name, counter);
        }
        for (name, histogram) in [
            (&names::COMMIT_WAIT, &metrics.commit_wait),
            (&names::MAILBOX_WAIT, &metrics.mailbox_wait),
            (&names::LOCK_HOLD, &metrics.lock_hold),
            (&names::LOG_COMMIT, &metrics.log.commit),
            (&names::LOG_SYNC, &metrics.log.sync),
            (&names::LOG_GROUP, &metrics.log.records),
        ] {
            into.histogram(name, &[], histogram);
        }
        for state in states().filter(|state| state.is_terminal()) {
            let ended = &metrics.tasks_ended[index(state)];
            into.labelled(&names::TASKS_ENDED, &[state.label()], ended.get());
        }
        if let Some(gauges) = self.gauges() {
            gauged(&gauges, into);
        }
        metrics.calls.collect(into);
        metrics.http.collect(into);
    }
}

/// Adds the metrics of this process that are not its hub's: of the system, of the runs of its agents, and of topics.
pub fn collect_process(into: &mut Snapshot) {
    process::collect(into);
    runs::of_process().collect(into);
    topics::of_process().collect(into);
}

fn states() -> impl Iterator<Item = TaskState> {
    let states = (0..STATES).filter_map(|state| i32::try_from(state).ok());
    states.filter_map(|state| TaskState::try_from(state).ok())
}

fn index(state: TaskState) -> usize {
    usize::try_from(i32::from(state)).unwrap_or_default()
}

/// Adds what there is.
fn gauged(gauges: &Gauges, into: &mut Snapshot) {
    for (name, value) in [
        (&names::AGENTS, gauges.agents),
        (&names::AGENTS_HERE, gauges.here),
        (&names::STREAMS, gauges.streams),
        (&names::TASKS, gauges.tasks),
        (&names::MAILBOXES, gauges.mailboxes),
        (&names::MAILBOX_BYTES, gauges.load.bytes),
        (&names::UNCLAIMED, gauges.unclaimed),
        (&names::DEAD_LETTERS, gauges.dead_letters),
        (&names::BODIES, gauges.bodies),
        (&names::HELD, gauges.held),
        (&names::HELD_BYTES, gauges.held_bytes),
        (&names::LOG_QUEUE, gauges.log_queue),
    ] {
        into.number(name, value);
    }
    into.number(&names::LOG_ACCEPTS, gauges.accepts);
    into.number(&names::LOG_RECORDS, gauges.last);
    into.number(&names::LOG_UNSAFE, gauges.last - gauges.safe);
    into.number(&names::MAILBOX_OLDEST, gauges.longest_wait.as_secs_f64());
    let load = gauges.load;
    for (state, events) in [("waiting", load.waiting), ("leased", load.leased)] {
        into.labelled(&names::MAILBOX_EVENTS, &[state], events);
    }
    for ((_, class), mailboxes) in CLASSES.iter().zip(gauges.classes) {
        into.labelled(&names::MAILBOXES_BY, &[class], mailboxes);
    }
    into.known(&names::MAILBOX_WAITING);
    for (agent, mailbox, waiting) in &gauges.fullest {
        into.labelled(&names::MAILBOX_WAITING, &[agent, mailbox], *waiting);
    }
    for state in states().filter(|state| !state.is_terminal()) {
        let open = u64::from(gauges.open[index(state)]);
        into.labelled(&names::TASKS_OPEN, &[state.label()], open);
    }
    for (of, used, limit) in gauges.bounds {
        into.labelled(&names::USED, &[of], used);
        into.labelled(&names::LIMIT, &[of], limit);
    }
}
