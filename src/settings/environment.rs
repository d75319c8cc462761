//! Settings from the environment, older names included.

use std::str::FromStr;

use agenthub_outbound::Network;
use agenthub_terminal::{Listen, flags::Days};
use anyhow::{Context, anyhow};
use clap::ValueEnum;

use crate::cli::{Executors, MaxExecutors};

use super::{
    ClientFiles, Database, EndedTasks, Kafka, KeepRuns, Layer, Model, ModelLayer, Outbound, Tls,
};

/// The model of Vertex where only the project is named.
const VERTEX_DEFAULT: &str = "gemini-2.5-flash";

/// The value of a variable, if it is set and not empty.
type Env<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Settings of the variables. Where an older name and `AGENTHUB_…` differ, the latter holds.
pub(super) fn layer(env: Env<'_>) -> anyhow::Result<Layer> {
    Ok(Layer {
        hub: env("AGENTHUB_HUB").or_else(|| broker(env)),
        grpc: match listen(env, "AGENTHUB_GRPC")? {
            None => listen(env, "AGENTHUB_GRPC_PORT")?,
            address => address,
        },
        http: match listen(env, "AGENTHUB_HTTP")? {
            None => listen(env, "BROKER_HEALTH_PORT")?,
            address => address,
        },
        data: env("AGENTHUB_DATA").map(Into::into),
        ephemeral: flag(env, "AGENTHUB_EPHEMERAL")?,
        insecure: flag(env, "AGENTHUB_INSECURE")?,
        metrics: listen(env, "AGENTHUB_METRICS")?,
        tls: Tls {
            cert: env("AGENTHUB_TLS_CERT").map(Into::into),
            key: env("AGENTHUB_TLS_KEY").map(Into::into),
            client_ca: env("AGENTHUB_CLIENT_CA").map(Into::into),
            require_client_cert: flag(env, "AGENTHUB_REQUIRE_CLIENT_CERT")?,
        },
        client: ClientFiles {
            ca: env("AGENTHUB_CA").map(Into::into),
            cert: env("AGENTHUB_CERT").map(Into::into),
            key: env("AGENTHUB_KEY").map(Into::into),
        },
        log: env("AGENTHUB_LOG").or_else(|| env("RUST_LOG")),
        ended_tasks: EndedTasks {
            most: number(env, "AGENTHUB_ENDED_TASKS")?,
            days: number(env, "AGENTHUB_ENDED_TASKS_DAYS")?,
            mib: number(env, "AGENTHUB_ENDED_TASKS_MIB")?,
        },
        bodies_mib: number(env, "AGENTHUB_BODIES_MIB")?,
        away_agents_days: number(env, "AGENTHUB_AWAY_AGENTS_DAYS")?,
        away_grace_seconds: number(env, "AGENTHUB_AWAY_GRACE_SECONDS")?,
        presence_lease_seconds: number(env, "AGENTHUB_PRESENCE_LEASE_SECONDS")?,
        journal: env("AGENTHUB_JOURNAL").map(Database),
        kafka: Kafka {
            servers: env("AGENTHUB_KAFKA"),
            ..Kafka::default()
        },
        claims: env("AGENTHUB_CLAIMS"),
        claims_days: number(env, "AGENTHUB_CLAIMS_DAYS")?,
        executors: executors(env)?,
        max_executors: max_executors(env)?,
        keep_runs: keep_runs(env)?,
        model: ModelLayer {
            name: env("AGENTHUB_MODEL").or_else(|| vertex(env)),
            endpoint: env("AGENTHUB_MODEL_ENDPOINT"),
            ..ModelLayer::default()
        },
        outbound: Outbound {
            allow: networks(env)?,
        },
    })
}

/// For Vertex, where the variables say it is.
pub(super) fn place(env: Env<'_>, model: &mut Model) {
    if model.name.starts_with("vertex/") {
        model.project = env("GCP_PROJECT").or(model.project.take());
        model.location = env("GCP_LOCATION").or(model.location.take());
    }
}

/// The hub by its older names: a host, with or without a port, and a port.
fn broker(env: Env<'_>) -> Option<String> {
    let (host, port) = (env("AGENTHUB_BROKER_ADDR"), env("AGENTHUB_BROKER_PORT"));
    if host.is_none() && port.is_none() {
        return None;
    }
    let host = host.unwrap_or_else(|| "127.0.0.1".to_owned());
    let port = port.unwrap_or_else(|| "50051".to_owned());
    if host.contains("://") {
        return Some(host);
    }
    let has_port = host
        .rsplit_once(':')
        .is_some_and(|(_, p)| !p.is_empty() && p.bytes().all(|b| b.is_ascii_digit()));
    Some(match has_port {
        true => format!("http://{host}"),
        false => format!("http://{host}:{}", port.trim_start_matches(':')),
    })
}

fn vertex(env: Env<'_>) -> Option<String> {
    let model = env("VERTEX_AI_MODEL");
    let model = model.or_else(|| env("GCP_PROJECT").map(|_| VERTEX_DEFAULT.to_owned()))?;
    Some(format!("vertex/{model}"))
}

fn listen(env: Env<'_>, name: &str) -> anyhow::Result<Option<Listen>> {
    let value = env(name).map(|text| text.parse().context(format!("in {name}")));
    value.transpose()
}

/// `DAYS` and `AGENT=DAYS`, with commas between.
fn keep_runs(env: Env<'_>) -> anyhow::Result<KeepRuns> {
    const NAME: &str = "AGENTHUB_KEEP_RUNS_DAYS";
    let text = env(NAME).unwrap_or_default();
    let pieces = text.split(',').filter(|piece| !piece.trim().is_empty());
    let days: Result<Vec<Days>, _> = pieces.map(|piece| piece.trim().parse()).collect();
    Ok(KeepRuns::of(days.context(format!("in {NAME}"))?))
}

/// Networks with commas between.
fn networks(env: Env<'_>) -> anyhow::Result<Option<Vec<Network>>> {
    const NAME: &str = "AGENTHUB_OUTBOUND_ALLOW";
    let Some(text) = env(NAME) else {
        return Ok(None);
    };
    let all: Result<Vec<Network>, _> = text.split(',').map(str::parse::<Network>).collect();
    Ok(Some(all.context(format!("in {NAME}"))?))
}

/// The form of executors.
fn executors(env: Env<'_>) -> anyhow::Result<Option<Executors>> {
    const NAME: &str = "AGENTHUB_EXECUTORS";
    let Some(text) = env(NAME) else {
        return Ok(None);
    };
    match Executors::from_str(&text, false) {
        Ok(executors) => Ok(Some(executors)),
        Err(_) => Err(anyhow!(
            "in {NAME}: `{text}` is neither tasks nor processes"
        )),
    }
}

/// The bound of executors.
fn max_executors(env: Env<'_>) -> anyhow::Result<Option<MaxExecutors>> {
    const NAME: &str = "AGENTHUB_MAX_EXECUTORS";
    let most = env(NAME).map(|text| text.parse());
    most.transpose().map_err(|why| anyhow!("in {NAME}: {why}"))
}

fn number<T: FromStr>(env: Env<'_>, name: &str) -> anyhow::Result<Option<T>> {
    let Some(text) = env(name) else {
        return Ok(None);
    };
    match text.parse() {
        Ok(number) => Ok(Some(number)),
        Err(_) => Err(anyhow!("in {name}: `{text}` is no number that fits")),
    }
}

fn flag(env: Env<'_>, name: &str) -> anyhow::Result<Option<bool>> {
    let Some(text) = env(name) else {
        return Ok(None);
    };
    match text.to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Ok(Some(true)),
        "0" | "false" | "no" | "off" => Ok(Some(false)),
        _ => Err(anyhow!("in {name}: `{text}` is neither true nor false")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(env: &[(&str, &str)]) -> Layer {
        let get = |name: &str| {
            let found = env.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        layer(&get).expect("these variables are right")
    }

    #[test]
    fn the_hub_by_its_older_names() {
        for (env, hub) in [
            (&[][..], None),
            (&[("AGENTHUB_BROKER_ADDR", "h")], Some("http://h:50051")),
            (&[("AGENTHUB_BROKER_PORT", "7")], Some("http://127.0.0.1:7")),
            (&[("AGENTHUB_BROKER_ADDR", "h:9")], Some("http://h:9")),
            (
                &[("AGENTHUB_BROKER_ADDR", "http://h:9")],
                Some("http://h:9"),
            ),
            (
                &[
                    ("AGENTHUB_BROKER_ADDR", "h"),
                    ("AGENTHUB_BROKER_PORT", ":7"),
                ],
                Some("http://h:7"),
            ),
            (
                &[
                    ("AGENTHUB_BROKER_ADDR", "h"),
                    ("AGENTHUB_HUB", "http://new:1"),
                ],
                Some("http://new:1"),
            ),
        ] {
            assert_eq!(of(env).hub.as_deref(), hub, "{env:?}");
        }
    }

    #[test]
    fn the_port_by_its_older_name() {
        let grpc = |env: &[(&str, &str)]| of(env).grpc.map(|g| g.to_string());
        assert_eq!(
            grpc(&[("AGENTHUB_GRPC_PORT", ":7")]),
            Some("127.0.0.1:7".into())
        );
        assert_eq!(
            grpc(&[("AGENTHUB_GRPC_PORT", "7")]),
            Some("127.0.0.1:7".into())
        );
        let both = [("AGENTHUB_GRPC_PORT", "7"), ("AGENTHUB_GRPC", "8")];
        assert_eq!(grpc(&both), Some("127.0.0.1:8".into()));
        let http = |env: &[(&str, &str)]| of(env).http.map(|h| h.to_string());
        assert_eq!(
            http(&[("BROKER_HEALTH_PORT", "7")]),
            Some("127.0.0.1:7".into())
        );
        let both = [("BROKER_HEALTH_PORT", "7"), ("AGENTHUB_HTTP", "8")];
        assert_eq!(http(&both), Some("127.0.0.1:8".into()));
    }

    #[test]
    fn a_provider_is_configured_by_its_older_names() {
        let model = |env: &[(&str, &str)]| of(env).model.name;
        assert_eq!(model(&[]), None);
        assert_eq!(model(&[("VERTEX_AI_MODEL", "g")]), Some("vertex/g".into()));
        assert_eq!(
            model(&[("GCP_PROJECT", "p")]),
            Some(format!("vertex/{VERTEX_DEFAULT}"))
        );
        let both = [("VERTEX_AI_MODEL", "g"), ("AGENTHUB_MODEL", "offline")];
        assert_eq!(model(&both), Some("offline".into()));
    }

    #[test]
    fn the_log_level_has_two_names() {
        assert_eq!(of(&[("RUST_LOG", "debug")]).log.as_deref(), Some("debug"));
        let both = [("RUST_LOG", "debug"), ("AGENTHUB_LOG", "warn")];
        assert_eq!(of(&both).log.as_deref(), Some("warn"));
    }
}
