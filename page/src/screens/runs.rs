//! The runs of Cortex and of other agents, latest first.

use agenthub_access::Action;
use agenthub_proto::cortex::{ListRunsRequest, Run};
use maud::{Markup, html};

use super::{
    run::{named, state_words, tokens},
    waits::Waits,
};
use crate::{
    backend::Backend,
    elements::{Cell, Row, agent, id_link, lapse, line, next, segment, table, time},
    live::Screen,
    place::Place,
    trouble::Trouble,
    words,
};

/// Runs on a page.
const PAGE: u32 = 50;

pub(super) async fn draw(backend: Backend, place: Place) -> Result<Screen, Trouble> {
    let (wanted, mode, thread, parts) = (
        place.query("state"),
        place.query("mode"),
        place.query("thread"),
        place.query("parts"),
    );
    let request = ListRunsRequest {
        state: wanted.to_owned(),
        mode: mode.to_owned(),
        thread_id: thread.to_owned(),
        page_size: PAGE,
        page_token: place.query("page").to_owned(),
        top_only: parts.is_empty(),
    };
    let is_unfiltered = [wanted, mode, thread, place.query("page")]
        .iter()
        .all(|filter| filter.is_empty());
    let found = backend.runs(request).await?;
    let waits = Waits::of_runs(&backend, &found.runs).await;
    let above = html! {
        h1 { "Runs" }
        p.about {
            "A run is work in several steps, written down as it happens. "
            @if backend.viewer().may(&Action::Runs) { a href="/ui/start" { "Start a run" } }
        }
        form.filter action="/ui/runs" method="get" role="search" {
            label {
                span { "State" }
                select name="state" {
                    option value="" { "any" }
                    @for label in words::RUN_STATES { option value=(label) selected[label == wanted] { (words::run_choice(label)) } }
                }
            }
            label {
                span { "Kind" }
                select name="mode" {
                    option value="" { "any" }
                    @for (name, words) in words::MODES { option value=(name) selected[name == mode] { (words) } }
                    @if !mode.is_empty() && words::MODES.iter().all(|(name, _)| *name != mode) { option value=(mode) selected { (mode) } }
                }
            }
            @if !thread.is_empty() { label { span { "Conversation" } input type="search" name="thread" value=(thread); } }
            label.check { input type="checkbox" name="parts" value="1" checked[!parts.is_empty()]; " also runs that others led to" }
            button { "Find" }
        }
    };
    let now = html! {
        @if is_unfiltered && found.runs.is_empty() {
            p.nothing { "No run yet: " a href="/ui/start" { "start one" } "." }
        } @else { (listed(&found.runs, &waits, "No run fits.")) }
        (next("/ui/runs", &[("state", wanted), ("mode", mode), ("thread", thread), ("parts", parts)], &found.next_page_token))
    };
    Ok(Screen::new("Runs", now).above(above))
}

/// Runs as a table.
pub(super) fn listed(runs: &[Run], waits: &Waits, nothing: &str) -> Markup {
    let rows: Vec<Row> = runs.iter().map(|run| row(run, waits)).collect();
    table(
        &[
            "What for", "State", "Began", "Took", "Kind", "Agent", "Tokens", "Run",
        ],
        &rows,
        nothing,
    )
}

fn row(run: &Run, waits: &Waits) -> Row {
    let link = format!("/ui/runs/{}", segment(&run.id));
    Row::new([
        Cell::words(html! { a href=(link) { (line(&named(run), 80)) } }),
        Cell::new(waits.state(&run.id, &state_words(run))),
        Cell::new(time(run.created_at.as_ref())),
        Cell::new(lapse(run.created_at.as_ref(), run.ended_at.as_ref())),
        Cell::new(words::mode(&run.mode)),
        Cell::new(agent(&run.agent)),
        Cell::number(tokens(run)),
        Cell::new(id_link("/ui/runs/", &run.id)),
    ])
}
