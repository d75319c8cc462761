//! The settings of the hub that a process serves.

use std::time::Duration;

use agenthub_broker::{Settings as HubSettings, Storage};

use super::Settings;

const DAY: Duration = Duration::from_secs(24 * 3600);

impl Settings {
    /// The hub's settings; those that nobody set are its own.
    pub(crate) fn hub_settings(&self) -> HubSettings {
        let hub = HubSettings::default();
        let lease = self.presence_lease_seconds.map(|n| n.get().into());
        let presence_lease = lease.map_or(hub.presence_lease, Duration::from_secs);
        let bodies = self.bodies_mib.and_then(|mib| usize::try_from(mib).ok());
        self.ended_tasks.bound(HubSettings {
            storage: match self.data() {
                Some(folder) => Storage::Folder(folder.to_owned()),
                None => Storage::Memory,
            },
            bodies_bytes: bodies.map_or(hub.bodies_bytes, |mib| mib * 1024 * 1024),
            away_agents: match self.away_agents_days {
                None => hub.away_agents,
                Some(0) => Duration::MAX,
                Some(days) => DAY * days,
            },
            away_grace: match self.away_grace_seconds {
                None => hub.away_grace,
                Some(seconds) => Duration::from_secs(seconds.into()),
            },
            presence_lease,
            // A heartbeat may be late, or lost with its connection.
            heartbeat_interval: hub.heartbeat_interval.min(presence_lease / 3),
            ..hub
        })
    }
}
