//! Unclaimed mail: for agents without a subscription that takes it. Limited in total.
//!
//! The mail of one agent is a pile, in log order. Each piece is indexed by position and by expiry, so that the cost of
//! every operation is that of the pieces it removes.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Bound::{Excluded, Unbounded},
    time::Duration,
};

use tokio::time::Instant;

use crate::{
    holdings::Holdings,
    id::AgentId,
    log::Position,
    mailbox::{Bounds, Mail, Undelivered},
    remains::Remains,
    steps::step,
};

/// The mail that waits for one agent; at least one piece.
#[derive(Debug)]
struct Pile {
    mail: BTreeMap<Position, Mail>,
    expiries: BTreeSet<(Instant, Position)>,
    bytes: usize,
    /// Number of the last piece that was inserted before others, or began the pile.
    interposed: u64,
    /// Time when all of it is given up, unless the agent is known by then.
    until: Option<Instant>,
    /// Time when the first of it is given up, as in `ends`.
    end: Instant,
}

impl Pile {
    /// Time when the first of it is given up.
    fn first_end(&self) -> Option<Instant> {
        let expiry = self.expiries.first().map(|(at, _)| *at);
        expiry.into_iter().chain(self.until).min()
    }

    fn insert(&mut self, position: Position, mail: Mail) -> Option<Mail> {
        let expires = mail.timing.expires;
        self.bytes += mail.bytes();
        let replaced = self.mail.insert(position, mail);
        if let Some(replaced) = &replaced {
            self.bytes -= replaced.bytes();
            self.expiries.remove(&(replaced.timing.expires, position));
        }
        self.expiries.insert((expires, position));
        replaced
    }

    fn remove(&mut self, position: Position) -> Option<Mail> {
        let mail = self.mail.remove(&position)?;
        self.bytes -= mail.bytes();
        self.expiries.remove(&(mail.timing.expires, position));
        Some(mail)
    }

    /// The first piece to give up, if its time has come.
    fn first_due(&self, now: Instant) -> Option<Position> {
        if self.until.is_some_and(|until| until <= now) {
            return self.mail.first_key_value().map(|(position, _)| *position);
        }
        let (_, position) = self.expiries.first().filter(|(at, _)| *at <= now)?;
        Some(*position)
    }
}

/// The unclaimed mail, see the module.
#[derive(Debug)]
pub(crate) struct Unclaimed {
    bounds: Bounds,
    /// Time that mail waits for an agent that was never seen.
    wait: Duration,
    piles: BTreeMap<AgentId, Pile>,
    /// End of each pile.
    ends: BTreeSet<(Instant, AgentId)>,
    events: usize,
    bytes: usize,
    /// Bytes by owners of agents.
    holdings: Holdings,
    /// Count of pieces that were inserted before others, or began a pile.
    interposed: u64,
}

/// Read access to a pile.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PileSeen<'a> {
    pub(crate) events: usize,
    pub(crate) bytes: usize,
    /// The first in log order.
    pub(crate) first: &'a Mail,
}

impl Unclaimed {
    pub(crate) fn new(bounds: Bounds, wait: Duration) -> Self {
        Self {
            bounds,
            wait,
            piles: BTreeMap::new(),
            ends: BTreeSet::new(),
            events: 0,
            bytes: 0,
            holdings: Holdings::default(),
            interposed: 0,
        }
    }

    /// Sets the principal that owns an agent.
    pub(crate) fn set_owner(&mut self, agent: &AgentId, owner: Option<&str>) {
        let bytes = self.piles.get(agent).map_or(0, |pile| pile.bytes);
        self.holdings.set_owner(agent, owner, bytes);
    }

    /// Bytes of the mail for a principal's agents.
    pub(crate) fn bytes_of(&self, principal: &str) -> usize {
        self.holdings.of(principal)
    }

    /// Bytes of all mail.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Number of events.
    pub(crate) fn events(&self) -> usize {
        self.events
    }

    /// True if there is room for the mail.
    pub(crate) fn has_room(&self, mail: &Mail) -> bool {
        self.events < self.bounds.events && self.bytes + mail.bytes() <= self.bounds.bytes
    }

    /// Refuses mail for lack of room.
    pub(crate) fn refuse(&self, mail: Mail) -> Undelivered {
        Undelivered {
            mail,
            attempts: 0,
            reason: format!(
                "too much mail waits for agents that are not there ({} events, {} bytes)",
                self.events, self.bytes
            ),
            mailbox: None,
        }
    }

    /// Keeps mail of this age until its recipient claims it. Only mail with a position is kept.
    pub(crate) fn keep(&mut self, mail: Mail, is_known: bool, age: Duration, now: Instant) {
        let due = mail.timing.due.unwrap_or(now);
        let until = (!is_known).then(|| due + self.wait.saturating_sub(age));
        let agent = mail.recipient.clone();
        self.add(&agent, until, [mail]);
    }

    /// Restores a pile of [`piles`](Self::piles).
    pub(crate) fn restore(&mut self, agent: &AgentId, until: Option<Instant>, mail: Vec<Mail>) {
        self.add(agent, until, mail);
    }

    /// Adds mail to an agent's pile. `until` applies only to a new pile.
    fn add(
        &mut self,
        agent: &AgentId,
        until: Option<Instant>,
        mail: impl IntoIterator<Item = Mail>,
    ) {
        for mail in mail {
            let Some(position) = mail.position else {
                continue;
            };
            step();
            self.events += 1;
            self.bytes += mail.bytes();
            self.holdings.add(agent, mail.bytes());
            let pile = self.piles.entry(agent.clone()).or_insert_with(|| {
                let end = mail.timing.expires;
                self.ends.insert((end, agent.clone()));
                Pile {
                    mail: BTreeMap::new(),
                    expiries: BTreeSet::new(),
                    bytes: 0,
                    interposed: 0,
                    until,
                    end,
                }
            });
            let last = pile.mail.last_key_value();
            if last.is_none_or(|(last, _)| position < *last) {
                self.interposed += 1;
                pile.interposed = self.interposed;
            }
            if let Some(replaced) = pile.insert(position, mail) {
                self.events -= 1;
                self.bytes -= replaced.bytes();
                self.holdings.remove(agent, replaced.bytes());
            }
        }
        self.settle(agent);
    }

    /// The first agent after another one, ordered by id, with waiting mail.
    pub(crate) fn agent_after(&self, after: &AgentId) -> Option<&AgentId> {
        let mut rest = self.piles.range::<AgentId, _>((Excluded(after), Unbounded));
        rest.next().map(|(agent, _)| agent)
    }

    /// The pile of an agent.
    pub(crate) fn see(&self, agent: &AgentId) -> Option<PileSeen<'_>> {
        let pile = self.piles.get(agent)?;
        Some(PileSeen {
            events: pile.mail.len(),
            bytes: pile.bytes,
            first: pile.mail.first_key_value()?.1,
        })
    }

    /// A piece of an agent's pile.
    pub(crate) fn get(&self, agent: &AgentId, position: Position) -> Option<&Mail> {
        self.piles.get(agent)?.mail.get(&position)
    }

    /// Changes when a piece is inserted before others of an agent's pile, or begins the pile.
    pub(crate) fn interposed(&self, agent: &AgentId) -> u64 {
        self.piles.get(agent).map_or(0, |pile| pile.interposed)
    }

    /// All piles: agent, time limit, and mail in log order.
    pub(crate) fn piles(
        &self,
    ) -> impl Iterator<Item = (&AgentId, Option<Instant>, impl Iterator<Item = &Mail>)> {
        let piles = self.piles.iter();
        piles.map(|(agent, pile)| (agent, pile.until, pile.mail.values()))
    }

    /// Visits the mail of an agent after a position, in log order.
    pub(crate) fn of<'a>(
        &'a self,
        agent: &AgentId,
        after: Position,
    ) -> impl Iterator<Item = &'a Mail> {
        let pile = self.piles.get(agent).into_iter();
        let mail = pile.flat_map(move |p| p.mail.range((Excluded(after), Unbounded)));
        mail.map(|(_, mail)| mail).inspect(|_| step())
    }

    /// Removes the pieces at these positions, in log order.
    pub(crate) fn claim(&mut self, agent: &AgentId, positions: &[Position]) -> Vec<Mail> {
        let Some(pile) = self.piles.get_mut(agent) else {
            return Vec::new();
        };
        let claimed = positions.iter().filter_map(|position| {
            step();
            pile.remove(*position)
        });
        let mut claimed: Vec<Mail> = claimed.collect();
        claimed.sort_by_key(|mail| mail.position);
        self.count_out(agent, &claimed);
        self.settle(agent);
        claimed
    }

    /// Marks an agent as known: its mail waits as long as any other.
    pub(crate) fn is_known(&mut self, agent: &AgentId) {
        if let Some(pile) = self.piles.get_mut(agent) {
            pile.until = None;
            self.settle(agent);
        }
    }

    /// Drops the pile of an agent.
    pub(crate) fn drop_all_of(&mut self, agent: &AgentId, remains: &mut Remains) {
        let Some(pile) = self.piles.remove(agent) else {
            return;
        };
        self.ends.remove(&(pile.end, agent.clone()));
        self.events -= pile.mail.len();
        self.bytes -= pile.bytes;
        self.holdings.remove(agent, pile.bytes);
        remains.add(pile.mail.len(), pile);
    }

    /// True if [`tick`](Self::tick) has something to give up.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        self.ends.first().is_some_and(|(at, _)| *at <= now)
    }

    /// Gives up mail for agents that never came, and expired mail: at most `limit` pieces per call.
    pub(crate) fn tick(&mut self, limit: usize, now: Instant) -> Vec<Undelivered> {
        let mut undelivered = Vec::new();
        while undelivered.len() < limit
            && let Some((_, agent)) = self.ends.first().filter(|(at, _)| *at <= now).cloned()
        {
            let Some(pile) = self.piles.get_mut(&agent) else {
                break;
            };
            let reason = match pile.until.is_some_and(|until| until <= now) {
                true => format!("there is no agent \"{agent}\""),
                false => format!("agent \"{agent}\" did not come for it in time"),
            };
            let first = undelivered.len();
            while undelivered.len() < limit
                && let Some(position) = pile.first_due(now)
                && let Some(mail) = pile.remove(position)
            {
                step();
                undelivered.push(Undelivered {
                    reason: reason.clone(),
                    attempts: 0,
                    mail,
                    mailbox: None,
                });
            }
            self.count_out(&agent, undelivered[first..].iter().map(|u| &u.mail));
            self.settle(&agent);
        }
        undelivered
    }

    /// Updates `ends` for a changed pile. Removes an empty one.
    fn settle(&mut self, agent: &AgentId) {
        let Some(pile) = self.piles.get_mut(agent) else {
            return;
        };
        let end = pile.first_end().filter(|_| !pile.mail.is_empty());
        if end != Some(pile.end) {
            self.ends.remove(&(pile.end, agent.clone()));
            if let Some(end) = end {
                pile.end = end;
                self.ends.insert((end, agent.clone()));
            }
        }
        if end.is_none() {
            self.piles.remove(agent);
        }
    }

    fn count_out<'a>(&mut self, agent: &AgentId, mail: impl IntoIterator<Item = &'a Mail>) {
        let mut bytes = 0;
        for mail in mail {
            self.events -= 1;
            bytes += mail.bytes();
        }
        self.bytes -= bytes;
        self.holdings.remove(agent, bytes);
    }
}
