//! The screens, one file each, and what people can do on them.

mod agent;
mod agents;
mod chat;
mod client;
mod comparison;
mod events;
mod file;
mod mailboxes;
mod moment;
mod overview;
mod run;
mod run_actions;
mod runs;
mod start;
mod task;
mod tasks;
mod teams;
mod waits;
mod waterfall;
mod welcome;

use agenthub_access::{Admitted, PageRefusal};
use axum::{
    Extension, Router,
    extract::DefaultBodyLimit,
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::{MethodRouter, get, post},
};

use crate::{
    Pages,
    live::{followed, screen},
    shell::Section,
    trouble::Trouble,
    viewer::Viewer,
};

pub(crate) fn router() -> Router<Pages> {
    Router::new()
        .route("/", screen(Section::Overview, overview::draw))
        .route("/ui/chat", get(chat::begin).merge(say()))
        .route(
            "/ui/chat/{thread}",
            followed(Section::Chat, chat::Conversation::new).merge(say()),
        )
        .route("/ui/chat/{thread}/stop/{run}", post(chat::stop))
        .route("/ui/agents", screen(Section::Agents, agents::draw))
        .route("/ui/agents/{agent}", screen(Section::Agents, agent::draw))
        .route("/ui/agents/{agent}/ask", post(agent::ask))
        .route("/ui/tasks", screen(Section::Tasks, tasks::draw))
        .route("/ui/tasks/{task}", screen(Section::Tasks, task::draw))
        .route("/ui/tasks/{task}/cancel", post(task::cancel))
        .route("/ui/tasks/{task}/file", get(file::save))
        .route("/ui/runs", screen(Section::Runs, runs::draw))
        .route("/ui/runs/{run}", followed(Section::Runs, run::Watched::new))
        .route("/ui/runs/{run}/cancel", post(run_actions::cancel))
        .route("/ui/runs/{run}/retry", post(run_actions::retry))
        .route("/ui/runs/{run}/decide", post(run_actions::decide))
        .route("/ui/runs/{run}/fork", post(run_actions::fork))
        .route("/ui/runs/{run}/at", get(moment::show))
        .route(
            "/ui/runs/{run}/steps",
            screen(Section::Runs, run::all_steps),
        )
        .route("/ui/runs/{run}/with", get(comparison::find))
        .route(
            "/ui/runs/{run}/with/{other}",
            screen(Section::Runs, comparison::draw),
        )
        .route("/ui/start", get(start::show))
        .route("/ui/start/plan", post(start::plan_it))
        .route("/ui/start/invitations", post(start::invite_people))
        .route("/ui/teams", get(teams::show))
        .route("/ui/teams/report", get(teams::compliance))
        .route("/ui/mailboxes", screen(Section::Mailboxes, mailboxes::draw))
        .route("/ui/letters/{letter}/retry", post(mailboxes::retry))
        .route("/ui/letters/{letter}/drop", post(mailboxes::drop_letter))
        .route(
            "/ui/events",
            followed(Section::Events, events::Watching::new),
        )
        .route(PageRefusal::ROUTE, get(refused))
        .route("/ui", get(nowhere))
        .route("/ui/{*rest}", get(nowhere))
}

/// Words for Cortex, with files.
fn say() -> MethodRouter<Pages> {
    post(chat::say).layer(DefaultBodyLimit::max(chat::MAX_READ))
}

/// The page for who may not see the one that was asked for.
async fn refused(
    refusal: Option<Extension<PageRefusal>>,
    viewer: Option<Extension<Admitted>>,
) -> Response {
    let (Some(Extension(refusal)), Some(Extension(admitted))) = (refusal, viewer) else {
        return nowhere().await.into_response();
    };
    let why = format!(
        "You may not see this page: {}. Who runs the hub can give you a role that may.",
        refusal.why
    );
    let trouble = Trouble::new(StatusCode::FORBIDDEN, why);
    trouble.page(&refusal.path, Some(&Viewer::new(&admitted)))
}

async fn nowhere() -> Trouble {
    Trouble::new(StatusCode::NOT_FOUND, "There is no page at this address.")
}
