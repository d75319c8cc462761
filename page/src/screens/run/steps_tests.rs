//! Tests of the table of steps.

use agenthub_proto::{
    cortex::{RunPlan, StepCounts},
    wkt::Timestamp,
};
use agenthub_sdk::proto::json;
use serde_json::json;

use super::*;

fn attempt(step: &str, plan_step: &str, state: &str, error: &str) -> StepAttempt {
    let at = |seconds| Some(Timestamp { seconds, nanos: 0 });
    StepAttempt {
        step: step.into(),
        plan_step: plan_step.into(),
        attempt: 1,
        kind: "agent".into(),
        agent: "writer".into(),
        state: state.into(),
        begun_at: at(1),
        ended_at: at(3),
        error: error.into(),
        ..StepAttempt::default()
    }
}

fn of(steps: &[StepAttempt]) -> RunMoment {
    RunMoment {
        steps: steps.to_vec(),
        ..RunMoment::default()
    }
}

fn plan(states: &[(&str, &str)]) -> RunPlan {
    let steps: serde_json::Map<String, serde_json::Value> = states
        .iter()
        .map(|(name, _)| ((*name).to_owned(), json!({})))
        .collect();
    RunPlan {
        version: 1,
        plan: Some(json::to_struct(&json!({ "steps": steps }))),
        states: states
            .iter()
            .map(|(name, state)| ((*name).to_owned(), (*state).to_owned()))
            .collect(),
    }
}

/// Issue 26, runs: what a person did not allow reads refused: by whom, when, and with what words. What needs it was not reached.
#[test]
fn a_refused_step_says_who_refused_it_and_is_no_failure() {
    let mut asked = attempt("ask", "ask", "refused", "");
    let decision = json!({"approved": false, "by": "ann", "comment": "not <today>"});
    (asked.kind, asked.agent) = ("person".into(), String::new());
    asked.result = Some(json::to_value(&decision));
    let all = [asked];
    let plan = plan(&[("ask", "refused"), ("send", "not-reached")]);
    let plan = Plan::of(&plan, &all);
    for shown in [drawn(Some(&plan), &of(&all)), drawn(None, &of(&all))] {
        let shown = shown.into_string();
        assert!(shown.contains("state warn\">refused"), "{shown}");
        assert!(shown.contains("by ann, <time"), "{shown}");
        assert!(shown.contains("“not &lt;today&gt;”"), "{shown}");
        assert!(
            !shown.contains("failed") && !shown.contains("class=\"bad"),
            "{shown}"
        );
    }
    let picture = plan.picture().into_string();
    assert!(picture.contains("refused by ann"), "{picture}");
    assert_eq!(plan.failed().map(|step| &*step.name), Some("ask"));
}

#[test]
fn an_allowed_step_says_who_allowed_it_and_with_what_words() {
    let mut asked = attempt("ask", "ask", "completed", "");
    let decision = json!({"approved": true, "by": "ann", "comment": "to <all>"});
    (asked.kind, asked.agent) = ("person".into(), String::new());
    asked.result = Some(json::to_value(&decision));
    let all = [asked, attempt("send", "send", "completed", "")];
    let plan = plan(&[("ask", "completed"), ("send", "completed")]);
    let plan = Plan::of(&plan, &all);
    for shown in [drawn(Some(&plan), &of(&all)), drawn(None, &of(&all))] {
        let shown = shown.into_string();
        assert_eq!(shown.matches("allowed by ann, <time").count(), 1, "{shown}");
        assert!(shown.contains("“to &lt;all&gt;”"), "{shown}");
    }
}

/// Issue 26, runs: the table is in the order of time, and what was not reached comes last.
#[test]
fn steps_stand_as_they_began() {
    let at = |seconds, name: &str| StepAttempt {
        begun_at: Some(Timestamp { seconds, nanos: 0 }),
        ..attempt(name, name, "completed", "")
    };
    let all = [at(1, "zeta"), at(2, "beta"), at(3, "alpha")];
    let states = [
        ("alpha", "completed"),
        ("beta", "completed"),
        ("last", "waiting"),
        ("zeta", "completed"),
    ];
    let plan = plan(&states);
    let shown = drawn(Some(&Plan::of(&plan, &all)), &of(&all)).into_string();
    let rows: Vec<&str> = shown
        .split("<tr id=\"step-")
        .skip(1)
        .filter_map(|row| row.split('"').next())
        .collect();
    assert_eq!(rows, ["zeta", "beta", "alpha", "last"]);
}

/// Issue 26, *Done when*: one finds why a task failed. The step that failed is red and says why; what came after it was not reached.
#[test]
fn the_step_that_failed_says_why_and_those_behind_it_were_not_reached() {
    let all = [
        attempt("a", "a", "completed", ""),
        attempt("b", "b", "failed", "there is no `a.output.<nosuch>`"),
    ];
    let plan = plan(&[("a", "completed"), ("b", "failed"), ("c", "not-reached")]);
    let plan = Plan::of(&plan, &all);
    let shown = drawn(Some(&plan), &of(&all)).into_string();
    let rows: Vec<&str> = shown.split("<tr id=").skip(1).collect();
    assert_eq!(rows.len(), 3, "{shown}");
    assert!(
        rows[1].starts_with("\"step-b\" class=\"failed\""),
        "{}",
        rows[1]
    );
    assert!(rows[1].contains("there is no `a.output.&lt;nosuch&gt;`"));
    assert!(
        rows[2].contains("not reached") && !rows[2].contains("failed"),
        "{}",
        rows[2]
    );
}

/// Issue 26, runs: a step has one row, in the words of the plan, whatever the run calls its attempts.
#[test]
fn attempts_stand_in_the_row_of_their_step_and_questions_to_the_model_aside() {
    let all = [
        attempt("turn-1", "", "completed", ""),
        attempt("handoff-1", "write", "completed", ""),
    ];
    let plan = plan(&[("write", "completed")]);
    let plan = Plan::of(&plan, &all);
    let shown = drawn(Some(&plan), &of(&all)).into_string();
    let (table, besides) = shown
        .split_once("id=\"steps-besides\"")
        .expect("there is one");
    assert!(
        table.contains("<b title=\"write\">write</b>") && !table.contains(">handoff-1"),
        "{table}"
    );
    assert!(
        besides.contains("<b title=\"turn-1\">work for writer</b>"),
        "{besides}"
    );
}

#[test]
fn items_of_a_loop_stand_below_their_step() {
    let all = [
        attempt("send/0", "send", "completed", ""),
        attempt("send/1", "send", "completed", ""),
    ];
    let plan = plan(&[("send", "completed")]);
    let plan = Plan::of(&plan, &all);
    let shown = drawn(Some(&plan), &of(&all)).into_string();
    assert_eq!(shown.matches("class=\"d1\"").count(), 2, "{shown}");
}

/// Issue 26, runs: what was called back has not failed, wherever it is told.
#[test]
fn a_loop_that_was_cancelled_says_that_its_items_were() {
    let all = [
        attempt("send/0", "send", "completed", ""),
        attempt("send/1", "send", "cancelled", ""),
    ];
    let counts = StepCounts {
        attempts: 2,
        items: 9,
        done: 1,
        cancelled: 1,
        ..StepCounts::default()
    };
    let moment = RunMoment {
        counts: [("send".to_owned(), counts)].into(),
        ..of(&all)
    };
    let plan = plan(&[("send", "cancelled")]);
    let plan = Plan::of(&plan, &all).counted(&moment.counts);
    let (table, picture) = (drawn(Some(&plan), &moment), plan.picture());
    for shown in [table.into_string(), picture.into_string()] {
        assert!(
            shown.contains("1 of 9") && shown.contains("1 cancelled"),
            "{shown}"
        );
        for other in ["failed", "skipped", "bad"] {
            assert!(!shown.contains(other), "{other}: {shown}");
        }
    }
    assert_eq!(plan.failed(), None);
}

/// Issue 26, runs: a loop says how far it is. Of hundreds of items some are listed, with how many are not, and a link to all.
#[test]
fn a_loop_over_hundreds_of_items_says_how_far_it_is_and_lists_some() {
    let all = [
        attempt("send/7", "send", "failed", "no <room>"),
        attempt("send/139", "send", "completed", ""),
    ];
    let counts = StepCounts {
        attempts: 141,
        open: 2,
        items: 500,
        done: 137,
        failed: 2,
        working: 2,
        begun_at: Some(Timestamp {
            seconds: 0,
            nanos: 0,
        }),
        ..StepCounts::default()
    };
    let moment = RunMoment {
        counts: [("send".to_owned(), counts)].into(),
        ..of(&all)
    };
    let plan = plan(&[("send", "working")]);
    let plan = Plan::of(&plan, &all).counted(&moment.counts);
    let shown = drawn(Some(&plan), &moment).into_string();
    assert!(
        shown.contains("137 of 500 done, 2 failed, 2 at work"),
        "{shown}"
    );
    assert!(
        shown.contains("<progress value=\"137\" max=\"500\""),
        "{shown}"
    );
    assert!(
        shown.contains("139 more are not listed here")
            && shown.contains("/steps?step=send\">all 141<"),
        "{shown}"
    );
    assert!(shown.contains("<b title=\"send/7\">item 8</b>") && shown.contains("no &lt;room&gt;"));
    assert_eq!(shown.matches("<tr").count(), 5, "{shown}");
    let picture = plan.picture().into_string();
    assert!(picture.contains("137 of 500, 2 failed"), "{picture}");
    assert!(picture.contains("class=\"done\""), "{picture}");
    assert_eq!(Span::of(&moment).map(|span| span.first), Some(0));
}
