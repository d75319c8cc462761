//! `agenthub tasks`

use agenthub_proto::{
    a2a::TaskState,
    agenthub::{AgentEvent, ListTasksRequest, SubscribeToTasksRequest},
};
use agenthub_sdk::Client;

use super::watch;
use crate::{
    cli::{Json, Tasks},
    connect, listing, output,
};

/// The tasks of one page.
const PAGE: i32 = 100;

/// Shows and cancels tasks.
pub(super) async fn run(args: Tasks, hub: &str) -> anyhow::Result<()> {
    let client = connect::client(hub, None).await?;
    match args {
        Tasks::List {
            agent,
            context,
            state,
            json,
            ..
        } => {
            let request = ListTasksRequest {
                agent_id: agent.unwrap_or_default(),
                context_id: context.unwrap_or_default(),
                states: state.into_iter().map(Into::into).collect(),
                page_size: PAGE,
                page_token: String::new(),
            };
            list(&client, request, json).await?;
        }
        Tasks::Show { id, json, .. } => {
            let task = client.task(&id, 0).await?;
            match json.json {
                true => output::json(&task)?,
                false => output::line(listing::task(&task))?,
            }
        }
        Tasks::Watch { id, json, .. } => watch_tasks(&client, id, json).await?,
        Tasks::Cancel {
            id, reason, json, ..
        } => {
            let task = client.cancel_task(&id, &reason).await?;
            match json.json {
                true => output::json(&task)?,
                false => output::line(format!("task {} is {}", task.id, task.state().label()))?,
            }
        }
    }
    client.close().await;
    Ok(())
}

async fn list(client: &Client, mut request: ListTasksRequest, json: Json) -> anyhow::Result<()> {
    let mut all = Vec::new();
    loop {
        let page = client.tasks(request.clone()).await?;
        match json.json {
            true => page.tasks.iter().try_for_each(output::json)?,
            false => all.extend(page.tasks),
        }
        if page.next_page_token.is_empty() {
            break;
        }
        request.page_token = page.next_page_token;
    }
    if !json.json {
        output::line(listing::tasks(&all))?;
    }
    Ok(())
}

/// Every task's events, or those of one task until it ends.
async fn watch_tasks(client: &Client, id: Option<String>, json: Json) -> anyhow::Result<()> {
    let request = SubscribeToTasksRequest {
        agent_id: client.agent_id().to_owned(),
        task_ids: id.iter().cloned().collect(),
        observe: true,
        ..Default::default()
    };
    let open = || client.task_events(request.clone());
    // The stream is there before the task is looked at, so that nothing happens unseen in between.
    let opened = async || {
        let Some(id) = &id else {
            return Ok(false);
        };
        let task = client.task(id, 0).await?;
        match json.json {
            true => output::json(&task)?,
            false => output::line(listing::task(&task))?,
        }
        Ok(task.state().is_terminal())
    };
    let is_last = |event: &AgentEvent| id.is_some() && ends(event);
    watch::run(client, open, opened, json, is_last).await
}

fn ends(event: &AgentEvent) -> bool {
    event.task_state().is_some_and(TaskState::is_terminal)
}
