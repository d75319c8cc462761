//! All mailboxes, by agent, and the operations of instances on them.

mod delivering;
mod handling;
mod leaving;
mod load;
mod observed;
mod saved;
mod snapshots;
mod summary;
mod tries;

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    sync::Arc,
    time::{Duration, SystemTime},
};

use agenthub_proto::agenthub::EventKind;
use tokio::{sync::Notify, time::Instant};

pub(crate) use self::{
    delivering::Post,
    load::{CLASSES, Load, Loads},
    observed::Observed,
    snapshots::{Reach, Snapshots},
    summary::MailboxSummary,
};
use self::{leaving::Leaving, load::Counted};
use crate::{
    bodies::Bodies,
    filter::Filter,
    id::{AgentId, InstanceId, MailboxId, SessionId},
    log::Position,
    mailbox::{Bounds, Mailbox, Portion, Undelivered},
    remains::Remains,
    table::Table,
    unclaimed::Unclaimed,
};

/// Lifetime of a mailbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Lifetime {
    /// Until the agent is unregistered.
    Durable,
    /// Until the instance is gone.
    Instance(InstanceId),
    /// Until the server stream ends, which is an instance of its own. Nothing is redelivered there: leased events wait
    /// for the transport.
    Stream(InstanceId),
}

impl Lifetime {
    fn instance(&self) -> Option<&InstanceId> {
        match self {
            Self::Durable => None,
            Self::Instance(instance) | Self::Stream(instance) => Some(instance),
        }
    }
}

/// Longer than any stream lives.
const NEVER: Duration = Duration::from_secs(365 * 24 * 3600);

#[derive(Debug)]
struct Slot {
    agent: AgentId,
    name: String,
    lifetime: Lifetime,
    filter: Filter,
    ordered: bool,
    /// Last recorded use, if known.
    used: Option<SystemTime>,
    mailbox: Mailbox,
    listeners: Vec<(SessionId, Arc<Notify>)>,
    /// True if the mailbox lost mail that nobody else has.
    has_overflowed: bool,
    /// Lower bound of the next due time.
    next_tick: Option<Instant>,
    /// Its share of the load of all mailboxes.
    counted: Counted,
    /// Events that another stream of the agent has handled: they do not wait for the next one.
    handled: HashSet<Position>,
}

/// The mailboxes, see the module.
#[derive(Debug)]
pub(crate) struct Mailboxes {
    bounds: Bounds,
    pub(crate) bodies: Bodies,
    /// Maximum age of waiting mail.
    age: Duration,
    /// Boxed, because a growing table reserves twice the needed space.
    slots: Table<MailboxId, Box<Slot>>,
    by_agent: Table<AgentId, Vec<MailboxId>>,
    durable: BTreeSet<MailboxId>,
    /// Agents with durable mailboxes.
    agents: BTreeSet<AgentId>,
    observers: BTreeMap<MailboxId, Observed>,
    /// Mailboxes that take changes of the directory, which are broadcast.
    watchers: BTreeSet<MailboxId>,
    /// Directory snapshots in progress.
    pub(crate) snapshots: Snapshots,
    /// Mail for agents without a subscription that takes it.
    pub(crate) unclaimed: Unclaimed,
    /// Closed mailboxes, whose mail will wait for their agents.
    leaving: Leaving,
    pub(crate) remains: Remains,
    pub(crate) loads: Loads,
    ticks: BTreeSet<(Instant, MailboxId)>,
    /// Mailboxes with unrecorded delivery attempts.
    unlogged_attempts: BTreeSet<MailboxId>,
    next: u64,
}

impl Mailboxes {
    pub(crate) fn new(
        bounds: Bounds,
        bodies: Bodies,
        age: Duration,
        unknown_recipient: Duration,
    ) -> Self {
        Self {
            bounds,
            bodies,
            age,
            slots: Table::default(),
            by_agent: Table::default(),
            durable: BTreeSet::new(),
            agents: BTreeSet::new(),
            observers: BTreeMap::new(),
            watchers: BTreeSet::new(),
            snapshots: Snapshots::default(),
            unclaimed: Unclaimed::new(bounds, unknown_recipient),
            leaving: Leaving::default(),
            remains: Remains::default(),
            loads: Loads::default(),
            ticks: BTreeSet::new(),
            unlogged_attempts: BTreeSet::new(),
            next: 0,
        }
    }

    /// Opens the mailbox of an agent's subscription. An existing one keeps its mail.
    pub(crate) fn open(
        &mut self,
        agent: &AgentId,
        name: &str,
        lifetime: Lifetime,
        filter: Filter,
        ordered: bool,
        now: Instant,
    ) -> MailboxId {
        if let Some(id) = self.find(agent, name, &lifetime) {
            self.watch(id, &filter);
            if let Some(slot) = self.slots.get_mut(&id) {
                slot.filter = filter;
                slot.ordered = ordered;
                slot.mailbox.set_ordered(ordered);
                slot.has_overflowed = false;
                // Without ordering, heads that waited for an acknowledgement are free.
                self.wake(id);
            }
            return id;
        }
        self.next += 1;
        let id = MailboxId(self.next);
        self.watch(id, &filter);
        let mut bounds = self.bounds;
        if let Lifetime::Stream(_) = lifetime {
            bounds.ack_deadline = NEVER;
        }
        let mut mailbox = Mailbox::new(bounds, now);
        mailbox.set_logs_attempts(lifetime == Lifetime::Durable);
        if lifetime == Lifetime::Durable {
            self.durable.insert(id);
            self.agents.insert(agent.clone());
        }
        mailbox.set_ordered(ordered);
        let slot = Slot {
            agent: agent.clone(),
            name: name.to_owned(),
            lifetime,
            filter,
            ordered,
            used: None,
            mailbox,
            listeners: Vec::new(),
            has_overflowed: false,
            next_tick: None,
            counted: self.loads.open(),
            handled: HashSet::new(),
        };
        self.slots.insert(id, Box::new(slot));
        self.by_agent.entry(agent.clone()).or_default().push(id);
        id
    }

    /// Records whether a mailbox takes changes of the directory.
    fn watch(&mut self, id: MailboxId, filter: &Filter) {
        match filter.takes(EventKind::AgentCard) {
            true => self.watchers.insert(id),
            false => {
                self.snapshots.end(id);
                self.watchers.remove(&id)
            }
        };
    }

    /// Makes the mailbox receive events that are not for its agent.
    pub(crate) fn observe(&mut self, id: MailboxId, observed: Observed) {
        self.observers.insert(id, observed);
    }

    /// True if the mailbox receives events that are not for its agent.
    pub(crate) fn observes(&self, id: MailboxId) -> bool {
        self.observers.contains_key(&id)
    }

    /// The mailbox with that name and lifetime: each instance has its own.
    pub(crate) fn find(
        &self,
        agent: &AgentId,
        name: &str,
        lifetime: &Lifetime,
    ) -> Option<MailboxId> {
        let ids = self.by_agent.get(agent)?;
        ids.iter().copied().find(|id| {
            self.slots
                .get(id)
                .is_some_and(|s| s.name == name && s.lifetime == *lifetime)
        })
    }

    /// Filter of a durable mailbox, and whether it is ordered.
    pub(crate) fn durable(&self, id: MailboxId) -> Option<(&Filter, bool)> {
        let slot = self
            .slots
            .get(&id)
            .filter(|s| s.lifetime == Lifetime::Durable)?;
        Some((&slot.filter, slot.ordered))
    }

    /// Agent and name of a mailbox in the log; a mailbox that is not durable has an empty name. `None` for one that
    /// only observes.
    pub(crate) fn name_in_log(&self, id: MailboxId) -> Option<(&AgentId, &str)> {
        let slot = self.slots.get(&id)?;
        match slot.lifetime {
            Lifetime::Durable => Some((&slot.agent, &slot.name)),
            _ if self.observes(id) => None,
            Lifetime::Instance(_) | Lifetime::Stream(_) => Some((&slot.agent, "")),
        }
    }

    /// Sets the last recorded use of a durable mailbox; 1970 means unknown.
    pub(crate) fn set_used(&mut self, id: MailboxId, time: SystemTime) {
        if let Some(slot) = self.slots.get_mut(&id) {
            slot.used = Some(time).filter(|t| *t != SystemTime::UNIX_EPOCH);
        }
    }

    /// The filter of a mailbox.
    pub(crate) fn filter(&self, id: MailboxId) -> Option<&Filter> {
        self.slots.get(&id).map(|slot| &slot.filter)
    }

    /// True if the mailbox takes events of this kind.
    pub(crate) fn takes(&self, id: MailboxId, kind: EventKind) -> bool {
        self.slots.get(&id).is_some_and(|s| s.filter.takes(kind))
    }

    /// Registers a session to be notified of new mail.
    pub(crate) fn listen(&mut self, id: MailboxId, session: SessionId, wake: &Arc<Notify>) {
        if let Some(slot) = self.slots.get_mut(&id) {
            slot.listeners.push((session, wake.clone()));
        }
    }

    /// Removes a session's registration.
    pub(crate) fn unlisten(&mut self, id: MailboxId, session: SessionId) {
        if let Some(slot) = self.slots.get_mut(&id) {
            slot.listeners.retain(|(s, _)| *s != session);
            if slot.listeners.is_empty() && self.bodies.is_half_used() {
                slot.mailbox.shed();
            }
        }
    }

    /// Removes a mailbox with all its mail.
    pub(crate) fn close(&mut self, id: MailboxId) {
        if let Some(slot) = self.remove(id) {
            self.remains.add(slot.mailbox.events(), slot.mailbox);
        }
    }

    fn remove(&mut self, id: MailboxId) -> Option<Box<Slot>> {
        let slot = self.slots.remove(&id)?;
        self.loads.close(id, &slot.agent, &slot.counted);
        self.observers.remove(&id);
        self.watchers.remove(&id);
        self.snapshots.end(id);
        if let Some(at) = slot.next_tick {
            self.ticks.remove(&(at, id));
        }
        if let Some(ids) = self.by_agent.get_mut(&slot.agent) {
            ids.retain(|i| *i != id);
            if ids.is_empty() {
                self.by_agent.remove(&slot.agent);
            }
        }
        if self.durable.remove(&id) && !self.is_known(&slot.agent) {
            self.agents.remove(&slot.agent);
        }
        for (_, wake) in &slot.listeners {
            wake.notify_one();
        }
        Some(slot)
    }

    /// Mailboxes whose lifetime is that of this instance.
    pub(crate) fn of_instance(&self, agent: &AgentId, instance: &InstanceId) -> Vec<MailboxId> {
        let ids = self.by_agent.get(agent).into_iter().flatten().copied();
        ids.filter(|id| {
            self.slots
                .get(id)
                .is_some_and(|s| s.lifetime.instance() == Some(instance))
        })
        .collect()
    }

    /// All mailboxes of an agent.
    pub(crate) fn of_agent(&self, agent: &AgentId) -> Vec<MailboxId> {
        self.by_agent.get(agent).cloned().unwrap_or_default()
    }

    /// Number of mailboxes ever opened.
    pub(crate) fn count(&self) -> u64 {
        self.next
    }

    /// Number of mailboxes.
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// True if mail was lost because nobody took it in time.
    pub(crate) fn has_overflowed(&self, id: MailboxId) -> bool {
        self.slots.get(&id).is_none_or(|s| s.has_overflowed)
    }

    /// Returns due mail to the waiting rooms, and gives up mail for agents that never came: one portion of the
    /// mailboxes, and of the latter as much as keeps the total at about `limit`. More may be [due](Self::has_due)
    /// afterwards.
    pub(crate) fn tick(&mut self, limit: usize, now: Instant) -> Vec<Undelivered> {
        let mut undelivered = Vec::new();
        let mut portion = Portion::new();
        while !portion.is_used_up()
            && let Some((at, id)) = self.ticks.first().copied()
            && at <= now
        {
            portion.look();
            self.ticks.pop_first();
            if let Some(slot) = self.slots.get_mut(&id) {
                slot.next_tick = None;
            }
            let given_up = self.with(id, |mailbox| mailbox.tick(&mut portion, now));
            undelivered.extend(from_mailbox(id, given_up.unwrap_or_default()));
            self.wake(id);
        }
        let room = limit.saturating_sub(undelivered.len());
        undelivered.extend(self.unclaimed.tick(room, now));
        undelivered
    }

    /// True if something is due.
    pub(crate) fn has_due(&self, now: Instant) -> bool {
        self.ticks.first().is_some_and(|(at, _)| *at <= now) || self.unclaimed.is_due(now)
    }

    /// Runs an operation on a mailbox, and updates its next tick and its unrecorded attempts.
    fn with<T>(&mut self, id: MailboxId, act: impl FnOnce(&mut Mailbox) -> T) -> Option<T> {
        let slot = self.slots.get_mut(&id)?;
        let result = act(&mut slot.mailbox);
        let next = slot.mailbox.next_tick();
        // An early tick does no harm; nearly all due times are cancelled before.
        if let Some(next) = next.filter(|next| slot.next_tick.is_none_or(|at| *next < at)) {
            if let Some(at) = slot.next_tick.replace(next) {
                self.ticks.remove(&(at, id));
            }
            self.ticks.insert((next, id));
        }
        if slot.mailbox.has_unlogged_attempts() {
            self.unlogged_attempts.insert(id);
        }
        self.loads
            .count(id, &slot.agent, &slot.mailbox, &mut slot.counted);
        Some(result)
    }

    /// Wakes other sessions: mail that one instance has finished with may free a lane for another one.
    fn wake_others(&self, id: MailboxId) {
        let slot = self.slots.get(&id);
        if slot.is_some_and(|s| s.ordered || s.listeners.len() > 1) {
            self.wake(id);
        }
    }

    fn wake(&self, id: MailboxId) {
        for (_, wake) in self.slots.get(&id).into_iter().flat_map(|s| &s.listeners) {
            wake.notify_one();
        }
    }
}

fn from_mailbox(
    id: MailboxId,
    undelivered: impl IntoIterator<Item = Undelivered>,
) -> Vec<Undelivered> {
    let undelivered = undelivered.into_iter();
    undelivered
        .map(|u| Undelivered {
            mailbox: Some(id),
            ..u
        })
        .collect()
}
