//! Closed mailboxes of instances and streams: their mail is put back, to wait for the agent's next subscription, a
//! portion per acquisition of the lock.

use std::collections::{BTreeMap, HashSet};

use agenthub_proto::agenthub::EventKind;
use tokio::time::Instant;

use super::Mailboxes;
use crate::{
    bodies::Delivered,
    id::{AgentId, MailboxId},
    log::Position,
    mailbox::{Mail, Mailbox},
    remains::Remains,
    steps::step,
};

/// Events put back per acquisition of the lock.
const AT_ONCE: usize = 512;

/// The closed mailboxes, see the module.
#[derive(Debug, Default)]
pub(super) struct Leaving(BTreeMap<AgentId, Vec<Ended>>);

/// A closed mailbox, with the events that another stream of the agent has handled.
#[derive(Debug)]
struct Ended {
    mailbox: Mailbox,
    handled: HashSet<Position>,
}

impl Leaving {
    /// Marks events as handled by another stream of the agent.
    pub(super) fn handled(&mut self, agent: &AgentId, positions: &[Position]) {
        for Ended { mailbox, handled } in self.0.get_mut(agent).into_iter().flatten() {
            handled.extend(positions.iter().filter(|p| mailbox.holds(**p)));
        }
    }

    /// Drops the remaining mail of an agent.
    pub(super) fn drop_all_of(&mut self, agent: &AgentId, remains: &mut Remains) {
        for Ended { mailbox, .. } in self.0.remove(agent).into_iter().flatten() {
            remains.add(mailbox.events(), mailbox);
        }
    }

    /// Takes some of an agent's remaining mail. Returns the logged, unhandled part.
    fn take(&mut self, agent: &AgentId) -> Vec<Mail> {
        let Some(ended) = self.0.get_mut(agent) else {
            return Vec::new();
        };
        let mut taken = Vec::new();
        let mut left = AT_ONCE;
        while left > 0
            && let Some(Ended { mailbox, handled }) = ended.last_mut()
        {
            match mailbox.pop() {
                Some(batch) => {
                    step();
                    left = left.saturating_sub(batch.len());
                    let is_left =
                        |mail: &Mail| mail.position.is_some_and(|p| !handled.contains(&p));
                    taken.extend(batch.mail().filter(is_left));
                }
                None => drop(ended.pop()),
            }
        }
        if ended.is_empty() {
            self.0.remove(agent);
        }
        taken
    }
}

impl Mailboxes {
    /// Closes the mailbox of an instance or stream. Its mail will be [put back](Self::put_back_some).
    pub(crate) fn leave(&mut self, id: MailboxId) {
        if let Some(slot) = self.remove(id) {
            let ended = Ended {
                mailbox: slot.mailbox,
                handled: slot.handled,
            };
            self.leaving.0.entry(slot.agent).or_default().push(ended);
        }
    }

    /// The first agent with mail to put back.
    pub(crate) fn first_leaving(&self) -> Option<&AgentId> {
        self.leaving.0.keys().next()
    }

    /// True if an agent has mail to put back.
    pub(crate) fn is_leaving(&self, agent: &AgentId) -> bool {
        self.leaving.0.contains_key(agent)
    }

    /// Puts back some mail of an agent's closed mailboxes: that for which `is_to_come` is true, unless another
    /// subscription of the agent takes it. The task of a waiting message, from `made_by`, will be announced again.
    pub(crate) fn put_back_some(
        &mut self,
        agent: &AgentId,
        is_to_come: impl Fn(&Mail) -> bool,
        made_by: impl Fn(&Mail) -> Option<Position>,
        is_known: bool,
        now: Instant,
    ) {
        for mut mail in self.leaving.take(agent) {
            let made_by = made_by(&mail).filter(|_| mail.event.kind() == EventKind::Task);
            let is_told = made_by.is_some_and(|made| self.unclaimed.get(agent, made).is_some());
            let comes = mail.is_directed && !is_told && is_to_come(&mail);
            if comes && self.is_to_wait(agent, mail.event.kind()) {
                self.bodies.shelve(&mut mail, Delivered::Later);
                let age = std::time::Duration::ZERO;
                self.unclaimed.keep(mail, is_known, age, now);
            }
        }
    }

    /// Drops all waiting mail of an agent that has left.
    pub(crate) fn drop_waiting(&mut self, agent: &AgentId) {
        self.unclaimed.drop_all_of(agent, &mut self.remains);
        self.leaving.drop_all_of(agent, &mut self.remains);
    }
}
