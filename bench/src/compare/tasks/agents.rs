//! The hub's side: a client of the SDK that delegates, and a chain of agents, the last of which answers at once.

use std::net::SocketAddr;

use agenthub_sdk::{
    Agent, Card, Client, Delegation, Failure, Outcome, RunningAgent, Skill, TaskContext,
};
use anyhow::bail;

use super::{Request, TEXT_BYTES, request, text};

const SKILL: &str = "answer";

/// A requester and its agents, each with its own connection.
#[derive(Debug)]
pub(super) struct Agents {
    client: Client,
    chain: Vec<RunningAgent>,
}

impl Agents {
    /// Connects a client and a chain of agents with this concurrency. The client delegates to the first, each delegates
    /// to the next, and the last one answers.
    ///
    /// # Errors
    ///
    /// The hub refuses one of them.
    pub(super) async fn connect(
        hub: SocketAddr,
        hops: usize,
        in_flight: usize,
    ) -> anyhow::Result<Self> {
        let url = format!("http://{hub}");
        let concurrency = u32::try_from(in_flight)?;
        let mut chain = Vec::with_capacity(hops);
        for hop in 1..=hops {
            let skill = Skill::new(SKILL, "Answer", "Answers at once");
            let card = Card::new(name(hop), "Answers a question").skill(skill);
            let agent = Agent::worker(card).concurrency(concurrency);
            let agent = match hop == hops {
                true => agent.on_task_type(SKILL, answer),
                false => agent.on_task_type(SKILL, move |task| pass_on(task, hop + 1)),
            };
            chain.push(agent.start(&url).await?);
        }
        let client = Client::builder(url).connect().await?;
        Ok(Self { client, chain })
    }

    /// Delegates a task to the chain, and waits for its outcome.
    pub(super) fn request(&self) -> Request {
        let (client, text) = (self.client.clone(), text('q'));
        request(move || {
            let (client, delegation) = (client.clone(), delegation(1, &text));
            async move {
                let outcome = client.delegate(delegation).await?.outcome().await?;
                match is_answer(&outcome) {
                    true => Ok(()),
                    false => bail!("a task came to nothing: {outcome:?}"),
                }
            }
        })
    }

    /// Disconnects with a goodbye.
    pub(super) async fn leave(self) {
        self.client.close().await;
        for agent in self.chain {
            agent.stop().await;
        }
    }
}

async fn answer(_: TaskContext) -> Result<String, Failure> {
    Ok(text('a'))
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
