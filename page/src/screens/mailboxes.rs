//! Mailboxes, and mail that was given up.

use agenthub_proto::{
    agenthub::{DeadLetter, ListDeadLettersRequest, ListMailboxesRequest, Mailbox},
    json,
};
use axum::response::Redirect;
use maud::html;

use crate::{
    backend::Backend,
    clients::Client,
    elements::{Cell, Row, agent, data, line, next, segment, table, time},
    live::Screen,
    parts::size,
    place::Place,
    trouble::Trouble,
};

/// Mailboxes, and letters, on a page.
const PAGE: i32 = 50;

pub(super) async fn draw(backend: Backend, place: Place) -> Result<Screen, Trouble> {
    let of = place.query("agent");
    let boxes = backend
        .hub()
        .mailboxes(ListMailboxesRequest {
            agent_id: of.to_owned(),
            page_size: PAGE,
            page_token: place.query("page").to_owned(),
        })
        .await?;
    let letters = backend
        .hub()
        .dead_letters(ListDeadLettersRequest {
            agent_id: of.to_owned(),
            page_size: PAGE,
            page_token: place.query("letters").to_owned(),
            ..ListDeadLettersRequest::default()
        })
        .await?;
    // Those with mail first.
    let mut mailboxes: Vec<&Mailbox> = boxes.mailboxes.iter().collect();
    mailboxes.sort_by_key(|of| std::cmp::Reverse(of.waiting.saturating_add(of.leased)));
    let above = html! {
        h1 { "Mailboxes" }
        p.about { "What is sent to an agent waits in a mailbox until the agent has dealt with it, also while it is away. What could not be delivered is a dead letter: it can be delivered again, or dropped." }
        form.filter action="/ui/mailboxes" method="get" role="search" {
            label { span { "Agent" } input type="search" name="agent" value=(of); }
            button { "Find" }
        }
    };
    let now = html! {
        (table(&["Agent", "Mailbox", "Waiting", "Handed out", "Size", "Oldest"], &mailboxes.iter().map(|of| mailbox(of)).collect::<Vec<_>>(), "No agent has a mailbox yet: each gets one when it first connects."))
        (next("/ui/mailboxes", &[("agent", of)], &boxes.next_page_token))
        h2 #letters { "Dead letters" }
        (table(&["For", "Why it was given up", "Attempts", "Given up", "Content", ""], &letters.dead_letters.iter().map(letter).collect::<Vec<_>>(), "Nothing was given up: everything that was sent has been dealt with, or still waits."))
        @if !letters.next_page_token.is_empty() {
            p { a href={ "/ui/mailboxes?agent=" (segment(of)) "&letters=" (segment(&letters.next_page_token)) } { "Earlier letters" } }
        }
    };
    Ok(Screen::new("Mailboxes", now).above(above))
}

fn mailbox(mailbox: &Mailbox) -> Row {
    let id = &mailbox.agent_id;
    let of = html! { (agent(id)) @if Client::of(id).is_some() { " " code.id { (id) } } };
    let name = match &*mailbox.name {
        "" => "no agent of this name has come yet: kept for a while",
        name => name,
    };
    Row::new([
        Cell::new(of),
        Cell::new(name),
        Cell::number(mailbox.waiting),
        Cell::number(mailbox.leased),
        Cell::number(size(mailbox.bytes)),
        Cell::new(time(mailbox.oldest.as_ref())),
    ])
}

fn letter(letter: &DeadLetter) -> Row {
    use agenthub_proto::agenthub::agent_event::Payload;
    let payload = letter
        .event
        .as_ref()
        .and_then(|event| event.payload.as_ref());
    let words = match payload {
        Some(Payload::Message(message)) => message.text(),
        Some(Payload::Task(task)) => task
            .history
            .first()
            .map(|message| message.text())
            .unwrap_or_default(),
        _ => String::new(),
    };
    let sender = letter.event.as_ref().map_or("", |event| event.sender());
    let content = html! {
        (line(&words, 80))
        details id={ "letter-" (letter.id) } {
            summary { "From " (if sender.is_empty() { "the hub" } else { sender }) ", all of it" }
            @if let Some(event) = &letter.event { (data(&json::of(event))) }
        }
    };
    let doing = html! {
        form.inline method="post" action={ "/ui/letters/" (segment(&letter.id)) "/retry" } { button { "Deliver again" } }
        form.inline method="post" action={ "/ui/letters/" (segment(&letter.id)) "/drop" } { button.bad data-sure="Drop this letter? It cannot be got back." { "Drop" } }
    };
    Row::new([
        Cell::new(agent(&letter.agent_id)),
        Cell::words(&letter.reason),
        Cell::number(letter.attempts),
        Cell::new(time(letter.given_up_at.as_ref())),
        Cell::new(content),
        Cell::new(doing).class("doing"),
    ])
}

/// Delivers a letter again, and leads to its new task if it has one.
pub(super) async fn retry(backend: Backend, place: Place) -> Result<Redirect, Trouble> {
    let answer = backend
        .hub()
        .retry_dead_letter(place.path("letter"))
        .await?;
    Ok(match answer.task_id.as_str() {
        "" => Redirect::to("/ui/mailboxes"),
        task => Redirect::to(&format!("/ui/tasks/{}", segment(task))),
    })
}

/// Deletes a letter.
pub(super) async fn drop_letter(backend: Backend, place: Place) -> Result<Redirect, Trouble> {
    backend.hub().drop_dead_letter(place.path("letter")).await?;
    Ok(Redirect::to("/ui/mailboxes"))
}
