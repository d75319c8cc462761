//! An attempt at a step as a row of the table of steps.

use agenthub_proto::cortex::StepAttempt;
use agenthub_terminal::listing::{refusal::Refusal, state::step as attempt_state};
use maud::{Markup, html};

use super::{
    bars::{Span, bar},
    names::StepName,
};
use crate::{
    clients::A_PERSON,
    elements::{
        Cell, Row, agent, allowed, kind, lapse, line, refused, segment, state, text, time, value,
    },
};

/// Characters of a reason in a row. All of it is behind the row.
const REASON: usize = 300;

/// The row of an attempt at a step.
pub(super) fn of_attempt(attempt: &StepAttempt, span: Option<Span>, is_part: bool) -> Row {
    let words = attempt_state(attempt);
    let name = match is_part {
        true => StepName::of(attempt).within_its_step(),
        false => StepName::of(attempt).in_words(),
    };
    let name = html! {
        (named(&name, &attempt.step, &attempt.task_id))
        @if attempt.attempt > 1 { " (attempt " (attempt.attempt) ")" }
    };
    let standing = html! {
        (state(&words))
        @if !attempt.error.is_empty() { (reason(&attempt.error)) }
        @if let Some(refusal) = Refusal::of(attempt) { (refused(&refusal)) }
        (allowed(attempt))
    };
    let (begun, ended) = (attempt.begun_at.as_ref(), attempt.ended_at.as_ref());
    Row::new([
        Cell::new(name).class(if is_part { "d1" } else { "" }),
        Cell::new(standing),
        Cell::new(who(attempt)),
        Cell::new(time(begun)),
        Cell::new(lapse(begun, ended)).class("took"),
        Cell::new(bar(span, begun, ended, &words)).class("when"),
        Cell::new(in_and_out(attempt)),
    ])
    .id(format!("attempt-{}-{}", attempt.step, attempt.attempt))
    .failed(kind(&words) == "bad")
}

/// Name of a step, which leads to its task.
pub(super) fn named(name: &str, step: &str, task: &str) -> Markup {
    html! {
        @if task.is_empty() { b title=(step) { (name) } }
        @else { a href={ "/ui/tasks/" (segment(task)) } title={ "The task of " (step) } { b { (name) } } }
    }
}

/// Reason of a failure, cut.
pub(super) fn reason(error: &str) -> Markup {
    html! { p.why { (line(error, REASON)) } }
}

/// The one that does it, or its kind where nobody does.
pub(super) fn who(attempt: &StepAttempt) -> Markup {
    html! {
        @match (&*attempt.agent, &*attempt.kind) {
            ("", "model") => "its model",
            ("", "person") => (decider(attempt)),
            ("", "wait") => "a wait",
            ("", "message") => "a message",
            ("", kind) => (kind),
            (tool, "tool") => { "tool " (tool) },
            (id, _) => (agent(id)),
        }
    }
}

/// The person who decided; before that, any.
fn decider(attempt: &StepAttempt) -> String {
    let decision = attempt
        .result
        .as_ref()
        .map(agenthub_sdk::proto::json::from_value);
    let by = decision.and_then(|decision| Some(decision["by"].as_str()?.to_owned()));
    by.filter(|by| !by.is_empty())
        .unwrap_or_else(|| A_PERSON.to_owned())
}

/// Input and output, folded.
pub(super) fn in_and_out(attempt: &StepAttempt) -> Markup {
    let is_given = |value: &Option<_>| {
        let value = value.as_ref().map(agenthub_sdk::proto::json::from_value);
        value.is_some_and(|value| !value.is_null())
    };
    let (request, result) = (is_given(&attempt.request), is_given(&attempt.result));
    html! {
        @if request || result || !attempt.error.is_empty() {
            details id={ "io-" (attempt.step) "-" (attempt.attempt) } {
                summary { "Show" }
                @if request { h3 { "In" } (value(attempt.request.as_ref())) }
                @if result { h3 { "Out" } (value(attempt.result.as_ref())) }
                @if !attempt.error.is_empty() { h3 { "Why it failed" } (text(&attempt.error)) }
                p.about { "Name in the run: " code { (attempt.step) } }
            }
        }
    }
}
