//! Decisions of a run, case by case.

use agenthub_runs::{
    Budget, Effect, EffectFailure, Handoff, Retry, RunEvent, RunOutcome, RunStarted, Spent, Step,
    StepResult, ToolOutput,
    model::{PromptMessage, Request},
    run::{Action, Outgoing},
};
use serde_json::Value;

use crate::support::{
    NOON, Wants, begins, call,
    simulation::{Simulation, words},
    together,
};

fn tool(name: &str) -> Step {
    Step::new(name, Effect::Call(call(name)))
}

fn agent(name: &str) -> Step {
    Step::new(name, Effect::Delegate(Handoff::default()))
}

fn ask(name: &str, words: &str) -> Step {
    let request = Request::new(vec![PromptMessage::user(words)]);
    Step::new(name, Effect::Ask(Box::new(request)))
}

fn done() -> StepResult {
    StepResult::ToolReturned(ToolOutput::from("done"))
}

fn with(budget: Budget) -> RunStarted {
    RunStarted {
        budget,
        ..begins("wants", Value::Null)
    }
}

/// A run that wants these steps together, with those dispatched that begin at once.
fn begun(first: RunStarted, steps: &[Step]) -> Simulation {
    let mut simulation = Simulation::new(first);
    simulation.settle(&together(steps.to_vec()));
    simulation
}

fn next(simulation: &Simulation, steps: &[Step]) -> Vec<String> {
    words(&simulation.actions(&together(steps.to_vec())))
}

#[test]
fn a_passing_failure_is_tried_again_after_its_pause_and_not_forever() {
    let retry = Retry {
        attempts: 2,
        pause_ms: 500,
    };
    let steps = [tool("a").retry(retry)];
    let failed = || StepResult::Failed(EffectFailure::passing("busy"));
    let mut run = begun(begins("wants", Value::Null), &steps);
    assert_eq!(next(&run, &steps), ["resume a#1"]);
    run.now += 100;
    run.ends("a", failed(), None);
    assert_eq!(next(&run, &steps), [format!("wake {}", NOON + 600)]);
    run.now = NOON + 599;
    assert_eq!(next(&run, &steps), [format!("wake {}", NOON + 600)]);
    run.now = NOON + 600;
    assert_eq!(next(&run, &steps), ["begin a#2"]);
    run.settle(&together(steps.to_vec()));
    run.ends("a", failed(), None);
    let all = "stop completed: all came back";
    assert_eq!(next(&run, &steps), [all], "the failure is its result");
}

/// An unavailable model is not called all the time.
#[test]
fn pauses_of_a_question_to_the_model_double_up_to_a_limit() {
    let steps = [Step::ask("q", Request::default())];
    let mut run = begun(begins("wants", Value::Null), &steps);
    for pause in [1_000, 2_000, 4_000, 8_000, 16_000] {
        run.ends(
            "q",
            StepResult::Failed(EffectFailure::passing("busy")),
            None,
        );
        let due = run.now + pause;
        assert_eq!(next(&run, &steps), [format!("wake {due}")]);
        run.now = due;
        run.settle(&together(steps.to_vec()));
    }
    run.ends(
        "q",
        StepResult::Failed(EffectFailure::passing("busy")),
        None,
    );
    assert_eq!(next(&run, &steps), ["stop completed: all came back"]);

    let patient = Retry {
        attempts: 9,
        pause_ms: 1_000,
    };
    let steps = [Step::ask("q", Request::default()).retry(patient)];
    let mut run = begun(begins("wants", Value::Null), &steps);
    for _ in 0..8 {
        run.ends(
            "q",
            StepResult::Failed(EffectFailure::passing("busy")),
            None,
        );
        run.now += 30_000;
        run.settle(&together(steps.to_vec()));
    }
    run.ends(
        "q",
        StepResult::Failed(EffectFailure::passing("busy")),
        None,
    );
    assert_eq!(next(&run, &steps), ["stop completed: all came back"]);
}

#[test]
fn a_lasting_failure_is_not_tried_again() {
    let retry = Retry {
        attempts: 9,
        pause_ms: 0,
    };
    let steps = [tool("a").retry(retry)];
    let mut run = begun(begins("wants", Value::Null), &steps);
    run.ends("a", StepResult::Failed(EffectFailure::lasting("no")), None);
    assert_eq!(next(&run, &steps), ["stop completed: all came back"]);
}

#[test]
fn what_is_no_longer_wanted_is_called_back() {
    let run = begun(begins("wants", Value::Null), &[tool("a"), agent("b")]);
    let fewer = [tool("c"), agent("b")];
    assert_eq!(
        next(&run, &fewer),
        ["recall a#1", "begin c#1", "resume b#1"]
    );
}

#[test]
fn a_step_that_is_named_twice_goes_out_once() {
    let run = Simulation::new(begins("wants", Value::Null));
    assert_eq!(next(&run, &[tool("a"), tool("a")]), ["begin a#1"]);
}

#[test]
fn a_run_that_stops_calls_back_what_is_out_and_then_concludes() {
    let steps = [tool("a"), agent("b")];
    let mut run = begun(begins("wants", Value::Null), &steps);
    let outcome = RunOutcome::Cancelled {
        reason: "enough".into(),
    };
    let at_ms = run.now;
    run.happens(RunEvent::Stopping { outcome, at_ms });
    assert_eq!(next(&run, &steps), ["recall a#1", "recall b#1"]);
    run.ends("a", done(), None);
    assert_eq!(next(&run, &steps), ["recall b#1"]);
    run.ends("b", StepResult::Cancelled, None);
    assert_eq!(next(&run, &steps), ["conclude cancelled: enough"]);
    run.settle(&together(steps.to_vec()));
    assert_eq!(next(&run, &steps), [""; 0], "what is over is over");
}

#[test]
fn a_strategy_that_finishes_early_calls_back_what_is_out() {
    let mut run = begun(begins("wants", Value::Null), &[tool("a")]);
    let enough = Wants(|_: &_| agenthub_runs::Next::Finish(RunOutcome::completed("enough")));
    run.settle(&enough);
    let events = crate::support::words(&run.events);
    let wanted = ["stopping completed", "a#1 cancelled", "ended completed"];
    assert_eq!(events[2..], wanted);
}

#[test]
fn the_earlier_of_two_deadlines_ends_the_run() {
    for (deadline_ms, time_ms, ends) in [
        (Some(NOON + 10), None, Some(NOON + 10)),
        (None, Some(20), Some(NOON + 20)),
        (Some(NOON + 30), Some(20), Some(NOON + 20)),
        (Some(NOON + 10), Some(20), Some(NOON + 10)),
        (None, None, None),
    ] {
        let first = RunStarted {
            deadline_ms,
            ..with(Budget {
                time_ms,
                ..Budget::default()
            })
        };
        let steps = [tool("a")];
        let mut run = begun(first, &steps);
        let mut waits = vec!["resume a#1".to_owned()];
        waits.extend(ends.map(|at| format!("wake {at}")));
        assert_eq!(next(&run, &steps), waits);
        run.now = ends.unwrap_or(u64::MAX);
        match ends {
            Some(end) => {
                let over = format!("stop failed: the time for it, {}ms, is over", end - NOON);
                assert_eq!(next(&run, &steps), [over]);
            }
            None => assert_eq!(next(&run, &steps), waits),
        }
    }
}

#[test]
fn a_strategy_that_waits_for_nothing_fails() {
    let run = Simulation::new(begins("wants", Value::Null));
    let idle = Wants(|_: &_| agenthub_runs::Next::Steps(Vec::new()));
    let why = "stop failed: the strategy wants waits for nothing";
    assert_eq!(words(&run.actions(&idle)), [why]);
}

#[test]
fn a_run_that_did_not_begin_does_nothing() {
    let mut run = Simulation::new(begins("wants", Value::Null));
    run.facts = Default::default();
    assert_eq!(next(&run, &[tool("a")]), [""; 0]);
}

#[test]
fn only_so_many_steps_are_out_at_one_time() {
    let steps = [tool("a"), tool("b"), tool("c")];
    let mut run = Simulation::new(begins("wants", Value::Null));
    run.max_open = 2;
    assert_eq!(next(&run, &steps), ["begin a#1", "begin b#1"]);
    run.settle(&together(steps.to_vec()));
    assert_eq!(next(&run, &steps), ["resume a#1", "resume b#1"]);
    run.ends("b", done(), None);
    assert_eq!(next(&run, &steps), ["resume a#1", "begin c#1"]);
}

fn tokens(tokens: u64) -> Budget {
    Budget {
        tokens: Some(tokens),
        ..Budget::default()
    }
}

#[test]
fn a_step_waits_for_what_others_have_reserved() {
    let steps = [ask("a", "first"), ask("b", "second")];
    let mut run = begun(with(tokens(500)), &steps);
    assert_eq!(next(&run, &steps), ["resume a#1"], "all is reserved for a");
    run.ends(
        "a",
        StepResult::ModelAnswered(Default::default()),
        Some(Spent {
            tokens: 100,
            ..Spent::CALL
        }),
    );
    assert_eq!(next(&run, &steps), ["begin b#1"]);
}

#[test]
fn a_step_that_nothing_is_left_for_ends_the_run() {
    let steps = [ask("a", "first"), ask("b", "second")];
    let mut run = begun(with(tokens(500)), &steps);
    run.ends(
        "a",
        StepResult::Failed(EffectFailure::lasting("late")),
        None,
    );
    let why = "stop failed: the budget of 500 tokens does not suffice: 0 left, 19 needed";
    assert_eq!(
        next(&run, &steps),
        [why],
        "what is not told is charged whole"
    );
}

#[test]
fn money_is_reserved_before_it_is_spent() {
    let budget = Budget {
        cost_micros: Some(50),
        ..Budget::default()
    };
    let steps = [ask("a", "first"), ask("b", "second")];
    let mut run = begun(with(budget), &steps);
    assert_eq!(next(&run, &steps), ["resume a#1"]);
    run.ends(
        "a",
        StepResult::ModelAnswered(Default::default()),
        Some(Spent {
            cost_micros: 50,
            ..Spent::CALL
        }),
    );
    let stop = &next(&run, &steps)[0];
    assert!(
        stop.contains("the budget of 50 millionths of a dollar does not suffice"),
        "{stop}"
    );
}

#[test]
fn an_answer_is_as_long_as_what_is_left_pays_for() {
    let steps = [ask("a", "four")];
    for (left, longest) in [(10_000, Some(4_096)), (100, Some(98)), (18, Some(16))] {
        let run = Simulation::new(with(tokens(left)));
        let actions = run.actions(&together(steps.to_vec()));
        let [Action::Begin(_, work)] = &actions[..] else {
            panic!("{left}: {actions:?}");
        };
        let Outgoing::Ask(request) = &work.what else {
            panic!("{work:?}");
        };
        assert_eq!(request.max_output_tokens, longest);
    }
    let run = Simulation::new(begins("wants", Value::Null));
    let actions = run.actions(&together(steps.to_vec()));
    let [Action::Begin(_, work)] = &actions[..] else {
        panic!("{actions:?}");
    };
    assert!(matches!(&work.what, Outgoing::Ask(request) if request.max_output_tokens.is_none()));
}

#[test]
fn work_is_handed_on_only_so_deep() {
    let deep = |depth| {
        with(Budget {
            depth: Some(depth),
            ..Budget::default()
        })
    };
    let why = "stop failed: delegation is nested as deep as it may be";
    assert_eq!(next(&Simulation::new(deep(0)), &[agent("a")]), [why]);
    let run = Simulation::new(deep(2));
    let actions = run.actions(&together(vec![agent("a")]));
    let [Action::Begin(_, work)] = &actions[..] else {
        panic!("{actions:?}");
    };
    let Outgoing::Delegate(sent) = &work.what else {
        panic!("{work:?}");
    };
    assert_eq!(sent.budget.depth, Some(1));
}

#[test]
fn agents_share_what_is_left_and_leave_a_part_to_the_run() {
    let steps = [agent("a"), agent("b"), agent("c")];
    let run = Simulation::new(with(Budget {
        tokens: Some(400),
        calls: Some(40),
        ..Budget::default()
    }));
    let grants: Vec<_> = run
        .actions(&together(steps.to_vec()))
        .into_iter()
        .map(|action| match action {
            Action::Begin(_, work) => match work.what {
                Outgoing::Delegate(sent) => (sent.budget.tokens, sent.budget.calls),
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        })
        .collect();
    // Delegating is a call of its own.
    assert_eq!(grants, [(Some(100), Some(9)); 3]);
}
