//! History of a run, in words and in the order of time.

use agenthub_proto::{
    cortex::{Run, RunMoment, StepAttempt},
    wkt::Timestamp,
};
use agenthub_sdk::proto::json;
use agenthub_terminal::listing::state::step as attempt_state;
use maud::{Markup, html};

use super::{head::state_words, names::StepName};
use crate::elements::{agent, lapse, line, segment, state, time};

/// The most lines. Of more the first are left out.
const MAX: usize = 200;

/// Characters of a reason.
const REASON: usize = 200;

/// A line.
struct Happened {
    at: Timestamp,
    what: Markup,
    state: String,
    /// Time at which it began, of what ended.
    since: Option<Timestamp>,
}

/// The lines of a run.
pub(super) fn drawn(run: &Run, moment: &RunMoment) -> Markup {
    html! { ol.timeline { (lines(run, moment)) } }
}

/// The same as items of a list.
pub(in crate::screens) fn lines(run: &Run, moment: &RunMoment) -> Markup {
    let happened = happened(run, &moment.steps);
    let left_out = happened.len().saturating_sub(MAX);
    let attempts: u32 = moment.counts.values().map(|counts| counts.attempts).sum();
    let unseen = (attempts as usize).saturating_sub(moment.steps.len());
    html! {
        @if unseen > 0 { li { span.what { (unseen) " attempts at steps are left out: " a href={ "/ui/runs/" (segment(&run.id)) "/steps" } { "all " (attempts) } } } }
        @if left_out > 0 { li { span.what { (left_out) " earlier lines are left out: the history of the run has all." } } }
        @for line in &happened[left_out..] {
            li {
                (time(Some(&line.at))) " "
                span.what {
                    (line.what)
                    @if !line.state.is_empty() { " " (state(&line.state)) }
                    @if line.since.is_some() { " after " (lapse(line.since.as_ref(), Some(&line.at))) }
                }
            }
        }
    }
}

fn happened(run: &Run, steps: &[StepAttempt]) -> Vec<Happened> {
    let mut lines = Vec::new();
    let mut add = |at: Option<Timestamp>, what, state: &str, since| {
        if let Some(at) = at {
            let state = state.to_owned();
            lines.push(Happened {
                at,
                what,
                state,
                since,
            });
        }
    };
    let began = match &*run.forked_from {
        "" => html! { "The run began" },
        _ => html! { "The run began, with what another one had recorded" },
    };
    add(run.created_at, began, "", None);
    for step in steps {
        if let Some(what) = begins(&run.agent, step) {
            add(step.begun_at, what, "", None);
        }
        if let Some(what) = ends(step) {
            let is_instant = step.begun_at == step.ended_at;
            let since = step.begun_at.filter(|_| !is_instant);
            add(step.ended_at, what, &attempt_state(step), since);
        }
    }
    let over = html! {
        "The run is over:"
        @if !run.error.is_empty() { " " (line(&run.error, REASON)) }
    };
    add(run.ended_at, over, &state_words(run), None);
    lines.sort_by_key(|line| (line.at.seconds, line.at.nanos));
    lines
}

fn name(step: &StepAttempt) -> Markup {
    html! { b { (StepName::of(step).in_words()) } }
}

fn begins(owner: &str, step: &StepAttempt) -> Option<Markup> {
    let again = match step.attempt {
        1 => String::new(),
        attempt => format!(", attempt {attempt}"),
    };
    let line = match &*step.kind {
        _ if step.state == "reused" || step.begun_at == step.ended_at => return None,
        "agent" if step.agent.is_empty() => {
            html! { (agent(owner)) " hands out " (name(step)) (again) }
        }
        "agent" => {
            html! { (agent(owner)) " hands " (name(step)) " to " (agent(&step.agent)) (again) }
        }
        "tool" => html! { "Tool " b { (step.agent) } " is called" (again) },
        "person" => html! { "A person is asked: " (name(step)) },
        "wait" => html! { (name(step)) " waits" },
        _ => return None,
    };
    Some(line)
}

fn ends(step: &StepAttempt) -> Option<Markup> {
    let why = html! { @if !step.error.is_empty() { ": " (line(&step.error, REASON)) } };
    let decision = step
        .result
        .as_ref()
        .map(json::from_value)
        .unwrap_or_default();
    let line = match &*step.kind {
        _ if step.state == "reused" => html! { (name(step)) " stands as it was" },
        // Questions to the model are many: the table of steps has them.
        "model" if step.error.is_empty() => return None,
        "model" => html! { "The model of " (name(step)) " fails" (why) },
        "tool" => html! { "Tool " b { (step.agent) } " answers" (why) },
        "person" => html! {
            (name(step)) " is decided"
            @if let Some(by) = decision["by"].as_str() { " by " (by) }
            @if let Some(comment) = decision["comment"].as_str().filter(|said| !said.is_empty()) { ": “" (line(comment, REASON)) "”" }
            (why)
        },
        "decision" => html! { (name(step)) " was decided:" (why) },
        "agent" if !step.agent.is_empty() => {
            html! { (agent(&step.agent)) " is done with " (name(step)) (why) }
        }
        _ => html! { (name(step)) (why) },
    };
    Some(line)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn at(seconds: i64) -> Option<Timestamp> {
        Some(Timestamp { seconds, nanos: 0 })
    }

    fn step(name: &str, plan_step: &str, kind: &str, (begun, ended): (i64, i64)) -> StepAttempt {
        StepAttempt {
            step: name.into(),
            plan_step: plan_step.into(),
            attempt: 1,
            kind: kind.into(),
            state: "completed".into(),
            begun_at: at(begun),
            ended_at: at(ended),
            ..StepAttempt::default()
        }
    }

    /// Issue 26, runs: what happened, in words with times, each step under the name that the plan has for it.
    #[test]
    fn lines_stand_in_the_order_of_time_and_name_steps_as_the_plan_does() {
        let run = Run {
            agent: "cortex".into(),
            state: "completed".into(),
            created_at: at(1),
            ended_at: at(9),
            ..Run::default()
        };
        let wrote = StepAttempt {
            agent: "writer".into(),
            ..step("handoff-1", "draft", "agent", (2, 5))
        };
        let thought = step("turn-1", "", "model", (2, 3));
        let decided = StepAttempt {
            result: Some(json::to_value(&json!({"by": "<ann>", "approved": true}))),
            ..step("ask", "ask", "person", (3, 4))
        };
        let moment = RunMoment {
            steps: vec![thought, wrote, decided],
            ..RunMoment::default()
        };
        let shown = drawn(&run, &moment).into_string();
        let lines: Vec<&str> = shown.split("<li>").skip(1).collect();
        let wanted = [
            "The run began",
            "hands <b>draft</b> to",
            "A person is asked: <b>ask</b>",
            "<b>ask</b> is decided by &lt;ann&gt;",
            "is done with <b>draft</b>",
            "The run is over:",
        ];
        assert_eq!(lines.len(), wanted.len(), "{shown}");
        for (line, wanted) in lines.iter().zip(wanted) {
            assert!(line.contains(wanted), "{wanted}: {line}");
        }
        assert!(
            lines[4].contains(" after ") && lines[4].contains("3.0 s"),
            "{}",
            lines[4]
        );
    }
}
