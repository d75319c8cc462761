//! The steps of a run as one table, in the order of time: how each stands and why, who does it, since when, and what went in and came out.

use agenthub_proto::cortex::{RunMoment, StepAttempt};
use maud::{Markup, html};

use super::{
    attempts::{in_and_out, named, of_attempt, reason, who},
    bars::{Span, bar},
};
use crate::{
    elements::{Cell, Row, agent, allowed, kind, lapse, refused, segment, state, table, time},
    plan::{Plan, PlanStep, progress},
};

/// The columns.
const HEADS: [&str; 7] = [
    "Step",
    "State",
    "Who",
    "Began",
    "Took",
    "When",
    "In and out",
];

/// The table. Without a plan the steps stand in the order in which they began. Of many attempts at a step some are listed, and a link leads to all.
pub(super) fn drawn(plan: Option<&Plan<'_>>, moment: &RunMoment) -> Markup {
    let span = Span::of(moment);
    let run = moment.run.as_ref().map_or("", |run| &run.id);
    let of_plan = plan.is_some();
    let own: Vec<&StepAttempt> = moment
        .steps
        .iter()
        .filter(|attempt| !of_plan || attempt.plan_step.is_empty())
        .collect();
    let counted = |step: &str| moment.counts.get(step).map_or(0, |counts| counts.attempts);
    let all_own = match of_plan {
        true => counted(""),
        false => moment.counts.values().map(|counts| counts.attempts).sum(),
    };
    let more = (all_own as usize).saturating_sub(own.len());
    let planned = plan.into_iter().flat_map(Plan::in_time);
    let mut rows: Vec<Row> = planned.flat_map(|step| of_step(run, step, span)).collect();
    let mut besides: Vec<Row> = own
        .iter()
        .map(|attempt| of_attempt(attempt, span, false))
        .collect();
    if more > 0 {
        let link = format!("/ui/runs/{}/steps", segment(run));
        besides.push(left_out(more, &link, own.len() + more));
    }
    if !of_plan {
        rows.append(&mut besides);
    }
    html! {
        (table(&HEADS, &rows, "No step has begun. Each stands here with what goes in and what comes out."))
        @if !besides.is_empty() {
            details id="steps-besides" {
                summary { "Steps that are none of the plan (" (own.len() + more) "): what the agent asked its model, and what it waited for" }
                (table(&HEADS, &besides, ""))
            }
        }
    }
}

/// Attempts as a table.
pub(super) fn listed(attempts: &[StepAttempt], moment: &RunMoment) -> Markup {
    let span = Span::of(moment);
    let rows: Vec<Row> = attempts
        .iter()
        .map(|attempt| of_attempt(attempt, span, false))
        .collect();
    table(&HEADS, &rows, "None fits.")
}

/// Progress of a loop in words and as a bar; nothing of what is none.
pub(super) fn done(step: &PlanStep<'_>) -> Markup {
    html! {
        @if let Some(words) = progress(&step.counts) {
            div.about {
                progress value=(step.counts.done) max=(step.counts.items) aria-label={ "Items of " (step.name) " that are done" } {}
                " " (words)
            }
        }
    }
}

/// A row that says how many are not listed, with a link to all.
fn left_out(more: usize, link: &str, all: usize) -> Row {
    let are = if more == 1 { "is" } else { "are" };
    let words = html! { (more) " more " (are) " not listed here: " a href=(link) { "all " (all) } };
    Row::new([Cell::new(words).class("d1").across(HEADS.len())])
}

/// The row of a step of the plan, and those of its parts if it has several.
fn of_step(run: &str, step: &PlanStep<'_>, span: Option<Span>) -> Vec<Row> {
    let (begun, ended) = (step.begun(), step.counts.ended_at);
    let only = match &step.attempts[..] {
        [only] if step.counts.items == 0 => Some(*only),
        _ => None,
    };
    let error = step.error();
    let name = html! {
        (named(&step.name, &step.name, only.map_or("", |attempt| &attempt.task_id)))
        @if !step.what.is_empty() { div.about { (step.what) } }
    };
    let standing = html! {
        (state(&step.state))
        (done(step))
        @if let Some(score) = step.score { div.about { "score " (format!("{score:.2}")) } }
        @if !error.is_empty() { (reason(error)) }
        @if let Some(refusal) = step.refusal() { (refused(&refusal)) }
        @if let Some(only) = only { (allowed(only)) }
    };
    let doer = match (&*step.who(), only) {
        ("", Some(only)) => who(only),
        (id, _) => agent(id),
    };
    let bar = bar(span, begun.as_ref(), ended.as_ref(), &step.state);
    let row = Row::new([
        Cell::new(name),
        Cell::new(standing),
        Cell::new(doer),
        Cell::new(time(begun.as_ref())),
        Cell::new(lapse(begun.as_ref(), ended.as_ref())).class("took"),
        Cell::new(bar).class("when"),
        Cell::new(only.map_or_else(|| html! {}, in_and_out)),
    ])
    .id(format!("step-{}", step.name))
    .failed(kind(&step.state) == "bad");
    let mut rows = vec![row];
    if only.is_none() {
        let parts = step.attempts.iter();
        rows.extend(parts.map(|attempt| of_attempt(attempt, span, true)));
        if step.left_out() > 0 {
            let link = format!(
                "/ui/runs/{}/steps?step={}",
                segment(run),
                segment(&step.name)
            );
            let all = step.counts.attempts as usize;
            rows.push(left_out(step.left_out(), &link, all));
        }
    }
    rows
}

#[cfg(test)]
#[path = "steps_tests.rs"]
mod tests;
