//! Deliveries to streams, and their acknowledgements, refusals and extensions.

use agenthub_proto::agenthub::{AgentEvent, Concern, agent_event::Payload};

use super::{
    cards,
    core::{Core, Now, hub},
    outgoing::{End, Outgoing},
    sessions::Open,
};
use crate::{
    Caller, Error,
    id::{MailboxId, SessionId},
    log::{Entry, Position},
    mailbox::{Batch, Delivery, Mail},
    tasks::Tasks,
};

/// Bytes read from the log at a time; one event more is allowed.
pub(super) const READ_BYTES: usize = 64 * 1024;

impl Core {
    /// Deliveries for a stream: at most `credits[i]` of its subscription `i`, and `limit` in all.
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
        let mut void: Vec<(MailboxId, Batch)> = Vec::new();
        let mut handed_over = Vec::new();
        let mut room = limit;
        // Bytes to be read from the log.
        let mut stored = 0;
        let count = open.mailboxes.len();
        let first = open.turn;
        open.turn = (first + 1) % count.max(1);
        for index in (first..count).chain(0..first) {
            let mailbox = &open.mailboxes[index];
            let credit = credits.get(index).copied().unwrap_or(0);
            let mut credit = usize::try_from(credit).unwrap_or(usize::MAX);
            for card in cards::take(&mut self.state, &self.presence, *mailbox, credit, now) {
                let batch = cards::delivery(card, &open.agent, &self.state, now);
                outgoing.deliveries.push((index, batch));
                outgoing.cards += 1;
                credit -= 1;
                room = room.saturating_sub(1);
            }
            if self.state.mailboxes.snapshots.cursor(*mailbox).is_some() {
                // Changes follow after all cards.
                outgoing.has_more |= credit > 0;
                continue;
            }
            let count = credit.min(room);
            let mut left = count;
            let (mailboxes, tasks) = (&mut self.state.mailboxes, &self.state.tasks);
            let (instance, version) = (&open.instance, open.version.as_ref());
            let observes = mailboxes.observes(*mailbox);
            let hand = |delivery: Delivery| {
                let Delivery {
                    batch,
                    waited,
                    handed_over: from,
                } = delivery;
                if !observes && is_void_batch(&batch, tasks) {
                    void.push((*mailbox, batch));
                    return left;
                }
                left -= batch.len();
                self.metrics.delivered(&batch, waited);
                if batch.is_stored() {
                    stored += batch.bytes();
                }
                handed_over.extend(from);
                outgoing.deliveries.push((index, batch));
                match stored < READ_BYTES {
                    true => left,
                    false => 0,
                }
            };
            mailboxes.take(*mailbox, instance, version, count, now.instant, hand);
            if stored >= READ_BYTES {
                outgoing.has_more = true;
                break;
            }
            room -= count - left;
            if left > 0 {
                outgoing.has_more |= mailboxes.snapshots.go_on(*mailbox);
            }
        }
        self.metrics.deliveries.inc_by(outgoing.events() as u64);
        for (mailbox, batch) in void {
            self.settle(&hub(), mailbox, batch.positions(), now);
        }
        self.hand_over(&handed_over, now);
        outgoing
    }

    /// Acknowledges the deliveries at these positions.
    pub(crate) fn acknowledge_at(
        &mut self,
        caller: &Caller,
        session: SessionId,
        index: u32,
        positions: &[Position],
        now: Now,
    ) -> Result<(), Error> {
        let mailbox = self.mailbox(session, index)?;
        if let Some(Open { instance, .. }) = self.sessions.get(session) {
            let mailboxes = &mut self.state.mailboxes;
            let positions = mailboxes.acknowledge_from(mailbox, positions, instance);
            self.metrics.acknowledged.inc_by(positions.len() as u64);
            self.record_settled(caller, mailbox, positions, now);
        }
        Ok(())
    }

    /// Removes handled mail and records that.
    pub(super) fn settle(
        &mut self,
        caller: &Caller,
        mailbox: MailboxId,
        positions: &[Position],
        now: Now,
    ) {
        let positions = self.state.mailboxes.acknowledge(mailbox, positions);
        self.record_settled(caller, mailbox, positions, now);
    }

    /// Records that mail has left a mailbox. For mail that is not in the log itself, records that its agent has it.
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

    /// Refuses a delivery.
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
        self.metrics.returned.inc();
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

    /// Extends the leases of deliveries.
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
        self.state
            .mailboxes
            .extend(mailbox, positions, &open.instance, now.instant);
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

/// True for work on a task that has ended, which is delivered to observers alone.
pub(super) fn is_void(mail: &Mail, tasks: &Tasks) -> bool {
    is_void_work(&mail.event, mail.concern, tasks)
}

/// The same for a batch, whose events belong to one task.
fn is_void_batch(batch: &Batch, tasks: &Tasks) -> bool {
    is_void_work(&batch.segment().first(), batch.concern(), tasks)
}

/// True if an event is work on a task that has ended.
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
