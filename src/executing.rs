//! Runs of workflows by executors: the agent that writes their runs down, and what has each executed.

use std::{ffi::OsString, path::Path, sync::Arc, time::Duration};

use agenthub_sdk::{RunningAgent, durable::Telemetry};
use agenthub_workflow::executors::{Place, Program, Spawn, Supervisor, recorder};
use anyhow::{Context, bail};

use crate::{
    cli::{Executors, MaxExecutors},
    journal::Kept,
    kafka::{Kafka, Results},
    settings::Settings,
};

/// Time for the agent that writes runs down to end.
const DRAIN: Duration = Duration::from_secs(1);

/// Form of executors, and their bound.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Form {
    pub(crate) executors: Executors,
    /// Runs at once.
    pub(crate) most: MaxExecutors,
}

/// The agent that takes requests for runs, and the executors. [`stop`](Self::stop) it.
pub(crate) struct Executing {
    agent: RunningAgent,
    supervisor: Supervisor,
    /// Reads results of steps that go over Kafka.
    results: Option<Results>,
    /// The files are this process's until the end.
    _kept: Kept,
}

impl Executing {
    /// Starts both on the hub at this address.
    ///
    /// # Errors
    ///
    /// There is no data folder, or the agent cannot start.
    pub(crate) async fn start(
        hub: &str,
        form: Form,
        settings: &Settings,
        telemetry: &Telemetry,
        kept: Kept,
    ) -> anyhow::Result<Self> {
        let (Some(journal), Some(data)) = (kept.journal.clone(), settings.data()) else {
            bail!("executors share a data folder: leave out --ephemeral");
        };
        let kafka = Kafka::connect(settings).await?;
        let (agent, recorded) = recorder(hub, Arc::clone(&journal));
        let agent = telemetry.of(kept.lasting(agent)).drain_timeout(DRAIN);
        let agent = agent.start(hub).await;
        let agent =
            agent.with_context(|| format!("the agent {} cannot start", agenthub_workflow::NAME))?;
        let telemetry = telemetry.clone();
        let route = kafka.as_ref().map(Kafka::route);
        let results = kafka
            .zip(route.as_ref())
            .map(|(kafka, route)| kafka.read_results(route, &kept.instance, Arc::clone(&journal)));
        let place = Place {
            route,
            dressed: Arc::new(move |agent| telemetry.of(agent)),
            ..Place::new(hub, journal)
        };
        let spawn = match form.executors {
            Executors::Tasks => Spawn::Tasks,
            Executors::Processes => Spawn::Processes(Program {
                path: std::env::current_exe().context("the path of this program is not known")?,
                args: args(hub, data, settings),
            }),
        };
        Ok(Self {
            agent,
            supervisor: Supervisor::start(place, spawn, form.most.runs(), recorded),
            results,
            _kept: kept,
        })
    }

    /// Waits until the hub sends the agent away; says why.
    pub(crate) async fn closed(&self) -> String {
        self.agent.closed().await
    }

    /// Takes no more requests, and has the executors let their runs go.
    pub(crate) async fn stop(self) {
        let results = async {
            if let Some(results) = self.results {
                results.stop().await;
            }
        };
        tokio::join!(self.agent.stop(), self.supervisor.stop(), results);
    }
}

/// Arguments of this program as an executor: the flags of all commands that this process has, too. Its settings of the environment are inherited.
fn args(hub: &str, data: &Path, settings: &Settings) -> Vec<OsString> {
    let mut args: Vec<OsString> = ["executor", "--hub", hub, "--data"].map(Into::into).into();
    args.push(data.into());
    if let Some(config) = &settings.config {
        args.extend(["--config".into(), config.into()]);
    }
    let named = [
        ("--kafka", &settings.kafka.servers),
        ("--claims", &settings.claims),
    ];
    for (flag, value) in named {
        if let Some(value) = value {
            args.extend([flag, value].map(Into::into));
        }
    }
    for (flag, file) in settings.client.flags() {
        if let Some(file) = file {
            args.extend([flag.into(), file.into()]);
        }
    }
    if let Some(file) = &settings.token_file {
        args.extend(["--token-file".into(), file.into()]);
    }
    if let Some(log) = &settings.log {
        args.extend(["--log", log].map(Into::into));
    }
    args
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_of_a_run_has_the_flags_of_all_commands() {
        let of = |config: Option<&str>, more: &str| {
            let settings = format!("log = 'debug'\n{more}");
            let mut settings = Settings::of_text(&settings).expect("settings");
            settings.config = config.map(Into::into);
            settings.token_file = config.map(|_| "d/access/hub.token".into());
            let args = args("http://h:1", Path::new("d"), &settings);
            let args = args.iter().map(|arg| arg.to_string_lossy().into_owned());
            args.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            of(None, ""),
            "executor --hub http://h:1 --data d --log debug"
        );
        assert_eq!(
            of(None, "claims = 'file:///c'\n[kafka]\nservers = 'k:1'"),
            "executor --hub http://h:1 --data d --kafka k:1 --claims file:///c --log debug"
        );
        assert_eq!(
            of(
                None,
                "[client]\nca = 'ca.pem'\ncert = 'c.pem'\nkey = 'k.pem'"
            ),
            "executor --hub http://h:1 --data d --ca ca.pem --cert c.pem --key k.pem --log debug"
        );
        assert_eq!(
            of(Some("other.toml"), ""),
            "executor --hub http://h:1 --data d --config other.toml --token-file d/access/hub.token --log debug"
        );
    }
}
