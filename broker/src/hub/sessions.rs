//! Open streams: which mailboxes each drains, and what it is told outside their order.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use agenthub_proto::agenthub::{
    Cancel, EventKind, Extension, Hello, Lifetime as WireLifetime, agent_event::Payload,
};
use tokio::sync::Notify;

use super::{
    core::{Core, Now},
    directory::{Announce, PresenceBefore},
};
use crate::{
    Error,
    access::{Call, decide},
    caller::Caller,
    filter::Filter,
    id::{AgentId, InstanceId, MailboxId, SessionId, Version},
    limits,
    log::{Entry, Position, Registration},
    mailbox::{Delivery, Mail},
    mailboxes::Lifetime,
    routing::Route,
};

/// The version of the `Connect` protocol that this hub speaks.
const PROTOCOL_VERSION: u32 = 1;

/// The most subscriptions of one stream.
const SUBSCRIPTIONS: usize = 64;
/// The most cancellations that wait for one stream; one that has more has stopped reading.
const CANCELS: usize = 10_000;

/// Why the hub ends a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The hub is going away: connect again.
    Drain,
    /// Not to be repeated as it is: another stream has taken its place, or the agent was unregistered.
    Superseded(String),
    /// It did not take its mail.
    Overflow,
}

#[derive(Debug)]
struct Open {
    agent: AgentId,
    instance: InstanceId,
    version: Option<Version>,
    mailboxes: Vec<MailboxId>,
    wake: Arc<Notify>,
    cancels: Vec<Cancel>,
    end: Option<End>,
}

#[derive(Debug, Default)]
pub(crate) struct Sessions {
    open: HashMap<SessionId, Open>,
    next: u64,
}

/// What an open stream has to send.
#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    /// With the index of its subscription.
    pub(crate) deliveries: Vec<(usize, Delivery)>,
    pub(crate) cancels: Vec<Cancel>,
    pub(crate) end: Option<End>,
}

/// A stream that was opened.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) id: SessionId,
    pub(crate) agent: AgentId,
    pub(crate) wake: Arc<Notify>,
}

/// What a server stream wants.
#[derive(Clone, Debug)]
pub(crate) struct StreamRequest {
    pub(crate) call: Call,
    pub(crate) agent: AgentId,
    pub(crate) filter: Filter,
    /// Reread from after this position.
    pub(crate) after: String,
    /// Sees the events of every agent.
    pub(crate) observes: bool,
}

impl Sessions {
    /// How many streams are open.
    pub(crate) fn len(&self) -> usize {
        self.open.len()
    }

    /// Tells every stream of an agent that a task has ended.
    pub(crate) fn cancel(&mut self, agent: &AgentId, cancel: &Cancel) {
        for open in self.open.values_mut().filter(|o| o.agent == *agent) {
            if open.cancels.len() >= CANCELS {
                open.end = Some(End::Overflow);
            } else {
                open.cancels.push(cancel.clone());
            }
            open.wake.notify_one();
        }
    }

    /// Ends every stream of an agent.
    pub(crate) fn end_all_of(&mut self, agent: &AgentId, reason: &str) {
        for open in self.open.values_mut().filter(|o| o.agent == *agent) {
            open.end = Some(End::Superseded(reason.to_owned()));
            open.wake.notify_one();
        }
    }

    /// Ends every stream.
    pub(crate) fn drain(&mut self) {
        for open in self.open.values_mut() {
            open.end = Some(End::Drain);
            open.wake.notify_one();
        }
    }

    fn insert(&mut self, open: Open) -> SessionId {
        self.next += 1;
        let id = SessionId(self.next);
        self.open.insert(id, open);
        id
    }
}

impl Core {
    /// Opens a server stream of an older client: a subscription of its own, which ends with it.
    pub(crate) fn open_stream(
        &mut self,
        caller: &Caller,
        request: StreamRequest,
        now: Now,
    ) -> Result<Opened, Error> {
        let StreamRequest {
            call,
            agent,
            filter,
            after,
            observes,
        } = request;
        decide(call, caller, "")?;
        limits::required("agent_id", &agent)?;
        limits::agent_id("agent_id", &agent)?;
        let earlier = self.reread(&agent, &filter, &after, observes)?;

        let instance = InstanceId::from(format!("stream-{}", self.sessions.next + 1));
        let before = PresenceBefore::of(self, [agent.clone()]);
        self.presence.arrive(&agent, &instance, None, now.time);
        before.tell_changes(self, now);
        let lifetime = Lifetime::Instance(instance.clone());
        let mailbox =
            self.state
                .mailboxes
                .open(&agent, &instance, lifetime, filter, observes, now.instant);
        if self.state.mailboxes.takes(mailbox, EventKind::AgentCard) {
            self.put_snapshot(mailbox, now);
        }
        for mail in earlier {
            self.state.mailboxes.put(mailbox, mail, now.instant);
        }
        Ok(self.open(agent, instance, None, vec![mailbox]))
    }

    /// Opens a `Connect` stream: registers the agent if it brings a card, and its subscriptions.
    pub(crate) fn connect(
        &mut self,
        caller: &Caller,
        hello: Hello,
        claims: &[Extension],
        now: Now,
    ) -> Result<Opened, Error> {
        decide(Call::Connect, caller, "")?;
        if hello.protocol_version != PROTOCOL_VERSION {
            return Err(Error::FailedPrecondition(format!(
                "protocol version {} is not spoken here; this hub speaks {PROTOCOL_VERSION}",
                hello.protocol_version
            )));
        }
        let name = hello
            .agent_card
            .as_ref()
            .map_or(&hello.agent_id, |c| &c.name);
        if !hello.agent_id.is_empty() && hello.agent_id != *name {
            return Err(Error::InvalidArgument(format!(
                "hello.agent_id is \"{}\", but the card's name is \"{name}\"",
                hello.agent_id
            )));
        }
        limits::required("hello.agent_id", name)?;
        limits::agent_id("hello.agent_id", name)?;
        limits::required("hello.instance_id", &hello.instance_id)?;
        limits::id("hello.instance_id", &hello.instance_id)?;
        let wanted = subscriptions(&hello)?;

        let agent = AgentId::from(name.as_str());
        let instance = InstanceId::from(hello.instance_id.as_str());
        let version = hello
            .agent_card
            .as_ref()
            .map(|c| Version::from(c.version.as_str()));
        let registration = hello.agent_card.map(|card| Registration {
            card,
            topics: hello.topics,
            health_check_url: hello.health_check_url,
        });
        if let Some(registration) = &registration {
            self.check_registration(registration)?;
        }
        self.supersede(&agent, &instance);
        let before = PresenceBefore::of(self, [agent.clone()]);
        self.presence
            .arrive(&agent, &instance, version.clone(), now.time);
        let told = match registration {
            Some(registration) => {
                self.register(caller, registration, Announce::IfItDiffers, now)?
            }
            None => false,
        };
        if !told {
            before.tell_changes(self, now);
        }

        let kept: HashSet<MailboxId> = self
            .state
            .mailboxes
            .of_instance(&agent, &instance)
            .into_iter()
            .collect();
        let mut mailboxes = Vec::with_capacity(wanted.len());
        for (name, lifetime, filter) in wanted {
            mailboxes.push(self.subscribe(caller, &agent, &instance, &name, lifetime, filter, now));
        }
        for old in kept.into_iter().filter(|id| !mailboxes.contains(id)) {
            self.state.mailboxes.close(old);
        }
        for (index, mailbox) in mailboxes.iter().enumerate() {
            let of_it = claims
                .iter()
                .filter(|c| usize::try_from(c.subscription) == Ok(index));
            // A position of another log is no claim here.
            let claimed = of_it
                .flat_map(|c| &c.position)
                .filter_map(|token| self.log.id().position(token).ok())
                .collect();
            self.state
                .mailboxes
                .reclaim(*mailbox, &instance, &claimed, now.instant);
        }
        Ok(self.open(agent, instance, version, mailboxes))
    }

    /// What a stream has to send, at most `credits[i]` deliveries of its subscription `i`, and `limit` in all.
    pub(crate) fn take(
        &mut self,
        session: SessionId,
        credits: &[u32],
        limit: usize,
        now: Now,
    ) -> Outgoing {
        let Some(open) = self.sessions.open.get_mut(&session) else {
            return Outgoing {
                end: Some(End::Superseded("the stream was closed".to_owned())),
                ..Outgoing::default()
            };
        };
        let mut outgoing = Outgoing {
            deliveries: Vec::new(),
            cancels: std::mem::take(&mut open.cancels),
            end: open.end.clone(),
        };
        if open
            .mailboxes
            .iter()
            .any(|id| self.state.mailboxes.has_overflowed(*id))
        {
            outgoing.end.get_or_insert(End::Overflow);
        }
        if outgoing.end.is_some() {
            return outgoing;
        }
        for (index, mailbox) in open.mailboxes.iter().enumerate() {
            let mut credit = credits.get(index).copied().unwrap_or(0);
            while credit > 0 && outgoing.deliveries.len() < limit {
                let delivery = self.state.mailboxes.take(
                    *mailbox,
                    &open.instance,
                    open.version.as_ref(),
                    now.instant,
                );
                let Some(delivery) = delivery else { break };
                if is_void(&delivery.mail, &self.state.tasks) {
                    if let Some(position) = delivery.mail.position {
                        self.state.mailboxes.acknowledge(*mailbox, position);
                    }
                    continue;
                }
                credit -= 1;
                outgoing.deliveries.push((index, delivery));
            }
        }
        self.counters
            .deliveries
            .inc_by(outgoing.deliveries.len() as u64);
        outgoing
    }

    /// Deliveries were handled.
    pub(crate) fn acknowledge(
        &mut self,
        caller: &Caller,
        session: SessionId,
        index: u32,
        tokens: &[String],
        now: Now,
    ) -> Result<(), Error> {
        let positions = self.positions(tokens)?;
        let mailbox = self.mailbox(session, index)?;
        let handled: Vec<Position> = positions
            .into_iter()
            .filter(|p| self.state.mailboxes.acknowledge(mailbox, *p))
            .collect();
        let durable = self
            .state
            .mailboxes
            .durable(mailbox)
            .map(|(agent, name, _)| (agent.clone(), name.to_owned()));
        if let Some((agent, name)) = durable.filter(|_| !handled.is_empty()) {
            self.record(
                caller,
                Entry::Acknowledged {
                    agent,
                    name,
                    positions: handled,
                },
                now,
            );
        }
        Ok(())
    }

    /// A delivery was not handled.
    pub(crate) fn refuse(
        &mut self,
        session: SessionId,
        index: u32,
        token: &str,
        delay: std::time::Duration,
        reason: &str,
        now: Now,
    ) -> Result<(), Error> {
        let position = self.log.id().position(token)?;
        let mailbox = self.mailbox(session, index)?;
        let given_up = self
            .state
            .mailboxes
            .refuse(mailbox, position, delay, reason, now.instant);
        self.give_up(given_up.into_iter().collect(), now);
        Ok(())
    }

    /// Deliveries are still being worked on.
    pub(crate) fn extend(
        &mut self,
        session: SessionId,
        index: u32,
        tokens: &[String],
        now: Now,
    ) -> Result<(), Error> {
        let positions = self.positions(tokens)?;
        let mailbox = self.mailbox(session, index)?;
        let Some(open) = self.sessions.open.get(&session) else {
            return Ok(());
        };
        for position in positions {
            self.state
                .mailboxes
                .extend(mailbox, position, &open.instance, now.instant);
        }
        Ok(())
    }

    /// A stream has ended. Without a goodbye its instance has its presence lease to come back.
    pub(crate) fn close(&mut self, session: SessionId, said_goodbye: bool, now: Now) {
        let Some(open) = self.sessions.open.remove(&session) else {
            return;
        };
        for mailbox in &open.mailboxes {
            self.state.mailboxes.unlisten(*mailbox, session);
        }
        let Open {
            agent, instance, ..
        } = open;
        self.presence.lose_stream(&agent, &instance, now.instant);
        if said_goodbye {
            self.forget_instance(&agent, &instance, now);
        } else if instance.starts_with("stream-") {
            // Its client cannot come back to it, only open another one; its presence lasts, its mail does not.
            self.close_mailboxes_of(&agent, &instance, now);
        }
    }

    /// An instance is gone: others get what it had, and its own subscriptions end.
    pub(crate) fn forget_instance(&mut self, agent: &AgentId, instance: &InstanceId, now: Now) {
        let before = PresenceBefore::of(self, [agent.clone()]);
        self.presence.leave(agent, instance);
        self.close_mailboxes_of(agent, instance, now);
        let given_up = self.state.mailboxes.release(agent, instance, now.instant);
        before.tell_changes(self, now);
        self.give_up(given_up, now);
    }

    /// Ends the subscriptions of an instance. What was for the agent alone and nobody took waits for its next subscription.
    fn close_mailboxes_of(&mut self, agent: &AgentId, instance: &InstanceId, now: Now) {
        let mut left: Vec<Mail> = Vec::new();
        for mailbox in self.state.mailboxes.of_instance(agent, instance) {
            left.extend(self.state.mailboxes.close(mailbox));
        }
        left.retain(|m| m.position.is_some() && m.is_directed && !is_void(m, &self.state.tasks));
        let is_known = self.state.registry.get(agent).is_some();
        self.state
            .mailboxes
            .put_back(agent, left, is_known, now.instant);
    }

    fn open(
        &mut self,
        agent: AgentId,
        instance: InstanceId,
        version: Option<Version>,
        mailboxes: Vec<MailboxId>,
    ) -> Opened {
        let wake = Arc::new(Notify::new());
        let id = self.sessions.insert(Open {
            agent: agent.clone(),
            instance,
            version,
            mailboxes: mailboxes.clone(),
            wake: wake.clone(),
            cancels: Vec::new(),
            end: None,
        });
        for mailbox in mailboxes {
            self.state.mailboxes.listen(mailbox, id, &wake);
        }
        wake.notify_one();
        Opened { id, agent, wake }
    }

    #[allow(clippy::too_many_arguments)]
    fn subscribe(
        &mut self,
        caller: &Caller,
        agent: &AgentId,
        instance: &InstanceId,
        name: &str,
        lifetime: WireLifetime,
        filter: Filter,
        now: Now,
    ) -> MailboxId {
        if lifetime == WireLifetime::Durable {
            let known = self.state.mailboxes.find(agent, name);
            let is_same = known
                .and_then(|id| self.state.mailboxes.durable(id))
                .is_some_and(|(_, _, known)| *known == filter);
            if !is_same {
                let entry = Entry::Subscribed {
                    agent: agent.clone(),
                    name: name.to_owned(),
                    filter: filter.clone(),
                };
                self.record(caller, entry, now);
            }
        }
        let lifetime = match lifetime {
            WireLifetime::Durable => Lifetime::Durable,
            _ => Lifetime::Instance(instance.clone()),
        };
        let watches = filter.takes(EventKind::AgentCard);
        let mailbox = self
            .state
            .mailboxes
            .open(agent, name, lifetime, filter, false, now.instant);
        if watches {
            self.put_snapshot(mailbox, now);
        }
        mailbox
    }

    /// A second stream of an instance takes the place of the first.
    fn supersede(&mut self, agent: &AgentId, instance: &InstanceId) {
        let same = |o: &&mut Open| o.agent == *agent && o.instance == *instance;
        for open in self.sessions.open.values_mut().filter(same) {
            open.end = Some(End::Superseded(format!(
                "another stream of agent \"{agent}\", instance \"{instance}\" has taken this one's place"
            )));
            open.wake.notify_one();
        }
    }

    /// What is in the log for an agent after a position.
    fn reread(
        &self,
        agent: &AgentId,
        filter: &Filter,
        after: &str,
        observes: bool,
    ) -> Result<Vec<Mail>, Error> {
        if after.is_empty() {
            return Ok(Vec::new());
        }
        let position = self.log.id().position(after)?;
        let mut found = Vec::new();
        for record in self.log.after(position)? {
            let Entry::Published(published) = &record.entry else {
                continue;
            };
            let event = &published.event;
            let is_for_it = match &published.route {
                Route::Everyone => *event.sender() != **agent,
                Route::To(to) => observes || to.iter().any(|a| a.agent == *agent),
            };
            let task_type = self.state.task_type(event);
            let about = crate::filter::About { event, task_type };
            if is_for_it && filter.accepts(about, Default::default()) {
                found.push(Mail {
                    event: event.clone(),
                    position: Some(record.position),
                    order: record.order.clone(),
                    concern: Default::default(),
                    version: None,
                    is_directed: true,
                });
            }
        }
        Ok(found)
    }

    fn positions(&self, tokens: &[String]) -> Result<Vec<Position>, Error> {
        tokens.iter().map(|t| self.log.id().position(t)).collect()
    }

    fn mailbox(&self, session: SessionId, index: u32) -> Result<MailboxId, Error> {
        let open = self.sessions.open.get(&session);
        let index_in = usize::try_from(index).unwrap_or(usize::MAX);
        open.and_then(|o| o.mailboxes.get(index_in).copied())
            .ok_or_else(|| {
                Error::InvalidArgument(format!("there is no subscription {index} on this stream"))
            })
    }
}

/// Work on a task that has ended is never delivered.
fn is_void(mail: &Mail, tasks: &crate::tasks::Tasks) -> bool {
    use agenthub_proto::agenthub::Concern;
    let Some(Payload::Message(message)) = &mail.event.payload else {
        return false;
    };
    mail.concern == Concern::Work
        && tasks
            .get(&message.task_id)
            .is_some_and(crate::tasks::Entry::is_terminal)
}

fn subscriptions(hello: &Hello) -> Result<Vec<(String, WireLifetime, Filter)>, Error> {
    if hello.subscription.len() > SUBSCRIPTIONS {
        return Err(Error::InvalidArgument(format!(
            "hello has {} subscriptions; at most {SUBSCRIPTIONS}",
            hello.subscription.len()
        )));
    }
    let mut names = HashSet::new();
    let mut wanted = Vec::new();
    for subscription in &hello.subscription {
        let name = &subscription.name;
        limits::required("hello.subscription.name", name)?;
        limits::id("hello.subscription.name", name)?;
        if !names.insert(name) {
            return Err(Error::InvalidArgument(format!(
                "hello.subscription: \"{name}\" is there twice"
            )));
        }
        let filter = Filter::from_wire(&subscription.filter.clone().unwrap_or_default())?;
        let lifetime = WireLifetime::try_from(subscription.lifetime).unwrap_or_default();
        match lifetime {
            WireLifetime::Unspecified => {
                return Err(Error::InvalidArgument(format!(
                    "hello.subscription \"{name}\": lifetime must be LIFETIME_DURABLE or LIFETIME_INSTANCE"
                )));
            }
            WireLifetime::Durable if filter.takes(EventKind::AgentCard) => {
                return Err(Error::InvalidArgument(format!(
                    "hello.subscription \"{name}\": agent cards begin with a snapshot, so they need LIFETIME_INSTANCE"
                )));
            }
            WireLifetime::Durable | WireLifetime::Instance => {}
        }
        wanted.push((name.clone(), lifetime, filter));
    }
    Ok(wanted)
}
