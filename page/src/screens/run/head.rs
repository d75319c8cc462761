//! The head of a run: what it is for, how it stands, why it failed, and its facts.

use agenthub_proto::cortex::{Run, RunBudget};
use agenthub_sdk::proto::json;
use agenthub_terminal::listing::state::run as run_state;
use maud::{Markup, html};

use super::result::criteria;
use crate::{
    elements::{agent, id_link, lapse, line, refused, segment, state, text, time},
    plan::{Plan, PlanStep},
    words,
};

/// Characters of a heading.
const HEADING: usize = 100;

/// Characters of an id in a title.
const ID: usize = 8;

/// A run as it is called: what it is for, on one line.
pub(in crate::screens) fn named(run: &Run) -> String {
    match run.objective.trim() {
        "" => format!("Run {}", beginning(&run.id)),
        objective => line(objective, HEADING),
    }
}

/// Title of a page about a run, which tells it from others of the same name.
pub(in crate::screens) fn title(run: &Run) -> String {
    match run.objective.trim() {
        "" => named(run),
        objective => format!("{} · run {}", line(objective, 40), beginning(&run.id)),
    }
}

fn beginning(id: &str) -> &str {
    id.get(..ID).unwrap_or(id)
}

/// State of a run; of one whose result was held to criteria, how many are met.
pub(in crate::screens) fn state_words(run: &Run) -> String {
    let result = run.result.as_ref().map(json::from_struct);
    let words = run_state(run);
    let is_part = run.state == "completed" && words != run.state && !words.contains(", nothing ");
    match result.as_ref().and_then(criteria) {
        Some((met, all)) if is_part => {
            format!("{}, {met} of {all} criteria met", run.state)
        }
        _ => words,
    }
}

/// The heading.
pub(in crate::screens) fn heading(run: &Run) -> Markup {
    html! {
        h1 { (named(run)) " " (state(&state_words(run))) }
        @if run.objective.trim() != named(run) && !run.objective.trim().is_empty() { (text(&run.objective)) }
    }
}

/// Reason why a run made nothing of what was asked for, which stands in its result.
pub(super) fn nothing_made(run: &Run) -> Markup {
    let result = run.result.as_ref().map(json::from_struct);
    let quality = result.map(|mut result| result["quality"].take());
    let quality = quality.filter(|quality| quality["made"] == false);
    let why = quality.as_ref().and_then(|q| q["explanation"].as_str());
    html! {
        @if let Some(why) = why {
            section.failure aria-label="Why nothing was made" {
                h2 { "Why nothing was made" }
                p.notice.bad { (why) }
            }
        }
    }
}

/// Reason of a failed run, and the ways on.
pub(super) fn failure(run: &Run, plan: Option<&Plan<'_>>) -> Markup {
    let at = format!("/ui/runs/{}/at", segment(&run.id));
    let failed = plan.and_then(Plan::failed);
    let refusal = failed.and_then(PlanStep::refusal);
    let why = match refusal.is_none() && run.state == "failed" {
        true => "Why it failed",
        false => "Why it ended",
    };
    html! {
        @if !run.error.is_empty() {
            section.failure aria-label=(why) {
                h2 { (why) }
                @match &refusal {
                    Some(refusal) => div.notice.warn { "The step " code { (refusal.step) } " was refused" (refused(refusal)) },
                    None if run.state == "cancelled" => p.notice { (run.error) },
                    None => p.notice.bad { (run.error) },
                }
                @if run.ended_at.is_some() {
                    p {
                        @if let Some(step) = failed { (if refusal.is_some() { "It ended at the step " } else { "It failed at the step " }) a href={ "#step-" (segment(&step.name)) } { (step.name) } ". " }
                        @match (&*run.mode, &*run.state) {
                            ("workflow", "cancelled") => "Do it again, or ",
                            ("workflow", _) => "Mend what was wrong and do it again from there, or ",
                            _ => "Ask again, or ",
                        }
                        a href=(at) { "fork the run" } " at an event before it, with another model, other instructions or another input."
                    }
                }
            }
        }
    }
}

/// The facts.
pub(in crate::screens) fn facts(run: &Run) -> Markup {
    let limits = run.budget.unwrap_or_default();
    html! {
        dl.facts {
            dt { "Kind" } dd { (words::mode(&run.mode)) }
            dt { "Agent" } dd { (agent(&run.agent)) }
            dt { "Began" } dd { (time(run.created_at.as_ref())) }
            @if run.ended_at.is_some() { dt { "Took" } dd { (lapse(run.created_at.as_ref(), run.ended_at.as_ref())) } }
            @else if !run.phase.is_empty() { dt { "Phase" } dd { (words::phase(&run.phase)) } }
            @if run.depth > 0 { dt { "Rounds" } dd { (run.depth) } }
            (used_facts(run, limits))
            @if !run.on_behalf_of.is_empty() { dt { "On behalf of" } dd { (run.on_behalf_of) } }
            @if !run.task_id.is_empty() { dt { "Task" } dd { (id_link("/ui/tasks/", &run.task_id)) } }
            @if !run.parent_task_id.is_empty() { dt { "Part of task" } dd { (id_link("/ui/tasks/", &run.parent_task_id)) } }
            @if !run.resumes.is_empty() {
                dt { "Goes on from" }
                dd {
                    (id_link("/ui/runs/", &run.resumes)) ", "
                    a href={ "/ui/runs/" (segment(&run.resumes)) "/with/" (segment(&run.id)) } { "compare with it" }
                }
            }
            @if !run.forked_from.is_empty() {
                dt { "Forked from" }
                dd {
                    (id_link("/ui/runs/", &run.forked_from)) " at "
                    a href={ "/ui/runs/" (segment(&run.forked_from)) "/at?event=" (run.forked_at) } { "event " (run.forked_at) } ", "
                    a href={ "/ui/runs/" (segment(&run.forked_from)) "/with/" (segment(&run.id)) } { "compare with it" }
                }
            }
            @if !run.thread_id.is_empty() { dt { "Conversation" } dd { a href={ "/ui/runs?parts=1&thread=" (segment(&run.thread_id)) } { "its runs" } } }
            dt { "Run" } dd { code { (run.id) } }
        }
    }
}

fn used_facts(run: &Run, limits: RunBudget) -> Markup {
    html! {
        dt { "Tokens" } dd { (tokens(run)) (budget(run.tokens, limits.tokens)) }
        dt { "Calls" } dd { (run.calls) (budget(run.calls, limits.calls)) }
    }
}

/// Tokens that a run used; a dash of a run that asked no model.
pub(in crate::screens) fn tokens(run: &Run) -> Markup {
    html! {
        @match (run.tokens, run.tokens_estimated) {
            (0, _) => "–",
            (tokens, false) => (thousands(tokens)),
            (tokens, true) => span title="An estimate: the model does not say how many it used." { "≈ " (thousands(tokens)) },
        }
    }
}

/// A number with its thousands apart.
fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut apart = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            apart.push(',');
        }
        apart.push(digit);
    }
    apart
}

/// Share of a limit that a number is.
fn budget(number: u64, most: Option<u64>) -> Markup {
    html! {
        @if let Some(most) = most { " of " (thousands(most)) " " progress value=(number) max=(most) aria-label="Part of the budget that is used" {} }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Issue 26: every state has a link, and its title tells it from others.
    #[test]
    fn a_run_is_called_by_what_it_is_for_and_its_title_has_its_id() {
        let run = Run {
            id: "698e8458-41f4-5000-8000-1".into(),
            objective: "invitations".into(),
            ..Run::default()
        };
        assert_eq!(named(&run), "invitations");
        assert_eq!(title(&run), "invitations · run 698e8458");
        let unnamed = Run {
            objective: " ".into(),
            ..run
        };
        assert_eq!(
            (named(&unnamed), title(&unnamed)),
            ("Run 698e8458".into(), "Run 698e8458".into())
        );
    }

    /// Issue 26, runs: the best there is says how good it is.
    #[test]
    fn a_run_that_does_not_meet_all_criteria_says_how_many_it_meets() {
        let result = json!({
            "result": {"text": "x"},
            "quality": {"made": true, "met": false},
            "acceptance-report": [{"criterion": "a", "verdict": "pass"}, {"criterion": "b", "verdict": "fail"}],
        });
        let run = Run {
            state: "completed".into(),
            result: Some(json::to_struct(&result)),
            ..Run::default()
        };
        assert_eq!(state_words(&run), "completed, 1 of 2 criteria met");
        let nothing = json!({
            "result": {"text": "x"},
            "quality": {"made": false, "met": false, "explanation": "nobody <did> it"},
            "acceptance-report": [{"criterion": "a", "verdict": "not_checked"}],
        });
        let nothing = Run {
            result: Some(json::to_struct(&nothing)),
            ..run.clone()
        };
        assert_eq!(state_words(&nothing), "completed, nothing made");
        let why = nothing_made(&nothing).into_string();
        assert!(why.contains("nobody &lt;did&gt; it"), "{why}");
        assert!(heading(&nothing).into_string().contains("bad"));
        assert_eq!(nothing_made(&run).into_string(), "");
        let chat = Run {
            result: Some(json::to_struct(&json!({"message": "x"}))),
            ..run
        };
        assert_eq!(state_words(&chat), "completed");
    }

    #[test]
    fn tokens_are_told_from_estimates_and_from_none() {
        let of = |tokens, tokens_estimated| {
            let run = Run {
                tokens,
                tokens_estimated,
                ..Run::default()
            };
            super::tokens(&run).into_string()
        };
        assert_eq!(of(1_234_567, false), "1,234,567");
        assert!(of(6_339, true).contains("≈ 6,339"));
        assert_eq!(of(0, true), "–");
    }
}
