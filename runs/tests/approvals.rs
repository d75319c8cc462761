//! Approvals, and the effects that a decision permits.

use std::sync::Arc;

use agenthub_runs::{
    Approval, Command, Decision, Effect, Facts, Next, RunEvent, RunOutcome, Step, StepRequest,
    StepResult,
};
use serde_json::{Value, json};

use crate::support::{
    Stage, Wants, begins, ended,
    simulation::{Simulation, words},
    together,
    world::{Behaviour, StandIn},
};

fn approval(arguments: Value) -> Approval {
    Approval::new("run", "send", "writer", "send", arguments)
}

fn asks(name: &str, arguments: Value) -> Step {
    Step::new(name, Effect::Approve(approval(arguments)))
}

fn says(approved: bool) -> StepResult {
    StepResult::Decided(Decision {
        approved,
        by: "ann".into(),
        comment: String::new(),
    })
}

fn next(run: &Simulation, steps: &[Step]) -> Vec<String> {
    words(&run.actions(&together(steps.to_vec())))
}

/// spec: ORC-12.3
#[test]
fn a_yes_holds_for_the_arguments_that_were_shown_and_for_no_others() {
    let (shown, changed) = (asks("ask", json!({"n": 1})), asks("ask", json!({"n": 2})));
    let mut run = Simulation::new(begins("wants", Value::Null));
    run.settle(&together(vec![shown.clone()]));
    run.ends("ask", says(true), None);
    assert_eq!(run.facts.result(&shown), Some(&says(true)));
    assert_eq!(run.facts.result(&changed), None);
    assert_eq!(next(&run, std::slice::from_ref(&changed)), ["begin ask#2"]);

    run.settle(&together(vec![changed.clone()]));
    run.ends("ask", says(false), None);
    assert_eq!(run.facts.result(&changed), Some(&says(false)));
    assert_eq!(run.facts.result(&shown), None, "nor for what it was before");
}

/// spec: ORC-12.3
#[test]
fn a_question_whose_arguments_change_is_withdrawn_and_asked_anew() {
    let (shown, changed) = (asks("ask", json!({"n": 1})), asks("ask", json!({"n": 2})));
    let mut run = Simulation::new(begins("wants", Value::Null));
    run.settle(&together(vec![shown]));
    let steps = [changed.clone()];
    assert_eq!(next(&run, &steps), ["recall ask#1"]);
    run.ends("ask", StepResult::Cancelled, None);
    assert_eq!(next(&run, &steps), ["begin ask#2"]);
    run.settle(&together(steps.to_vec()));
    // A decision on the withdrawn approval arrives too late.
    run.happens(RunEvent::StepEnded {
        step: changed.id.clone(),
        attempt: 1,
        result: says(true),
        spent: None,
        at_ms: run.now,
    });
    assert_eq!(run.facts.result(&changed), None);
    assert_eq!(next(&run, &steps), ["resume ask#2"]);
}

/// spec: ORC-12.3
#[test]
fn a_yes_answers_one_question() {
    let (first, second) = (asks("first", json!({})), asks("second", json!({})));
    let mut run = Simulation::new(begins("wants", Value::Null));
    run.settle(&together(vec![first.clone()]));
    run.ends("first", says(true), None);
    let steps = [first, second];
    assert_eq!(next(&run, &steps), ["begin second#1"]);
}

/// A strategy that asks, and completes with the decision.
fn asking() -> Wants<impl Fn(&Facts) -> Next + Send + Sync> {
    Wants(|facts: &Facts| {
        let step = asks("ask", json!({ "to": "everyone" }));
        match facts.result(&step) {
            None => Next::Steps(vec![step]),
            Some(StepResult::Decided(Decision { approved, by, .. })) => {
                Next::Finish(RunOutcome::completed(format!("{approved} by {by}")))
            }
            Some(other) => panic!("{other:?}"),
        }
    })
}

/// spec: ORC-12.3
#[tokio::test(start_paused = true)]
async fn a_question_is_asked_again_under_its_id_after_a_restart_and_answered_once() {
    let id = approval(json!({ "to": "everyone" })).id;
    let asked = format!("approve {id} ask#1");
    let stage = Arc::new(Stage::new(StandIn::new().does("ask", Behaviour::Hangs)));
    let task = stage.start("one", asking());
    stage.world.until(&asked).await;
    task.abort();
    assert!(task.await.expect_err("it was aborted").is_cancelled());

    let later = Stage {
        journal: Arc::clone(&stage.journal),
        ..Stage::new(StandIn::new().does("ask", Behaviour::Gives(says(true))))
    };
    let outcome = later.drive("one", &asking()).await;
    assert_eq!(outcome, Ok(RunOutcome::completed("true by ann")));
    let log = later.world.log();
    assert_eq!(log, [&*asked, "left ask#1", "conclude completed"]);
    let questions = later.events().await.into_iter().filter_map(|e| match e {
        RunEvent::StepBegun {
            what: StepRequest::ApprovalAsked(approval),
            ..
        } => Some(approval.id),
        _ => None,
    });
    assert_eq!(questions.collect::<Vec<_>>(), [id], "it is one question");
}

#[tokio::test(start_paused = true)]
async fn a_question_of_a_run_that_is_cancelled_is_withdrawn_at_once() {
    let stage = Arc::new(Stage::new(StandIn::new().does("ask", Behaviour::Hangs)));
    let task = stage.start("one", asking());
    stage.world.until("approve").await;
    let reason = "nobody waits".to_owned();
    stage.command.send_replace(Command::Cancel(reason));
    assert_eq!(ended(task).await.expect("it ends").label(), "cancelled");
    let events = crate::support::words(&stage.events().await);
    let wanted = ["stopping cancelled", "ask#1 cancelled", "ended cancelled"];
    assert_eq!(events[2..], wanted);
}
