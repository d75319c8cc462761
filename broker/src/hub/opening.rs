//! Opening and closing of streams, and the return of their mail.

use std::collections::VecDeque;

use agenthub_access::Action;
use agenthub_proto::agenthub::{EventKind, Hello};
use uuid::Uuid;

use super::{
    backlog::Backlog,
    claiming::Step,
    core::{Core, Now, RESUMED_WITHIN},
    delivering::is_void,
    directory::PresenceBefore,
    hello::{self, Introduction, RequestedSubscription},
    sessions::{Kind, Opened},
};
use crate::{
    Caller, Error,
    access::{Call, decide, may},
    filter::Filter,
    id::{AgentId, InstanceId, MailboxId, SessionId, Version},
    limits,
    log::Position,
    mailbox::{Mail, Reclaiming},
    mailboxes::{Lifetime, Observed},
    presence::Card,
    state::State,
    tasks::Known,
};

/// Parameters of a server stream.
#[derive(Clone, Debug)]
pub(crate) struct StreamRequest {
    pub(crate) call: Call,
    pub(crate) agent: AgentId,
    pub(crate) filter: Filter,
    /// Position to reread from, exclusive.
    pub(crate) after: String,
    /// Events to receive besides those for the agent.
    pub(crate) observes: Option<Observed>,
    /// At most this many of the log's latest records are reread, and the directory is not shown first; 0 sets no bound.
    pub(crate) recent: u32,
}

/// Beginning of a stream's events. A position may be empty.
#[derive(Clone, Copy, Debug)]
enum Begins<'a> {
    After(&'a str),
    /// At most this many records before the end, or later.
    Recent(&'a str, u32),
}

/// Checks whether a caller may see what a subscription shows beside the mail of its agent.
fn may_see(caller: &Caller, filter: &Filter, observes: bool) -> Result<(), Error> {
    if observes {
        may(caller, Action::SeeEvents)?;
    }
    match filter.takes(EventKind::AgentCard) {
        true => may(caller, Action::SeeDirectory),
        false => Ok(()),
    }
}

impl Core {
    /// Opens a server stream of an older client: a subscription that ends with it.
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
            recent,
        } = request;
        decide(call, caller, "")?;
        limits::required("agent_id", &agent)?;
        limits::agent_id("agent_id", &agent)?;
        self.may_be(caller, &agent)?;
        may_see(caller, &filter, observes.is_some())?;
        filter.check()?;
        self.check_room(Kind::ServerStream, 1)?;
        let begins = match recent {
            0 => Begins::After(&after),
            most => Begins::Recent(&after, most),
        };
        let backlog = self.backlog(&agent, &filter, begins, observes.clone())?;
        let begins_after = backlog.as_ref().map_or(self.delivered(), |b| b.after);

        let instance = InstanceId::from(format!("stream-{}", Uuid::new_v4().simple()));
        let before = PresenceBefore::of(self, [agent.clone()]);
        self.presence
            .arrive(&agent, &instance, Card::OfCall, now.time);
        before.tell_changes(self, now);
        let wanted = RequestedSubscription {
            name: instance.to_string(),
            lifetime: Lifetime::Stream(instance.clone()),
            filter,
            ordered: false,
            shows_directory: recent == 0,
        };
        let mut claiming = Vec::new();
        let Step { mailbox, claims } = self.subscribe(caller, &agent, wanted, &mut claiming, now);
        if let Some(observed) = observes {
            self.state.mailboxes.observe(mailbox, observed);
        }
        // The client cannot send its version: the version registered last is assumed.
        let version = self.state.registry.get(&agent);
        let version = version.map(|a| Version::from(a.latest().version.as_str()));
        let opened =
            self.insert_session(Kind::ServerStream, agent, instance, version, vec![mailbox]);
        let mut opened = Opened {
            backlog: backlog.map(Box::new),
            begins_after,
            claiming,
            ..opened
        };
        opened.count_first(&claims);
        Ok(opened)
    }

    /// The backlog of a stream; `None` without a position.
    fn backlog(
        &self,
        agent: &AgentId,
        filter: &Filter,
        begins: Begins<'_>,
        observes: Option<Observed>,
    ) -> Result<Option<Backlog>, Error> {
        let (log, upto) = (self.log.id(), self.delivered());
        let mut cards = VecDeque::new();
        let after = match begins {
            Begins::After("") => return Ok(None),
            Begins::After(after) => log.position(after)?,
            Begins::Recent(after, most) => {
                let earliest = Position(upto.0.saturating_sub(most.into()));
                // A position of an earlier log is before all records of this one.
                let after = log.position(after).ok();
                let latest = &self.latest_cards;
                cards = latest.taken(filter, observes.as_ref(), (after, upto));
                after.map_or(earliest, |after| after.max(earliest))
            }
        };
        Ok(Some(Backlog {
            agent: agent.clone(),
            filter: filter.clone(),
            observes,
            is_recent: matches!(begins, Begins::Recent(..)),
            after,
            upto,
            next: None,
            cards,
        }))
    }

    /// Opens a `Connect` stream: registers the agent if it has a card, and opens its subscriptions, the first of which
    /// have these claims.
    pub(crate) fn connect(
        &mut self,
        caller: &Caller,
        kind: Kind,
        hello: Hello,
        mut claims: Vec<Reclaiming>,
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
        self.may_be(caller, &agent)?;
        for wanted in &subscriptions {
            may_see(caller, &wanted.filter, false)?;
        }
        let registers = match &registration {
            Some(registration) => {
                let (change, place) = self.check_registration(registration, Some(&instance))?;
                self.is_news(caller, registration, change, place)
            }
            None => false,
        };
        self.check_room(kind, subscriptions.len())?;
        // A peer whose hello changes nothing is admitted on a full disk too.
        if registers || subscriptions.iter().any(|w| self.declares(&agent, w)) {
            self.admit()?;
        }
        self.sessions.supersede(&agent, &instance);
        let before = PresenceBefore::of(self, [agent.clone()]);
        self.presence
            .arrive(&agent, &instance, Card::None, now.time);
        let told = match registration {
            Some(registration) => self.register(caller, registration, Some(&instance), now)?,
            None => false,
        };
        if !told {
            before.tell_changes(self, now);
        }

        let kept = self.state.mailboxes.of_instance(&agent, &instance);
        let mut claiming = Vec::new();
        let mailboxes: Vec<MailboxId> = subscriptions
            .into_iter()
            .map(|wanted| {
                self.subscribe(caller, &agent, wanted, &mut claiming, now)
                    .mailbox
            })
            .collect();
        let dropped = kept.into_iter().filter(|id| !mailboxes.contains(id));
        self.close_mailboxes(&agent, dropped.collect(), now);
        claims.resize_with(mailboxes.len(), Reclaiming::default);
        let reclaiming = mailboxes.iter().copied().zip(claims).collect();
        let opened = self.insert_session(kind, agent, instance, version, mailboxes);
        let mut opened = Opened {
            claiming,
            reclaiming,
            ..opened
        };
        self.reclaim_some(&mut opened, now);
        Ok(opened)
    }

    /// Continues with opening a stream.
    ///
    /// # Errors
    ///
    /// See [`admit`](Self::admit).
    pub(super) fn open_more(
        &mut self,
        caller: &Caller,
        opened: &mut Opened,
        now: Now,
    ) -> Result<(), Error> {
        match opened.claiming.is_empty() {
            true => self.reclaim_some(opened, now),
            false => self.claim_more(caller, opened, now)?,
        }
        Ok(())
    }

    /// Returns claimed deliveries to a reconnected instance, as many as one acquisition of the lock allows.
    fn reclaim_some(&mut self, opened: &mut Opened, now: Now) {
        let Some(open) = self.sessions.get(opened.id) else {
            opened.reclaiming.clear();
            return;
        };
        let instance = open.instance.clone();
        while let Some((mailbox, reclaiming)) = opened.reclaiming.front_mut() {
            let mailboxes = &mut self.state.mailboxes;
            let reclaimed = mailboxes.reclaim(*mailbox, &instance, reclaiming, now.instant);
            let (is_done, is_long) = (reclaiming.is_done(), reclaiming.is_long());
            self.hand_over(&reclaimed.handed_over, now);
            self.give_up(reclaimed.given_up, now);
            if is_done {
                opened.reclaiming.pop_front();
            }
            if is_long {
                return;
            }
        }
    }

    /// Checks that another stream with this many subscriptions may open.
    fn check_room(&self, kind: Kind, subscriptions: usize) -> Result<(), Error> {
        self.check_held()?;
        let (streams, mailboxes) = (self.settings.streams, self.settings.mailboxes);
        if kind != Kind::OwnConnect && self.sessions.of_peers() >= streams {
            return Err(Error::ResourceExhausted(format!(
                "{streams} streams are open, and that is all there may be: try again once others have ended theirs"
            )));
        }
        if self.state.mailboxes.len() + subscriptions > mailboxes {
            return Err(Error::ResourceExhausted(format!(
                "there are {mailboxes} subscriptions, and that is all there may be; unregister agents that are gone for good"
            )));
        }
        Ok(())
    }

    /// Closes a stream. Without a goodbye its instance keeps its presence lease for a reconnect.
    pub(crate) fn close(&mut self, session: SessionId, said_goodbye: bool, now: Now) {
        let Some(closed) = self.sessions.remove(session) else {
            return;
        };
        for mailbox in &closed.mailboxes {
            if self.state.mailboxes.takes(*mailbox, EventKind::Task) {
                self.tasks_taken_until = now.instant + RESUMED_WITHIN;
            }
            self.state.mailboxes.unlisten(*mailbox, session);
        }
        let (agent, instance) = (&closed.agent, &closed.instance);
        if closed.is_present {
            let at = (now.instant, now.time);
            self.presence.lose_stream(agent, instance, at);
        }
        if closed.kind == Kind::ServerStream {
            // Its client cannot resume it, only open another one; its presence lasts, its mail does not.
            self.close_mailboxes_of(agent, instance, now);
        } else if said_goodbye && !closed.was_superseded() {
            self.forget_instance(agent, instance, now);
        }
    }

    /// Removes an instance: its deliveries go to others, and its own subscriptions end.
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

    /// Closes subscriptions. Unhandled mail for the agent alone waits for its next subscription.
    fn close_mailboxes(&mut self, agent: &AgentId, mailboxes: Vec<MailboxId>, now: Now) {
        for mailbox in mailboxes {
            self.state.mailboxes.leave(mailbox);
        }
        self.put_back_some(agent, now);
    }

    /// Puts back some mail of an agent's closed subscriptions.
    pub(super) fn put_back_some(&mut self, agent: &AgentId, now: Now) {
        let State {
            mailboxes,
            registry,
            tasks,
            ..
        } = &mut self.state;
        let is_known = registry.get(agent).is_some();
        let is_over = |mail: &Mail| {
            tasks
                .get(mail.event.task_id())
                .is_some_and(Known::is_terminal)
        };
        let is_to_come = |mail: &Mail| {
            !is_void(mail, tasks) && (mail.event.kind() != EventKind::Task || !is_over(mail))
        };
        let made_by = |mail: &Mail| tasks.get(mail.event.task_id())?.made_at();
        mailboxes.put_back_some(agent, is_to_come, made_by, is_known, now.instant);
    }

    /// Puts back some mail of closed subscriptions. Returns whether there may be more.
    pub(super) fn go_on_putting_back(&mut self, now: Now) -> bool {
        let agent = self.state.mailboxes.first_leaving().cloned();
        if let Some(agent) = &agent {
            self.put_back_some(agent, now);
        }
        agent.is_some()
    }

    /// True if a subscription must be recorded: it is durable, and new or changed.
    pub(super) fn declares(&self, agent: &AgentId, wanted: &RequestedSubscription) -> bool {
        let mailboxes = &self.state.mailboxes;
        let known = || mailboxes.find(agent, &wanted.name, &wanted.lifetime);
        let durable = || mailboxes.durable(known()?);
        wanted.lifetime == Lifetime::Durable && durable() != Some((&wanted.filter, wanted.ordered))
    }
}
