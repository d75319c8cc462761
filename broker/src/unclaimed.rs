//! Mail for agents that have subscribed to nothing that would take it yet. All of it together is bounded.

use std::{
    collections::{BTreeSet, HashMap},
    time::Duration,
};

use tokio::time::Instant;

use crate::{
    id::AgentId,
    mailbox::{Bounds, Mail, Undelivered},
};

#[derive(Debug)]
struct Pile {
    mail: Vec<Mail>,
    /// When all of it is given up, if the agent is not known by then.
    until: Option<Instant>,
    /// When the first of it is given up.
    end: Instant,
}

/// See the module's description.
#[derive(Debug)]
pub(crate) struct Unclaimed {
    bounds: Bounds,
    /// How long mail waits for an agent that was never seen.
    wait: Duration,
    piles: HashMap<AgentId, Pile>,
    ends: BTreeSet<(Instant, AgentId)>,
    events: usize,
    bytes: usize,
}

impl Unclaimed {
    pub(crate) fn new(bounds: Bounds, wait: Duration) -> Self {
        Self {
            bounds,
            wait,
            piles: HashMap::new(),
            ends: BTreeSet::new(),
            events: 0,
            bytes: 0,
        }
    }

    /// Whether mail finds room.
    pub(crate) fn has_room(&self, mail: &Mail) -> bool {
        self.events < self.bounds.events && self.bytes + mail.bytes() <= self.bounds.bytes
    }

    /// Mail that finds none.
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

    /// Keeps mail, which came so long ago, until its recipient claims it.
    pub(crate) fn keep(&mut self, mail: Mail, is_known: bool, age: Duration, now: Instant) {
        self.events += 1;
        self.bytes += mail.bytes();
        let agent = mail.recipient.clone();
        let due = mail.timing.due.unwrap_or(now);
        let until = (!is_known).then(|| due + self.wait.saturating_sub(age));
        let pile = self.piles.entry(agent.clone()).or_insert_with(|| Pile {
            mail: Vec::new(),
            until,
            end: mail.timing.expires,
        });
        let end = pile.until.unwrap_or(mail.timing.expires);
        let end = end.min(mail.timing.expires);
        pile.mail.push(mail);
        if pile.mail.len() == 1 || end < pile.end {
            self.ends.remove(&(pile.end, agent.clone()));
            pile.end = end;
            self.ends.insert((end, agent));
        }
    }

    /// The agents for whom mail waits.
    pub(crate) fn agents(&self) -> impl Iterator<Item = &AgentId> {
        self.piles.keys()
    }

    /// All that waits: for whom, until when, and what, in the order in which it came.
    pub(crate) fn piles(&self) -> impl Iterator<Item = (&AgentId, Option<Instant>, &[Mail])> {
        let piles = self.piles.iter();
        piles.map(|(agent, pile)| (agent, pile.until, pile.mail.as_slice()))
    }

    /// Takes back what [`piles`](Self::piles) gave.
    pub(crate) fn restore(&mut self, agent: &AgentId, until: Option<Instant>, mail: Vec<Mail>) {
        self.events += mail.len();
        self.bytes += mail.iter().map(Mail::bytes).sum::<usize>();
        let Some(end) = mail.iter().map(|m| m.timing.expires).chain(until).min() else {
            return;
        };
        let pile = self.piles.entry(agent.clone()).or_insert_with(|| Pile {
            mail: Vec::new(),
            until,
            end,
        });
        pile.mail.extend(mail);
        self.find_end(agent);
    }

    /// Looks at what waits for an agent.
    pub(crate) fn of<'a>(&'a self, agent: &AgentId) -> impl Iterator<Item = &'a Mail> {
        self.piles.get(agent).into_iter().flat_map(|p| &p.mail)
    }

    /// Takes out what is accepted, in the order of the log.
    pub(crate) fn claim(&mut self, agent: &AgentId, accepts: impl Fn(&Mail) -> bool) -> Vec<Mail> {
        let Some(pile) = self.piles.get_mut(agent) else {
            return Vec::new();
        };
        let mut claimed: Vec<Mail> = pile.mail.extract_if(.., |m| accepts(m)).collect();
        claimed.sort_by_key(|m| m.position);
        if pile.mail.is_empty() {
            self.remove(agent);
        }
        self.count_out(&claimed);
        claimed
    }

    /// The agent is known from here on: its mail waits as long as any.
    pub(crate) fn is_known(&mut self, agent: &AgentId) {
        if let Some(pile) = self.piles.get_mut(agent) {
            pile.until = None;
        }
        self.find_end(agent);
    }

    /// Forgets what waits for an agent.
    pub(crate) fn drop_all_of(&mut self, agent: &AgentId) {
        let mail = self.remove(agent);
        self.count_out(&mail);
    }

    /// Gives up what waits for agents that never came, and what has waited too long.
    pub(crate) fn tick(&mut self, now: Instant) -> Vec<Undelivered> {
        let mut undelivered = Vec::new();
        while let Some((_, agent)) = self.ends.first().filter(|(at, _)| *at <= now).cloned() {
            let is_over = |p: &Pile| p.until.is_some_and(|until| until <= now);
            let never_came = self.piles.get(&agent).is_some_and(is_over);
            let reason = match never_came {
                true => format!("there is no agent \"{agent}\""),
                false => format!("agent \"{agent}\" did not come for it in time"),
            };
            let given_up = self.claim(&agent, |m| never_came || m.timing.expires <= now);
            self.find_end(&agent);
            undelivered.extend(given_up.into_iter().map(|mail| Undelivered {
                reason: reason.clone(),
                attempts: 0,
                mail,
                mailbox: None,
            }));
        }
        undelivered
    }

    /// Finds out when the first mail of an agent is given up.
    fn find_end(&mut self, agent: &AgentId) {
        let Some(pile) = self.piles.get_mut(agent) else {
            return;
        };
        self.ends.remove(&(pile.end, agent.clone()));
        let expires = pile.mail.iter().map(|m| m.timing.expires);
        if let Some(end) = expires.chain(pile.until).min() {
            pile.end = end;
            self.ends.insert((end, agent.clone()));
        }
    }

    fn remove(&mut self, agent: &AgentId) -> Vec<Mail> {
        let Some(pile) = self.piles.remove(agent) else {
            return Vec::new();
        };
        self.ends.remove(&(pile.end, agent.clone()));
        pile.mail
    }

    fn count_out(&mut self, mail: &[Mail]) {
        self.events -= mail.len();
        self.bytes -= mail.iter().map(Mail::bytes).sum::<usize>();
    }
}
