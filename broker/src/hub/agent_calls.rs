//! Calls that register and query agents, and the hub's own card.

use agenthub_access::{Action, HubUse};
use agenthub_proto::{
    a2a::{AgentCapabilities, AgentCard, AgentProvider, AgentSkill},
    agenthub::{AgentEntry, ListAgentsRequest, ListAgentsResponse},
};
use tokio::task::yield_now;

use super::{Hub, core::Now, listing::Listing};
use crate::{
    Caller, Error,
    access::{Call, decide, may},
    id::AgentId,
    limits,
    log::Registration,
};

impl Hub {
    pub(crate) fn register(
        &self,
        caller: &Caller,
        registration: Registration,
        instance: &str,
    ) -> Result<(), Error> {
        decide(Call::RegisterAgent, caller, "")?;
        limits::id("instance_id", instance)?;
        let instance = Some(instance).filter(|i| !i.is_empty()).map(Into::into);
        let mut core = self.core();
        core.may_be(caller, &registration.card.name)?;
        core.register(caller, registration, instance.as_ref(), Now::read())
            .map(|_told| ())
    }

    /// Returns once the agent is removed. If cancelled or failed, some of its tasks may have ended.
    pub(crate) async fn unregister(
        &self,
        caller: &Caller,
        agent: &str,
        reason: &str,
    ) -> Result<(), Error> {
        decide(Call::UnregisterAgent, caller, "")?;
        limits::required("agent_id", agent)?;
        limits::size("reason", reason.len())?;
        let agent = AgentId::from(agent);
        // Operators remove agents of others that are gone for good.
        self.core()
            .may_be(caller, &agent)
            .or_else(|why| may(caller, Action::Operate).map_err(|_| why))?;
        while !self
            .core()
            .unregister(caller, &agent, reason, Now::read())?
        {
            self.synced().await?;
        }
        Ok(())
    }

    /// A page of matching agents, ordered by id.
    pub(crate) async fn list_agents(
        &self,
        caller: &Caller,
        request: ListAgentsRequest,
    ) -> Result<ListAgentsResponse, Error> {
        decide(Call::ListAgents, caller, "")?;
        let mut listing = Listing::new(request)?;
        while !self.core().list_some(&mut listing) {
            // Lets other tasks take the lock.
            yield_now().await;
        }
        Ok(ListAgentsResponse {
            agents: listing.page,
            next_page_token: listing.next,
            total_size: listing.total,
        })
    }

    pub(crate) fn agent(&self, caller: &Caller, id: &str) -> Result<AgentEntry, Error> {
        decide(Call::GetAgent, caller, "")?;
        limits::required("agent_id", id)?;
        self.core().agent(id)
    }

    /// The principal that an agent belongs to, if it belongs to one.
    pub(crate) fn owner(&self, agent: &str) -> Option<String> {
        let core = self.core();
        core.state.registry.owner(agent).map(str::to_owned)
    }

    /// Use that a principal makes of the hub, and all together.
    pub(crate) fn usage(&self, principal: &str) -> (HubUse, HubUse) {
        let core = self.core();
        let (own, all) = core.state.tasks.used().of(principal, Now::read().time);
        let (own_bytes, all_bytes) = core.state.mailboxes.bytes_of(principal);
        let with = |used, bytes| HubUse {
            mailbox_bytes: bytes as u64,
            ..used
        };
        (with(own, own_bytes), with(all, all_bytes))
    }

    pub(crate) fn card(&self, caller: &Caller) -> Result<AgentCard, Error> {
        decide(Call::GetAgentCard, caller, "")?;
        Ok(AgentCard {
            protocol_version: "0.2.9".to_owned(),
            name: "agenthub".to_owned(),
            description: "The hub where agents find each other and hand each other work".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            url: self
                .shared
                .address
                .get()
                .map_or_else(String::new, |address| format!("http://{address}")),
            provider: Some(AgentProvider {
                organization: "AgentHub".to_owned(),
                ..Default::default()
            }),
            preferred_transport: "GRPC".to_owned(),
            skills: [
                (
                    "message-routing",
                    "Message routing",
                    "Takes messages to agents, in order, and keeps them for those that are away",
                    "routing",
                ),
                (
                    "task-coordination",
                    "Task coordination",
                    "Hands tasks to agents, and their states and results to who asked",
                    "tasks",
                ),
                (
                    "directory",
                    "Directory",
                    "Knows the agents, their skills, and who is there",
                    "discovery",
                ),
            ]
            .map(|(id, name, description, tag)| AgentSkill {
                id: id.to_owned(),
                name: name.to_owned(),
                description: description.to_owned(),
                tags: vec![tag.to_owned()],
                ..Default::default()
            })
            .into(),
            capabilities: Some(AgentCapabilities {
                streaming: true,
                ..Default::default()
            }),
            ..Default::default()
        })
    }
}
