//! A hub with its A2A gateway, and the agent behind it.

use std::{sync::Arc, time::Duration};

use agenthub_sdk::{Agent, Card, Failure, RunningAgent, Skill, TaskContext};
use anyhow::{Context as _, bail};
use tempfile::TempDir;
use tokio::{
    sync::Semaphore,
    time::{Instant, sleep},
};

use super::{AGENT, binding::Address};
use crate::compare::{
    scene::Stage,
    server::{Server, free},
    system::System,
};

/// Time until the gateway knows the agent.
const READY: Duration = Duration::from_secs(10);

/// The hub and the agent. The hub is killed on drop.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) server: Server,
    pub(super) address: Address,
    agent: RunningAgent,
    _folder: TempDir,
}

impl Place {
    /// An agent that answers with this text, once the gate lets it.
    ///
    /// # Errors
    ///
    /// The hub does not start, or its gateway does not find the agent.
    pub(super) async fn start(
        system: System,
        stage: &Stage,
        concurrency: u32,
        text: String,
        gate: Option<Arc<Semaphore>>,
    ) -> anyhow::Result<Self> {
        let folder = stage.folder()?;
        let (grpc, http) = (free()?, free()?);
        let command = system.hub(&stage.programs, folder.path(), grpc, &http.to_string());
        let server = Server::start(command, grpc, folder.path()).await?;
        let skill = Skill::new(AGENT, "Answer", "Answers at once");
        let card = Card::new(AGENT, "Answers a question").skill(skill);
        let agent = Agent::worker(card)
            .concurrency(concurrency)
            .on_task_type(AGENT, move |_: TaskContext| {
                answer(text.clone(), gate.clone())
            });
        let agent = agent.start(&format!("http://{grpc}")).await?;
        let address = Address {
            grpc,
            http,
            path: format!("/agents/{AGENT}"),
            tenant: AGENT,
        };
        ready(&address).await?;
        Ok(Self {
            server,
            address,
            agent,
            _folder: folder,
        })
    }

    /// Disconnects the agent with a goodbye.
    pub(super) async fn stop(self) {
        self.agent.stop().await;
    }
}

async fn answer(text: String, gate: Option<Arc<Semaphore>>) -> Result<String, Failure> {
    if let Some(gate) = gate {
        let permit = gate.acquire().await;
        permit
            .map_err(|_| Failure::failed("the gate is closed"))?
            .forget();
    }
    Ok(text)
}

/// Waits for the agent's card.
async fn ready(address: &Address) -> anyhow::Result<()> {
    let Address { http, path, .. } = address;
    let card = format!("http://{http}{path}/.well-known/agent-card.json");
    let began = Instant::now();
    loop {
        let found = reqwest::get(&card).await;
        if found
            .as_ref()
            .is_ok_and(|answer| answer.status().is_success())
        {
            return Ok(());
        }
        if began.elapsed() > READY {
            let found = found.context("the gateway does not answer")?.status();
            bail!("the gateway does not find the agent: {found}");
        }
        sleep(Duration::from_millis(5)).await;
    }
}
