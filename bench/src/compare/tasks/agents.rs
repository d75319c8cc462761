//! Who asks and who answers: a client of the SDK, and a chain of its agents, the last of which answers at once.

use std::{net::SocketAddr, sync::Arc};

use agenthub_sdk::{
    Agent, Card, Client, Delegation, Failure, Outcome, RunningAgent, Skill, TaskContext,
};
use anyhow::bail;

use super::TEXT_BYTES;

const SKILL: &str = "answer";

/// A requester and its agents, each over a connection of its own.
#[derive(Debug)]
pub(super) struct Agents {
    client: Client,
    chain: Vec<RunningAgent>,
    request: Arc<str>,
}

impl Agents {
    /// Connects a client and so many agents, each of which takes so many tasks at a time. The client delegates to the first, each delegates to the
    /// next, and the last one answers.
    ///
    /// # Errors
    ///
    /// The hub does not take one of them.
    pub(super) async fn connect(
        hub: SocketAddr,
        hops: usize,
        in_flight: usize,
    ) -> anyhow::Result<Self> {
        let url = format!("http://{hub}");
        let concurrency = u32::try_from(in_flight)?;
        let request: Arc<str> = "q".repeat(TEXT_BYTES).into();
        let mut chain = Vec::with_capacity(hops);
        for hop in 1..=hops {
            let skill = Skill::new(SKILL, "Answer", "Answers at once");
            let card = Card::new(name(hop), "Answers a question").skill(skill);
            let agent = Agent::worker(card).concurrency(concurrency);
            let agent = match hop == hops {
                true => agent.on(SKILL, answer),
                false => agent.on(SKILL, move |task| pass_on(task, hop + 1)),
            };
            chain.push(agent.start(&url).await?);
        }
        let client = Client::builder(url).connect().await?;
        Ok(Self {
            client,
            chain,
            request,
        })
    }

    /// Has the chain do a task, and waits for its outcome.
    pub(super) fn task(
        &self,
    ) -> impl Fn() -> futures_util::future::BoxFuture<'static, anyhow::Result<()>> + Clone + Send + 'static
    {
        let (client, request) = (self.client.clone(), Arc::clone(&self.request));
        move || {
            let (client, request) = (client.clone(), Arc::clone(&request));
            Box::pin(async move {
                let pending = client.delegate(delegation(1, &request)).await?;
                let outcome = pending.outcome().await?;
                match is_answer(&outcome) {
                    true => Ok(()),
                    false => bail!("a task came to nothing: {outcome:?}"),
                }
            })
        }
    }

    /// Says goodbye.
    pub(super) async fn leave(self) {
        self.client.close().await;
        for agent in self.chain {
            agent.stop().await;
        }
    }
}

async fn answer(_: TaskContext) -> Result<String, Failure> {
    Ok("a".repeat(TEXT_BYTES))
}

async fn pass_on(task: TaskContext, to: usize) -> Result<String, Failure> {
    let pending = task.delegate(delegation(to, &task.text())).await?;
    Ok(pending.outcome().await?.text)
}

fn delegation(hop: usize, text: &str) -> Delegation {
    Delegation::to(name(hop)).capability(SKILL).text(text)
}

fn is_answer(outcome: &Outcome) -> bool {
    outcome.is_completed() && outcome.text.len() == TEXT_BYTES
}

fn name(hop: usize) -> String {
    format!("bench-agent-{hop}")
}
