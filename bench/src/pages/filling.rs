//! Agents and ended tasks, as many as wanted.

use std::ops::Range;

use agenthub_sdk::{
    Card, Client,
    proto::{
        a2a::{Message, Role, TaskState, TaskStatus},
        agenthub::{
            AgentEventMetadata, RegisterAgentRequest, TaskStatusUpdateEvent,
            agent_hub_client::AgentHubClient,
        },
    },
};
use anyhow::Context as _;
use futures_util::{StreamExt, TryStreamExt, stream};
use tokio::time::Instant;
use tonic::transport::Endpoint;

use super::mail;

/// Requests in flight.
const AT_ONCE: usize = 256;

/// Tasks of a request: one that leads to the others.
pub(super) const TOGETHER: usize = 10;

/// One in so many tasks fails.
const FAILS: usize = 100;

/// The agent that does the tasks.
pub(super) const WORKER: &str = "agent0";

/// Id of a task.
pub(super) fn task(number: usize) -> String {
    format!("task{number}")
}

/// Context of a task's request.
pub(super) fn context(number: usize) -> String {
    format!("request{}", number / TOGETHER)
}

/// Registers agents.
pub(super) async fn agents(hub: &str, numbers: Range<usize>) -> anyhow::Result<()> {
    let channel = Endpoint::from_shared(hub.to_owned())?.connect().await?;
    let client = AgentHubClient::new(channel);
    let all = stream::iter(numbers).map(|n| {
        let mut client = client.clone();
        async move {
            let card = Card::new(format!("agent{n}"), "Is one of very many agents");
            let request = RegisterAgentRequest {
                agent_card: Some(card.into()),
                ..Default::default()
            };
            client
                .register_agent(request)
                .await
                .context("registering")?;
            anyhow::Ok(())
        }
    });
    all.buffer_unordered(AT_ONCE).try_collect().await
}

/// Makes tasks that have ended, in requests of [`TOGETHER`], and says how long it took.
pub(super) async fn tasks(hub: &str, numbers: Range<usize>) -> anyhow::Result<()> {
    let (began, count) = (Instant::now(), numbers.len());
    let asker = Client::builder(hub).agent_id("asker").connect().await?;
    let worker = Client::builder(hub).agent_id(WORKER).connect().await?;
    let reading = (
        mail::read(&asker, "asker").await?,
        mail::read(&worker, WORKER).await?,
    );
    let all = stream::iter(numbers.step_by(TOGETHER)).map(|first| {
        let (asker, worker) = (&asker, &worker);
        async move {
            ask(asker, first, "").await?;
            let first_task = task(first);
            for n in first + 1..first + TOGETHER {
                ask(asker, n, &first_task).await?;
                end(worker, n).await?;
            }
            end(worker, first).await
        }
    });
    all.buffer_unordered(AT_ONCE).try_collect::<()>().await?;
    drop(reading);
    asker.close().await;
    worker.close().await;
    eprintln!("{count} tasks more, in {:.0?}", began.elapsed());
    Ok(())
}

async fn ask(asker: &Client, number: usize, parent: &str) -> anyhow::Result<()> {
    let message = Message {
        task_id: task(number),
        context_id: context(number),
        ..Message::new(Role::User, "do it")
    };
    let routing = AgentEventMetadata {
        to_agent_id: WORKER.into(),
        parent_task_id: parent.to_owned(),
        ..Default::default()
    };
    asker.publish(message, routing).await.context("asking")?;
    Ok(())
}

async fn end(worker: &Client, number: usize) -> anyhow::Result<()> {
    let state = match number % FAILS {
        1 => TaskState::Failed,
        _ => TaskState::Completed,
    };
    let update = TaskStatusUpdateEvent {
        task_id: task(number),
        status: Some(TaskStatus {
            state: state.into(),
            ..Default::default()
        }),
        r#final: true,
        ..Default::default()
    };
    worker
        .publish_status(update, AgentEventMetadata::default())
        .await
        .context("ending")?;
    Ok(())
}
