//! Budgets as grants: for every schedule, spent and reserved amounts together never exceed the cap.

use agenthub_runs::{
    Budget, DelegationResult, Effect, Handoff, RunEvent, RunOutcome, RunStarted, Spent, Step,
    StepRequest, StepResult,
};
use proptest::prelude::*;
use serde_json::Value;

use crate::support::{begins, simulation::Simulation, together};

const CHILDREN: usize = 20;

fn children() -> Vec<Step> {
    let child = |number| {
        let handoff = Handoff {
            agent: format!("child-{number}"),
            ..Handoff::default()
        };
        Step::new(format!("child-{number}"), Effect::Delegate(handoff))
    };
    (0..CHILDREN).map(child).collect()
}

/// Spent and reserved amounts together.
fn used(run: &Simulation) -> Spent {
    let reserved = run.out().into_iter().map(|event| match event {
        RunEvent::StepBegun { grant, .. } => Spent {
            tokens: grant.tokens.unwrap_or(0),
            calls: grant.calls.unwrap_or(0),
            cost_micros: grant.cost_micros.unwrap_or(0),
            ..Spent::default()
        },
        other => panic!("{other:?}"),
    });
    reserved.fold(run.facts.spent(), Spent::plus)
}

/// A child's use of its grant: the part in percent, and whether it reports its cost.
type Child = (usize, u64, bool);

proptest! {
    /// spec: design 8 (budgets): twenty parallel children never pass the cap, and each has its turn or the run says why not.
    #[test]
    fn twenty_children_never_pass_the_cap(
        tokens in 0_u64..5_000,
        calls in 0_u64..100,
        cost in 0_u64..1_000,
        max_open in 1_usize..30,
        schedule in prop::collection::vec((0_usize..CHILDREN, 0_u64..=100, any::<bool>()), 1..50),
    ) {
        let cap = Spent { tokens, calls, cost_micros: cost, ..Spent::default() };
        let budget = Budget {
            tokens: Some(tokens),
            calls: Some(calls),
            cost_micros: Some(cost),
            ..Budget::default()
        };
        let mut run = Simulation::new(RunStarted { budget, ..begins("wants", Value::Null) });
        run.max_open = max_open;
        let strategy = together(children());
        let mut schedule = schedule.iter().cycle();
        for round in 0.. {
            prop_assert!(round <= CHILDREN, "one child comes back in each round");
            run.settle(&strategy);
            let used = used(&run);
            prop_assert!(used.tokens <= cap.tokens, "{used:?}");
            prop_assert!(used.calls <= cap.calls, "{used:?}");
            prop_assert!(used.cost_micros <= cap.cost_micros, "{used:?}");
            if run.ended().is_some() {
                break;
            }
            let (pick, percent, tells): Child = *schedule.next().expect("it goes round");
            let out = run.out();
            prop_assert!(!out.is_empty(), "it waits for something");
            prop_assert!(out.len() <= max_open);
            let RunEvent::StepBegun { step, what: StepRequest::Delegated(sent), .. } = out[pick % out.len()] else {
                panic!("only delegations are out");
            };
            // A child keeps to its grant; the delegation itself is one more call.
            let part = |limit: Option<u64>| limit.map_or(0, |l| l * percent / 100);
            let spent = Spent {
                tokens: part(sent.budget.tokens),
                calls: part(sent.budget.calls) + 1,
                cost_micros: part(sent.budget.cost_micros),
                ..Spent::default()
            };
            let step = step.clone();
            let ended = StepResult::DelegationEnded(DelegationResult::default());
            run.ends(step.as_str(), ended, tells.then_some(spent));
        }
        let turns = run.events.iter().filter(|e| matches!(e, RunEvent::StepBegun { .. })).count();
        match run.ended() {
            Some(RunOutcome::Completed { .. }) => prop_assert_eq!(turns, CHILDREN),
            Some(RunOutcome::Failed { error }) => {
                prop_assert!(error.contains("does not suffice"), "{error}");
                prop_assert!(turns < CHILDREN);
            }
            other => panic!("{other:?}"),
        }
    }
}
