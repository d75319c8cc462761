//! Properties: the same journal gives the same decisions and the same summary in every process, and a run ends in
//! whatever order its steps return.

use agenthub_runs::{
    Approval, Budget, Decision, DelegationResult, Effect, EffectFailure, Facts, Handoff, Next,
    Retry, RunEvent, RunId, RunOutcome, RunStarted, Spent, Step, StepRequest, StepResult,
    ToolOutput,
    journal::{self, Entry, State, Summary},
    model::{Completion, PromptMessage, Request},
    run,
};
use proptest::prelude::*;
use serde_json::Value;

use crate::support::{NOON, Wants, begins, call, simulation::Simulation};

/// Groups of parallel steps, in sequence.
type Groups = Vec<Vec<Step>>;

/// Kind of step, attempts, pause, and timeout.
type Drawn = (u8, u32, u64, Option<u64>);

fn step() -> impl Strategy<Value = Drawn> {
    (0_u8..8, 1_u32..4, 0_u64..50, prop::option::of(1_u64..100))
}

fn groups() -> impl Strategy<Value = Groups> {
    let group = prop::collection::vec(step(), 1..5);
    prop::collection::vec(group, 1..4).prop_map(|groups| {
        let group = |(number, steps): (usize, Vec<Drawn>)| {
            let steps = steps.into_iter().enumerate();
            steps
                .map(|(at, step)| named(format!("{number}-{at}"), step))
                .collect()
        };
        groups.into_iter().enumerate().map(group).collect()
    })
}

fn named(name: String, (kind, attempts, pause_ms, timeout_ms): Drawn) -> Step {
    let effect = match kind {
        0 => Effect::Ask(Box::new(Request::new(vec![PromptMessage::user(&*name)]))),
        1 => Effect::Call(call(&name)),
        2 => Effect::Delegate(Handoff {
            agent: name.clone(),
            ..Handoff::default()
        }),
        3 => Effect::Say(name.clone()),
        4 => Effect::Wait(NOON + pause_ms),
        5 => Effect::Note(Value::from(&*name)),
        6 => Effect::Approve(Approval::new("run", &*name, "a", "c", Value::Null)),
        _ => Effect::Look(Value::from(&*name)),
    };
    Step {
        timeout_ms,
        ..Step::new(name, effect).retry(Retry { attempts, pause_ms })
    }
}

fn in_turn(groups: Groups) -> Wants<impl Fn(&Facts) -> Next + Send + Sync> {
    Wants(move |facts: &Facts| {
        let is_back = |step: &Step| match step.effect {
            Effect::Look(_) => facts.observed(&step.id).is_some(),
            Effect::Note(_) => facts.noted(&step.id).is_some(),
            _ => facts.result(step).is_some(),
        };
        for group in &groups {
            if !group.iter().all(is_back) {
                return Next::Steps(group.clone());
            }
        }
        Next::Finish(RunOutcome::completed("done"))
    })
}

/// Result of a step that was begun so.
fn result(begun: &StepRequest, fate: u8) -> StepResult {
    match (fate % 8, begun) {
        (0, _) => StepResult::Failed(EffectFailure::passing("busy")),
        (1, _) => StepResult::Failed(EffectFailure::lasting("no")),
        (_, StepRequest::ModelAsked { .. }) => StepResult::ModelAnswered(Completion::default()),
        (_, StepRequest::ToolCalled(_)) => StepResult::ToolReturned(ToolOutput::from("done")),
        (_, StepRequest::Delegated(_)) => StepResult::DelegationEnded(DelegationResult::default()),
        (_, StepRequest::Said { .. }) => StepResult::Said,
        (_, StepRequest::Waiting { .. }) => StepResult::Woke,
        (_, StepRequest::ApprovalAsked(_)) => StepResult::Decided(Decision {
            approved: fate.is_multiple_of(2),
            by: "a person".into(),
            comment: String::new(),
        }),
    }
}

/// Plays a run to its end: `picks` selects the next step in flight to return, and its result.
fn played(first: RunStarted, groups: Groups, max_open: usize, picks: &[(usize, u8)]) -> Simulation {
    let strategy = in_turn(groups);
    let mut run = Simulation::new(first);
    run.max_open = max_open;
    let mut picks = picks.iter().cycle();
    for _ in 0..1_000 {
        let wake = run.settle(&strategy);
        if run.ended().is_some() {
            return run;
        }
        run.now += 1;
        let (pick, fate) = *picks.next().expect("they go round");
        let out = run.out();
        if out.is_empty() {
            run.now = wake.expect("it waits for something").max(run.now);
            continue;
        }
        let RunEvent::StepBegun { step, what, .. } = out[pick % out.len()] else {
            unreachable!("only those are out");
        };
        let (step, result) = (step.clone(), result(what, fate));
        run.ends(step.as_str(), result, (fate % 3 > 0).then_some(Spent::CALL));
    }
    panic!("it never ends: {:?}", run.events);
}

fn budget() -> impl Strategy<Value = Budget> {
    let limit = || prop::option::of(0_u64..3_000);
    (
        limit(),
        prop::option::of(0_u64..20),
        limit(),
        prop::option::of(0_u32..3),
    )
        .prop_map(|(tokens, calls, cost_micros, depth)| Budget {
            tokens,
            calls,
            cost_micros,
            time_ms: None,
            depth,
        })
}

proptest! {
    #[test]
    fn any_order_of_results_ends_the_run_and_every_prefix_decides_the_same(
        groups in groups(),
        budget in budget(),
        max_open in 1_usize..5,
        picks in prop::collection::vec((any::<usize>(), any::<u8>()), 1..30),
    ) {
        let first = RunStarted { budget, ..begins("wants", Value::Null) };
        let run = played(first, groups.clone(), max_open, &picks);
        let strategy = in_turn(groups);
        let id = RunId::new("run");
        let mut facts = Facts::default();
        for (length, event) in (1..).zip(&run.events) {
            facts.apply(event);
            let read: Vec<RunEvent> = run.events[..length]
                .iter()
                .map(|e| journal::decode(&journal::encode(e)).expect("it was just written"))
                .collect();
            let reread = Facts::of(&read);
            for now in [NOON, run.now] {
                let one = run::next(&id, &facts, &strategy, now, max_open);
                let other = run::next(&id, &reread, &strategy, now, max_open);
                prop_assert_eq!(one, other);
            }
            let entries: Vec<Entry> = (1..)
                .zip(read)
                .map(|(seq, event)| Entry { seq, event })
                .collect();
            let summary = Summary::of(&entries);
            prop_assert_eq!(summary.spent, facts.spent());
            let state = facts.stopping().map(RunOutcome::label);
            prop_assert_eq!(summary.stopping.map(State::as_str), state);
            let is_asked = |what: &&StepRequest| matches!(what, StepRequest::ApprovalAsked(_));
            let asked = facts.in_flight().map(|(_, what)| what).filter(is_asked).count();
            prop_assert_eq!(summary.pending_approvals().count(), asked);
        }
    }
}
