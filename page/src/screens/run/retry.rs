//! The form that does a workflow again that is over: from a step that there is, with a word on what is done again and what is not.

use agenthub_proto::{cortex::Run, wkt::Value};
use maud::{Markup, html};

use crate::{elements::segment, form_key, plan::Plan, words, written};

/// The form; nothing for a run that cannot be done again. It is open where the run failed.
pub(super) fn form(run: &Run, plan: Option<&Plan<'_>>, input: Option<&Value>) -> Markup {
    let (Some(plan), true) = (plan, run.mode == "workflow" && run.ended_at.is_some()) else {
        return html! {};
    };
    let failed = plan.failed();
    let before = written::given(input);
    html! {
        details.again id="again" open[run.state == "failed"] {
            summary { "Do it again" }
            p {
                "A new run begins. Steps that completed are not done again if they would be asked the same: their results are taken over, approvals too. "
                "The step that you choose is done again in any case, and so are the steps that depend on it, with all that they send to others."
            }
            form method="post" action={ "/ui/runs/" (segment(&run.id)) "/retry" } {
                (form_key::field("retry"))
                label {
                    span { "From step" }
                    select name="from" required[failed.is_none()] {
                        @match failed {
                            Some(step) => option value="" selected { (step.name) (if step.state == "refused" { ", which was refused" } else { ", which failed" }) },
                            None => option value="" { "choose a step" },
                        }
                        @for step in plan.steps.iter().filter(|step| failed.is_none_or(|f| f.name != step.name)) {
                            option value=(step.name) { (step.name) " (" (words::state(&step.state)) ")" }
                        }
                    }
                }
                details id="retry-input" {
                    summary { "With another input" }
                    input type="hidden" name="before" value=(written::digest(&before));
                    label { span { "Input" } textarea name="input" rows=(written::rows(&before)) placeholder="{\"name\": \"value\"}" { (before) } small { "The run's own if it stands here, and if nothing does: names with values, as JSON." } }
                }
                label.check { input type="checkbox" required; " These steps may be done again, with what they send." }
                button { "Do it again" }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use agenthub_proto::{cortex::RunPlan, wkt::Timestamp};
    use agenthub_sdk::proto::json;
    use serde_json::json;

    use super::*;

    fn shown(state: &str, b: &str) -> String {
        let run = Run {
            id: "r".into(),
            mode: "workflow".into(),
            state: state.into(),
            ended_at: Some(Timestamp::default()),
            ..Run::default()
        };
        let steps = json!({"steps": {"a": {}, "b": {"dependsOn": ["a"]}}});
        let plan = RunPlan {
            version: 1,
            plan: Some(json::to_struct(&steps)),
            states: [("a".into(), "completed".into()), ("b".into(), b.into())].into(),
        };
        let input = json::to_value(&json!({"people": ["<Ann>"]}));
        form(&run, Some(&Plan::of(&plan, &[])), Some(&input)).into_string()
    }

    /// Issue 26, runs: retry from a step. The steps are those that there are, and nothing is sent again without a word.
    #[test]
    fn the_steps_that_there_are_can_be_chosen_and_a_word_is_asked_for() {
        let failed = shown("failed", "failed");
        assert!(
            failed.contains(" open")
                && failed.contains("<option value=\"\" selected>b, which failed"),
            "{failed}"
        );
        assert!(
            failed.contains("<option value=\"a\">a (completed)"),
            "{failed}"
        );
        assert!(failed.contains("type=\"checkbox\" required"));
        // What the run had is there to be changed.
        assert_eq!(failed.matches("&lt;Ann&gt;").count(), 1, "{failed}");
        let completed = shown("completed", "completed");
        assert!(!completed.contains(" open"), "nobody asked for it");
        assert!(
            completed.contains("<select name=\"from\" required>"),
            "{completed}"
        );
    }

    /// A key that is the same for each form of a run would let it be done again once, and never after a try that was refused.
    #[test]
    fn each_form_is_a_try_of_its_own() {
        assert_ne!(shown("failed", "failed"), shown("failed", "failed"));
    }

    #[test]
    fn only_a_workflow_that_is_over_is_done_again() {
        let run = Run {
            mode: "workflow".into(),
            ..Run::default()
        };
        assert_eq!(form(&run, None, None).into_string(), "");
    }
}
