//! One agent: its card, its processes, and a form to try it.

use std::collections::HashMap;

use agenthub_access::Action;
use agenthub_proto::{
    a2a::{AgentSkill, Message, Part, Role},
    agenthub::{AgentEntry, AgentEventMetadata},
};
use agenthub_sdk::internal::{Contract, contracts, task_type};
use axum::{extract::Form, response::Redirect};
use maud::{Markup, html};
use serde_json::Value;
use uuid::Uuid;

use super::{
    agents::{SILENT, presence},
    client,
    waits::Absence,
};
use crate::{
    backend::Backend,
    elements::{Cell, Row, data, segment, state, table, time},
    live::Screen,
    place::Place,
    skill_form,
    trouble::Trouble,
};

pub(super) async fn draw(backend: Backend, place: Place) -> Result<Screen, Trouble> {
    let entry = match backend.hub().agent(place.path("agent")).await {
        Err(trouble) if trouble.is_not_found() => {
            return client::draw(&backend, place.path("agent"), trouble).await;
        }
        entry => entry?,
    };
    let card = entry.agent_card.clone().unwrap_or_default();
    let contracts = contracts(&card);
    let instances: Vec<Row> = entry
        .instances
        .iter()
        .map(|instance| {
            Row::new([
                Cell::new(html! { code { (instance.instance_id) } }),
                Cell::new(&instance.version),
                Cell::new(time(instance.connected_at.as_ref())),
                Cell::new(match &instance.lost_at {
                    Some(lost) => html! { (state(SILENT)) " since " (time(Some(lost))) },
                    None => state("here"),
                }),
            ])
        })
        .collect();
    let now = html! {
        h1 { (entry.agent_id) " " (state(presence(&entry))) }
        @if let Some(silent @ Absence::Silent(_)) = Absence::of(&entry) {
            p.notice.warn { "It " (silent.words()) ": its connection broke, and it has a moment to come back before it counts as away." }
        }
        p { (card.description) }
        dl {
            dt { "Version" } dd { (entry.versions.join(", ")) }
            dt { "Registered" } dd { (time(entry.registered_at.as_ref())) }
            dt { "Open tasks" } dd { (entry.open_tasks) ", " a href={ "/ui/tasks?agent=" (segment(&entry.agent_id)) } { "all tasks of this agent" } }
            @if backend.viewer().may(&Action::Operate) { dt { "Mail" } dd { a href={ "/ui/mailboxes?agent=" (segment(&entry.agent_id)) } { "what waits for it" } } }
            @if !entry.subscriptions.is_empty() { dt { "Topics" } dd { (entry.subscriptions.join(", ")) } }
        }
        h2 { "Processes" }
        (table(&["Instance", "Version", "Connected", "Presence"], &instances, "None is connected: what is asked of this agent waits in its mailbox until it is back."))
        h2 { "Skills" }
        @for skill in &card.skills {
            details {
                summary { b { (skill.name) } " " code { (skill.id) } }
                (self::skill(skill, contracts.get(&skill.id)))
            }
        }
        @if card.skills.is_empty() { p.nothing { "The card names none." } }
    };
    let below = html! {
        h2 #try { "Try it" }
        p.about { "What you ask here becomes a task of this agent. Its page shows the answer as it comes." }
        @if presence(&entry) == "away" { p.notice.warn { "This agent is away. What is asked of it waits until it is back." } }
        @if !backend.viewer().may(&Action::Send { to: &entry.agent_id }) {
            p.nothing { "You may not send to this agent." }
        } @else {
            @for skill in &card.skills { (form(&entry, skill, contracts.get(&skill.id), &place)) }
            @if card.skills.is_empty() { (form(&entry, &AgentSkill::default(), None, &place)) }
        }
    };
    Ok(Screen::new(entry.agent_id.clone(), now).below(below))
}

fn skill(skill: &AgentSkill, contract: Option<&Contract>) -> Markup {
    let schema = |name: &str, schema: Option<&Value>| {
        html! {
            @if let Some(schema) = schema { h3 { (name) } (data(schema)) }
        }
    };
    html! {
        p { (skill.description) }
        @if !skill.tags.is_empty() { p { "Tags: " (skill.tags.join(", ")) } }
        @if !skill.examples.is_empty() { ul { @for example in &skill.examples { li { (example) } } } }
        (schema("Takes", contract.and_then(|c| c.input.as_ref())))
        (schema("Gives", contract.and_then(|c| c.output.as_ref())))
    }
}

fn form(
    entry: &AgentEntry,
    skill: &AgentSkill,
    contract: Option<&Contract>,
    place: &Place,
) -> Markup {
    let here = format!("/ui/agents/{}", segment(&entry.agent_id));
    let said = match place.query("skill") == skill.id {
        true => place.query("say"),
        false => "",
    };
    let schema = contract.and_then(|c| c.input.as_ref());
    html! {
        form.ask method="post" action={ (here) "/ask" } {
            input type="hidden" name="skill" value=(skill.id);
            fieldset {
                legend { (if skill.name.is_empty() { "A message" } else { &skill.name }) }
                label { span { "Words" } textarea name="text" rows="2" { (said) } }
                @if !skill.examples.is_empty() {
                    p.examples {
                        "For example: "
                        @for example in &skill.examples {
                            a href={ (here) "?skill=" (segment(&skill.id)) "&say=" (segment(example)) "#try" } { (example) } " "
                        }
                    }
                }
                @if let Some(schema) = schema { (skill_form::draw(schema)) }
                button { "Ask" }
            }
        }
    }
}

/// Hands a task to an agent, and leads to it.
pub(super) async fn ask(
    backend: Backend,
    place: Place,
    Form(form): Form<HashMap<String, String>>,
) -> Result<Redirect, Trouble> {
    let entry = backend.hub().agent(place.path("agent")).await?;
    let card = entry.agent_card.unwrap_or_default();
    let given = |name: &str| form.get(name).map_or("", String::as_str);
    let skill = card.skills.iter().find(|skill| skill.id == given("skill"));
    let schema = skill.and_then(|skill| contracts(&card).remove(&skill.id)?.input);
    let data = skill_form::read(&schema.unwrap_or_default(), &form);
    let data = data.map_err(Trouble::with_fields)?;
    let words = given("text").trim();
    if words.is_empty() && data.is_empty() {
        let what = "There is nothing to ask: fill in the words, or another field.";
        return Err(Trouble::with_field("text", what));
    }
    let mut message = Message::new(Role::User, words);
    if words.is_empty() {
        message.content.clear();
    }
    if !data.is_empty() {
        message.content.push(Part::data(&data.into()));
    }
    let task = Uuid::now_v7().to_string();
    message.task_id.clone_from(&task);
    message.context_id.clone_from(&task);
    if let Some(skill) = skill {
        message = message.with_metadata("task_type", task_type(&card, skill));
    }
    let routing = AgentEventMetadata {
        from_agent_id: backend.hub().agent_id().to_owned(),
        to_agent_id: entry.agent_id,
        ..Default::default()
    };
    backend.read_mail();
    backend.hub().publish(message, routing).await?;
    Ok(Redirect::to(&format!("/ui/tasks/{task}")))
}
