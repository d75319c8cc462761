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
};

/// How long a mailbox lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Lifetime {
    /// Until the agent is unregistered.
    Durable,
    /// As long as the instance.
    Instance(InstanceId),
}

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

/// Mail for an agent that has subscribed to nothing yet.
#[derive(Debug)]
struct Unclaimed {
    mailbox: Mailbox,
    /// When it is given up; never, if the agent is known.
    until: Option<Instant>,
}

/// See the module's description.
#[derive(Debug)]
pub(crate) struct Mailboxes {
    bounds: Bounds,
    unknown_recipient: Duration,
    slots: HashMap<MailboxId, Slot>,
    by_agent: HashMap<AgentId, Vec<MailboxId>>,
    observers: BTreeSet<MailboxId>,
    unclaimed: HashMap<AgentId, Unclaimed>,
    ticks: BTreeSet<(Instant, MailboxId)>,
    next: u64,
}

impl Mailboxes {
    pub(crate) fn new(bounds: Bounds, unknown_recipient: Duration) -> Self {
        Self {
            bounds,
            unknown_recipient,
            slots: HashMap::new(),
            by_agent: HashMap::new(),
            observers: BTreeSet::new(),
            unclaimed: HashMap::new(),
            ticks: BTreeSet::new(),
            next: 0,
        }
    }

    /// The mailbox of an agent's subscription; what waited for the agent and passes the filter goes into it.
    pub(crate) fn open(
        &mut self,
        agent: &AgentId,
        name: &str,
        lifetime: Lifetime,
        filter: Filter,
        observes: bool,
        now: Instant,
    ) -> MailboxId {
        if let Some(id) = self.find(agent, name) {
            if let Some(slot) = self.slots.get_mut(&id) {
                slot.filter = filter;
                slot.lifetime = lifetime;
            }
            return id;
        }
        self.next += 1;
        let id = MailboxId(self.next);
        let slot = Slot {
            agent: agent.clone(),
            name: name.to_owned(),
            lifetime,
            filter,
            mailbox: Mailbox::new(self.bounds, now),
            listeners: Vec::new(),
            has_overflowed: false,
            next_tick: None,
        };
        self.slots.insert(id, slot);
        self.by_agent.entry(agent.clone()).or_default().push(id);
        if observes {
            self.observers.insert(id);
        }
        self.claim(agent, id, now);
        id
    }

    /// The mailbox of that name.
    pub(crate) fn find(&self, agent: &AgentId, name: &str) -> Option<MailboxId> {
        let ids = self.by_agent.get(agent)?;
        ids.iter()
            .copied()
            .find(|id| self.slots.get(id).is_some_and(|s| s.name == name))
    }

    /// The agent's durable mailboxes that are not among these names.
    pub(crate) fn durable_except(&self, agent: &AgentId, names: &[&str]) -> Vec<MailboxId> {
        let ids = self.by_agent.get(agent).into_iter().flatten().copied();
        ids.filter(|id| {
            self.slots.get(id).is_some_and(|s| {
                s.lifetime == Lifetime::Durable && !names.contains(&s.name.as_str())
            })
        })
        .collect()
    }

    /// Name and filter of a durable mailbox.
    pub(crate) fn durable(&self, id: MailboxId) -> Option<(&AgentId, &str, &Filter)> {
        let slot = self
            .slots
            .get(&id)
            .filter(|s| s.lifetime == Lifetime::Durable)?;
        Some((&slot.agent, &slot.name, &slot.filter))
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
                .is_some_and(|s| s.lifetime == Lifetime::Instance(instance.clone()))
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
                    let Some(ids) = self.by_agent.get(agent).cloned() else {
                        if post.position.is_some() {
                            undelivered.extend(self.keep(
                                agent,
                                post,
                                version.as_ref(),
                                is_known(agent),
                                now,
                            ));
                        }
                        continue;
                    };
                    for id in ids {
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
            slot.has_overflowed |= slot.mailbox.push(mail, now).is_some();
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
    ) -> Option<Undelivered> {
        let slot = self.slots.get_mut(&id)?;
        let concern = concern(post, &slot.agent);
        let about = About {
            event: post.event,
            task_type: post.task_type,
        };
        let is_in_snapshot = post.event.kind() == EventKind::AgentCard && id.0 > post.mailboxes;
        if is_in_snapshot || !slot.filter.accepts(about, concern) {
            return None;
        }
        let out = slot.mailbox.push(mail(post, concern, version), now);
        for (_, wake) in &slot.listeners {
            wake.notify_one();
        }
        match out {
            Some(_) if slot.lifetime != Lifetime::Durable => {
                slot.has_overflowed = true;
                None
            }
            out => out,
        }
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
        self.with(id, |mailbox| mailbox.acknowledge(position))
            .unwrap_or(false)
    }

    /// See [`Mailbox::refuse`].
    pub(crate) fn refuse(
        &mut self,
        id: MailboxId,
        position: Position,
        delay: Duration,
        reason: &str,
        now: Instant,
    ) -> Option<Undelivered> {
        self.with(id, |mailbox| mailbox.refuse(position, delay, reason, now))
            .flatten()
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
            undelivered.extend(
                self.with(id, |mailbox| mailbox.release(instance, now))
                    .into_iter()
                    .flatten(),
            );
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
            undelivered.extend(
                self.with(id, |mailbox| mailbox.tick(now))
                    .into_iter()
                    .flatten(),
            );
            self.wake(id);
        }
        let over = |u: &Unclaimed| u.until.is_some_and(|until| until <= now);
        let given_up: Vec<AgentId> = self
            .unclaimed
            .iter()
            .filter(|(_, u)| over(u))
            .map(|(a, _)| a.clone())
            .collect();
        for agent in given_up {
            let reason = format!("there is no agent \"{agent}\"");
            let mail = self
                .unclaimed
                .remove(&agent)
                .into_iter()
                .flat_map(|u| u.mailbox.into_mail());
            undelivered.extend(mail.map(|mail| Undelivered {
                mail,
                reason: reason.clone(),
            }));
        }
        undelivered
    }

    /// The agent is known from here on: its mail waits as long as any.
    pub(crate) fn is_known(&mut self, agent: &AgentId) {
        if let Some(unclaimed) = self.unclaimed.get_mut(agent) {
            unclaimed.until = None;
        }
    }

    /// What waits for an agent without subscriptions.
    pub(crate) fn drop_unclaimed(&mut self, agent: &AgentId) {
        self.unclaimed.remove(agent);
    }

    /// Mail that nobody took waits for the agent's next subscription, unless another one of its has it.
    pub(crate) fn put_back(
        &mut self,
        agent: &AgentId,
        left: Vec<Mail>,
        is_known: bool,
        now: Instant,
    ) {
        if left.is_empty() || self.by_agent.contains_key(agent) {
            return;
        }
        let bounds = self.bounds;
        let unclaimed = self
            .unclaimed
            .entry(agent.clone())
            .or_insert_with(|| Unclaimed {
                mailbox: Mailbox::new(bounds, now),
                until: (!is_known).then_some(now + self.unknown_recipient),
            });
        for mail in left {
            unclaimed.mailbox.push(mail, now);
        }
    }

    fn keep(
        &mut self,
        agent: &AgentId,
        post: &Post<'_>,
        version: Option<&Version>,
        is_known: bool,
        now: Instant,
    ) -> Option<Undelivered> {
        let until = (!is_known).then_some(now + self.unknown_recipient);
        let bounds = self.bounds;
        let unclaimed = self
            .unclaimed
            .entry(agent.clone())
            .or_insert_with(|| Unclaimed {
                mailbox: Mailbox::new(bounds, now),
                until,
            });
        unclaimed
            .mailbox
            .push(mail(post, concern(post, agent), version), now)
    }

    fn claim(&mut self, agent: &AgentId, id: MailboxId, now: Instant) {
        let Some(unclaimed) = self.unclaimed.remove(agent) else {
            return;
        };
        let mut rest = Mailbox::new(self.bounds, now);
        let mut rest_is_empty = true;
        for mail in unclaimed.mailbox.into_mail() {
            let about = About {
                event: &mail.event,
                task_type: own_type(&mail.event),
            };
            let fits = self
                .slots
                .get(&id)
                .is_some_and(|s| s.filter.accepts(about, mail.concern));
            if fits {
                self.put(id, mail, now);
            } else {
                rest_is_empty = false;
                rest.push(mail, now);
            }
        }
        if !rest_is_empty {
            self.unclaimed.insert(
                agent.clone(),
                Unclaimed {
                    mailbox: rest,
                    until: unclaimed.until,
                },
            );
        }
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

    fn wake(&self, id: MailboxId) {
        for (_, wake) in self.slots.get(&id).into_iter().flat_map(|s| &s.listeners) {
            wake.notify_one();
        }
    }
}

fn mail(post: &Post<'_>, concern: Concern, version: Option<&Version>) -> Mail {
    Mail {
        event: post.event.clone(),
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
