//! `agenthub up` whose steps go over Kafka, a bridge, and the agent.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
    time::{Duration, Instant},
};

use agenthub_sdk::{Client, Delegation};
use anyhow::{Context as _, bail};
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, Command},
    time::{sleep, timeout},
};

use super::agent::{AT_ONCE_TEXT, Agent};
use crate::{
    compare::{
        scene::Stage,
        server::{Server, cpu_of, free},
    },
    program::unset,
};

/// Id of the agent.
pub(super) const AGENT: &str = "bench";

/// Agent that carries workflows out, and its skill.
const WORKFLOWS: &str = "workflows";
const RUN: &str = "workflow_run";

/// Time for a bridge to take tasks, and for the hub to take the agent in.
const START: Duration = Duration::from_secs(20);

/// Pause before the hub is asked again.
const AGAIN: Duration = Duration::from_millis(100);

/// Networks of agents elsewhere.
const ALLOWED: (&str, &str) = ("AGENTHUB_OUTBOUND_ALLOW", "127.0.0.0/8");

/// The hub and the agent. The hub is killed on drop.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) agent: Agent,
    hub: String,
    client: Client,
    /// Of the program, with the data folder, Kafka and claim checks.
    arguments: Vec<String>,
    claims: String,
    program: PathBuf,
    _server: Server,
    folder: TempDir,
}

/// A bridge, killed on drop.
#[derive(Debug)]
pub(super) struct Bridge(Child);

impl Bridge {
    /// CPU time of all its live threads so far.
    ///
    /// # Errors
    ///
    /// It has ended.
    pub(super) fn cpu(&self) -> anyhow::Result<Duration> {
        cpu_of(self.0.id().context("the bridge has ended")?)
    }
}

impl Place {
    /// # Errors
    ///
    /// The hub does not start, or does not take the agent in.
    pub(super) async fn start(stage: &Stage, kafka: &str) -> anyhow::Result<Self> {
        let folder = stage.folder()?;
        let claims = format!("file://{}/", folder.path().join("claims").display());
        let data = folder.path().join("data");
        let shared = [
            "--log", "warn", "--kafka", kafka, "--claims", &claims, "--data",
        ];
        let mut arguments: Vec<String> = shared.map(str::to_owned).into();
        arguments.push(data.display().to_string());
        let grpc = free()?;
        let mut command = unset(&stage.programs.hub);
        command
            .args(["up", "--json", "--no-chat", "--model", "offline"])
            .args(["--http", "127.0.0.1:0", "--grpc", &grpc.to_string()])
            .args(&arguments)
            .env(ALLOWED.0, ALLOWED.1);
        let server = Server::start(command, grpc, folder.path()).await?;
        let hub = format!("http://{grpc}");
        let agent = Agent::start().await?;
        let program = stage.programs.hub.clone();
        add(&program, &hub, &agent.url).await?;
        let client = Client::builder(&*hub).connect().await?;
        Ok(Self {
            agent,
            hub,
            client,
            arguments,
            claims,
            program,
            _server: server,
            folder,
        })
    }

    /// URL of the store of claim checks.
    pub(super) fn claims(&self) -> &str {
        &self.claims
    }

    /// A bridge that takes tasks.
    ///
    /// # Errors
    ///
    /// It does not start.
    pub(super) async fn bridge(&self) -> anyhow::Result<Bridge> {
        let log = std::fs::File::create(self.folder.path().join("bridge.log"))?;
        let mut child = Command::from(unset(&self.program))
            .args(["bridge", "--json", "--hub", &self.hub])
            .args(&self.arguments)
            .env(ALLOWED.0, ALLOWED.1)
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .kill_on_drop(true)
            .spawn()?;
        let output = child.stdout.take().context("its output")?;
        let mut lines = BufReader::new(output).lines();
        let line = timeout(START, lines.next_line()).await;
        if !matches!(line, Ok(Ok(Some(_)))) {
            let said = std::fs::read_to_string(self.folder.path().join("bridge.log"));
            bail!("the bridge does not start: {}", said.unwrap_or_default());
        }
        Ok(Bridge(child))
    }

    /// Times of so many runs of a chain of so many steps, one run at a time.
    ///
    /// # Errors
    ///
    /// A run comes to nothing.
    pub(super) async fn runs(&self, steps: u32, count: u64) -> anyhow::Result<Vec<Duration>> {
        let mut took = Vec::new();
        for _ in 0..count {
            let request = json!({ "workflow": chain(steps), "input": { "text": AT_ONCE_TEXT } });
            let run = Delegation::to(WORKFLOWS).capability(RUN).payload(request);
            let began = Instant::now();
            let outcome = self.client.delegate(run).await?.outcome().await?;
            if !outcome.is_completed() {
                bail!("a run came to nothing: {outcome:?}");
            }
            took.push(began.elapsed());
        }
        Ok(took)
    }
}

/// Has the hub take the agent in, as soon as it can.
async fn add(program: &Path, hub: &str, url: &str) -> anyhow::Result<()> {
    let began = Instant::now();
    loop {
        let mut add = Command::from(unset(program));
        add.args(["agents", "add", url, "--id", AGENT, "--json", "--hub", hub]);
        let added = timeout(START, add.output()).await??;
        if added.status.success() {
            return Ok(());
        }
        if began.elapsed() > START {
            let said = String::from_utf8_lossy(&added.stderr);
            bail!("the hub does not take the agent in: {said}");
        }
        sleep(AGAIN).await;
    }
}

/// A workflow whose steps ask the agent one after the other, each with the answer to the one before.
fn chain(count: u32) -> Value {
    let mut before = "workflow.input.text".to_owned();
    let mut steps = Map::new();
    for step in 1..=count {
        let asked = json!({ "agent": AGENT, "text": format!("${{{before}}}") });
        steps.insert(format!("s{step}"), asked);
        before = format!("s{step}.output.text");
    }
    json!({ "name": "chain", "steps": steps })
}
