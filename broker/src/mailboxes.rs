//! All mailboxes: which there are for an agent, and into which of them an event goes.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use agenthub_proto::agenthub::{AgentEvent, Concern, EventKind, agent_event::Payload};
use tokio::{sync::Notify, time::Instant};

use crate::{
    filter::{About, Filter},
    id::{Address, AgentId, InstanceId, MailboxId, OrderKey, SessionId, Version},
    log::Position,
    mailbox::{Bounds, Delivery, Mail, Mailbox, Undelivered},
    routing::Route,
    unclaimed::Unclaimed,
};

/// How long a mailbox lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Lifetime {
    /// Until the agent is unregistered.
    Durable,
    /// As long as the instance.
    Instance(InstanceId),
    /// As long as a server stream, which is an instance of its own. Nothing is redelivered there: what is out waits for the
    /// transport.
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

/// Longer than any stream.
const NEVER: Duration = Duration::from_secs(365 * 24 * 3600);

/// An event on its way into mailboxes.
#[derive(Clone, Debug)]
pub(crate) struct Post<'a> {
    pub(crate) event: &'a Arc<AgentEvent>,
    pub(crate) position: Option<Position>,
    pub(crate) order: &'a OrderKey,
    pub(crate) route: &'a Route,
    pub(crate) sender: &'a AgentId,
    /// Who asked for the task that the event belongs to.
    pub(crate) requester: Option<&'a AgentId>,
    pub(crate) task_type: &'a str,
    /// How many mailboxes had been opened when it happened.
    pub(crate) mailboxes: u64,
    /// How long ago it happened.
    pub(crate) age: Duration,
}

#[derive(Debug)]
struct Slot {
    agent: AgentId,
    name: String,
    lifetime: Lifetime,
    filter: Filter,
    mailbox: Mailbox,
    listeners: Vec<(SessionId, Arc<Notify>)>,
    /// The mailbox lost mail that nobody else has.
    has_overflowed: bool,
    next_tick: Option<Instant>,
}

/// See the module's description.
#[derive(Debug)]
pub(crate) struct Mailboxes {
    bounds: Bounds,
    slots: HashMap<MailboxId, Slot>,
    by_agent: HashMap<AgentId, Vec<MailboxId>>,
    observers: BTreeSet<MailboxId>,
    /// Mail for agents without a subscription that takes it.
    pub(crate) unclaimed: Unclaimed,
    ticks: BTreeSet<(Instant, MailboxId)>,
    next: u64,
}

impl Mailboxes {
    pub(crate) fn new(bounds: Bounds, unknown_recipient: Duration) -> Self {
        Self {
            bounds,
            slots: HashMap::new(),
            by_agent: HashMap::new(),
            observers: BTreeSet::new(),
            unclaimed: Unclaimed::new(bounds, unknown_recipient),
            ticks: BTreeSet::new(),
            next: 0,
        }
    }

    /// The mailbox of an agent's subscription. One that was there keeps its mail.
    pub(crate) fn open(
        &mut self,
        agent: &AgentId,
        name: &str,
        lifetime: Lifetime,
        filter: Filter,
        observes: bool,
        now: Instant,
    ) -> MailboxId {
        if let Some(id) = self.find(agent, name, &lifetime) {
            if let Some(slot) = self.slots.get_mut(&id) {
                slot.filter = filter;
                slot.has_overflowed = false;
            }
            return id;
        }
        self.next += 1;
        let id = MailboxId(self.next);
        let mut bounds = self.bounds;
        if let Lifetime::Stream(_) = lifetime {
            bounds.ack_deadline = NEVER;
        }
        let slot = Slot {
            agent: agent.clone(),
            name: name.to_owned(),
            lifetime,
            filter,
            mailbox: Mailbox::new(bounds, now),
            listeners: Vec::new(),
            has_overflowed: false,
            next_tick: None,
        };
        self.slots.insert(id, slot);
        self.by_agent.entry(agent.clone()).or_default().push(id);
        if observes {
            self.observers.insert(id);
        }
        id
    }

    /// The mailbox of that name and lifetime: those of instances are each instance's own.
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

    /// Name and filter of a durable mailbox.
    pub(crate) fn durable(&self, id: MailboxId) -> Option<(&AgentId, &str, &Filter)> {
        let slot = self
            .slots
            .get(&id)
            .filter(|s| s.lifetime == Lifetime::Durable)?;
        Some((&slot.agent, &slot.name, &slot.filter))
    }

    /// Agent and name under which the log knows a mailbox; one that is not durable has no name. `None` for one that only observes.
    pub(crate) fn name_in_log(&self, id: MailboxId) -> Option<(&AgentId, &str)> {
        let slot = self.slots.get(&id)?;
        match slot.lifetime {
            Lifetime::Durable => Some((&slot.agent, &slot.name)),
            _ if self.observers.contains(&id) => None,
            Lifetime::Instance(_) | Lifetime::Stream(_) => Some((&slot.agent, "")),
        }
    }

    /// Whether the mailbox takes events of this kind.
    pub(crate) fn takes(&self, id: MailboxId, kind: EventKind) -> bool {
        self.slots.get(&id).is_some_and(|s| s.filter.takes(kind))
    }

    /// A session wants to be woken by new mail.
    pub(crate) fn listen(&mut self, id: MailboxId, session: SessionId, wake: &Arc<Notify>) {
        if let Some(slot) = self.slots.get_mut(&id) {
            slot.listeners.push((session, wake.clone()));
        }
    }

    /// A session has ended.
    pub(crate) fn unlisten(&mut self, id: MailboxId, session: SessionId) {
        if let Some(slot) = self.slots.get_mut(&id) {
            slot.listeners.retain(|(s, _)| *s != session);
        }
    }

    /// Removes a mailbox. Returns what it still held.
    pub(crate) fn close(&mut self, id: MailboxId) -> Vec<Mail> {
        let Some(slot) = self.slots.remove(&id) else {
            return Vec::new();
        };
        self.observers.remove(&id);
        if let Some(at) = slot.next_tick {
            self.ticks.remove(&(at, id));
        }
        if let Some(ids) = self.by_agent.get_mut(&slot.agent) {
            ids.retain(|i| *i != id);
            if ids.is_empty() {
                self.by_agent.remove(&slot.agent);
            }
        }
        for (_, wake) in slot.listeners {
            wake.notify_one();
        }
        slot.mailbox.into_mail()
    }

    /// The mailboxes that live as long as this instance.
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

    /// How many mailboxes were ever opened.
    pub(crate) fn count(&self) -> u64 {
        self.next
    }

    /// How many mailboxes there are.
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether somebody whom the route names wants events of this kind.
    pub(crate) fn wanted(&self, kind: EventKind, route: &Route, sender: &AgentId) -> bool {
        let takes = |id: &MailboxId| self.takes(*id, kind);
        self.observers.iter().any(takes)
            || match route {
                Route::To(to) => to
                    .iter()
                    .any(|a| self.by_agent.get(&a.agent).into_iter().flatten().any(takes)),
                Route::Everyone => self
                    .slots
                    .iter()
                    .any(|(id, slot)| slot.agent != *sender && takes(id)),
            }
    }

    /// Puts an event into the mailboxes of those whom its route names. Mail for an agent without subscriptions waits.
    pub(crate) fn deliver(
        &mut self,
        post: &Post<'_>,
        is_known: impl Fn(&AgentId) -> bool,
        now: Instant,
    ) -> Vec<Undelivered> {
        let mut undelivered = Vec::new();
        let mut reached: BTreeSet<MailboxId> = BTreeSet::new();
        match post.route {
            Route::Everyone => {
                let all: Vec<MailboxId> = self
                    .slots
                    .iter()
                    .filter(|(_, s)| s.agent != *post.sender || post.sender.is_empty())
                    .map(|(id, _)| *id)
                    .collect();
                for id in all {
                    undelivered.extend(self.offer(id, post, None, now));
                }
                return undelivered;
            }
            Route::To(to) => {
                for Address { agent, version } in to {
                    if post.position.is_some() && self.is_to_wait(agent, post.event) {
                        let concern = concern(post, agent);
                        let mail = mail(post, agent, concern, version.as_ref());
                        undelivered.extend(self.unclaimed.keep(
                            mail,
                            is_known(agent),
                            post.age,
                            now,
                        ));
                    }
                    for id in self.of_agent(agent) {
                        reached.insert(id);
                        undelivered.extend(self.offer(id, post, version.as_ref(), now));
                    }
                }
            }
        }
        let observers: Vec<MailboxId> = self.observers.difference(&reached).copied().collect();
        for id in observers {
            undelivered.extend(self.offer(id, post, None, now));
        }
        undelivered
    }

    /// Puts mail into one mailbox, whatever its route was.
    pub(crate) fn put(&mut self, id: MailboxId, mail: Mail, now: Instant) {
        if let Some(slot) = self.slots.get_mut(&id) {
            slot.has_overflowed |= !slot.mailbox.push(mail, now).is_empty();
            for (_, wake) in &slot.listeners {
                wake.notify_one();
            }
        }
    }

    /// Puts an event into one mailbox if its filter accepts it.
    pub(crate) fn offer(
        &mut self,
        id: MailboxId,
        post: &Post<'_>,
        version: Option<&Version>,
        now: Instant,
    ) -> Vec<Undelivered> {
        let Some(slot) = self.slots.get_mut(&id) else {
            return Vec::new();
        };
        let concern = concern(post, &slot.agent);
        let about = About {
            event: post.event,
            task_type: post.task_type,
        };
        let is_in_snapshot = post.event.kind() == EventKind::AgentCard && id.0 > post.mailboxes;
        if is_in_snapshot || !slot.filter.accepts(about, concern) {
            return Vec::new();
        }
        let mail = mail(post, &slot.agent, concern, version);
        let evicted = slot.mailbox.push(mail, now);
        for (_, wake) in &slot.listeners {
            wake.notify_one();
        }
        if slot.lifetime != Lifetime::Durable {
            slot.has_overflowed |= !evicted.is_empty();
            return Vec::new();
        }
        from_mailbox(id, evicted)
    }

    /// The next delivery from a mailbox to an instance.
    pub(crate) fn take(
        &mut self,
        id: MailboxId,
        instance: &InstanceId,
        version: Option<&Version>,
        now: Instant,
    ) -> Option<Delivery> {
        self.with(id, |mailbox| mailbox.take(instance, version, now))
            .flatten()
    }

    /// See [`Mailbox::acknowledge`].
    pub(crate) fn acknowledge(&mut self, id: MailboxId, position: Position) -> bool {
        let was_here = self
            .with(id, |mailbox| mailbox.acknowledge(position))
            .unwrap_or(false);
        self.wake_others(id);
        was_here
    }

    /// See [`Mailbox::refuse`].
    pub(crate) fn refuse(
        &mut self,
        id: MailboxId,
        position: Position,
        instance: &InstanceId,
        delay: Duration,
        reason: &str,
        now: Instant,
    ) -> Vec<Undelivered> {
        let given_up = self
            .with(id, |mailbox| {
                mailbox.refuse(position, instance, delay, reason, now)
            })
            .flatten();
        self.wake_others(id);
        from_mailbox(id, given_up)
    }

    /// See [`Mailbox::extend`].
    pub(crate) fn extend(
        &mut self,
        id: MailboxId,
        position: Position,
        instance: &InstanceId,
        now: Instant,
    ) {
        self.with(id, |mailbox| mailbox.extend(position, instance, now));
    }

    /// See [`Mailbox::reclaim`].
    pub(crate) fn reclaim(
        &mut self,
        id: MailboxId,
        instance: &InstanceId,
        claimed: &HashSet<Position>,
        now: Instant,
    ) {
        self.with(id, |mailbox| mailbox.reclaim(instance, claimed, now));
    }

    /// An instance is gone: what it had is to be delivered again.
    pub(crate) fn release(
        &mut self,
        agent: &AgentId,
        instance: &InstanceId,
        now: Instant,
    ) -> Vec<Undelivered> {
        let mut undelivered = Vec::new();
        for id in self.of_agent(agent) {
            let given_up = self.with(id, |mailbox| mailbox.release(instance, now));
            undelivered.extend(from_mailbox(id, given_up.unwrap_or_default()));
            self.wake(id);
        }
        undelivered
    }

    /// Whether mail was lost because nobody took it in time.
    pub(crate) fn has_overflowed(&self, id: MailboxId) -> bool {
        self.slots.get(&id).is_none_or(|s| s.has_overflowed)
    }

    /// Brings back what is due, and gives up what waits for agents that never came.
    pub(crate) fn tick(&mut self, now: Instant) -> Vec<Undelivered> {
        let mut undelivered = Vec::new();
        while let Some((_, id)) = self.ticks.first().copied().filter(|(at, _)| *at <= now) {
            let given_up = self.with(id, |mailbox| mailbox.tick(now));
            undelivered.extend(from_mailbox(id, given_up.unwrap_or_default()));
            self.wake(id);
        }
        undelivered.extend(self.unclaimed.tick(now));
        undelivered
    }

    /// Mail that nobody took waits for the agent's next subscription, unless another one of its has it.
    pub(crate) fn put_back(&mut self, left: Vec<Mail>, is_known: bool, now: Instant) {
        for mail in left {
            if self.is_to_wait(&mail.recipient, &mail.event) {
                // What finds no room here was offered before: nothing else would come of it.
                self.unclaimed.keep(mail, is_known, Duration::ZERO, now);
            }
        }
    }

    /// What waits for an agent and passes a filter, as it is taken out by that.
    pub(crate) fn claim(&mut self, agent: &AgentId, filter: &Filter) -> Vec<Mail> {
        self.unclaimed.claim(agent, |mail| is_for(mail, filter))
    }

    /// The positions of what [`claim`](Self::claim) would take out.
    pub(crate) fn claimable(&self, agent: &AgentId, filter: &Filter) -> Vec<Position> {
        let mail = self.unclaimed.of(agent).filter(|m| is_for(m, filter));
        mail.filter_map(|m| m.position).collect()
    }

    /// Whether an event for an agent has to wait for a subscription. Older clients open one after the other, so that a message
    /// waits for the one that takes messages, whatever else there is.
    fn is_to_wait(&self, agent: &AgentId, event: &AgentEvent) -> bool {
        let Some(ids) = self.by_agent.get(agent) else {
            return true;
        };
        let kind = event.kind();
        kind == EventKind::Message && !ids.iter().any(|id| self.takes(*id, kind))
    }

    /// Does something with a mailbox and keeps its next tick true.
    fn with<T>(&mut self, id: MailboxId, act: impl FnOnce(&mut Mailbox) -> T) -> Option<T> {
        let slot = self.slots.get_mut(&id)?;
        let result = act(&mut slot.mailbox);
        let next = slot.mailbox.next_tick();
        if next != slot.next_tick {
            if let Some(at) = slot.next_tick {
                self.ticks.remove(&(at, id));
            }
            slot.next_tick = next;
            if let Some(at) = next {
                self.ticks.insert((at, id));
            }
        }
        Some(result)
    }

    /// What one instance has finished with may be another's turn.
    fn wake_others(&self, id: MailboxId) {
        if self.slots.get(&id).is_some_and(|s| s.listeners.len() > 1) {
            self.wake(id);
        }
    }

    fn wake(&self, id: MailboxId) {
        for (_, wake) in self.slots.get(&id).into_iter().flat_map(|s| &s.listeners) {
            wake.notify_one();
        }
    }
}

mod saved;

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

fn is_for(mail: &Mail, filter: &Filter) -> bool {
    let about = About {
        event: &mail.event,
        task_type: own_type(&mail.event),
    };
    filter.accepts(about, mail.concern)
}

fn mail(post: &Post<'_>, recipient: &AgentId, concern: Concern, version: Option<&Version>) -> Mail {
    Mail {
        event: post.event.clone(),
        recipient: recipient.clone(),
        position: post.position,
        order: post.order.clone(),
        concern,
        version: version.cloned(),
        is_directed: matches!(post.route, Route::To(_)),
    }
}

/// On which side of its task an event reaches an agent. What an agent sends itself is work, not an answer.
fn concern(post: &Post<'_>, agent: &AgentId) -> Concern {
    let asked = post.requester == Some(agent);
    let is_own_message =
        matches!(post.event.payload, Some(Payload::Message(_))) && post.sender == agent;
    if asked && !is_own_message {
        Concern::Replies
    } else {
        Concern::Work
    }
}

/// The task type that the event itself carries.
pub(crate) fn own_type(event: &AgentEvent) -> &str {
    match &event.payload {
        Some(Payload::Message(m)) => m.task_type(),
        Some(Payload::Task(t)) => t.task_type(),
        _ => "",
    }
}
