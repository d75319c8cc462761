//! Open streams: which mailboxes each drains, and what it is told outside their order.

use std::sync::Arc;

use agenthub_proto::agenthub::{AgentEvent, Cancel, Concern, agent_event::Payload};
use tokio::sync::Notify;

use super::{
    backlog::Backlog,
    core::{Core, Now, hub},
    outgoing::{End, Handed, Outgoing},
};
use crate::{
    Error,
    caller::Caller,
    id::{AgentId, InstanceId, MailboxId, SessionId, Version},
    log::{Entry, Position},
    mailbox::Mail,
    table::Table,
    tasks::Tasks,
};

/// The most cancellations that wait for one stream; one that has more has stopped reading.
const CANCELS: usize = 10_000;

/// What kind of stream it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// An agent's lifeline: the instance outlives it.
    Connect,
    /// Of an older client: all of it ends with the stream.
    ServerStream,
}

#[derive(Debug)]
pub(super) struct Open {
    pub(super) kind: Kind,
    pub(super) agent: AgentId,
    pub(super) instance: InstanceId,
    version: Option<Version>,
    pub(super) mailboxes: Vec<MailboxId>,
    wake: Arc<Notify>,
    cancels: Vec<Cancel>,
    end: Option<End>,
    /// The subscription that is first in turn.
    turn: usize,
}

impl Open {
    /// Another stream has taken its place, or its agent was unregistered: what its peer says counts no more.
    pub(super) fn was_superseded(&self) -> bool {
        matches!(self.end, Some(End::Superseded(_)))
    }
}

#[derive(Debug, Default)]
pub(crate) struct Sessions {
    open: Table<SessionId, Open>,
    by_agent: Table<AgentId, Vec<SessionId>>,
    next: u64,
}

/// A stream that was opened.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) id: SessionId,
    pub(crate) agent: AgentId,
    pub(crate) wake: Arc<Notify>,
    /// What it rereads first.
    pub(super) backlog: Option<Backlog>,
    /// How many deliveries come before that.
    pub(super) first: usize,
}

impl Sessions {
    /// How many streams are open.
    pub(crate) fn len(&self) -> usize {
        self.open.len()
    }

    /// Whether an agent can be told something outside the order of its mailbox.
    pub(crate) fn has_lifeline(&self, agent: &AgentId) -> bool {
        let ids = self.by_agent.get(agent).into_iter().flatten();
        let mut open = ids.filter_map(|id| self.open.get(id));
        open.any(|o| o.kind == Kind::Connect)
    }

    /// Tells every lifeline of an agent that a task has ended, or is to end.
    pub(crate) fn cancel(&mut self, agent: &AgentId, cancel: &Cancel) {
        self.each_of(agent, |open| {
            if open.kind != Kind::Connect {
                return;
            }
            if open.cancels.len() >= CANCELS {
                open.end = Some(End::Overflow);
            } else {
                open.cancels.push(cancel.clone());
            }
            open.wake.notify_one();
        });
    }

    /// Ends every stream of an agent.
    pub(crate) fn end_all_of(&mut self, agent: &AgentId, reason: &str) {
        self.each_of(agent, |open| {
            open.end = Some(End::Superseded(reason.to_owned()));
            open.wake.notify_one();
        });
    }

    /// Ends every stream.
    pub(crate) fn drain(&mut self) {
        for open in self.open.values_mut() {
            open.end = Some(End::Drain);
            open.wake.notify_one();
        }
    }

    /// A second stream of an instance takes the place of the first.
    pub(super) fn supersede(&mut self, agent: &AgentId, instance: &InstanceId) {
        self.each_of(agent, |open| {
            if open.instance != *instance {
                return;
            }
            open.end = Some(End::Superseded(format!(
                "another stream of agent \"{agent}\", instance \"{instance}\" has taken this one's place"
            )));
            open.wake.notify_one();
        });
    }

    /// Who has a stream.
    pub(super) fn peer(&self, session: SessionId) -> Option<(&AgentId, &InstanceId)> {
        let open = self.open.get(&session)?;
        Some((&open.agent, &open.instance))
    }

    pub(super) fn remove(&mut self, session: SessionId) -> Option<Open> {
        let open = self.open.remove(&session)?;
        if let Some(ids) = self.by_agent.get_mut(&open.agent) {
            ids.retain(|id| *id != session);
            if ids.is_empty() {
                self.by_agent.remove(&open.agent);
            }
        }
        Some(open)
    }

    fn each_of(&mut self, agent: &AgentId, mut act: impl FnMut(&mut Open)) {
        for id in self.by_agent.get(agent).into_iter().flatten() {
            if let Some(open) = self.open.get_mut(id) {
                act(open);
            }
        }
    }

    fn insert(&mut self, open: Open) -> SessionId {
        self.next += 1;
        let id = SessionId(self.next);
        self.by_agent
            .entry(open.agent.clone())
            .or_default()
            .push(id);
        self.open.insert(id, open);
        id
    }
}

impl Core {
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
        let mut void: Vec<(MailboxId, Position)> = Vec::new();
        let mut handed_over = Vec::new();
        let mut room = limit;
        let count = open.mailboxes.len();
        let first = open.turn;
        open.turn = (first + 1) % count.max(1);
        for index in (first..count).chain(0..first) {
            let mailbox = &open.mailboxes[index];
            let credit = credits.get(index).copied().unwrap_or(0);
            let mut credit = usize::try_from(credit).unwrap_or(usize::MAX);
            while credit > 0 && room > 0 {
                let passing = self
                    .state
                    .mailboxes
                    .take_passing(*mailbox, credit.min(room));
                if let Some(parcel) = passing {
                    credit -= parcel.len();
                    room -= parcel.len();
                    outgoing.deliveries.push((index, Handed::Several(parcel)));
                    continue;
                }
                let deliveries = self.state.mailboxes.take(
                    *mailbox,
                    &open.instance,
                    open.version.as_ref(),
                    credit.min(room),
                    now.instant,
                );
                if deliveries.is_empty() {
                    break;
                }
                outgoing.deliveries.reserve(deliveries.len());
                for mut delivery in deliveries {
                    if is_void(&delivery.mail, &self.state.tasks) {
                        void.extend(delivery.mail.position.map(|p| (*mailbox, p)));
                        continue;
                    }
                    credit -= 1;
                    room -= 1;
                    handed_over.extend(delivery.handed_over.take().map(|h| *h));
                    outgoing.deliveries.push((index, Handed::One(delivery)));
                }
            }
        }
        self.counters.deliveries.inc_by(outgoing.events() as u64);
        for (mailbox, position) in void {
            self.settle(&hub(), mailbox, vec![position], now);
        }
        self.hand_over(&handed_over, now);
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
        if let Some(Open { instance, .. }) = self.sessions.open.get(&session) {
            let mailboxes = &mut self.state.mailboxes;
            let positions = mailboxes.acknowledge_from(mailbox, positions, instance);
            self.record_settled(caller, mailbox, positions, now);
        }
        Ok(())
    }

    /// Mail is done with, and the log says so.
    pub(super) fn settle(
        &mut self,
        caller: &Caller,
        mailbox: MailboxId,
        positions: Vec<Position>,
        now: Now,
    ) {
        let positions = self.state.mailboxes.acknowledge(mailbox, positions);
        self.record_settled(caller, mailbox, positions, now);
    }

    /// Puts into the log that mail has left a mailbox. Of one that is in no log itself, the log says that its agent has the mail.
    pub(super) fn record_settled(
        &mut self,
        caller: &Caller,
        mailbox: MailboxId,
        positions: Vec<Position>,
        now: Now,
    ) {
        let Some((agent, name)) = self.state.mailboxes.name_in_log(mailbox) else {
            return;
        };
        if positions.is_empty() {
            return;
        }
        let entry = Entry::Acknowledged {
            agent: agent.clone(),
            name: name.to_owned(),
            positions,
        };
        self.record(caller, entry, now);
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
        let Some(open) = self.sessions.open.get(&session) else {
            return Ok(());
        };
        let given_up = self.state.mailboxes.refuse(
            mailbox,
            position,
            &open.instance,
            delay,
            reason,
            now.instant,
        );
        self.give_up(given_up, now);
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

    pub(super) fn insert_session(
        &mut self,
        kind: Kind,
        agent: AgentId,
        instance: InstanceId,
        version: Option<Version>,
        mailboxes: Vec<MailboxId>,
    ) -> Opened {
        let wake = Arc::new(Notify::new());
        let id = self.sessions.insert(Open {
            kind,
            agent: agent.clone(),
            instance,
            version,
            mailboxes: mailboxes.clone(),
            wake: wake.clone(),
            cancels: Vec::new(),
            end: None,
            turn: 0,
        });
        for mailbox in mailboxes {
            self.state.mailboxes.listen(mailbox, id, &wake);
        }
        wake.notify_one();
        Opened {
            id,
            agent,
            wake,
            backlog: None,
            first: 0,
        }
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
pub(super) fn is_void(mail: &Mail, tasks: &Tasks) -> bool {
    is_void_work(&mail.event, mail.concern, tasks)
}

/// Whether an event is work on a task that has ended.
pub(super) fn is_void_work(event: &AgentEvent, concern: Concern, tasks: &Tasks) -> bool {
    let Some(Payload::Message(message)) = &event.payload else {
        return false;
    };
    concern == Concern::Work
        && !message.task_id.is_empty()
        && tasks
            .get(&message.task_id)
            .is_some_and(crate::tasks::Entry::is_terminal)
}
