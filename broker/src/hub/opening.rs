//! How streams open and close, and what becomes of their mail.

use std::collections::{BTreeMap, HashSet};

use agenthub_proto::agenthub::{EventKind, Hello};
use uuid::Uuid;

use super::{
    backlog::Backlog,
    core::{Core, Now},
    delivering::is_void,
    directory::PresenceBefore,
    hello::{self, Introduction, Wanted},
    registering::Announce,
    sessions::{Kind, Opened},
};
use crate::{
    Error,
    access::{Call, decide},
    caller::Caller,
    filter::Filter,
    id::{AgentId, InstanceId, MailboxId, SessionId, Version},
    limits,
    log::{Entry, Position},
    mailbox::{Mail, Reclaimed},
    mailboxes::Lifetime,
    presence::Card,
};

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
        filter.check()?;
        self.check_room(1)?;
        let backlog = self.backlog(&agent, &filter, &after, observes)?;
        let claimed = self.state.mailboxes.claim(&agent, &filter);

        let instance = InstanceId::from(format!("stream-{}", Uuid::new_v4().simple()));
        let before = PresenceBefore::of(self, [agent.clone()]);
        self.presence
            .arrive(&agent, &instance, Card::OfCall, now.time);
        before.tell_changes(self, now);
        let lifetime = Lifetime::Stream(instance.clone());
        let mailbox =
            self.state
                .mailboxes
                .open(&agent, &instance, lifetime, filter, false, now.instant);
        if observes {
            self.state.mailboxes.observe(mailbox);
        }
        let mut first = 0;
        if self.state.mailboxes.takes(mailbox, EventKind::AgentCard) {
            self.state.mailboxes.snapshots.begin(mailbox, false);
        }
        for mail in claimed {
            // What has waited for the agent may also be among what is reread.
            first += usize::from(
                backlog
                    .as_ref()
                    .is_some_and(|b| mail.position <= Some(b.after)),
            );
            self.state.mailboxes.put(mailbox, mail, now.instant);
        }
        // The client cannot say which version it is: it is the one registered last.
        let version = self.state.registry.get(&agent);
        let version = version.map(|a| Version::from(a.latest().version.as_str()));
        let opened =
            self.insert_session(Kind::ServerStream, agent, instance, version, vec![mailbox]);
        Ok(Opened {
            backlog: backlog.map(Box::new),
            first,
            ..opened
        })
    }

    /// What a stream rereads; `None` without a position.
    fn backlog(
        &self,
        agent: &AgentId,
        filter: &Filter,
        after: &str,
        observes: bool,
    ) -> Result<Option<Backlog>, Error> {
        if after.is_empty() {
            return Ok(None);
        }
        Ok(Some(Backlog {
            agent: agent.clone(),
            filter: filter.clone(),
            observes,
            after: self.log.id().position(after)?,
            upto: self.delivered(),
            next: None,
        }))
    }

    /// Opens a `Connect` stream: registers the agent if it brings a card, and its subscriptions.
    pub(crate) fn connect(
        &mut self,
        caller: &Caller,
        hello: Hello,
        claims: &[(u32, Position)],
        now: Now,
    ) -> Result<Opened, Error> {
        decide(Call::Connect, caller, "")?;
        let Introduction {
            agent,
            instance,
            version,
            registration,
            subscriptions,
        } = hello::read(hello)?;
        let registers = match &registration {
            Some(registration) => {
                let (change, place) = self.check_registration(registration, Some(&instance))?;
                self.is_news(registration, change, place)
            }
            None => false,
        };
        self.check_room(subscriptions.len())?;
        // A peer whose hello changes nothing comes in on a full disk too.
        if registers || subscriptions.iter().any(|w| self.declares(&agent, w)) {
            self.admit()?;
        }
        self.sessions.supersede(&agent, &instance);
        let before = PresenceBefore::of(self, [agent.clone()]);
        self.presence
            .arrive(&agent, &instance, Card::None, now.time);
        let told = match registration {
            Some(registration) => {
                let how = Announce::IfItDiffers;
                self.register(caller, registration, Some(&instance), how, now)?
            }
            None => false,
        };
        if !told {
            before.tell_changes(self, now);
        }

        let kept = self.state.mailboxes.of_instance(&agent, &instance);
        let mailboxes: Vec<MailboxId> = subscriptions
            .into_iter()
            .map(|wanted| self.subscribe(caller, &agent, wanted, now))
            .collect();
        let dropped = kept.into_iter().filter(|id| !mailboxes.contains(id));
        self.close_mailboxes(&agent, dropped.collect(), now);
        let mut reclaimed = Reclaimed::default();
        let mut claimed = vec![HashSet::new(); mailboxes.len()];
        for (subscription, position) in claims {
            let index = usize::try_from(*subscription).unwrap_or(usize::MAX);
            claimed.get_mut(index).map(|c| c.insert(*position));
        }
        for (mailbox, claimed) in mailboxes.iter().zip(claimed) {
            let mailboxes = &mut self.state.mailboxes;
            let again = mailboxes.reclaim(*mailbox, &instance, &claimed, now.instant);
            reclaimed.handed_over.extend(again.handed_over);
            reclaimed.given_up.extend(again.given_up);
        }
        self.hand_over(&reclaimed.handed_over, now);
        self.give_up(reclaimed.given_up, now);
        Ok(self.insert_session(Kind::Connect, agent, instance, version, mailboxes))
    }

    /// Whether another stream with so many subscriptions may open.
    fn check_room(&self, subscriptions: usize) -> Result<(), Error> {
        self.check_held()?;
        let (streams, mailboxes) = (self.settings.streams, self.settings.mailboxes);
        if self.sessions.len() >= streams {
            return Err(Error::ResourceExhausted(format!(
                "{streams} streams are open, and that is all there may be"
            )));
        }
        if self.state.mailboxes.len() + subscriptions > mailboxes {
            return Err(Error::ResourceExhausted(format!(
                "there are {mailboxes} subscriptions, and that is all there may be; unregister agents that are gone for good"
            )));
        }
        Ok(())
    }

    /// A stream has ended. Without a goodbye its instance has its presence lease to come back.
    pub(crate) fn close(&mut self, session: SessionId, said_goodbye: bool, now: Now) {
        let Some(closed) = self.sessions.remove(session) else {
            return;
        };
        for mailbox in &closed.mailboxes {
            self.state.mailboxes.unlisten(*mailbox, session);
        }
        let (agent, instance) = (&closed.agent, &closed.instance);
        if closed.is_present {
            self.presence.lose_stream(agent, instance, now.instant);
        }
        if closed.kind == Kind::ServerStream {
            // Its client cannot come back to it, only open another one; its presence lasts, its mail does not.
            self.close_mailboxes_of(agent, instance, now);
        } else if said_goodbye && !closed.was_superseded() {
            self.forget_instance(agent, instance, now);
        }
    }

    /// An instance is gone: others get what it had, and its own subscriptions end.
    pub(crate) fn forget_instance(&mut self, agent: &AgentId, instance: &InstanceId, now: Now) {
        let before = PresenceBefore::of(self, [agent.clone()]);
        let gone = self.presence.leave(agent, instance);
        if !self.presence.has_instance(agent) {
            self.probes.left_alone(agent);
        }
        self.close_mailboxes_of(agent, instance, now);
        let given_up = self.state.mailboxes.release(agent, instance, now.instant);
        if let Some(gone) = gone {
            self.succeed(agent, &gone, now);
        }
        before.tell_changes(self, now);
        self.give_up(given_up, now);
    }

    fn close_mailboxes_of(&mut self, agent: &AgentId, instance: &InstanceId, now: Now) {
        let mailboxes = self.state.mailboxes.of_instance(agent, instance);
        self.close_mailboxes(agent, mailboxes, now);
    }

    /// Ends subscriptions. What was for the agent alone and nobody took waits for its next one.
    fn close_mailboxes(&mut self, agent: &AgentId, mailboxes: Vec<MailboxId>, now: Now) {
        let mut left: BTreeMap<Option<Position>, Mail> = BTreeMap::new();
        for mailbox in mailboxes {
            let mail = self.state.mailboxes.close(mailbox).into_iter();
            left.extend(mail.map(|m| (m.position, m)));
        }
        left.retain(|p, m| p.is_some() && m.is_directed && !is_void(m, &self.state.tasks));
        let is_known = self.state.registry.get(agent).is_some();
        let left = left.into_values().collect();
        self.state.mailboxes.put_back(left, is_known, now.instant);
    }

    /// Whether the log has to be told of a subscription: it is durable, and not there like this.
    fn declares(&self, agent: &AgentId, wanted: &Wanted) -> bool {
        let mailboxes = &self.state.mailboxes;
        let known = || mailboxes.find(agent, &wanted.name, &wanted.lifetime);
        let durable = || mailboxes.durable(known()?);
        wanted.lifetime == Lifetime::Durable && durable() != Some((&wanted.filter, wanted.ordered))
    }

    fn subscribe(
        &mut self,
        caller: &Caller,
        agent: &AgentId,
        wanted: Wanted,
        now: Now,
    ) -> MailboxId {
        let declares = self.declares(agent, &wanted);
        let Wanted {
            name,
            lifetime,
            filter,
            ordered,
        } = wanted;
        let mailboxes = &mut self.state.mailboxes;
        let known = mailboxes.find(agent, &name, &lifetime);
        if lifetime == Lifetime::Durable {
            if let (Some(id), false) = (known, declares) {
                self.note_use_if_old(id, now);
                return id;
            }
            let mut claims = mailboxes.claimable(agent, &filter);
            // What is not delivered yet goes there too.
            claims.extend(self.held_for(agent));
            let entry = Entry::Subscribed {
                agent: agent.clone(),
                name: name.clone(),
                filter: filter.clone(),
                claims,
                ordered,
            };
            self.record(caller, entry, now);
            // What was recorded has opened it.
            return self
                .state
                .mailboxes
                .open(agent, &name, lifetime, filter, ordered, now.instant);
        }
        let claimed = mailboxes.claim(agent, &filter);
        let watches = filter.takes(EventKind::AgentCard);
        let mailbox = mailboxes.open(agent, &name, lifetime, filter, ordered, now.instant);
        for mail in claimed {
            self.state.mailboxes.put(mailbox, mail, now.instant);
        }
        if watches {
            let snapshots = &mut self.state.mailboxes.snapshots;
            snapshots.begin(mailbox, known.is_some());
        }
        mailbox
    }
}
