//! The directory of agents: registering, leaving, looking up, and telling those who watch it.

use std::{collections::HashMap, sync::Arc};

use agenthub_proto::{
    a2a::{AgentCard, TaskState},
    agenthub::{AgentCardEvent, AgentEntry, AgentInstance, AgentState, ListAgentsRequest},
    event::{card_change, timestamp},
};

use super::{
    cards,
    core::{Core, Now},
};
use prost::Message;

use crate::{
    Error,
    caller::Caller,
    id::{Address, AgentId, InstanceId, OrderKey},
    limits,
    log::Entry,
    registry::Agent,
    routing::Route,
    segment::Segment,
    steps::step,
};

impl Core {
    /// Removes an agent, or a client that has durable mailboxes. Its open tasks fail, its streams end, and its mailboxes go with it.
    pub(crate) fn unregister(
        &mut self,
        caller: &Caller,
        agent: &AgentId,
        reason: &str,
        now: Now,
    ) -> Result<(), Error> {
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
        for task in self.state.tasks.open_of(agent) {
            self.end_task(&task, TaskState::Failed, &why, now);
        }
        self.sessions.end_all_of(agent, &why);
        self.probes.remove(agent);
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
        tracing::info!(%agent, reason, "agent unregistered");
        if let Some(card) = card {
            let payload = cards::change(agent, card, card_change::UNREGISTERED, false);
            self.broadcast_card(payload, now);
        }
        Ok(())
    }

    /// Tells those who watch the directory what happened to an agent that is in it.
    pub(crate) fn tell(&mut self, agent: &AgentId, event_type: &str, now: Now) {
        let Some(known) = self.state.registry.get(agent) else {
            return;
        };
        let is_online = self.presence.is_online(agent);
        let payload = cards::change(agent, known.latest().clone(), event_type, is_online);
        self.broadcast_card(payload, now);
    }

    /// The agents that match, in order of their ids, and the token of the next page if there is one.
    pub(crate) fn list_agents(
        &self,
        request: &ListAgentsRequest,
    ) -> Result<(Vec<AgentEntry>, String), Error> {
        let limit = match request.page_size {
            0 => 100,
            n => usize::try_from(n)
                .map_err(|_| {
                    Error::InvalidArgument(format!("page_size is {n}; 1 to 1000, or 0 for 100"))
                })?
                .min(1000),
        };
        for (what, value) in [
            ("text", &request.text),
            ("skill", &request.skill),
            ("tag", &request.tag),
            ("mode", &request.mode),
            ("capability", &request.capability),
        ] {
            limits::id(what, value)?;
        }
        let state = AgentState::try_from(request.state).map_err(|_| {
            Error::InvalidArgument(format!("state: {} is no known value", request.state))
        })?;
        let found = self
            .state
            .registry
            .after(&request.page_token)
            .filter(|(_, agent)| matches(agent, request))
            .filter(|(id, _)| state == AgentState::Unspecified || self.agent_state(id) == state);
        let mut page: Vec<AgentEntry> = Vec::new();
        let mut bytes = 0;
        for (id, agent) in found {
            let entry = self.entry(id, agent);
            bytes += entry.encoded_len();
            if page.len() == limit || (bytes > limits::PAGE_BYTES && !page.is_empty()) {
                let next = page.last().map(|e| e.agent_id.clone());
                return Ok((page, next.unwrap_or_default()));
            }
            page.push(entry);
        }
        Ok((page, String::new()))
    }

    /// One agent, or one version of it.
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

    fn entry(&self, id: &AgentId, agent: &Agent) -> AgentEntry {
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
                })
                .collect(),
            registered_at: Some(timestamp(agent.registered_at)),
            open_tasks: u32::try_from(self.state.tasks.in_flight(id)).unwrap_or(u32::MAX),
        }
    }

    fn agent_state(&self, id: &AgentId) -> AgentState {
        if self.presence.is_online(id) {
            AgentState::Online
        } else {
            AgentState::Offline
        }
    }

    fn broadcast_card(&mut self, card: AgentCardEvent, now: Now) {
        self.state.mailboxes.snapshots.change();
        // Changes of the directory have one order among themselves.
        let order = OrderKey::from("");
        let is_presence = [card_change::ONLINE, card_change::OFFLINE].contains(&&*card.event_type);
        let event = cards::sealed(card, now);
        if is_presence {
            // It is in no log.
            let ahead = self.held.last_of(&order);
            self.pass(Arc::new(Segment::of(event)), Route::Everyone, ahead);
        } else {
            self.pass_when_safe(event, Route::Everyone, order);
        }
    }
}

/// The changes of presence that an action brings: who was online before it and is not after, or the reverse.
pub(crate) struct PresenceBefore(HashMap<AgentId, bool>);

impl PresenceBefore {
    /// Remembers where agents stand.
    pub(crate) fn of(core: &Core, agents: impl IntoIterator<Item = AgentId>) -> Self {
        Self(
            agents
                .into_iter()
                .map(|a| (a.clone(), core.presence.is_online(&a)))
                .collect(),
        )
    }

    /// Tells what has changed since.
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
                core.tell(&agent, change, now);
            }
        }
    }
}

fn matches(agent: &Agent, request: &ListAgentsRequest) -> bool {
    let card = agent.latest();
    let has_capability = |wanted: &str| match (&card.capabilities, wanted) {
        (None, _) => false,
        (Some(has), "streaming") => has.streaming,
        (Some(has), "push_notifications") => has.push_notifications,
        (Some(has), uri) => has.extensions.iter().any(|e| e.uri == uri),
    };
    let any_skill =
        |test: &dyn Fn(&agenthub_proto::a2a::AgentSkill) -> bool| card.skills.iter().any(test);
    (request.skill.is_empty() || card.has_skill(&request.skill))
        && (request.tag.is_empty() || any_skill(&|s| s.tags.contains(&request.tag)))
        && (request.mode.is_empty()
            || any_skill(&|s| {
                s.input_modes.contains(&request.mode) || s.output_modes.contains(&request.mode)
            }))
        && (request.capability.is_empty() || has_capability(&request.capability))
        && holds_words(card, &request.text)
}

/// Tells whether a card holds all words of a text.
fn holds_words(card: &AgentCard, text: &str) -> bool {
    let mut words = text.split_whitespace().peekable();
    if words.peek().is_none() {
        return true;
    }
    step();
    let held = card.search_text();
    words.all(|word| held.contains(&word.to_lowercase()))
}
