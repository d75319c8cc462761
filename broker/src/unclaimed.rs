//! Mail for agents that have subscribed to nothing that would take it yet. All of it together is bounded.

use std::{
    collections::{BTreeSet, HashMap},
    time::Duration,
};

use prost::Message;
use tokio::time::Instant;

use crate::{
    id::AgentId,
    mailbox::{Bounds, Mail, Undelivered},
};

#[derive(Debug, Default)]
struct Pile {
    mail: Vec<Mail>,
    /// When it is given up; never, if the agent is known.
    until: Option<Instant>,
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

    /// Keeps mail, which came so long ago, until its recipient claims it. Gives it back if there is no room.
    pub(crate) fn keep(
        &mut self,
        mail: Mail,
        is_known: bool,
        age: Duration,
        now: Instant,
    ) -> Option<Undelivered> {
        let bytes = mail.event.encoded_len();
        if self.events >= self.bounds.events || self.bytes + bytes > self.bounds.bytes {
            let reason = format!(
                "too much mail waits for agents that are not there ({} events, {} bytes)",
                self.events, self.bytes
            );
            return Some(Undelivered {
                mail,
                reason,
                mailbox: None,
            });
        }
        self.events += 1;
        self.bytes += bytes;
        let agent = mail.recipient.clone();
        let until = (!is_known).then(|| now + self.wait.saturating_sub(age));
        let pile = self.piles.entry(agent.clone()).or_insert_with(|| Pile {
            mail: Vec::new(),
            until,
        });
        if let Some(until) = pile.until {
            self.ends.insert((until, agent));
        }
        pile.mail.push(mail);
        None
    }

    /// All that waits: for whom, until when, and what, in the order in which it came.
    pub(crate) fn piles(&self) -> impl Iterator<Item = (&AgentId, Option<Instant>, &[Mail])> {
        let piles = self.piles.iter();
        piles.map(|(agent, pile)| (agent, pile.until, pile.mail.as_slice()))
    }

    /// Takes back what [`piles`](Self::piles) gave.
    pub(crate) fn restore(&mut self, agent: &AgentId, until: Option<Instant>, mail: Vec<Mail>) {
        self.events += mail.len();
        self.bytes += mail.iter().map(|m| m.event.encoded_len()).sum::<usize>();
        self.ends.extend(until.map(|until| (until, agent.clone())));
        let pile = self.piles.entry(agent.clone()).or_insert_with(|| Pile {
            mail: Vec::new(),
            until,
        });
        pile.mail.extend(mail);
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
        let until = self.piles.get_mut(agent).and_then(|p| p.until.take());
        if let Some(until) = until {
            self.ends.remove(&(until, agent.clone()));
        }
    }

    /// Forgets what waits for an agent.
    pub(crate) fn drop_all_of(&mut self, agent: &AgentId) {
        let mail = self.remove(agent);
        self.count_out(&mail);
    }

    /// Gives up what waits for agents that never came.
    pub(crate) fn tick(&mut self, now: Instant) -> Vec<Undelivered> {
        let mut undelivered = Vec::new();
        while let Some((_, agent)) = self.ends.first().filter(|(at, _)| *at <= now).cloned() {
            let mail = self.remove(&agent);
            self.count_out(&mail);
            undelivered.extend(mail.into_iter().map(|mail| Undelivered {
                reason: format!("there is no agent \"{agent}\""),
                mail,
                mailbox: None,
            }));
        }
        undelivered
    }

    fn remove(&mut self, agent: &AgentId) -> Vec<Mail> {
        let Some(pile) = self.piles.remove(agent) else {
            return Vec::new();
        };
        if let Some(until) = pile.until {
            self.ends.remove(&(until, agent.clone()));
        }
        pile.mail
    }

    fn count_out(&mut self, mail: &[Mail]) {
        self.events -= mail.len();
        self.bytes -= mail.iter().map(|m| m.event.encoded_len()).sum::<usize>();
    }
}
