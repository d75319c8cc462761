//! How long the runs of agents are kept once they are over.

use std::{collections::BTreeMap, str::FromStr, time::Duration};

use anyhow::anyhow;
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

/// `DAYS` or `AGENT=DAYS`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Days {
    agent: Option<String>,
    days: u32,
}

impl FromStr for Days {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let (agent, days) = match text.split_once('=') {
            Some((agent, days)) => (Some(agent.trim()), days),
            None => (None, text),
        };
        match (agent, days.trim().parse()) {
            (Some(""), _) | (_, Err(_)) => Err(anyhow!(
                "`{text}` is neither a number of days nor AGENT=DAYS"
            )),
            (agent, Ok(days)) => Ok(Self {
                agent: agent.map(str::to_owned),
                days,
            }),
        }
    }
}

impl KeepRuns {
    /// What these say together; of one agent the last counts.
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

    /// How long the runs of this agent are kept, if that was set.
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

    #[test]
    fn what_is_no_number_of_days_is_refused() {
        for wrong in ["", "x", "=3", "a=", "a=-1", "a=b=3", "3.5"] {
            let error = wrong.parse::<Days>().expect_err(wrong).to_string();
            assert!(error.contains(&format!("`{wrong}`")), "{error}");
        }
    }
}
