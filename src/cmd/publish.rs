//! `agenthub publish`

use std::process::ExitCode;

use agenthub_proto::{
    a2a::{Message, Role},
    agenthub::{AgentEntry, AgentEventMetadata, AgentState},
    trace::TraceContext,
};
use agenthub_sdk::{Client, Delegation, Error, Outcome};
use anyhow::bail;
use serde_json::json;

use crate::{cli::Publish, connect, output, stop::Signals};

/// Publishes a message, and waits for the answer if that is wanted.
pub(super) async fn run(args: Publish, hub: &str) -> anyhow::Result<ExitCode> {
    let client = connect::client(hub, args.from.as_deref()).await?;
    if let Some(to) = &args.to
        && let Some(line) = absence(to, &client.agent(to).await)
    {
        output::aside(output::plain(&line));
    }
    let code = match args.wait {
        true => ask(&client, args).await?,
        false => publish(&client, args).await?,
    };
    client.close().await;
    Ok(code)
}

/// What there is to say about a recipient that will not have the message at once.
fn absence(to: &str, entry: &Result<AgentEntry, Error>) -> Option<String> {
    match entry {
        Err(Error::NotFound(_)) => Some(format!(
            "agent \"{to}\" is not known here: the message waits ten minutes for it"
        )),
        Ok(entry) if entry.state() == AgentState::Offline => {
            Some(format!("{to} is offline: the message waits for it"))
        }
        // Whether anything else is in the way turns out when it is published.
        _ => None,
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_not_there_is_told() {
        let entry = |state: AgentState| {
            Ok(AgentEntry {
                state: state.into(),
                ..Default::default()
            })
        };
        let said = |entry| absence("ghost", &entry).unwrap_or_default();
        assert_eq!(
            said(Err(Error::NotFound("agent not found".into()))),
            "agent \"ghost\" is not known here: the message waits ten minutes for it"
        );
        assert_eq!(
            said(entry(AgentState::Offline)),
            "ghost is offline: the message waits for it"
        );
        assert_eq!(said(entry(AgentState::Online)), "");
        assert_eq!(said(Err(Error::Unavailable("later".into()))), "");
    }
}
