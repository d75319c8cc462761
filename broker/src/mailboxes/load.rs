//! Load of all mailboxes, counted as mail comes and goes: how much waits, since when, and where most of it does.

use std::{cmp::Reverse, collections::BTreeSet, time::Duration};

use tokio::time::Instant;

use super::Mailboxes;
use crate::{
    holdings::Holdings,
    id::{AgentId, MailboxId},
    mailbox::Mailbox,
    steps::step,
};

/// Classes of mailboxes by their waiting events: the lowest number of each, and its name.
pub(crate) const CLASSES: [(usize, &str); 6] = [
    (0, "0"),
    (1, "1-9"),
    (10, "10-99"),
    (100, "100-999"),
    (1_000, "1000-9999"),
    (10_000, "10000 or more"),
];

/// Class from which on mailboxes are known by name.
const NAMED_FROM: usize = 3;
/// The most mailboxes that are told by name.
const NAMED: usize = 10;
/// The most that are compared for that.
const COMPARED: usize = 200;
/// Mailboxes whose oldest mail is looked up per acquisition of the lock.
const LOOKS: usize = 256;

/// Events and bytes of a mailbox, or of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Load {
    pub(crate) waiting: usize,
    pub(crate) leased: usize,
    pub(crate) bytes: usize,
}

impl Load {
    fn of(mailbox: &Mailbox) -> Self {
        Self {
            waiting: mailbox.waits(),
            leased: mailbox.leased(),
            bytes: mailbox.bytes(),
        }
    }

    fn class(self) -> usize {
        // Most mailboxes are in one of the first.
        let above = CLASSES.iter().position(|(from, _)| *from > self.waiting);
        above.unwrap_or(CLASSES.len()) - 1
    }
}

/// A mailbox as it counts in the load of all.
#[derive(Debug, Default)]
pub(super) struct Counted {
    load: Load,
    class: usize,
    /// Lower bound of the time since when its oldest mail waits, while some does or did when it was looked at last.
    since: Option<Instant>,
}

/// The load, see the module.
#[derive(Debug, Default)]
pub(crate) struct Loads {
    all: Load,
    /// Number of mailboxes of each class.
    classes: [usize; CLASSES.len()],
    /// Mailboxes that are known by name, those of the highest class first.
    named: BTreeSet<(Reverse<usize>, MailboxId)>,
    /// By the lower bound of each.
    oldest: BTreeSet<(Instant, MailboxId)>,
    /// Bytes by owners of agents.
    pub(super) holdings: Holdings,
}

impl Loads {
    /// Events and bytes of all mailboxes.
    pub(crate) fn all(&self) -> Load {
        self.all
    }

    /// Number of mailboxes of each [class](CLASSES).
    pub(crate) fn classes(&self) -> [usize; CLASSES.len()] {
        self.classes
    }

    pub(super) fn open(&mut self) -> Counted {
        self.classes[0] += 1;
        Counted::default()
    }

    pub(super) fn close(&mut self, id: MailboxId, agent: &AgentId, counted: &Counted) {
        let Counted { load, class, since } = counted;
        self.holdings.remove(agent, load.bytes);
        self.all.waiting -= load.waiting;
        self.all.leased -= load.leased;
        self.all.bytes -= load.bytes;
        self.classes[*class] -= 1;
        self.named.remove(&(Reverse(*class), id));
        if let Some(since) = since {
            self.oldest.remove(&(*since, id));
        }
    }

    /// Counts what has changed in a mailbox of this agent.
    pub(super) fn count(
        &mut self,
        id: MailboxId,
        agent: &AgentId,
        mailbox: &Mailbox,
        counted: &mut Counted,
    ) {
        let (before, load) = (counted.load, Load::of(mailbox));
        if load == before {
            return;
        }
        self.all.waiting = self.all.waiting + load.waiting - before.waiting;
        self.all.leased = self.all.leased + load.leased - before.leased;
        self.all.bytes = self.all.bytes + load.bytes - before.bytes;
        if load.bytes >= before.bytes {
            self.holdings.add(agent, load.bytes - before.bytes);
        } else {
            self.holdings.remove(agent, before.bytes - load.bytes);
        }
        let class = load.class();
        let was = std::mem::replace(&mut counted.class, class);
        if was != class {
            self.classes[was] -= 1;
            self.classes[class] += 1;
            if was >= NAMED_FROM {
                self.named.remove(&(Reverse(was), id));
            }
            if class >= NAMED_FROM {
                self.named.insert((Reverse(class), id));
            }
        }
        counted.load = load;
        // What was leased and waits again came before what waits already.
        let came_back = load.leased < before.leased && load.waiting > before.waiting;
        if load.waiting > 0 && (counted.since.is_none() || came_back) {
            self.set_since(id, mailbox.waits_since(), counted);
        }
    }

    fn set_since(&mut self, id: MailboxId, since: Option<Instant>, counted: &mut Counted) {
        if counted.since == since {
            return;
        }
        if let Some(before) = counted.since {
            self.oldest.remove(&(before, id));
        }
        if let Some(since) = since {
            self.oldest.insert((since, id));
        }
        counted.since = since;
    }
}

impl Mailboxes {
    /// Sets the principal that owns an agent, for whom its mail counts.
    pub(crate) fn set_owner(&mut self, agent: &AgentId, owner: Option<&str>) {
        let known = self.loads.holdings.owner(agent).map(|known| &**known);
        if known == owner {
            return;
        }
        let ids = self.by_agent.get(agent).into_iter().flatten();
        let slots = ids.filter_map(|id| self.slots.get(id));
        let bytes = slots.map(|slot| slot.counted.load.bytes).sum();
        self.loads.holdings.set_owner(agent, owner, bytes);
        self.unclaimed.set_owner(agent, owner);
    }

    /// Bytes of mail for the agents that a principal owns, and for all agents.
    pub(crate) fn bytes_of(&self, principal: &str) -> (usize, usize) {
        let own = self.loads.holdings.of(principal) + self.unclaimed.bytes_of(principal);
        (own, self.loads.all.bytes + self.unclaimed.bytes())
    }

    /// The principal that owns an agent, if one does.
    pub(crate) fn owner(&self, agent: &AgentId) -> Option<&std::sync::Arc<str>> {
        self.loads.holdings.owner(agent)
    }

    /// The time for which the oldest waiting mail of all mailboxes has waited, or a little more: of 256 mailboxes from which their oldest has gone
    /// this looks up the next, and a later call goes on.
    pub(crate) fn longest_wait(&mut self, now: Instant) -> Duration {
        for _ in 0..LOOKS {
            let Some((since, id)) = self.loads.oldest.first().copied() else {
                return Duration::ZERO;
            };
            step();
            let Some(slot) = self.slots.get_mut(&id) else {
                self.loads.oldest.pop_first();
                continue;
            };
            let found = slot.mailbox.waits_since();
            if found == Some(since) {
                break;
            }
            self.loads.set_since(id, found, &mut slot.counted);
        }
        let first = self.loads.oldest.first();
        first.map_or(Duration::ZERO, |(since, _)| {
            now.saturating_duration_since(*since)
        })
    }

    /// The mailboxes with the most waiting events, at most ten, of those with at least a hundred.
    pub(crate) fn fullest(&self) -> Vec<(AgentId, String, usize)> {
        let named = self.loads.named.iter().take(COMPARED);
        let slots = named.filter_map(|(_, id)| self.slots.get(id));
        let mut slots: Vec<_> = slots.inspect(|_| step()).collect();
        slots.sort_by_key(|slot| Reverse(slot.counted.load.waiting));
        slots.truncate(NAMED);
        let told = slots.into_iter().map(|slot| {
            let waiting = slot.counted.load.waiting;
            (slot.agent.clone(), slot.name.clone(), waiting)
        });
        told.collect()
    }
}

#[cfg(test)]
impl Mailboxes {
    /// The load, counted anew.
    pub(crate) fn recounted(&self) -> (Load, [usize; CLASSES.len()], Option<Instant>) {
        let mut all = Load::default();
        let mut classes = [0; CLASSES.len()];
        for slot in self.slots.values() {
            let load = Load::of(&slot.mailbox);
            all.waiting += load.waiting;
            all.leased += load.leased;
            all.bytes += load.bytes;
            classes[load.class()] += 1;
        }
        let since = self.slots.values().filter_map(|s| s.mailbox.waits_since());
        (all, classes, since.min())
    }

    /// Bytes of a principal's agents, counted anew.
    pub(crate) fn recounted_of(&self, principal: &str) -> usize {
        let is_its = |agent: &AgentId| self.owner(agent).is_some_and(|owner| &**owner == principal);
        let slots = self.slots.values().filter(|slot| is_its(&slot.agent));
        let piles = self
            .unclaimed
            .piles()
            .filter(|(agent, ..)| is_its(agent))
            .flat_map(|(_, _, mail)| mail.map(crate::mailbox::Mail::bytes));
        slots.map(|slot| slot.mailbox.bytes()).chain(piles).sum()
    }
}
