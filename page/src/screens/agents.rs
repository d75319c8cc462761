//! The agents of the hub.

use agenthub_proto::agenthub::{AgentEntry, AgentState, ListAgentsRequest};
use maud::html;

use super::waits::Absence;
use crate::{
    backend::Backend,
    elements::{Cell, Row, agent, line, next, state, table},
    live::Screen,
    place::Place,
    trouble::Trouble,
};

/// Agents on a page.
const PAGE: i32 = 50;

pub(super) async fn draw(backend: Backend, place: Place) -> Result<Screen, Trouble> {
    let (text, presence) = (place.query("q"), place.query("state"));
    let wanted = match presence {
        "here" => AgentState::Online,
        "away" => AgentState::Offline,
        _ => AgentState::Unspecified,
    };
    let request = ListAgentsRequest {
        text: text.to_owned(),
        state: wanted.into(),
        page_size: PAGE,
        page_token: place.query("page").to_owned(),
        ..Default::default()
    };
    let found = backend.hub().agents(request).await?;
    let rows: Vec<Row> = found.agents.iter().map(row).collect();
    let above = html! {
        h1 { "Agents" }
        form.filter action="/ui/agents" method="get" role="search" {
            label { span { "Name, skill or description" } input type="search" name="q" value=(text); }
            label {
                span { "Presence" }
                select name="state" {
                    @for (value, name) in [("", "any"), ("here", "here"), ("away", "away")] {
                        option value=(value) selected[value == presence] { (name) }
                    }
                }
            }
            button { "Find" }
        }
    };
    let nothing = match (text, presence) {
        ("", "") => "No agent has come yet. To start one: agenthub agent echo",
        _ => "No agent fits. Change the words, or look at all.",
    };
    let now = html! {
        (table(&["Agent", "Presence", "Version", "Open tasks", "Skills", "Description"], &rows, nothing))
        (next("/ui/agents", &[("q", text), ("state", presence)], &found.next_page_token))
    };
    Ok(Screen::new("Agents", now).above(above))
}

fn row(entry: &AgentEntry) -> Row {
    let card = entry.agent_card.clone().unwrap_or_default();
    let skills: Vec<&str> = card
        .skills
        .iter()
        .map(|skill| skill.name.as_str())
        .collect();
    Row::new([
        Cell::new(agent(&entry.agent_id)),
        Cell::new(state(presence(entry))),
        Cell::new(card.version),
        Cell::number(entry.open_tasks),
        Cell::words(line(&skills.join(", "), 100)),
        Cell::words(line(&card.description, 200)).title(&card.description),
    ])
}

/// Presence of an agent, in words.
pub(super) fn presence(entry: &AgentEntry) -> &'static str {
    match Absence::of(entry) {
        None => "here",
        Some(Absence::Silent(_)) => SILENT,
        Some(Absence::Away) => "away",
    }
}

/// Presence of an agent whose connection broke a moment ago.
pub(super) const SILENT: &str = "does not answer";
