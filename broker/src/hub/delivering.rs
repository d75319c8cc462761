//! What streams are handed, and what their peers say of that.

use agenthub_proto::agenthub::{AgentEvent, Concern, agent_event::Payload};

use super::{
    cards,
    core::{Core, Now, hub},
    outgoing::{End, Handed, Outgoing},
    sessions::Open,
};
use crate::{
    Error,
    caller::Caller,
    id::{MailboxId, SessionId},
    log::{Entry, Position},
    mailbox::Mail,
    tasks::Tasks,
};

impl Core {
    /// What a stream has to send, at most `credits[i]` deliveries of its subscription `i`, and `limit` in all.
    pub(crate) fn take(
        &mut self,
        session: SessionId,
        credits: &[u32],
        limit: usize,
        now: Now,
    ) -> Outgoing {
        let Some(open) = self.sessions.get_mut(session) else {
            return Outgoing {
                end: Some(End::Superseded("the stream was closed".to_owned())),
                ..Outgoing::default()
            };
        };
        let mut outgoing = Outgoing {
            cancels: std::mem::take(&mut open.cancels),
            end: open.end.clone(),
            ..Outgoing::default()
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
            for card in cards::take(&mut self.state, &self.presence, *mailbox, credit, now) {
                let delivery = cards::delivery(card, &open.agent, &self.state, now);
                outgoing.deliveries.push((index, Handed::One(delivery)));
                outgoing.cards += 1;
                credit -= 1;
                room = room.saturating_sub(1);
            }
            if self.state.mailboxes.snapshots.cursor(*mailbox).is_some() {
                // Changes come behind all cards.
                outgoing.has_more |= credit > 0;
                continue;
            }
            while credit > 0 && room > 0 {
                let passing = self.state.mailboxes.take_passing(
                    *mailbox,
                    &open.instance,
                    credit.min(room),
                    now.instant,
                );
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
                    outgoing.has_more |= self.state.mailboxes.snapshots.go_on(*mailbox);
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

    /// Deliveries at these positions were handled.
    pub(crate) fn acknowledge_at(
        &mut self,
        caller: &Caller,
        session: SessionId,
        index: u32,
        positions: Vec<Position>,
        now: Now,
    ) -> Result<(), Error> {
        let mailbox = self.mailbox(session, index)?;
        if let Some(Open { instance, .. }) = self.sessions.get(session) {
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
        position: Position,
        delay: std::time::Duration,
        reason: &str,
        now: Now,
    ) -> Result<(), Error> {
        let mailbox = self.mailbox(session, index)?;
        let Some(open) = self.sessions.get(session) else {
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
        positions: &[Position],
        now: Now,
    ) -> Result<(), Error> {
        let mailbox = self.mailbox(session, index)?;
        let Some(open) = self.sessions.get(session) else {
            return Ok(());
        };
        for position in positions {
            self.state
                .mailboxes
                .extend(mailbox, *position, &open.instance, now.instant);
        }
        Ok(())
    }

    fn mailbox(&self, session: SessionId, index: u32) -> Result<MailboxId, Error> {
        let open = self.sessions.get(session);
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
            .is_some_and(crate::tasks::Known::is_terminal)
}
