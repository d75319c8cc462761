//! `agenthub up` with chains of steps as agents, and the agent that their steps ask.

use std::{fmt::Write as _, fs, time::Duration};

use agenthub_sdk::{Agent, Card, Client, Delegation, Failure, RunningAgent, Skill, TaskContext};
use anyhow::{Context as _, bail};
use tempfile::TempDir;
use tokio::time::{Instant, sleep};

use super::runs::{Measured, measure};
use crate::{
    compare::{
        scene::Stage,
        server::{Server, free},
        tasks::{Request, request, text},
    },
    program::unset,
};

/// The agent that steps ask.
const AGENT: &str = "bench";

/// Time until the workflows are agents.
const READY: Duration = Duration::from_secs(10);

/// Steps that the agent works on at a time.
const CONCURRENCY: u32 = 1_024;

/// The hub, the agent, and a client. The hub is killed on drop.
#[derive(Debug)]
pub(super) struct Place {
    server: Server,
    agent: RunningAgent,
    client: Client,
    _folder: TempDir,
}

impl Place {
    /// A hub with chains of these numbers of steps.
    ///
    /// # Errors
    ///
    /// The hub does not start, or a workflow does not become an agent.
    pub(super) async fn start<const N: usize>(
        stage: &Stage,
        chains: [u32; N],
    ) -> anyhow::Result<Self> {
        let folder = stage.folder()?;
        let flows = folder.path().join("flows");
        fs::create_dir(&flows)?;
        for steps in chains {
            let file = flows.join(format!("{}.yaml", name(steps)));
            fs::write(file, chain(steps))?;
        }
        let grpc = free()?;
        let mut command = unset(&stage.programs.hub);
        command
            .args([
                "up",
                "--json",
                "--no-chat",
                "--log",
                "warn",
                "--model",
                "offline",
            ])
            .args(["--http", "127.0.0.1:0", "--grpc", &grpc.to_string()])
            .arg("--data")
            .arg(folder.path().join("data"))
            .arg("--workflows")
            .arg(flows);
        let server = Server::start(command, grpc, folder.path()).await?;
        let skill = Skill::new(AGENT, "Answer", "Answers at once");
        let card = Card::new(AGENT, "Answers a question").skill(skill);
        let answer = async |_: TaskContext| Ok::<_, Failure>(text('a'));
        let agent = Agent::worker(card)
            .concurrency(CONCURRENCY)
            .on_task_type(AGENT, answer);
        let url = format!("http://{grpc}");
        let agent = agent.start(&url).await?;
        let client = Client::builder(url).connect().await?;
        for steps in chains {
            ready(&client, &name(steps)).await?;
        }
        Ok(Self {
            server,
            agent,
            client,
            _folder: folder,
        })
    }

    /// Measures runs of the chain of this many steps.
    ///
    /// # Errors
    ///
    /// One of them comes to nothing.
    pub(super) async fn measure(
        &self,
        steps: u32,
        at_once: usize,
        runs: u64,
    ) -> anyhow::Result<Measured> {
        measure(&self.server, &self.request(steps), at_once, runs).await
    }

    /// A run of the chain of this many steps.
    fn request(&self, steps: u32) -> Request {
        let (client, text) = (self.client.clone(), text('q'));
        request(move || {
            let client = client.clone();
            let delegation = Delegation::to(name(steps)).payload(serde_json::json!({"text": text}));
            async move {
                let outcome = client.delegate(delegation).await?.outcome().await?;
                match outcome.is_completed() {
                    true => Ok(()),
                    false => bail!("a run came to nothing: {outcome:?}"),
                }
            }
        })
    }

    /// Disconnects with a goodbye.
    pub(super) async fn stop(self) {
        self.client.close().await;
        self.agent.stop().await;
    }
}

fn name(steps: u32) -> String {
    format!("chain-{steps}")
}

/// A workflow whose steps ask the agent one after the other, each with the answer to the one before.
fn chain(steps: u32) -> String {
    let mut file = format!(
        "name: {}\nversion: \"1\"\ndescription: Asks {steps} times\ninput:\n  type: object\n  required: [text]\n  \
         properties: {{ text: {{ type: string }} }}\nsteps:\n",
        name(steps)
    );
    let mut before = "workflow.input.text".to_owned();
    for step in 1..=steps {
        // Writing to a string does not fail.
        let _ = writeln!(
            file,
            "  s{step}: {{ agent: {AGENT}, text: \"${{{before}}}\" }}"
        );
        before = format!("s{step}.output.text");
    }
    file
}

/// Waits until a workflow is an agent.
async fn ready(client: &Client, agent: &str) -> anyhow::Result<()> {
    let began = Instant::now();
    while let Err(error) = client.agent(agent).await {
        if began.elapsed() > READY {
            return Err(error).with_context(|| format!("{agent} does not become an agent"));
        }
        sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_step_of_a_chain_has_the_answer_to_the_one_before() {
        let chain = chain(2);
        assert!(chain.contains("s1: { agent: bench, text: \"${workflow.input.text}\" }"));
        assert!(chain.contains("s2: { agent: bench, text: \"${s1.output.text}\" }"));
    }
}
