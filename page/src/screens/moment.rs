//! A run as it stood when an event of its journal was recorded, with a slider over all of them, and a form that forks it there.
//!
//! The page is not kept up to date, as what it shows does not change any more.

use agenthub_proto::cortex::{ListRunEventsRequest, RunEvent, RunMoment};
use axum::{
    http::StatusCode,
    response::{IntoResponse, Response},
};
use maud::{Markup, html};

use super::run::{happened, head, standing, title};
use crate::{
    backend::Backend,
    elements::{line, segment, state, time, value},
    form_key,
    place::Place,
    shell::{self, Section},
    trouble::Trouble,
    words, written,
};

/// Events that are listed before the one that is shown.
const BEFORE: u64 = 8;

/// Events that are listed, the one that is shown among them.
const LISTED: u32 = 17;

pub(super) async fn show(backend: Backend, place: Place) -> Response {
    match draw(&backend, &place).await {
        Ok((title, content)) => {
            shell::page(Section::Runs, &title, &content, Some(backend.viewer())).into_response()
        }
        Err(trouble) => trouble.into_response(),
    }
}

async fn draw(backend: &Backend, place: &Place) -> Result<(String, Markup), Trouble> {
    let id = place.path("run");
    let wanted = number(place.query("event"))?;
    let moment = backend.moment(id, wanted).await?;
    let number = moment.event.as_ref().map_or(0, |event| event.number);
    let request = ListRunEventsRequest {
        id: id.to_owned(),
        after: number.saturating_sub(BEFORE + 1),
        page_size: LISTED,
    };
    let events = backend.run_events(request).await?.events;
    let run = moment.run.clone().unwrap_or_default();
    let title = format!("Event {number} of {}", title(&run));
    Ok((title, drawn(&run.id, &moment, &events)))
}

/// The number of an event that is asked for; 0, which is the last one, if none is.
fn number(given: &str) -> Result<u64, Trouble> {
    match given {
        "" => Ok(0),
        given => given.parse().map_err(|_| {
            let what = format!("`{}` is no number of an event.", line(given, 40));
            Trouble::new(StatusCode::NOT_FOUND, what)
        }),
    }
}

fn drawn(id: &str, moment: &RunMoment, events: &[RunEvent]) -> Markup {
    let event = moment.event.clone().unwrap_or_default();
    let run = moment.run.clone().unwrap_or_default();
    let here = format!("/ui/runs/{}/at", segment(id));
    let to = |number: u64| format!("{here}?event={number}");
    html! {
        div #moment {
            nav.steps aria-label="Events" {
                a href={ "/ui/runs/" (segment(id)) } { "The run as it is" }
                @if event.number > 1 { a href=(to(1)) { "First" } a rel="prev" href=(to(event.number - 1)) { "Previous" } }
                @if event.number < moment.last { a rel="next" href=(to(event.number + 1)) { "Next" } a href=(to(moment.last)) { "Last" } }
            }
            form.slider method="get" action=(here) hx-get=(here) hx-trigger="change" hx-target="#moment" hx-select="#moment" hx-swap="outerMorph" hx-push-url="true" {
                label for="event" { "Event " (event.number) " of " (moment.last) }
                input #event type="range" name="event" min="1" max=(moment.last) value=(event.number);
                button { "Show" }
            }
            section aria-label="Event" {
                p {
                    (happened(&event)) " "
                    @if !event.state.is_empty() { (state(&event.state)) " " }
                    (time(event.at.as_ref()))
                    @if event.reused { " " span.state.good { "reused" } }
                }
                @if !event.words.is_empty() && event.kind == "step-ended" { p.why { (event.words) } }
                details id="content" {
                    summary { "Content" }
                    dl {
                        dt { "Kind" } dd { (words::journal(&event.kind)) }
                        @if !event.step.is_empty() { dt { "Name in the run" } dd { code { (event.step) } } }
                    }
                    (value(moment.content.as_ref()))
                }
            }
            (fork(id, moment, event.number))
            (head(&run))
            (standing(moment))
            h2 { "Events around it" }
            ol.events {
                    @for other in events {
                        li aria-current=[(other.number == event.number).then_some("true")] {
                            a href=(to(other.number)) { "Event " (other.number) } " " (happened(other)) " "
                            @if ["failed", "refused"].contains(&&*other.state) { (state(&other.state)) " " }
                            (time(other.at.as_ref())) @if other.reused { " reused" }
                        }
                    }
                }
        }
    }
}

fn fork(id: &str, moment: &RunMoment, number: u64) -> Markup {
    html! {
        details.fork id="fork" {
            summary { "Fork here" }
            @if moment.can_be_forked {
                p { "A new run goes on from this event. What was recorded by then is reused; what was in flight is asked for anew." }
                form method="post" action={ "/ui/runs/" (segment(id)) "/fork" } {
                    input type="hidden" name="at" value=(number);
                    (form_key::field("fork"))
                    label { span { "Another model" } input name="model" placeholder="provider/model"; small { "For what comes after; that of the agent if nothing is given." } }
                    label { span { "Other instructions" } textarea name="instructions" rows="2" {} small { "Of an agent with a model." } }
                    @let before = written::given(moment.input.as_ref());
                    input type="hidden" name="before" value=(written::digest(&before));
                    label { span { "Another input" } textarea name="input" rows=(written::rows(&before)) { (before) } small { "The run's own if it stands here, and if nothing does. Words, or JSON; no recorded step may have got what you change." } }
                    button { "Fork at event " (number) }
                }
            } @else {
                p.nothing { "The run was decided by then, or was not asked for over the hub: choose an earlier event." }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use agenthub_proto::{cortex::Run, json};
    use serde_json::json;

    use super::*;

    fn moment(number: u64, can_be_forked: bool) -> RunMoment {
        RunMoment {
            run: Some(Run {
                id: "r".into(),
                objective: "<b>x</b>".into(),
                ..Run::default()
            }),
            event: Some(RunEvent {
                number,
                kind: "noted".into(),
                ..RunEvent::default()
            }),
            last: 9,
            can_be_forked,
            input: Some(json::to_value(&json!({"event": "our <day>"}))),
            ..RunMoment::default()
        }
    }

    #[test]
    fn what_is_no_number_is_no_event() {
        assert_eq!(number("").ok(), Some(0));
        assert_eq!(number("12").ok(), Some(12));
        for given in ["abc", "-1", "1.5"] {
            assert!(number(given).is_err_and(|trouble| trouble.is_not_found()));
        }
    }

    #[test]
    fn every_event_has_a_link_and_only_what_is_before_the_end_a_fork() {
        let middle = drawn("r/1", &moment(4, true), &[]).into_string();
        for link in [
            "r%2F1/at?event=1\"",
            "r%2F1/at?event=3\"",
            "r%2F1/at?event=5\"",
            "r%2F1/at?event=9\"",
        ] {
            assert!(middle.contains(link), "{link}: {middle}");
        }
        assert!(middle.contains("action=\"/ui/runs/r%2F1/fork\""));
        assert!(!middle.contains("<b>x"));
        // What the run had is there to be changed.
        assert!(
            middle.contains("&quot;event&quot;: &quot;our &lt;day&gt;&quot;"),
            "{middle}"
        );
        let last = drawn("r", &moment(9, false), &[]).into_string();
        assert!(!last.contains("/fork\"") && !last.contains("event=10"));
    }
}
