//! `agenthub tasks`

use std::{
    io::{self, IsTerminal},
    time::SystemTime,
};

use agenthub_proto::{
    a2a::{Task, TaskState},
    agenthub::{AgentEvent, ListTasksRequest, SubscribeToTasksRequest},
};
use agenthub_sdk::{Client, Error};
use anyhow::Context;

use super::{args::Tasks, watch};
use crate::{
    connect,
    flags::Json,
    ids::{LATEST, meant},
    listing, output,
    run::width,
};

/// The tasks of one page.
const PAGE: i32 = 100;

/// The tasks of a table, unless it is said how many.
const LISTED: usize = 50;

/// The latest tasks among which the beginning of an id is looked for.
const LOOKED_AT: usize = 5_000;

/// Shows and cancels tasks.
pub async fn run(args: Tasks, hub: &str) -> anyhow::Result<()> {
    let client = connect::client(hub, None).await?;
    match args {
        Tasks::List {
            agent,
            context,
            state,
            first,
            query,
        } => {
            let request = ListTasksRequest {
                agent_id: agent.unwrap_or_default(),
                context_id: context.unwrap_or_default(),
                states: state.into_iter().map(Into::into).collect(),
                ..Default::default()
            };
            list(&client, request, first, query.json).await?;
        }
        Tasks::Show { id, query } => {
            let task = client.task(&task_id(&client, id).await?, 0).await?;
            match query.json.json {
                true => output::json(&task)?,
                false => output::line(listing::task(&task))?,
            }
        }
        Tasks::Watch { id, query } => {
            let id = match id {
                Some(id) => Some(task_id(&client, id).await?),
                None => None,
            };
            watch_tasks(&client, id, query.json).await?;
        }
        Tasks::Cancel { id, reason, query } => {
            let id = task_id(&client, id).await?;
            let task = client.cancel_task(&id, &reason).await?;
            match query.json.json {
                true => output::json(&task)?,
                false => output::line(format!("task {} is {}", task.id, task.state().label()))?,
            }
        }
    }
    client.close().await;
    Ok(())
}

/// The task that is meant by an id, the beginning of one, or `latest`.
async fn task_id(client: &Client, given: String) -> anyhow::Result<String> {
    if given != LATEST {
        match client.task(&given, 0).await {
            Err(Error::NotFound(_)) => {}
            // What else is wrong is said when it is asked for.
            Ok(_) | Err(_) => return Ok(given),
        }
    }
    let most = if given == LATEST { 1 } else { LOOKED_AT };
    let known = tasks(client, ListTasksRequest::default(), most).await?;
    if given == LATEST {
        let latest = known.into_iter().next();
        return latest.map(|task| task.id).context("there are no tasks");
    }
    let found = meant(&given, known.iter().map(|task| task.id.as_str()))?;
    found.with_context(|| {
        format!("there is no task \"{given}\", nor one among the latest whose id begins so: `agenthub tasks list` shows them")
    })
}

/// Hands the tasks that fit to `each`, page by page, latest change first, `most` of them.
async fn pages(
    client: &Client,
    mut request: ListTasksRequest,
    most: usize,
    mut each: impl FnMut(Vec<Task>) -> io::Result<()>,
) -> anyhow::Result<()> {
    let mut left = most;
    while left > 0 {
        request.page_size = i32::try_from(left).map_or(PAGE, |left| left.min(PAGE));
        let page = client.tasks(request.clone()).await?;
        left = left.saturating_sub(page.tasks.len());
        each(page.tasks)?;
        if page.next_page_token.is_empty() {
            break;
        }
        request.page_token = page.next_page_token;
    }
    Ok(())
}

/// The tasks that fit, latest change first, `most` of them.
async fn tasks(
    client: &Client,
    request: ListTasksRequest,
    most: usize,
) -> anyhow::Result<Vec<Task>> {
    let mut all = Vec::new();
    let collect = |page| {
        all.extend(page);
        Ok(())
    };
    pages(client, request, most, collect).await?;
    Ok(all)
}

async fn list(
    client: &Client,
    request: ListTasksRequest,
    first: Option<usize>,
    json: Json,
) -> anyhow::Result<()> {
    if json.json {
        let print = |page: Vec<Task>| page.iter().try_for_each(output::json);
        return pages(client, request, first.unwrap_or(usize::MAX), print).await;
    }
    let first = first.unwrap_or(LISTED);
    // One more tells whether there are more.
    let mut all = tasks(client, request, first.saturating_add(1)).await?;
    let has_more = all.len() > first;
    all.truncate(first);
    let width = io::stdout().is_terminal().then(width);
    output::line(listing::tasks(&all, SystemTime::now(), width))?;
    if has_more {
        output::aside("there are more: --first N shows N of them");
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
    let stream = client.task_events(request).await?;
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
    watch::run(client, stream, opened, json, is_last).await
}

fn ends(event: &AgentEvent) -> bool {
    event.task_state().is_some_and(TaskState::is_terminal)
}
