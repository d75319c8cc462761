//! `agenthub publish`

use std::process::ExitCode;

use agenthub_proto::{
    a2a::{Message, Role},
    agenthub::AgentEventMetadata,
    trace::TraceContext,
};
use agenthub_sdk::{Client, Delegation, Outcome};
use anyhow::bail;
use serde_json::json;

use crate::{cli::Publish, connect, output, stop::Signals};

/// Publishes a message, and waits for the answer if that is wanted.
pub(super) async fn run(args: Publish, hub: &str) -> anyhow::Result<ExitCode> {
    let client = connect::client(hub, args.from.as_deref()).await?;
    let code = match args.wait {
        true => ask(&client, args).await?,
        false => publish(&client, args).await?,
    };
    client.close().await;
    Ok(code)
}

async fn publish(client: &Client, args: Publish) -> anyhow::Result<ExitCode> {
    let mut message = Message::new(Role::User, args.text);
    if let Some(task_type) = args.task_type {
        message = message.with_metadata("task_type", task_type);
    }
    message.context_id = args.context.unwrap_or_default();
    message.task_id = args.task.unwrap_or_default();
    let routing = AgentEventMetadata {
        to_agent_id: args.to.unwrap_or_default(),
        traceparent: TraceContext::start().to_string(),
        ..Default::default()
    };
    let published = client.publish(message, routing).await?;
    match args.json.json {
        true => output::line(json!({"eventId": published.event_id}).to_string())?,
        false => output::line(published.event_id)?,
    }
    Ok(ExitCode::SUCCESS)
}

async fn ask(client: &Client, args: Publish) -> anyhow::Result<ExitCode> {
    let mut delegation = Delegation::to(args.to.unwrap_or_default())
        .capability(args.task_type.unwrap_or_default())
        .context_id(args.context.unwrap_or_default())
        .text(args.text);
    if let Some(task) = args.task {
        delegation = delegation.task_id(task);
    }
    if delegation.agent.is_empty() && delegation.capability.is_empty() {
        bail!("nobody to wait for: add --to AGENT or --task-type TYPE");
    }
    let mut signals = Signals::new()?;
    let pending = client.delegate(delegation).await?;
    let task_id = pending.task_id().to_owned();
    let outcome = tokio::select! {
        outcome = pending.outcome() => outcome?,
        _ = signals.next() => {
            client.cancel_task(&task_id, "cancelled by the user").await?;
            bail!("task {task_id} was cancelled");
        }
    };
    print(&outcome, args.json.json)
}

fn print(outcome: &Outcome, json: bool) -> anyhow::Result<ExitCode> {
    if json {
        let value = json!({
            "taskId": outcome.task_id,
            "agent": outcome.agent,
            "state": outcome.state.label(),
            "text": outcome.text,
            "error": outcome.error,
        });
        output::line(value.to_string())?;
    } else if outcome.is_completed() {
        output::line(output::plain(&outcome.text))?;
    } else {
        let (id, state) = (&outcome.task_id, outcome.state.label());
        bail!("task {id} is {state}: {}", outcome.error);
    }
    match outcome.is_completed() {
        true => Ok(ExitCode::SUCCESS),
        false => Ok(ExitCode::FAILURE),
    }
}
