//! A client that asks for tasks and is no agent.

use agenthub_proto::agenthub::ListTasksRequest;
use maud::html;

use super::{tasks, waits::Waits};
use crate::{
    backend::Backend,
    clients::Client,
    elements::{segment, short, state},
    live::Screen,
    trouble::Trouble,
};

/// Tasks that are shown.
const SHOWN: i32 = 10;

/// The page of an id that no agent has.
///
/// # Errors
///
/// `unknown`, where nothing is known of it.
pub(super) async fn draw(backend: &Backend, id: &str, unknown: Trouble) -> Result<Screen, Trouble> {
    let request = ListTasksRequest {
        agent_id: id.to_owned(),
        page_size: SHOWN,
        ..ListTasksRequest::default()
    };
    let tasks = backend.hub().tasks(request).await?.tasks;
    let client = Client::of(id);
    if client.is_none() && tasks.is_empty() {
        return Err(unknown);
    }
    let waits = Waits::of_tasks(backend, &tasks).await;
    let now = html! {
        h1 { code { (id) } " " (state("no agent")) }
        @match client {
            Some(client) => {
                p { "This is " (client.drawn()) ". " (client.kind.about()) }
            },
            None => {
                p { "No agent of this name is in the directory, so it cannot be asked for anything. It is a program that asked for tasks under this name, or an agent that has left." }
            },
        }
        h2 { "Its latest tasks" }
        (tasks::listed(&tasks, &waits, "It has asked for nothing yet."))
        p { a href={ "/ui/tasks?agent=" (segment(id)) } { "All its tasks" } }
    };
    Ok(Screen::new(short(id), now))
}
