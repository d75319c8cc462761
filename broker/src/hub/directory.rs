//! The directory of agents: registering, unregistering, lookups, and notification of watchers.

use std::{collections::HashMap, sync::Arc};

use agenthub_proto::{
    a2a::TaskState,
    agenthub::{AgentCardEvent, AgentEntry, AgentInstance, AgentState},
    event::{card_change, timestamp},
};

use super::{
    cards,
    core::{Core, Now},
    timekeeper::TASKS_AT_ONCE,
};
use crate::{
    Caller, Error,
    id::{Address, AgentId, InstanceId, OrderKey},
    log::Entry,
    registry::Agent,
    routing::Route,
    segment::Segment,
};

impl Core {
    /// Removes an agent, or a client with durable mailboxes. First its open tasks fail, some per acquisition of the
    /// lock; then its streams end, and its mailboxes are removed. Returns whether it is done.
    pub(crate) fn unregister(
        &mut self,
        caller: &Caller,
        agent: &AgentId,
        reason: &str,
        now: Now,
    ) -> Result<bool, Error> {
        let known = self.state.registry.get(agent);
        let card = known.map(|known| known.latest().clone());
        if card.is_none() && !self.state.mailboxes.is_known(agent) {
            return Err(Error::NotFound(format!("there is no agent \"{agent}\"")));
        }
        self.admit()?;
        let why = if reason.is_empty() {
            format!("agent \"{agent}\" was unregistered")
        } else {
            format!("agent \"{agent}\" was unregistered: {reason}")
        };
        let open = self.state.tasks.open_of(agent, TASKS_AT_ONCE);
        for task in &open {
            self.end_task(task, TaskState::Failed, &why, now);
        }
        if open.len() == TASKS_AT_ONCE {
            return Ok(false);
        }
        self.sessions.end_all_of(agent, &why);
        self.probes.remove(agent);
        self.reporting.remove(agent);
        self.presence.probed(agent, false);
        self.presence.unregistered(agent);
        let gone: Vec<InstanceId> = self
            .presence
            .instances(agent)
            .map(|(id, _)| id.clone())
            .collect();
        for instance in gone {
            self.presence.leave(agent, &instance);
        }
        self.record(
            caller,
            Entry::Unregistered {
                agent: agent.clone(),
            },
            now,
        );
        self.note_online(agent);
        tracing::info!(%agent, reason, "agent unregistered");
        if let Some(card) = card {
            let payload = cards::change(agent, card, card_change::UNREGISTERED, false);
            self.broadcast_card(payload, now);
        }
        Ok(true)
    }

    /// Notifies watchers of the directory of a change to an agent in it.
    pub(crate) fn tell(&mut self, agent: &AgentId, event_type: &str, now: Now) {
        self.note_online(agent);
        let Some(known) = self.state.registry.get(agent) else {
            return;
        };
        let is_online = self.presence.is_online(agent);
        let payload = cards::change(agent, known.latest().clone(), event_type, is_online);
        self.broadcast_card(payload, now);
    }

    /// Notes whether an agent of the directory is online, whenever it came to the directory or left it, and whenever its presence changed.
    fn note_online(&mut self, agent: &AgentId) {
        let is_known = self.state.registry.get(agent).is_some();
        let is_online = is_known && self.presence.is_online(agent);
        self.online.note(agent, is_online);
    }

    /// An agent, or one version of it.
    pub(crate) fn agent(&self, id: &str) -> Result<AgentEntry, Error> {
        let address = Address::parse(id, |id| self.state.registry.get(&id.into()).is_some());
        let unknown = || Error::NotFound(format!("there is no agent \"{id}\""));
        let agent = self
            .state
            .registry
            .get(&address.agent)
            .ok_or_else(unknown)?;
        let card = agent.card(address.version.as_ref()).ok_or_else(unknown)?;
        Ok(AgentEntry {
            agent_card: Some(card.clone()),
            ..self.entry(&address.agent, agent)
        })
    }

    pub(super) fn entry(&self, id: &AgentId, agent: &Agent) -> AgentEntry {
        AgentEntry {
            agent_id: id.to_string(),
            slug: agent.slug.clone(),
            agent_card: Some(agent.latest().clone()),
            state: self.agent_state(id).into(),
            subscriptions: agent.topics.clone(),
            health_check_url: agent.health_check_url.clone(),
            versions: agent.versions.iter().map(|(v, _)| v.to_string()).collect(),
            instances: self
                .presence
                .instances(id)
                .map(|(instance_id, instance)| AgentInstance {
                    instance_id: instance_id.to_string(),
                    version: instance
                        .declared()
                        .map(|declared| declared.version.to_string())
                        .unwrap_or_default(),
                    connected_at: Some(timestamp(instance.connected_at)),
                    lost_at: instance.lost_at.map(timestamp),
                })
                .collect(),
            registered_at: Some(timestamp(agent.registered_at)),
            open_tasks: u32::try_from(self.state.tasks.in_flight(id)).unwrap_or(u32::MAX),
        }
    }

    pub(super) fn agent_state(&self, id: &AgentId) -> AgentState {
        if self.presence.is_online(id) {
            AgentState::Online
        } else {
            AgentState::Offline
        }
    }

    fn broadcast_card(&mut self, card: AgentCardEvent, now: Now) {
        self.state.mailboxes.snapshots.change();
        // Changes of the directory share one order key.
        let order = OrderKey::from("");
        let is_presence = [card_change::ONLINE, card_change::OFFLINE].contains(&&*card.event_type);
        let agent = AgentId::from(card.agent_id.as_str());
        let event = cards::sealed(card, now);
        self.latest_cards.note(&agent, self.last(), event.clone());
        if is_presence {
            // The event is not logged.
            let ahead = self.held.last_of(&order);
            self.pass(Arc::new(Segment::of(event)), Route::Everyone, ahead, now);
        } else {
            self.pass_when_safe(event, Route::Everyone, order, now);
        }
    }
}

/// Presence of agents before an action, for reporting who came online or went offline.
pub(crate) struct PresenceBefore(HashMap<AgentId, bool>);

impl PresenceBefore {
    /// Records the presence of these agents.
    pub(crate) fn of(core: &Core, agents: impl IntoIterator<Item = AgentId>) -> Self {
        Self(
            agents
                .into_iter()
                .map(|a| (a.clone(), core.presence.is_online(&a)))
                .collect(),
        )
    }

    /// Reports the changes since.
    pub(crate) fn tell_changes(self, core: &mut Core, now: Now) {
        for (agent, was_online) in self.0 {
            let is_online = core.presence.is_online(&agent);
            if is_online != was_online {
                let change = if is_online {
                    card_change::ONLINE
                } else {
                    card_change::OFFLINE
                };
                tracing::info!(%agent, "agent is {change}");
                core.note_presence_if_old(&agent, now);
                core.tell(&agent, change, now);
            }
        }
    }
}
