//! Order of ready steps.

use super::*;

#[test]
fn a_step_is_ready_when_all_that_it_needs_is_over() {
    let plan = AdmittedPlan::trusted(plan_of(campaign()));
    let state = |strategy, draft| {
        move |step: &str| match step {
            "strategy" => strategy,
            "draft" => draft,
            _ => StepState::Waiting,
        }
    };
    use StepState::{Done, Failed, Out, Skipped, Waiting};
    assert_eq!(plan.ready(state(Waiting, Waiting)), ["strategy"]);
    assert_eq!(plan.ready(state(Out, Waiting)), [""; 0]);
    assert_eq!(plan.ready(state(Failed, Waiting)), [""; 0]);
    assert_eq!(plan.ready(state(Done, Waiting)), ["draft"]);
    assert_eq!(plan.ready(state(Skipped, Waiting)), ["draft"]);
    assert_eq!(plan.ready(state(Done, Done)), ["review"]);
}

#[test]
fn steps_that_wait_for_nothing_go_out_in_the_order_of_the_plan() {
    let step = json!({"capability": "c"});
    let plan = AdmittedPlan::trusted(plan_of(steps(json!({"z": step, "a": step, "m": step}))));
    assert_eq!(plan.ready(|_| StepState::Waiting), ["z", "a", "m"]);
}

#[test]
fn what_waits_for_a_step_that_is_not_there_is_never_ready() {
    let plan = plan_of(steps(json!({"a": {"capability": "c", "dependsOn": ["b"]}})));
    assert_eq!(
        AdmittedPlan::trusted(plan).ready(|_| StepState::Done),
        [""; 0]
    );
}
