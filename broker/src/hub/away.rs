//! Removal of agents that were offline for long.

use std::time::SystemTime;

use super::{
    core::{Core, Now, hub},
    sweep::{Due, due},
};
use crate::{id::AgentId, log::Entry, steps::step};

/// Agents checked per acquisition of the lock.
const PAGE: usize = 256;

impl Core {
    /// Checks some agents, at intervals.
    pub(super) fn remove_away_if_due(&mut self, now: Now) {
        if let Some(after) = self.away.due(AgentId::from(""), now.instant) {
            self.away.after = self.remove_away(after, now);
        }
    }

    /// Checks some agents. Returns the last one if there may be more.
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
                // An agent without a record of its presence counts as present today.
                Due::Nothing if seen.is_none() => self.note_presence(&agent, now),
                Due::Nothing => {}
                Due::Note => self.note_presence(&agent, now),
                Due::Close if self.remove_agent(&agent, now) => {}
                // The next round continues with this agent.
                Due::Close => return Some(last),
            }
            last = agent;
        }
        is_full.then_some(last)
    }

    /// Records an agent's presence, if the last record is old: an agent may come and go between two rounds.
    pub(super) fn note_presence_if_old(&mut self, agent: &AgentId, now: Now) {
        // A new agent is recorded by the next round.
        let known = self.state.registry.get(agent);
        let Some(seen) = known.and_then(|known| known.seen) else {
            return;
        };
        if due(seen, true, self.settings.away_agents, now.time) == Due::Note {
            self.note_presence(agent, now);
        }
    }

    /// Records an agent's presence. Deferred on a full disk.
    fn note_presence(&mut self, agent: &AgentId, now: Now) {
        if self.admit().is_ok() {
            let agent = agent.clone();
            self.record(&hub(), Entry::Present { agent }, now);
        }
    }

    /// Unregisters an agent. First its mail is given up and its tasks fail, some per acquisition of the lock. Returns
    /// whether it is done; false also if the log accepts nothing at present.
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
