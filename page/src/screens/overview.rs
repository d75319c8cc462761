//! The overview: who is here, what is at work, what waits for a person, what went wrong.

use agenthub_access::Action;
use agenthub_proto::{
    a2a::TaskState,
    agenthub::{
        AgentState, ListAgentsRequest, ListDeadLettersRequest, ListTasksRequest, TaskExtent,
    },
    cortex::ListRunsRequest,
};
use maud::{Markup, html};

use super::{
    agents::presence,
    run, runs, tasks,
    waits::{Absence, Waits},
    welcome,
};
use crate::{
    backend::Backend,
    elements::{agent, segment, state},
    live::Screen,
    place::Place,
    trouble::Trouble,
    words,
};

/// Agents, tasks and runs that are shown of each.
const SHOWN: i32 = 10;

/// Agents here whose names are shown.
const NAMED: i32 = 50;

pub(super) async fn draw(backend: Backend, _: Place) -> Result<Screen, Trouble> {
    let present = ListAgentsRequest {
        state: AgentState::Online.into(),
        page_size: NAMED,
        count: true,
        ..Default::default()
    };
    let away = ListAgentsRequest {
        state: AgentState::Offline.into(),
        page_size: 1,
        ..present.clone()
    };
    let present = seen(backend.hub().agents(present).await)?;
    let away = seen(backend.hub().agents(away).await)?;
    let letters = dead_letters(&backend).await?;
    let open = of(
        &backend,
        &[
            TaskState::Submitted,
            TaskState::Working,
            TaskState::InputRequired,
            TaskState::AuthRequired,
        ],
    )
    .await?;
    let failed = of(&backend, &[TaskState::Failed, TaskState::Rejected]).await?;
    let lacking = [TaskExtent::Part, TaskExtent::Nothing].map(|extent| lacking(&backend, extent));
    let [in_part, nothing] = lacking;
    let (in_part, nothing) = (in_part.await?, nothing.await?);
    let waits = Waits::of_tasks(&backend, &open.tasks).await;
    let none = Waits::default();
    let now = html! {
        h1 { "Overview" }
        (welcome::drawn(backend.viewer()))
        (approvals(&backend).await)
        ul.numbers {
            (number("/ui/agents?state=here", "agents here", present.total_size.to_string()))
            (number("/ui/agents?state=away", "agents away", away.total_size.to_string()))
            (number("/ui/tasks", "open tasks", open.total_size.to_string()))
            (number("#failed", "failed or rejected tasks", failed.total_size.to_string()))
            @if in_part > 0 { (number(&of_state(words::IN_PART), "tasks done in part", in_part.to_string())) }
            @if nothing > 0 { (number(&of_state(words::NOTHING_DONE), "tasks with nothing done", nothing.to_string())) }
            @if let Some(letters) = letters { (number("/ui/mailboxes", "dead letters", letters)) }
        }
        (latest_runs(&backend).await)
        h2 { "Open tasks" }
        (tasks::listed(&open.tasks, &waits, "Nothing is at work. What agents are asked for stands here until it ends."))
        h2 #failed { "Failed last" }
        (tasks::listed(&failed.tasks, &none, "Nothing has failed."))
        @if backend.viewer().may(&Action::Operate) { (backend.watch().drawn()) }
        h2 { "Agents here" }
        ul.inline {
            @for entry in &present.agents {
                li { (agent(&entry.agent_id)) @if Absence::of(entry).is_some() { " " (state(presence(entry))) } }
            }
        }
    };
    Ok(Screen::new("Overview", now))
}

/// The number of dead letters, for who may do something about them.
async fn dead_letters(backend: &Backend) -> Result<Option<String>, Trouble> {
    if !backend.viewer().may(&Action::Operate) {
        return Ok(None);
    }
    let letters = ListDeadLettersRequest {
        page_size: 1,
        count: true,
        ..Default::default()
    };
    let letters = backend.hub().dead_letters(letters).await?;
    Ok(Some(letters.total_size.to_string()))
}

async fn of(
    backend: &Backend,
    states: &[TaskState],
) -> Result<agenthub_proto::agenthub::ListTasksResponse, Trouble> {
    let request = ListTasksRequest {
        states: states.iter().map(|state| (*state).into()).collect(),
        page_size: SHOWN,
        count: true,
        on_behalf_of: backend.viewer().whose_tasks(),
        ..Default::default()
    };
    seen(backend.hub().tasks(request).await)
}

/// Number of completed tasks of which less than all was done.
async fn lacking(backend: &Backend, extent: TaskExtent) -> Result<u32, Trouble> {
    let request = ListTasksRequest {
        states: vec![TaskState::Completed.into()],
        extents: vec![extent.into()],
        page_size: 1,
        count: true,
        on_behalf_of: backend.viewer().whose_tasks(),
        ..Default::default()
    };
    Ok(seen(backend.hub().tasks(request).await)?.total_size)
}

/// The tasks of a state.
fn of_state(state: &str) -> String {
    format!("/ui/tasks?state={}", segment(state))
}

/// Lists that the viewer may not see are shown as empty.
fn seen<T: Default>(answer: Result<T, Trouble>) -> Result<T, Trouble> {
    match answer {
        Err(trouble) if trouble.is_denied() => Ok(T::default()),
        answer => answer,
    }
}

/// Approvals that wait for a person.
async fn approvals(backend: &Backend) -> Markup {
    // A hub without Cortex has none, and says so below.
    let approvals = backend.approvals().await.unwrap_or_default();
    html! {
        @if !approvals.is_empty() {
            div #approvals { @for approval in &approvals { (run::asked(approval)) } }
        }
    }
}

/// The latest runs; a hub without Cortex says so.
async fn latest_runs(backend: &Backend) -> Markup {
    let latest = backend
        .runs(ListRunsRequest {
            top_only: true,
            page_size: SHOWN.unsigned_abs(),
            ..Default::default()
        })
        .await;
    let listed = latest.as_ref().map(|latest| &*latest.runs);
    let waits = Waits::of_runs(backend, listed.unwrap_or_default()).await;
    html! {
        h2 { "Latest runs" }
        @match latest {
            Ok(latest) => (runs::listed(&latest.runs, &waits, "None yet: start one, or ask Cortex for something in the chat.")),
            Err(trouble) => (trouble.aside()),
        }
    }
}

fn number(path: &str, name: &str, number: String) -> Markup {
    html! { li { a href=(path) { b { (number) } " " (name) } } }
}
