//! Several sources of settings become one.

use std::{num::NonZeroU32, path::PathBuf};

use agenthub_terminal::{
    Listen,
    calls::{DEFAULT_DATA, DEFAULT_HUB},
};
use serde::Serialize;
use toml::{Table, Value};

use crate::{
    cli::{Executors, MaxExecutors},
    contexts::Context,
};

use super::{
    ClientFiles, Database, EndedTasks, Kafka, KeepRuns, ModelLayer, OFFLINE, Outbound, Tls,
};

/// Settings of one source; nothing is `None`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Layer {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hub: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) grpc: Option<Listen>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) http: Option<Listen>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) data: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ephemeral: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) insecure: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) metrics: Option<Listen>,
    pub(crate) tls: Tls,
    pub(crate) client: ClientFiles,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) log: Option<String>,
    pub(crate) ended_tasks: EndedTasks,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bodies_mib: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) away_agents_days: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) away_grace_seconds: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) presence_lease_seconds: Option<NonZeroU32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) journal: Option<Database>,
    pub(crate) kafka: Kafka,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) claims: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) claims_days: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) executors: Option<Executors>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_executors: Option<MaxExecutors>,
    pub(crate) keep_runs: KeepRuns,
    pub(crate) model: ModelLayer,
    pub(crate) outbound: Outbound,
}

impl Layer {
    /// The settings where no source says anything.
    pub(super) fn defaults() -> Self {
        Self {
            hub: Some(DEFAULT_HUB.to_owned()),
            grpc: Some(Listen::loopback(50051)),
            http: Some(Listen::loopback(8080)),
            data: Some(PathBuf::from(DEFAULT_DATA)),
            ephemeral: Some(false),
            insecure: Some(false),
            metrics: None,
            tls: Tls::default(),
            client: ClientFiles::default(),
            log: None,
            ended_tasks: EndedTasks::default(),
            bodies_mib: None,
            away_agents_days: None,
            away_grace_seconds: None,
            presence_lease_seconds: None,
            journal: None,
            kafka: Kafka::default(),
            claims: None,
            claims_days: None,
            executors: None,
            max_executors: None,
            keep_runs: KeepRuns::default(),
            model: ModelLayer {
                name: Some(OFFLINE.to_owned()),
                ..ModelLayer::default()
            },
            outbound: Outbound::default(),
        }
    }
}

impl Layer {
    /// The settings of a context.
    pub(super) fn of_context(context: &Context) -> Self {
        Self {
            hub: Some(context.hub.clone()),
            client: ClientFiles {
                ca: context.ca.clone(),
                cert: context.cert.clone(),
                key: context.key.clone(),
            },
            ..Self::default()
        }
    }
}

/// Settings of one source, as a table.
pub(super) fn table(of: &impl Serialize) -> anyhow::Result<Table> {
    Ok(Table::try_from(of)?)
}

/// Both, of which the second beats the first, setting by setting.
pub(super) fn merged(mut under: Table, over: Table) -> Table {
    for (key, value) in over {
        let value = match (under.remove(&key), value) {
            (Some(Value::Table(under)), Value::Table(over)) => Value::Table(merged(under, over)),
            (_, value) => value,
        };
        under.insert(key, value);
    }
    under
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_joined_and_all_else_is_replaced() {
        let table = |text: &str| -> Table { text.parse().expect("it is TOML") };
        let under = table("a = 1\nb = [1, 2]\n[c]\nd = 1\ne = 1\n");
        let over = table("b = [3]\nf = 1\n[c]\nd = 2\n");
        let expected = table("a = 1\nb = [3]\nf = 1\n[c]\nd = 2\ne = 1\n");
        assert_eq!(merged(under, over), expected);
    }
}
