//! The agents that come with the program.

use std::{sync::Arc, time::Duration};

use agenthub_agents::{echo, qa, strategy, writer};
use agenthub_sdk::{
    AgentBuilder, RunningAgent, durable::Telemetry, hub::Directory, model::LanguageModel,
};
use anyhow::Context;
use futures_util::future::{Either, join_all, try_join_all};

use crate::{
    cli::Executors,
    executing::{Executing, Form},
    journal::Kept,
    kafka::{Kafka, Results},
    settings::Settings,
};

/// Time for them to go on when they are stopped.
const DRAIN: Duration = Duration::from_secs(1);

/// A specialist: an agent with a skill that takes and gives data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Specialist {
    Strategy,
    Writer,
    Qa,
}

impl Specialist {
    const ALL: [Self; 3] = [Self::Strategy, Self::Writer, Self::Qa];

    /// Its id if no other is given.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Strategy => strategy::NAME,
            Self::Writer => writer::NAME,
            Self::Qa => qa::NAME,
        }
    }

    /// The agent, thinking with this model.
    pub(crate) fn builder(self, model: Arc<dyn LanguageModel>) -> AgentBuilder {
        match self {
            Self::Strategy => strategy::agent(model),
            Self::Writer => writer::agent(model),
            Self::Qa => qa::agent(model),
        }
    }
}

/// All agents that `up` runs beside Cortex.
pub(crate) struct Team {
    agents: Vec<RunningAgent>,
    /// The executors of workflows, where these are processes.
    executing: Option<Executing>,
    /// Reads results of steps that go over Kafka, where executors are tasks.
    results: Option<Results>,
    /// The files of their runs are this process's until the end.
    _kept: Vec<Kept>,
}

impl Team {
    /// Starts them, all at once; `workflows` has the runs of workflows. Their runs go on where the last process with the same data folder left them.
    ///
    /// # Errors
    ///
    /// One of them cannot start.
    pub(crate) async fn start(
        hub: &str,
        model: &Arc<dyn LanguageModel>,
        settings: &Settings,
        telemetry: &Telemetry,
        mut workflows: Kept,
    ) -> anyhow::Result<Self> {
        let specialists = Specialist::ALL.map(|specialist| async move {
            let kept = Kept::open(settings.data(), &settings.keep_runs, specialist.name()).await?;
            let builder = kept.lasting(specialist.builder(model.clone()));
            let agent = start(telemetry.of(builder), hub, specialist.name()).await?;
            anyhow::Ok((agent, kept))
        });
        let workflows = async {
            if settings.executors == Executors::Processes {
                let form = Form {
                    executors: settings.executors,
                    most: settings.max_executors,
                };
                let executing = Executing::start(hub, form, settings, telemetry, workflows).await?;
                return Ok(Either::Right(executing));
            }
            let journal = workflows.journal_or_memory();
            let kafka = Kafka::connect(settings).await?;
            let route = kafka.as_ref().map(Kafka::route);
            let results = kafka.zip(route.as_ref()).map(|(kafka, route)| {
                kafka.read_results(route, &workflows.instance, Arc::clone(&journal))
            });
            let builder = workflows.lasting(agenthub_workflow::agent(
                hub,
                journal,
                route,
                settings.workflow_secrets(),
            ));
            let agent = start(telemetry.of(builder), hub, agenthub_workflow::NAME).await?;
            anyhow::Ok(Either::Left(((agent, workflows), results)))
        };
        let echo = start(echo::agent(echo::NAME), hub, echo::NAME);
        let (echo, workflows, specialists) =
            tokio::try_join!(echo, workflows, try_join_all(specialists))?;
        let (workflows, results, executing) = match workflows {
            Either::Left((workflows, results)) => (Some(workflows), results, None),
            Either::Right(executing) => (None, None, Some(executing)),
        };
        let all = specialists.into_iter().chain(workflows);
        let (mut agents, kept): (Vec<_>, Vec<_>) = all.unzip();
        agents.insert(0, echo);
        Ok(Self {
            agents,
            executing,
            results,
            _kept: kept,
        })
    }

    /// Their ids.
    pub(crate) fn names() -> impl Iterator<Item = &'static str> {
        [echo::NAME]
            .into_iter()
            .chain(Specialist::ALL.map(Specialist::name))
            .chain([agenthub_workflow::NAME])
    }

    /// Waits until the directory has all of them.
    pub(crate) async fn seen(directory: Directory) {
        let mut changed = directory.changed();
        loop {
            changed.mark_unchanged();
            let is_here = |name| directory.get(name).is_some_and(|entry| entry.online);
            if Self::names().all(is_here) || changed.changed().await.is_err() {
                return;
            }
        }
    }

    /// Stops them.
    pub(crate) async fn stop(self) {
        let executing = async {
            if let Some(executing) = self.executing {
                executing.stop().await;
            }
            if let Some(results) = self.results {
                results.stop().await;
            }
        };
        tokio::join!(
            join_all(self.agents.into_iter().map(RunningAgent::stop)),
            executing
        );
    }
}

async fn start(agent: AgentBuilder, hub: &str, name: &str) -> anyhow::Result<RunningAgent> {
    let agent = agent.drain_timeout(DRAIN).start(hub).await;
    agent.with_context(|| format!("the agent {name} cannot start"))
}
