//! Two runs side by side: what was asked, each step, and what came of it, with what differs in words.

mod side;

use std::collections::{BTreeMap, BTreeSet};

use agenthub_terminal::diff::{Difference, Part, RunDifferences, StepRecord};
use axum::{
    http::StatusCode,
    response::{IntoResponse, Redirect, Response},
};
use maud::{Markup, html};
use serde_json::Value;

use self::side::Side;
use super::run::{
    ComparableRuns, compare_form, fields, named, parts_of, reported, state_words, title,
};
use crate::{
    backend::Backend,
    elements::{agent, id_link, line, segment, state, text, time},
    live::Screen,
    place::Place,
    shell::{self, Section},
    trouble::Trouble,
    words,
};

/// The heads of the two, which stand at each value on a phone.
const FIRST: &str = "First run";
const SECOND: &str = "Second run";

/// The most steps that stand side by side. Those that differ go before the others.
const MAX_STEPS: usize = 100;

/// Characters of a value that differs.
const MAX_SAID: usize = 160;

/// Leads to the run beside the one whose id, or the beginning of it, was filled in. If there is none, the form is shown again.
pub(super) async fn find(backend: Backend, place: Place) -> Result<Response, Trouble> {
    let (run, given) = (backend.run(place.path("run")).await?, place.query("other"));
    match backend.run(given).await {
        Ok(other) => {
            let (run, other) = (segment(&run.id), segment(&other.id));
            let to = format!("/ui/runs/{run}/with/{other}");
            Ok(Redirect::to(&to).into_response())
        }
        Err(trouble) => {
            let content = html! {
                h1 { "Compare with another run" }
                p { a href={ "/ui/runs/" (segment(&run.id)) } { (title(&run)) } }
                (compare_form(&run.id, given, &ComparableRuns::default(), &trouble.notice()))
            };
            let viewer = Some(backend.viewer());
            let page = shell::page(Section::Runs, "Compare with another run", &content, viewer);
            Ok((StatusCode::UNPROCESSABLE_ENTITY, page).into_response())
        }
    }
}

pub(super) async fn draw(backend: Backend, place: Place) -> Result<Screen, Trouble> {
    let first = Side::of(&backend, place.path("run")).await?;
    let second = Side::of(&backend, place.path("other")).await?;
    let title = format!("{} beside {}", title(&first.run), title(&second.run));
    Ok(Screen::new(title, drawn(&first, &second)))
}

fn drawn(first: &Side, second: &Side) -> Markup {
    let found = RunDifferences::of(&first.record, &second.record);
    let differing: BTreeMap<&str, String> = found
        .steps
        .iter()
        .map(|step| (step.step.as_str(), in_words(&step.difference)))
        .collect();
    let last = |side: &Side| -> BTreeMap<String, StepRecord> {
        let steps = side.record.steps.iter();
        steps
            .map(|step| (step.step.clone(), step.clone()))
            .collect()
    };
    let (one, other) = (last(first), last(second));
    let steps = first.record.steps.iter().chain(&second.record.steps);
    let (names, left_out) = names(steps.map(|step| &*step.step), |name| {
        differing.contains_key(name)
    });
    let called = |name: &str| first.called(name).or_else(|| second.called(name));
    let words = |name: &str| called(name).map_or_else(|| parts_of(name), |step| step.words.clone());
    let (of_plan, besides): (Vec<&str>, Vec<&str>) = names
        .iter()
        .partition(|name| called(name).is_none_or(|step| step.is_of_plan));
    let row = |name: &str| {
        let difference = differing.get(name);
        html! {
            tr id={ "with-" (segment(name)) } class=[difference.map(|_| "differs")] {
                th scope="row" { span title=(name) { (words(name)) } @if let Some(difference) = difference { p { (difference) } } }
                td data-head=(FIRST) { (step(one.get(name))) }
                td data-head=(SECOND) { (step(other.get(name))) }
            }
        }
    };
    html! {
        h1 { "Two runs" }
        @if found.is_empty() { p { "They are the same, in what was asked, in their steps and in what came of them." } }
        @else if let Some(parting) = found.steps.first() { p { "They part at the step " a href={ "#with-" (segment(&parting.step)) } { (words(&parting.step)) } "." } }
        @if !found.asked.is_empty() || !found.outcome.is_empty() {
            ul { @for difference in found.asked.iter().chain(&found.outcome) { li { "The run: " (in_words(difference)) } } }
        }
        dl {
            dt { (FIRST) } dd { (head(first)) }
            dt { (SECOND) } dd { (head(second)) }
        }
        (beside("Comparison", &html! {
            @for name in &of_plan { (row(name)) }
            @if left_out > 0 {
                tr { td colspan="3" { (left_out) " more steps are left out: those that differ are kept first." } }
            }
            tr {
                th scope="row" { "Result" }
                td data-head=(FIRST) { (result(&first.record.result, &first.record.error)) }
                td data-head=(SECOND) { (result(&second.record.result, &second.record.error)) }
            }
        }))
        @if !besides.is_empty() {
            details id="steps-besides" open[besides.iter().any(|name| differing.contains_key(name))] {
                summary { "Steps that are none of the plan (" (besides.len()) "): what the agent asked its model, and what it waited for" }
                (beside("Comparison of steps that are none of the plan", &html! { @for name in &besides { (row(name)) } }))
            }
        }
    }
}

/// A table of both runs with these rows.
fn beside(label: &str, rows: &Markup) -> Markup {
    html! {
        div.wide tabindex="0" role="group" aria-label=(label) {
            table.rows.beside {
                thead { tr { th scope="col" { "Step" } th scope="col" { (FIRST) } th scope="col" { (SECOND) } } }
                tbody { (rows) }
            }
        }
    }
}

/// The steps that stand side by side, as they come, each once, and how many are left out.
fn names<'a>(
    all: impl Iterator<Item = &'a str>,
    differs: impl Fn(&str) -> bool,
) -> (Vec<&'a str>, usize) {
    let mut seen = BTreeSet::new();
    let all: Vec<&str> = all.filter(|name| seen.insert(*name)).collect();
    let (differing, same): (Vec<usize>, Vec<usize>) =
        (0..all.len()).partition(|at| differs(all[*at]));
    let mut shown: Vec<usize> = differing.into_iter().chain(same).take(MAX_STEPS).collect();
    shown.sort_unstable();
    let left_out = all.len() - shown.len();
    (shown.into_iter().map(|at| all[at]).collect(), left_out)
}

/// A difference in words. Data are named by what there is of them: they stand side by side below.
fn in_words(difference: &Difference) -> String {
    let Difference::Differs {
        part,
        at,
        first,
        second,
    } = difference
    else {
        return difference.to_string();
    };
    let at = match at.trim_start_matches('/') {
        "" => String::new(),
        at => format!(" at “{}”", at.replace('/', " › ")),
    };
    let is_there = |value: &Option<Value>| {
        let value = value.as_ref();
        value.is_some_and(|value| !value.is_null() && value != "")
    };
    let said = |value: &Value| match (part, value) {
        (Part::State, Value::String(state)) => Some(format!("“{}”", words::state(state))),
        (_, value) => said(value),
    };
    match (is_there(first), is_there(second)) {
        (true, false) => format!("only the first has this: its {part}{at}"),
        (false, true) => format!("only the second has this: its {part}{at}"),
        _ => match (
            first.as_ref().and_then(said),
            second.as_ref().and_then(said),
        ) {
            (Some(first), Some(second)) => {
                format!("its {part} differs{at}: {first}, then {second}")
            }
            _ => format!("its {part} differs{at}, as it stands below"),
        },
    }
}

/// A value that is words, a number, or yes or no; `None` of others.
fn said(value: &Value) -> Option<String> {
    match value {
        Value::String(words) => Some(format!("“{}”", line(words, MAX_SAID))),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(is_so) => Some(if *is_so { "yes" } else { "no" }.to_owned()),
        Value::Null => Some("nothing".to_owned()),
        Value::Object(_) | Value::Array(_) => None,
    }
}

fn head(side: &Side) -> Markup {
    html! {
        (named(&side.run)) " " (id_link("/ui/runs/", &side.run.id)) " " (state(&state_words(&side.run))) " " (time(side.run.created_at.as_ref()))
    }
}

fn step(step: Option<&StepRecord>) -> Markup {
    html! {
        @match step {
            None => span.nothing { "not in this run" },
            Some(step) => {
                (state(&step.state)) " "
                @match (&*step.kind, &*step.agent) {
                    (_, "") => {},
                    ("tool", tool) => { "tool " (tool) },
                    (_, id) => (agent(id)),
                }
                @if !step.error.is_empty() { (text(&step.error)) }
                details {
                    summary { "In and out" }
                    @if !step.request.is_null() { h3 { "In" } (fields(&step.request)) }
                    @if !step.result.is_null() { h3 { "Out" } (fields(&step.result)) }
                }
            }
        }
    }
}

fn result(result: &Value, error: &str) -> Markup {
    html! {
        @match (result["message"].as_str(), result) {
            (Some(message), _) => (text(message)),
            (None, Value::Null) if error.is_empty() => span.nothing { "none" },
            (None, Value::Null) => (text(error)),
            (None, result) => (reported(result)),
        }
    }
}

#[cfg(test)]
mod tests {
    use agenthub_proto::cortex::{Run, RunPlan, StepAttempt};
    use agenthub_sdk::proto::json;
    use serde_json::json;

    use super::*;

    fn side(id: &str, steps: &[(&str, &str)]) -> Side {
        let run = Run {
            id: id.into(),
            state: "completed".into(),
            ..Run::default()
        };
        let steps: Vec<StepAttempt> = steps
            .iter()
            .map(|(step, said)| StepAttempt {
                step: (*step).into(),
                attempt: 1,
                state: "completed".into(),
                result: Some(json::to_value(&json!({ "text": said }))),
                ..StepAttempt::default()
            })
            .collect();
        Side::new(run, steps, None)
    }

    /// Issue 26, runs: runs that plan are told of with the names and in the words of their pages.
    #[test]
    fn steps_of_planned_runs_are_called_by_their_plan_and_questions_to_the_model_stand_aside() {
        let side = |said: &str| {
            let attempt = |step: &str, plan_step: &str, kind: &str| StepAttempt {
                step: step.into(),
                plan_step: plan_step.into(),
                kind: kind.into(),
                agent: if kind == "agent" {
                    "writer".into()
                } else {
                    String::new()
                },
                state: "completed".into(),
                request: Some(json::to_value(&json!({"topic": "tea"}))),
                result: Some(json::to_value(&json!({"draft": {"text": said}}))),
                ..StepAttempt::default()
            };
            let steps = vec![
                attempt("turn-1", "", "model"),
                attempt("handoff-3", "write", "agent"),
                attempt("handoff-4", "hand", "agent"),
            ];
            Side::new(Run::default(), steps, Some(&RunPlan::default()))
        };
        let shown = drawn(&side("a"), &side("b")).into_string();
        let (table, besides) = shown
            .split_once("id=\"steps-besides\"")
            .expect("there is one");
        assert!(
            table.contains("<span title=\"write\">write</span>"),
            "{table}"
        );
        assert!(
            table.contains("/ui/agents/writer") && table.contains("<dt>topic</dt>"),
            "{table}"
        );
        assert!(
            !shown.contains("handoff-") && !table.contains("id=\"with-turn-1\""),
            "{shown}"
        );
        assert!(besides.contains(">a question to the model<"), "{besides}");
        assert!(table.contains("draft › text"), "{table}");
    }

    #[test]
    fn on_a_phone_each_value_says_of_which_run_it_is() {
        let shown = drawn(&side("a", &[("draft", "x")]), &side("b", &[("draft", "y")]));
        let shown = shown.into_string();
        assert!(shown.contains("class=\"rows beside\""), "{shown}");
        for head in [FIRST, SECOND] {
            let cell = format!("<td data-head=\"{head}\">");
            assert_eq!(shown.matches(&cell).count(), 2, "{shown}");
            assert!(shown.contains(&format!("<dt>{head}</dt>")), "{shown}");
        }
    }

    /// Issue 26, cost: loops over hundreds of items are compared, and what differs is not lost among them.
    #[test]
    fn of_many_steps_those_that_differ_are_shown() {
        let all: Vec<String> = (0..500).map(|n| format!("send/{n}")).collect();
        let twice = all.iter().chain(&all).map(String::as_str);
        let (shown, left_out) = names(twice, |name| name == "send/499");
        assert_eq!((shown.len(), left_out), (MAX_STEPS, 400));
        assert_eq!((shown[0], shown[99]), ("send/0", "send/499"));
        let (few, none) = names(["b", "a", "b"].into_iter(), |_| false);
        assert_eq!((few, none), (vec!["b", "a"], 0));
    }

    #[test]
    fn differences_are_words() {
        let difference = |part, first: Value, second: Value| {
            in_words(&Difference::Differs {
                part,
                at: String::new(),
                first: Some(first),
                second: Some(second),
            })
        };
        let gone = difference(Part::Result, json!({"message": "x"}), Value::Null);
        assert_eq!(gone, "only the first has this: its result");
        let other = difference(Part::Result, json!({"message": "x"}), json!([1]));
        assert_eq!(other, "its result differs, as it stands below");
        let state = difference(Part::State, "completed".into(), "awaiting-approval".into());
        assert_eq!(
            state,
            "its state differs: “completed”, then “waits for approval”"
        );
        let number = difference(Part::Request, 2.into(), true.into());
        assert_eq!(number, "its request differs: 2, then yes");
    }

    #[test]
    fn steps_stand_side_by_side_and_those_that_differ_say_in_what() {
        let first = side("a", &[("draft", "<i>x</i>"), ("only", "")]);
        let second = side("b", &[("draft", "y")]);
        let shown = drawn(&first, &second).into_string();
        assert!(shown.contains("part at the step"), "{shown}");
        assert_eq!(shown.matches("class=\"differs\"").count(), 2);
        assert!(shown.contains("only in the first run") && shown.contains("not in this run"));
        assert!(!shown.contains("<i>"));
        let same = drawn(&side("a", &[("draft", "y")]), &second).into_string();
        assert!(same.contains("They are the same"), "{same}");
    }
}
