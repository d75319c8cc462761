//! Counts of what is in the hub at a moment, read from what is counted already.

use std::time::{Duration, SystemTime};

use super::{
    Hub,
    core::{Core, Now},
    held::HELD_BYTES,
};
use crate::{
    id::AgentId,
    log::QUEUE_BYTES,
    mailboxes::{CLASSES, Load},
    metrics::STATES,
};

/// Current values.
#[derive(Clone, Debug)]
pub(crate) struct Gauges {
    pub(crate) agents: usize,
    /// Agents with an instance.
    pub(crate) here: usize,
    pub(crate) streams: usize,
    pub(crate) tasks: usize,
    /// Open tasks of each state.
    pub(crate) open: [u32; STATES],
    pub(crate) mailboxes: usize,
    pub(crate) load: Load,
    /// Mailboxes of each class.
    pub(crate) classes: [usize; CLASSES.len()],
    pub(crate) fullest: Vec<(AgentId, String, usize)>,
    pub(crate) longest_wait: Duration,
    pub(crate) unclaimed: usize,
    pub(crate) dead_letters: usize,
    pub(crate) bodies: usize,
    pub(crate) held: usize,
    pub(crate) held_bytes: usize,
    pub(crate) log_queue: usize,
    pub(crate) accepts: bool,
    /// Last position of the log, and the last that is durable.
    pub(crate) last: u64,
    pub(crate) safe: u64,
    /// Name, use and limit of what is bounded.
    pub(crate) bounds: [(&'static str, usize, usize); 10],
}

impl Core {
    /// The current values. Their cost depends neither on the number of tasks, nor on that of agents and mailboxes.
    pub(super) fn gauges(&mut self, now: Now) -> Gauges {
        let core = self;
        let longest_wait = core.state.mailboxes.longest_wait(now.instant);
        let (state, settings) = (&core.state, &core.settings);
        let (tasks, mailboxes) = (&state.tasks, &state.mailboxes);
        let open = tasks.open_states();
        let open_tasks = open.iter().sum::<u32>() as usize;
        let letters = &state.dead_letters;
        let log_queue = core.log.queued_bytes();
        let last = core.last().0;
        Gauges {
            agents: state.registry.len(),
            here: core.presence.len(),
            streams: core.sessions.len(),
            tasks: tasks.len(),
            open,
            mailboxes: mailboxes.len(),
            load: mailboxes.loads.all(),
            classes: mailboxes.loads.classes(),
            fullest: mailboxes.fullest(),
            longest_wait,
            unclaimed: mailboxes.unclaimed.events(),
            dead_letters: letters.len(),
            bodies: mailboxes.bodies.bytes(),
            held: core.held.len(),
            held_bytes: core.held.bytes(),
            log_queue,
            accepts: core.commits.latest().admit().is_ok(),
            last,
            safe: core.safe().0.min(last),
            bounds: [
                ("agents", state.registry.len(), settings.agents),
                ("streams", core.sessions.of_peers(), settings.streams),
                ("mailboxes", mailboxes.len(), settings.mailboxes),
                ("open_tasks", open_tasks, settings.open_tasks),
                ("tasks_bytes", tasks.bytes(), settings.tasks_bytes),
                (
                    "bodies_bytes",
                    mailboxes.bodies.bytes(),
                    settings.bodies_bytes,
                ),
                ("held_bytes", core.held.bytes(), HELD_BYTES),
                ("log_queue_bytes", log_queue, QUEUE_BYTES),
                ("dead_letters", letters.len(), settings.dead_letters),
                (
                    "remembered_publishes",
                    state.dedupe.len(),
                    settings.dedupe_total,
                ),
            ],
        }
    }
}

impl Hub {
    /// The current values; `None` once the hub has failed in a panic.
    pub(crate) fn gauges(&self) -> Option<Gauges> {
        Some(self.try_core()?.gauges(Now::read()))
    }

    /// Time of the start, since 1970.
    pub(crate) fn since(&self) -> Duration {
        let since = self.shared.since.duration_since(SystemTime::UNIX_EPOCH);
        since.unwrap_or_default()
    }
}
