//! Presence: instances with an open stream or an unexpired presence lease, and agents with a healthy probe. Not in the
//! log: after a restart everyone reconnects.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    ops::Bound::{Excluded, Unbounded},
    time::{Duration, SystemTime},
};

use tokio::time::Instant;

use crate::{
    current_card::Holder,
    id::{AgentId, InstanceId, Version},
    log::Registration,
};

/// The card of an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Card {
    /// A client without a card.
    None,
    /// The card registered by a unary call, if any: older clients declare nothing with their streams.
    OfCall,
    /// The card of its hello.
    Declared(Box<Declared>),
}

/// Registration of an instance. Its card is in the directory, under its version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Declared {
    pub(crate) version: Version,
    pub(crate) topics: Vec<String>,
    pub(crate) health_check_url: String,
}

impl Declared {
    pub(crate) fn of(registration: &Registration) -> Self {
        Self {
            version: registration.card.version.as_str().into(),
            topics: registration.topics.clone(),
            health_check_url: registration.health_check_url.clone(),
        }
    }
}

/// A running process of an agent.
#[derive(Clone, Debug)]
pub(crate) struct Instance {
    card: Card,
    pub(crate) connected_at: SystemTime,
    streams: usize,
    /// Time when it counts as gone, once its last stream has broken.
    lease_end: Option<Instant>,
    /// Time when that stream broke.
    pub(crate) lost_at: Option<SystemTime>,
}

impl Instance {
    /// Its own registration.
    pub(crate) fn declared(&self) -> Option<&Declared> {
        match &self.card {
            Card::Declared(declared) => Some(declared),
            Card::None | Card::OfCall => None,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Presence {
    lease: Duration,
    /// Ordered by instance id. Most agents have one instance.
    agents: HashMap<AgentId, Vec<(InstanceId, Instance)>>,
    healthy: HashSet<AgentId>,
    /// Agents that were last registered by a call without an instance, each with the version.
    by_call: HashMap<AgentId, Version>,
    /// Instances without a stream.
    leases: BTreeMap<(Instant, AgentId, InstanceId), ()>,
}

impl Presence {
    pub(crate) fn new(lease: Duration) -> Self {
        Self {
            lease,
            agents: HashMap::new(),
            healthy: HashSet::new(),
            by_call: HashMap::new(),
            leases: BTreeMap::new(),
        }
    }

    pub(crate) fn is_online(&self, agent: &AgentId) -> bool {
        self.agents.contains_key(agent) || self.healthy.contains(agent)
    }

    /// Number of agents with an instance.
    pub(crate) fn len(&self) -> usize {
        self.agents.len()
    }

    /// True if the agent has a stream or an unexpired lease; a healthy probe does not count.
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

    /// Other instances of an agent that have a card, each with the version.
    pub(crate) fn holders<'a>(
        &'a self,
        agent: &AgentId,
        except: Option<&'a InstanceId>,
    ) -> impl Iterator<Item = Holder<'a>> {
        let by_call = self.by_call.get(agent);
        let instances = self.agents.get(agent).into_iter().flatten();
        let others = instances.filter(move |(id, _)| Some(id) != except);
        others.filter_map(move |(id, instance)| {
            let version = match &instance.card {
                Card::None => None,
                Card::OfCall => by_call,
                Card::Declared(declared) => Some(&declared.version),
            };
            Some(Holder {
                instance: id,
                version: version?,
                is_connected: instance.streams > 0,
                since: instance.connected_at,
            })
        })
    }

    /// Registration of an instance.
    pub(crate) fn declared(&self, agent: &AgentId, instance: &InstanceId) -> Option<&Declared> {
        let instances = self.agents.get(agent)?;
        let index = place(instances, instance).ok()?;
        instances[index].1.declared()
    }

    /// Sets the registration of a present instance.
    pub(crate) fn declare(&mut self, agent: &AgentId, instance: &InstanceId, declared: Declared) {
        self.by_call.remove(agent);
        let instances = self.agents.get_mut(agent);
        if let Some(instances) = instances
            && let Ok(index) = place(instances, instance)
        {
            instances[index].1.card = Card::Declared(Box::new(declared));
        }
    }

    /// Records a registration by a call, without an instance.
    pub(crate) fn registered_by_call(&mut self, agent: &AgentId, version: Version) {
        self.by_call.insert(agent.clone(), version);
    }

    /// Records that an agent was unregistered.
    pub(crate) fn unregistered(&mut self, agent: &AgentId) {
        self.by_call.remove(agent);
    }

    /// Opens a stream of an instance. Its earlier registration is dropped.
    pub(crate) fn arrive(
        &mut self,
        agent: &AgentId,
        instance: &InstanceId,
        card: Card,
        time: SystemTime,
    ) {
        let instances = self.agents.entry(agent.clone());
        let instances = instances.or_insert_with(|| Vec::with_capacity(1));
        let index = place(instances, instance).unwrap_or_else(|index| {
            let new = Instance {
                card: Card::None,
                connected_at: time,
                streams: 0,
                lease_end: None,
                lost_at: None,
            };
            instances.insert(index, (instance.clone(), new));
            index
        });
        let entry = &mut instances[index].1;
        entry.streams += 1;
        entry.card = card;
        entry.lost_at = None;
        if let Some(end) = entry.lease_end.take() {
            self.leases.remove(&(end, agent.clone(), instance.clone()));
        }
    }

    /// Closes a broken stream of an instance: without another one its lease begins.
    pub(crate) fn lose_stream(
        &mut self,
        agent: &AgentId,
        instance: &InstanceId,
        (now, time): (Instant, SystemTime),
    ) {
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
            entry.lost_at.get_or_insert(time);
            if let Some(earlier) = entry.lease_end.replace(end) {
                self.leases
                    .remove(&(earlier, agent.clone(), instance.clone()));
            }
            self.leases
                .insert((end, agent.clone(), instance.clone()), ());
        }
    }

    /// Removes an instance and returns it.
    pub(crate) fn leave(&mut self, agent: &AgentId, instance: &InstanceId) -> Option<Instance> {
        let instances = self.agents.get_mut(agent)?;
        let index = place(instances, instance).ok()?;
        let (_, gone) = instances.remove(index);
        if instances.is_empty() {
            self.agents.remove(agent);
        }
        if let Some(end) = gone.lease_end {
            self.leases.remove(&(end, agent.clone(), instance.clone()));
        }
        Some(gone)
    }

    /// Records the result of a probe.
    pub(crate) fn probed(&mut self, agent: &AgentId, is_healthy: bool) {
        if is_healthy {
            self.healthy.insert(agent.clone());
        } else {
            self.healthy.remove(agent);
        }
    }

    /// True if the lease of an instance has expired.
    pub(crate) fn is_overdue(&self, now: Instant) -> bool {
        let first = self.leases.first_key_value();
        first.is_some_and(|((end, _, _), ())| *end <= now)
    }

    /// Instances with the oldest expired leases, at most `limit`.
    pub(crate) fn overdue(&self, limit: usize, now: Instant) -> Vec<(AgentId, InstanceId)> {
        self.leases
            .keys()
            .take_while(|(end, _, _)| *end <= now)
            .take(limit)
            .map(|(_, agent, instance)| (agent.clone(), instance.clone()))
            .collect()
    }
}

/// Agents of the directory that are online, ordered by id.
#[derive(Debug, Default)]
pub(crate) struct Online(BTreeSet<AgentId>);

impl Online {
    /// Notes whether an agent is online, and in the directory.
    pub(crate) fn note(&mut self, agent: &AgentId, is_online: bool) {
        match is_online {
            false => _ = self.0.remove(agent),
            true if self.0.contains(agent) => {}
            true => _ = self.0.insert(agent.clone()),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Those with greater ids, in order.
    pub(crate) fn after<'a>(&'a self, agent: &str) -> impl Iterator<Item = &'a AgentId> + use<'a> {
        self.0.range::<str, _>((Excluded(agent), Unbounded))
    }
}

/// Index of an instance, or the place to insert it.
fn place(instances: &[(InstanceId, Instance)], instance: &InstanceId) -> Result<usize, usize> {
    instances.binary_search_by(|(id, _)| id.cmp(instance))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEASE: Duration = Duration::from_secs(10);
    const LOST: SystemTime = SystemTime::UNIX_EPOCH;

    /// spec: HUB-8
    #[tokio::test(start_paused = true)]
    async fn an_instance_has_its_lease_to_come_back() {
        let (agent, instance) = (AgentId::from("a"), InstanceId::from("i"));
        let mut presence = Presence::new(LEASE);
        let arrive =
            |p: &mut Presence| p.arrive(&agent, &instance, Card::None, SystemTime::UNIX_EPOCH);
        arrive(&mut presence);
        arrive(&mut presence);
        let lose = |p: &mut Presence| p.lose_stream(&agent, &instance, (Instant::now(), LOST));
        let lost_at = |p: &Presence| p.instances(&agent).find_map(|(_, i)| i.lost_at);
        lose(&mut presence);
        assert_eq!(lost_at(&presence), None);
        assert!(
            !presence.is_overdue(Instant::now() + LEASE),
            "the other stream is open"
        );
        lose(&mut presence);
        assert!(presence.is_online(&agent));
        assert_eq!(lost_at(&presence), Some(LOST), "it is known at once");
        assert_eq!(presence.overdue(9, Instant::now() + LEASE).len(), 1);
        arrive(&mut presence);
        assert!(!presence.is_overdue(Instant::now() + LEASE), "it came back");
        assert_eq!(lost_at(&presence), None);
        presence.leave(&agent, &instance);
        assert!(!presence.is_online(&agent));
    }

    #[tokio::test(start_paused = true)]
    async fn an_instance_has_one_lease() {
        let (agent, instance) = (AgentId::from("a"), InstanceId::from("i"));
        let mut presence = Presence::new(LEASE);
        presence.arrive(&agent, &instance, Card::None, SystemTime::UNIX_EPOCH);
        for _ in 0..2 {
            presence.lose_stream(&agent, &instance, (Instant::now(), LOST));
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
