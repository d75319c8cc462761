//! Agents that have been away for so long that they leave the directory.

use std::time::SystemTime;

use super::{
    core::{Core, Now, hub},
    sweep::{Due, due},
};
use crate::{id::AgentId, log::Entry, steps::step};

/// Agents that are looked at under one hold of the lock.
const PAGE: usize = 256;

impl Core {
    /// Looks at the agents now and then, a few at a time.
    pub(super) fn remove_away_if_due(&mut self, now: Now) {
        if let Some(after) = self.away.due(AgentId::from(""), now.instant) {
            self.away.after = self.remove_away(after, now);
        }
    }

    /// Looks at some agents. Returns the last of them if there may be more.
    fn remove_away(&mut self, after: AgentId, now: Now) -> Option<AgentId> {
        let longest = self.settings.away_agents;
        let agents = self.state.registry.after(&after).take(PAGE);
        let page: Vec<(AgentId, Option<SystemTime>)> =
            agents.map(|(id, agent)| (id.clone(), agent.seen)).collect();
        let is_full = page.len() == PAGE;
        let mut last = after;
        for (agent, seen) in page {
            step();
            let is_present = self.presence.is_online(&agent);
            match due(seen.unwrap_or(now.time), is_present, longest, now.time) {
                // An agent of which nothing is known counts as present today.
                Due::Nothing if seen.is_none() => self.note_presence(&agent, now),
                Due::Nothing => {}
                Due::Note => self.note_presence(&agent, now),
                Due::Close if self.remove_agent(&agent, now) => {}
                // The next look goes on with this one.
                Due::Close => return Some(last),
            }
            last = agent;
        }
        is_full.then_some(last)
    }

    /// Tells the log that an agent is there, where it last heard of that long ago: an agent may come and go between two rounds.
    pub(super) fn note_presence_if_old(&mut self, agent: &AgentId, now: Now) {
        // The next round takes note of an agent that is new.
        let known = self.state.registry.get(agent);
        let Some(seen) = known.and_then(|known| known.seen) else {
            return;
        };
        if due(seen, true, self.settings.away_agents, now.time) == Due::Note {
            self.note_presence(agent, now);
        }
    }

    /// Tells the log that an agent is there. On a full disk that is put off.
    fn note_presence(&mut self, agent: &AgentId, now: Now) {
        if self.admit().is_ok() {
            let agent = agent.clone();
            self.record(&hub(), Entry::Present { agent }, now);
        }
    }

    /// Unregisters an agent. Its mail is given up and its tasks fail before, some under each hold of the lock. Returns whether that is done, or
    /// put off because the log takes nothing.
    fn remove_agent(&mut self, agent: &AgentId, now: Now) -> bool {
        if self.admit().is_err() {
            return true;
        }
        for id in self.state.mailboxes.of_agent(agent) {
            if !self.close_mailbox(id, agent, now) {
                return false;
            }
        }
        self.unregister(&hub(), agent, "it has been away for too long", now)
            .unwrap_or(true)
    }
}
