//! Opening of a subscription: waiting mail of its agent goes into it first, a portion per acquisition of the lock.
//! Until that is done the subscription takes nothing new: events that arrive meanwhile wait behind the rest, so that
//! the order is kept.

use agenthub_proto::agenthub::EventKind;

use super::{
    core::{Core, Now},
    hello::RequestedSubscription,
    sessions::Opened,
    waiting_tasks::is_told,
};
use crate::{
    Caller, Error,
    filter::Filter,
    id::{AgentId, MailboxId},
    log::{Entry, Position},
    mailboxes::Lifetime,
};

/// Waiting events processed per acquisition of the lock.
const AT_ONCE: usize = 512;

/// A subscription that is being opened.
#[derive(Debug)]
pub(super) struct Claiming {
    wanted: RequestedSubscription,
    /// Last processed position.
    after: Position,
    /// See [`Unclaimed::interposed`](crate::unclaimed::Unclaimed::interposed): a change restarts the scan.
    interposed: u64,
}

/// One step of opening a subscription.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) mailbox: MailboxId,
    /// Positions of the mail that it has claimed.
    pub(super) claims: Vec<Position>,
}

impl Core {
    /// Opens a subscription of an agent, or begins to: it is then in `claiming`, behind others that claim waiting mail
    /// first.
    pub(super) fn subscribe(
        &mut self,
        caller: &Caller,
        agent: &AgentId,
        wanted: RequestedSubscription,
        claiming: &mut Vec<Claiming>,
        now: Now,
    ) -> Step {
        let known = self
            .state
            .mailboxes
            .find(agent, &wanted.name, &wanted.lifetime);
        if wanted.lifetime == Lifetime::Durable
            && !self.declares(agent, &wanted)
            && let Some(mailbox) = known
        {
            self.note_use_if_old(mailbox, now);
            return Step {
                mailbox,
                claims: Vec::new(),
            };
        }
        let mut next = Claiming {
            wanted,
            after: Position(0),
            interposed: self.state.mailboxes.unclaimed.interposed(agent),
        };
        let (step, is_open) = match claiming.is_empty() {
            true => self.claim(caller, agent, &mut next, now),
            false => (
                self.put_claims(caller, agent, &next.wanted, Vec::new(), false, now),
                false,
            ),
        };
        if !is_open {
            claiming.push(next);
        }
        step
    }

    /// Continues with the first subscription of a stream that is being opened.
    ///
    /// # Errors
    ///
    /// See [`admit`](Self::admit).
    pub(super) fn claim_more(
        &mut self,
        caller: &Caller,
        opened: &mut Opened,
        now: Now,
    ) -> Result<(), Error> {
        let Some(next) = opened.claiming.first_mut() else {
            return Ok(());
        };
        self.admit()?;
        let (step, is_open) = self.claim(caller, &opened.agent, next, now);
        opened.count_first(&step.claims);
        if is_open {
            opened.claiming.remove(0);
            if let Some(backlog) = &mut opened.backlog {
                // Events that arrived meanwhile went past the subscription.
                backlog.upto = self.delivered();
            }
        }
        Ok(())
    }

    /// Claims the next waiting events. Returns whether they were the last, and the subscription is open.
    fn claim(
        &mut self,
        caller: &Caller,
        agent: &AgentId,
        claiming: &mut Claiming,
        now: Now,
    ) -> (Step, bool) {
        let mut positions = Vec::new();
        let (mut is_last, mut looked_at_from) = (false, None);
        if self.state.mailboxes.is_leaving(agent) {
            // They arrived before the waiting events.
            self.put_back_some(agent, now);
        } else {
            let mailboxes = &self.state.mailboxes;
            let interposed = mailboxes.unclaimed.interposed(agent);
            if interposed != claiming.interposed {
                claiming.interposed = interposed;
                claiming.after = Position(0);
            }
            let filter = &claiming.wanted.filter;
            let claims = mailboxes.claimable(agent, filter, claiming.after, AT_ONCE);
            is_last = claims.next.is_none();
            looked_at_from = Some(claiming.after);
            claiming.after = claims.next.unwrap_or(claiming.after);
            positions = claims.positions;
        }
        if is_last && claiming.wanted.lifetime == Lifetime::Durable {
            // Undelivered events will go there too.
            positions.extend(self.held_for(agent));
        }
        let wanted = &claiming.wanted;
        let step = self.put_claims(caller, agent, wanted, positions, is_last, now);
        if let Some(from) = looked_at_from
            && is_told(&wanted.lifetime, &wanted.filter)
        {
            let mailbox = step.mailbox;
            self.tell_of_waiting_tasks(agent, mailbox, &wanted.filter, from, AT_ONCE, now);
        }
        (step, is_last)
    }

    /// Claims some waiting events for a subscription. Opens it if they were the last.
    fn put_claims(
        &mut self,
        caller: &Caller,
        agent: &AgentId,
        wanted: &RequestedSubscription,
        claims: Vec<Position>,
        is_last: bool,
        now: Now,
    ) -> Step {
        let RequestedSubscription {
            name,
            lifetime,
            filter,
            ordered,
            shows_directory,
        } = wanted.clone();
        let mailboxes = &mut self.state.mailboxes;
        let known = mailboxes.find(agent, &name, &lifetime);
        let before = || known.and_then(|id| mailboxes.filter(id)).cloned();
        let filter = match is_last {
            true => filter,
            false => before().unwrap_or_else(Filter::nothing),
        };
        if lifetime == Lifetime::Durable {
            let entry = Entry::Subscribed {
                agent: agent.clone(),
                name: name.clone(),
                filter: filter.clone(),
                claims: claims.clone(),
                ordered,
            };
            self.record(caller, entry, now);
            // The record has opened it.
            let mailboxes = &mut self.state.mailboxes;
            let mailbox = mailboxes.open(agent, &name, lifetime, filter, ordered, now.instant);
            return Step { mailbox, claims };
        }
        let watches = is_last && shows_directory && filter.takes(EventKind::AgentCard);
        let mailbox = mailboxes.open(agent, &name, lifetime, filter, ordered, now.instant);
        for mail in mailboxes.unclaimed.claim(agent, &claims) {
            mailboxes.put(mailbox, mail, now.instant);
        }
        if watches {
            mailboxes.snapshots.begin(mailbox, known.is_some());
        }
        Step { mailbox, claims }
    }
}
