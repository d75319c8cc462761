//! Who is there: the instances with an open stream, or whose presence lease has not run out, and the agents whose probe is
//! healthy. Not in the log: after a restart everyone connects again.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    time::{Duration, SystemTime},
};

use tokio::time::Instant;

use crate::id::{AgentId, InstanceId, Version};

/// One running process of an agent.
#[derive(Clone, Debug)]
pub(crate) struct Instance {
    pub(crate) version: Option<Version>,
    pub(crate) connected_at: SystemTime,
    streams: usize,
    /// When it counts as gone, once its last stream broke.
    lease_end: Option<Instant>,
}

#[derive(Debug)]
pub(crate) struct Presence {
    lease: Duration,
    /// In order of the instances' ids. Most agents have one.
    agents: HashMap<AgentId, Vec<(InstanceId, Instance)>>,
    healthy: HashSet<AgentId>,
    /// Instances without a stream.
    leases: BTreeMap<(Instant, AgentId, InstanceId), ()>,
}

impl Presence {
    pub(crate) fn new(lease: Duration) -> Self {
        Self {
            lease,
            agents: HashMap::new(),
            healthy: HashSet::new(),
            leases: BTreeMap::new(),
        }
    }

    pub(crate) fn is_online(&self, agent: &AgentId) -> bool {
        self.agents.contains_key(agent) || self.healthy.contains(agent)
    }

    /// Whether the agent has a stream or the lease of one; a healthy probe does not count.
    pub(crate) fn has_instance(&self, agent: &AgentId) -> bool {
        self.agents.contains_key(agent)
    }

    pub(crate) fn instances(
        &self,
        agent: &AgentId,
    ) -> impl Iterator<Item = (&InstanceId, &Instance)> {
        let instances = self.agents.get(agent).into_iter().flatten();
        instances.map(|(id, instance)| (id, instance))
    }

    /// A stream of an instance opens.
    pub(crate) fn arrive(
        &mut self,
        agent: &AgentId,
        instance: &InstanceId,
        version: Option<Version>,
        time: SystemTime,
    ) {
        let instances = self.agents.entry(agent.clone());
        let instances = instances.or_insert_with(|| Vec::with_capacity(1));
        let index = place(instances, instance).unwrap_or_else(|index| {
            let new = Instance {
                version: None,
                connected_at: time,
                streams: 0,
                lease_end: None,
            };
            instances.insert(index, (instance.clone(), new));
            index
        });
        let entry = &mut instances[index].1;
        entry.streams += 1;
        entry.version = version;
        if let Some(end) = entry.lease_end.take() {
            self.leases.remove(&(end, agent.clone(), instance.clone()));
        }
    }

    /// A stream of an instance broke: without another one it has its lease to come back.
    pub(crate) fn lose_stream(&mut self, agent: &AgentId, instance: &InstanceId, now: Instant) {
        let Some(instances) = self.agents.get_mut(agent) else {
            return;
        };
        let Ok(index) = place(instances, instance) else {
            return;
        };
        let entry = &mut instances[index].1;
        entry.streams = entry.streams.saturating_sub(1);
        if entry.streams == 0 {
            let end = now + self.lease;
            if let Some(earlier) = entry.lease_end.replace(end) {
                self.leases
                    .remove(&(earlier, agent.clone(), instance.clone()));
            }
            self.leases
                .insert((end, agent.clone(), instance.clone()), ());
        }
    }

    /// An instance is gone for good.
    pub(crate) fn leave(&mut self, agent: &AgentId, instance: &InstanceId) {
        let Some(instances) = self.agents.get_mut(agent) else {
            return;
        };
        if let Ok(index) = place(instances, instance)
            && let Some(end) = instances.remove(index).1.lease_end
        {
            self.leases.remove(&(end, agent.clone(), instance.clone()));
        }
        if instances.is_empty() {
            self.agents.remove(agent);
        }
    }

    /// What a probe found.
    pub(crate) fn probed(&mut self, agent: &AgentId, is_healthy: bool) {
        if is_healthy {
            self.healthy.insert(agent.clone());
        } else {
            self.healthy.remove(agent);
        }
    }

    /// Whether the lease of an instance has run out.
    pub(crate) fn is_overdue(&self, now: Instant) -> bool {
        let first = self.leases.first_key_value();
        first.is_some_and(|((end, _, _), ())| *end <= now)
    }

    /// The instances whose lease has run out first, at most so many.
    pub(crate) fn overdue(&self, limit: usize, now: Instant) -> Vec<(AgentId, InstanceId)> {
        self.leases
            .keys()
            .take_while(|(end, _, _)| *end <= now)
            .take(limit)
            .map(|(_, agent, instance)| (agent.clone(), instance.clone()))
            .collect()
    }
}

/// Where an instance is, or else where it belongs.
fn place(instances: &[(InstanceId, Instance)], instance: &InstanceId) -> Result<usize, usize> {
    instances.binary_search_by(|(id, _)| id.cmp(instance))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEASE: Duration = Duration::from_secs(10);

    /// spec: HUB-8
    #[tokio::test(start_paused = true)]
    async fn an_instance_has_its_lease_to_come_back() {
        let (agent, instance) = (AgentId::from("a"), InstanceId::from("i"));
        let mut presence = Presence::new(LEASE);
        let arrive = |p: &mut Presence| p.arrive(&agent, &instance, None, SystemTime::UNIX_EPOCH);
        arrive(&mut presence);
        arrive(&mut presence);
        presence.lose_stream(&agent, &instance, Instant::now());
        assert!(
            !presence.is_overdue(Instant::now() + LEASE),
            "the other stream is open"
        );
        presence.lose_stream(&agent, &instance, Instant::now());
        assert!(presence.is_online(&agent));
        assert_eq!(presence.overdue(9, Instant::now() + LEASE).len(), 1);
        arrive(&mut presence);
        assert!(!presence.is_overdue(Instant::now() + LEASE), "it came back");
        presence.leave(&agent, &instance);
        assert!(!presence.is_online(&agent));
    }

    #[tokio::test(start_paused = true)]
    async fn an_instance_has_one_lease() {
        let (agent, instance) = (AgentId::from("a"), InstanceId::from("i"));
        let mut presence = Presence::new(LEASE);
        presence.arrive(&agent, &instance, None, SystemTime::UNIX_EPOCH);
        for _ in 0..2 {
            presence.lose_stream(&agent, &instance, Instant::now());
            tokio::time::advance(LEASE / 2).await;
        }
        assert!(!presence.is_overdue(Instant::now()));
        presence.leave(&agent, &instance);
        assert!(!presence.is_overdue(Instant::now() + LEASE));
    }

    #[tokio::test(start_paused = true)]
    async fn a_healthy_probe_is_presence() {
        let agent = AgentId::from("a");
        let mut presence = Presence::new(LEASE);
        presence.probed(&agent, true);
        assert!(presence.is_online(&agent) && !presence.has_instance(&agent));
        presence.probed(&agent, false);
        assert!(!presence.is_online(&agent));
    }
}
