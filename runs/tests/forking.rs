//! Forks: runs that begin with what another one had recorded.

use agenthub_runs::{
    Approval, Decision, Effect, EffectFailure, Facts, Handoff, Next, Retry, RunEvent, RunId,
    RunOutcome, Step, StepId, StepRequest, StepResult, Strategy, ToolOutput,
    fork::{Fork, ForkError},
    journal::Entry,
    model::{Completion, PromptMessage, Request, ToolCall},
    run::{self, Action},
};
use serde_json::{Value, json};

use crate::support::{Wants, begins, simulation::Simulation, together};

/// Time at which forks begin: later than the run.
const LATER: u64 = 86_400_000;

fn fork_id() -> RunId {
    RunId::new("fork")
}

fn entries(run: &Simulation) -> Vec<Entry> {
    let numbered = (1..).zip(run.events.iter().cloned());
    numbered.map(|(seq, event)| Entry { seq, event }).collect()
}

fn fork(run: &Simulation, at: u64) -> Result<Fork, ForkError> {
    fork_with(run, at, Value::Null)
}

fn fork_with(run: &Simulation, at: u64, input: Value) -> Result<Fork, ForkError> {
    let mut started = begins("wants", input);
    started.at_ms += LATER;
    Fork::at(&entries(run), at, &fork_id(), started)
}

/// Number of the event with which a step began, or ended.
fn number(run: &Simulation, step: &str, has_ended: bool) -> u64 {
    let is_it = |event: &RunEvent| match event {
        RunEvent::StepBegun { step: of, .. } => !has_ended && of.as_str() == step,
        RunEvent::StepEnded { step: of, .. } => has_ended && of.as_str() == step,
        _ => false,
    };
    let at = run.events.iter().position(is_it).expect("it did");
    at as u64 + 1
}

/// The steps that the fork begins, with the events of which.
fn next(fork: &Fork, strategy: &dyn Strategy) -> Vec<RunEvent> {
    let facts = Facts::of(&fork.events);
    let now = facts.started().expect("it began").at_ms;
    let actions = run::next(&fork_id(), &facts, strategy, now, 16);
    let begun = actions.into_iter().filter_map(|action| match action {
        Action::Begin(event, _) => Some(event),
        Action::Resume(work) => panic!("nothing of the other run is in flight: {work:?}"),
        _ => None,
    });
    begun.collect()
}

fn names(events: &[RunEvent]) -> Vec<&str> {
    let names = events.iter().map(|event| match event {
        RunEvent::StepBegun { step, .. } => step.as_str(),
        other => panic!("{other:?}"),
    });
    names.collect()
}

fn asks(agent: &str, text: &str) -> Step {
    let handoff = Handoff {
        agent: agent.into(),
        text: text.into(),
        ..Handoff::default()
    };
    Step::new(agent, Effect::Delegate(handoff))
}

fn returned() -> StepResult {
    StepResult::ToolReturned(ToolOutput {
        value: Value::Null,
        is_error: false,
    })
}

/// Two agents are asked after a third.
fn three() -> Wants<impl Fn(&Facts) -> Next + Send + Sync> {
    Wants(|facts: &Facts| {
        let first = asks("first", "do");
        if facts.result(&first).is_none() {
            return Next::Steps(vec![first]);
        }
        let both = [asks("left", "do"), asks("right", "do")];
        let open: Vec<Step> = both
            .into_iter()
            .filter(|s| facts.result(s).is_none())
            .collect();
        match open.is_empty() {
            true => Next::Finish(RunOutcome::completed("done")),
            false => Next::Steps(open),
        }
    })
}

fn run_of_three() -> Simulation {
    let mut run = Simulation::new(begins("wants", Value::Null));
    run.settle(&three());
    run.ends(
        "first",
        StepResult::DelegationEnded(Default::default()),
        None,
    );
    run.settle(&three());
    run.ends(
        "left",
        StepResult::DelegationEnded(Default::default()),
        None,
    );
    run.settle(&three());
    run
}

#[test]
fn what_was_recorded_stands_and_what_was_in_flight_is_asked_for_under_other_ids() {
    let run = run_of_three();
    let at = number(&run, "left", true);
    let fork = fork(&run, at).expect("it goes on");
    let steps: Vec<_> = fork
        .events
        .iter()
        .filter(|e| matches!(e, RunEvent::StepBegun { .. }))
        .collect();
    assert_eq!(steps.len(), 2, "`right` was in flight: {steps:?}");
    let asked = next(&fork, &three());
    assert_eq!(names(&asked), ["right"]);
    let task_of = |events: &[RunEvent]| {
        events.iter().find_map(|event| match event {
            RunEvent::StepBegun {
                step,
                what: StepRequest::Delegated(sent),
                ..
            } if step.as_str() == "right" => Some(sent.task_id.clone()),
            _ => None,
        })
    };
    assert!(task_of(&run.events).is_some());
    assert_ne!(task_of(&asked), task_of(&run.events), "a task of its own");

    let early = self::fork(&run, number(&run, "first", false)).expect("it goes on");
    assert_eq!(names(&next(&early, &three())), ["first"]);
}

#[test]
fn only_events_before_the_end_can_be_gone_on_from() {
    let mut run = run_of_three();
    run.ends(
        "right",
        StepResult::DelegationEnded(Default::default()),
        None,
    );
    run.settle(&three());
    let last = run.events.len() as u64;
    assert_eq!(
        fork(&run, last + 1),
        Err(ForkError::NoEvent { at: last + 1, last })
    );
    assert_eq!(fork(&run, 0), Err(ForkError::NoEvent { at: 0, last }));
    let latest = number(&run, "right", true);
    assert_eq!(fork(&run, last), Err(ForkError::Over { at: last, latest }));
    assert!(fork(&run, latest).is_ok());
}

#[test]
fn pauses_and_times_count_from_the_beginning_of_the_fork() {
    let patient = || {
        let retry = Retry {
            attempts: 2,
            pause_ms: 500,
        };
        together(vec![asks("first", "do").retry(retry)])
    };
    let mut run = Simulation::new(begins("wants", Value::Null));
    run.settle(&patient());
    let failure = EffectFailure::passing("not now");
    run.ends("first", StepResult::Failed(failure), None);
    let fork = fork(&run, run.events.len() as u64).expect("it goes on");
    let facts = Facts::of(&fork.events);
    let begun = facts.started().expect("it began").at_ms;
    let ended = facts.ended_ms(&asks("first", "do"));
    assert_eq!(
        ended,
        Some(begun),
        "as if it had come back when the fork began"
    );
    let actions = run::next(&fork_id(), &facts, &patient(), begun, 16);
    assert!(
        matches!(&actions[..], [Action::WakeAt(at)] if *at == begun + 500),
        "{actions:?}"
    );
}

/// A tool that a person has to allow, and then another one.
fn with_consent() -> Wants<impl Fn(&Facts) -> Next + Send + Sync> {
    Wants(|facts: &Facts| {
        let run = facts.input()["run"].as_str().unwrap_or_default();
        let call = |name: &str| {
            let call = ToolCall {
                id: name.into(),
                name: name.into(),
                arguments: json!({"to": "all"}),
            };
            Step::new(name, Effect::Call(call))
        };
        let approval = Approval::new(run, "send", "mailer", "send", json!({"to": "all"}));
        let consent = Step::new(
            format!("consent/{}", approval.id),
            Effect::Approve(approval),
        );
        let steps = [consent, call("send"), call("look")];
        match steps.into_iter().find(|step| facts.result(step).is_none()) {
            Some(step) => Next::Steps(vec![step]),
            None => Next::Finish(RunOutcome::completed("done")),
        }
    })
}

#[test]
fn a_yes_holds_in_a_fork_only_where_it_was_used() {
    let mut run = Simulation::new(begins("wants", json!({"run": "run"})));
    run.settle(&with_consent());
    let consent = run
        .facts
        .in_flight()
        .next()
        .map(|(step, _)| step.to_string());
    let consent = consent.expect("a person is asked");
    let yes = StepResult::Decided(Decision {
        approved: true,
        by: "ann".into(),
        comment: String::new(),
    });
    run.ends(&consent, yes, None);
    run.settle(&with_consent());
    run.ends("send", returned(), None);
    run.settle(&with_consent());

    let of_fork = json!({"run": "fork"});
    for at in [number(&run, &consent, true), number(&run, "send", false)] {
        let unsent = fork_with(&run, at, of_fork.clone()).expect("it goes on");
        let asked = next(&unsent, &with_consent());
        assert!(
            names(&asked)[0].starts_with("consent/"),
            "the person is asked again: {asked:?}"
        );
    }
    let sent = fork_with(&run, number(&run, "send", true), of_fork).expect("it goes on");
    assert_eq!(names(&next(&sent, &with_consent())), ["look"]);
    assert!(
        !sent
            .events
            .iter()
            .any(|event| format!("{event:?}").contains(&consent))
    );
}

#[test]
fn another_input_changes_nothing_that_a_step_got() {
    let strategy = Wants(|facts: &Facts| {
        let text = |name: &str| facts.input()[name].as_str().unwrap_or_default().to_owned();
        let steps = [asks("first", &text("one")), asks("second", &text("two"))];
        match steps.into_iter().find(|step| facts.result(step).is_none()) {
            Some(step) => Next::Steps(vec![step]),
            None => Next::Finish(RunOutcome::completed("done")),
        }
    });
    let mut run = Simulation::new(begins("wants", json!({"one": "a", "two": "b"})));
    run.settle(&strategy);
    run.ends(
        "first",
        StepResult::DelegationEnded(Default::default()),
        None,
    );
    run.settle(&strategy);
    let at = number(&run, "first", true);
    let check = |at, input| fork_with(&run, at, input)?.check(&strategy, true);
    assert_eq!(check(at, json!({"one": "a", "two": "other"})), Ok(()));
    let refused = check(at, json!({"one": "other", "two": "b"})).expect_err("`first` got it");
    let ForkError::Changed { step, latest, .. } = &refused else {
        panic!("{refused:?}");
    };
    assert_eq!(
        (step.as_str(), *latest),
        ("first", number(&run, "first", false) - 1)
    );
    assert!(refused.to_string().contains("other"), "{refused}");
    assert_eq!(check(*latest, json!({"one": "other", "two": "b"})), Ok(()));
}

#[test]
fn a_model_that_was_asked_got_the_whole_input() {
    let strategy = together(vec![Step::new(
        "turn-1",
        Effect::Ask(Box::new(Request::new(vec![PromptMessage::user("hello")]))),
    )]);
    let mut run = Simulation::new(begins("wants", Value::Null));
    run.settle(&strategy);
    run.ends(
        "turn-1",
        StepResult::ModelAnswered(Completion::default()),
        None,
    );
    let at = run.events.len() as u64;
    let fork = fork(&run, at).expect("it goes on");
    assert_eq!(fork.check(&strategy, false), Ok(()));
    let refused = fork.check(&strategy, true).expect_err("it got the input");
    let step = StepId::new("turn-1");
    assert_eq!(refused, ForkError::Asked { step, latest: 1 });
}
