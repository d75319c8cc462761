//! Peers that delegate, and continue until they have every outcome.

use std::time::Duration;

use agenthub_sdk::{Client, Delegation, Pending};
use fastrand::Rng;
use tokio::{task::JoinSet, time::sleep};

use crate::{
    ledger::{Expected, Ledger, Observation},
    network, workers,
};

/// Contexts of one requester, and maximum delegations of one context.
const CONTEXTS: u32 = 2;
const DELEGATIONS: u32 = 5;

/// Pause between attempts to connect or to delegate.
const RETRY: Duration = Duration::from_millis(400);

/// Delegates under a name, and waits for the outcomes.
pub(crate) async fn run(
    name: &'static str,
    agents: &'static [&'static str],
    ledger: Ledger,
) -> turmoil::Result {
    let client = connect(name).await;
    let mut contexts = JoinSet::new();
    for context in 0..CONTEXTS {
        let context = format!("{name}/c{context}");
        contexts.spawn(converse(client.clone(), context, agents, ledger.clone()));
    }
    contexts.join_all().await;
    client.close().await;
    Ok(())
}

/// Connects, however long it takes.
pub(crate) async fn connect(name: &str) -> Client {
    loop {
        let builder = Client::builder(network::url())
            .agent_id(name)
            .watch_agents(true)
            .connector(network::dial);
        if let Ok(client) = builder.connect().await {
            return client;
        }
        sleep(RETRY).await;
    }
}

/// Delegates work one after the other, without waiting for outcomes.
async fn converse(
    client: Client,
    context: String,
    agents: &'static [&'static str],
    ledger: Ledger,
) {
    let mut rng = Rng::new();
    let mut outcomes = JoinSet::new();
    for number in 0..rng.u32(1..=DELEGATIONS) {
        sleep(Duration::from_millis(rng.u64(..3_000))).await;
        let expected = Expected {
            task: format!("{context}/t{number}"),
            context: context.clone(),
            agent: agents[rng.usize(..agents.len())],
            fails: rng.u32(..6) == 0,
        };
        ledger.expect(expected.clone());
        let Some(pending) = delegate(&client, &expected, &ledger).await else {
            return;
        };
        ledger.note(Observation::Accepted {
            task: expected.task.clone(),
        });
        outcomes.spawn(outcome(pending, ledger.clone()));
    }
    outcomes.join_all().await;
}

/// Delegates again, under the same ids, until the hub confirms it.
async fn delegate(client: &Client, expected: &Expected, ledger: &Ledger) -> Option<Pending> {
    let delegation = Delegation::to(expected.agent)
        .capability("work")
        .text(if expected.fails {
            workers::FAIL
        } else {
            "work"
        })
        .context_id(&expected.context)
        .task_id(&expected.task)
        .message_id(format!("{}/m", expected.task));
    loop {
        match client.delegate(delegation.clone()).await {
            Ok(pending) => return Some(pending),
            Err(error) if error.is_retryable() => sleep(RETRY).await,
            Err(error) => {
                ledger.note(Observation::Wrong(format!(
                    "{} was not taken: {error}",
                    expected.task
                )));
                return None;
            }
        }
    }
}

async fn outcome(pending: Pending, ledger: Ledger) {
    let task = pending.task_id().to_owned();
    ledger.note(match pending.outcome().await {
        Ok(outcome) => Observation::Outcome {
            task,
            state: outcome.state,
            text: if outcome.is_completed() {
                outcome.text
            } else {
                outcome.error
            },
            artifacts: outcome.artifacts.len(),
        },
        Err(error) => Observation::NoOutcome {
            task,
            error: error.to_string(),
        },
    });
}
