//! Retention of the runs of agents once they are over.

use std::{collections::BTreeMap, time::Duration};

use agenthub_terminal::flags::Days;
use serde::{Deserialize, Serialize};

/// The days that were set; where nothing was, an agent has its own. 0 keeps runs for ever.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct KeepRuns {
    /// For the runs of agents that are not named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) days: Option<u32>,
    /// For those of single agents, by their ids.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) agents: BTreeMap<String, u32>,
}

impl KeepRuns {
    /// Merges these; of one agent the last counts.
    pub(crate) fn of(all: impl IntoIterator<Item = Days>) -> Self {
        let mut keep = Self::default();
        for Days { agent, days } in all {
            match agent {
                None => keep.days = Some(days),
                Some(agent) => _ = keep.agents.insert(agent, days),
            }
        }
        keep
    }

    /// Retention of this agent's runs, if it was set.
    pub(crate) fn time(&self, agent: &str) -> Option<Duration> {
        const DAY: Duration = Duration::from_secs(24 * 3600);
        let days = self.agents.get(agent).copied().or(self.days)?;
        Some(match days {
            0 => Duration::MAX,
            days => DAY * days,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> KeepRuns {
        let days = text
            .split(',')
            .map(|days| days.parse().expect("it is right"));
        KeepRuns::of(days)
    }

    #[test]
    fn an_agent_that_is_named_has_its_own_days_and_others_those_of_all() {
        let days = |days: u64| Some(Duration::from_secs(days * 86_400));
        let keep = of("7,writer=90,cortex=0");
        assert_eq!(keep.time("qa"), days(7));
        assert_eq!(keep.time("writer"), days(90));
        assert_eq!(keep.time("cortex"), Some(Duration::MAX));
        assert_eq!(of("writer=90").time("qa"), None);
    }
}
