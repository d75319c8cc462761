//! Bounds on the ended tasks that a hub keeps.

use std::time::Duration;

use agenthub_broker::Settings as HubSettings;
use serde::{Deserialize, Serialize};

/// The bounds that were set; for others the hub has its own. Whichever is met first, the oldest tasks are forgotten.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EndedTasks {
    /// Their number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) most: Option<usize>,
    /// Days since their end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) days: Option<u32>,
    /// MiB of their contents, on disk or in memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) mib: Option<u32>,
}

impl EndedTasks {
    /// The hub's settings with these bounds.
    pub(crate) fn bound(&self, hub: HubSettings) -> HubSettings {
        const DAY: Duration = Duration::from_secs(24 * 3600);
        const MIB: u64 = 1024 * 1024;
        HubSettings {
            ended_tasks: self.most.unwrap_or(hub.ended_tasks),
            ended_tasks_age: self.days.map_or(hub.ended_tasks_age, |days| DAY * days),
            ended_tasks_bytes: self
                .mib
                .map_or(hub.ended_tasks_bytes, |mib| MIB * u64::from(mib)),
            ..hub
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_set_is_as_the_hub_has_it() {
        let hub = HubSettings::default;
        assert_eq!(
            EndedTasks::default().bound(hub()).ended_tasks,
            hub().ended_tasks
        );
        let some = EndedTasks {
            most: Some(5),
            days: Some(2),
            mib: None,
        };
        let bound = some.bound(hub());
        assert_eq!(bound.ended_tasks, 5);
        assert_eq!(bound.ended_tasks_age, Duration::from_secs(2 * 86_400));
        assert_eq!(bound.ended_tasks_bytes, hub().ended_tasks_bytes);
    }
}
