//! The driver, on paused time: dispatches, results, and reports.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use agenthub_runs::{
    Command, DelegationResult, DriveError, Driver, Effect, EffectFailure, Facts, Next, RunEvent,
    RunOutcome, Step, StepId, StepResult, journal,
    model::{PromptMessage, Request},
};
use tokio::time::{Instant, timeout};

use crate::support::{
    Stage, Wants, agent, ended,
    journals::FaultyJournal,
    output, together, tool, words,
    world::{Behaviour, StandIn},
};

#[tokio::test(start_paused = true)]
async fn steps_that_are_wanted_together_go_out_together() {
    let long = Duration::from_secs(10);
    let world = StandIn::new()
        .does("a", Behaviour::After(long, output("a")))
        .does("b", Behaviour::After(long, output("b")));
    let stage = Stage::new(world);
    let began = Instant::now();
    let outcome = stage
        .drive("one", &together(vec![tool("a"), tool("b")]))
        .await;
    assert_eq!(outcome, Ok(RunOutcome::completed("all came back")));
    assert!(began.elapsed() < 2 * long);
    let events = words(&stage.events().await);
    assert_eq!(events[..3], ["started", "begun a#1", "begun b#1"]);
    assert_eq!(events[5..], ["stopping completed", "ended completed"]);
    assert_eq!(stage.world.count("conclude"), 1);
    let shown = stage.world.shown.lock().expect("nobody panicked").clone();
    let places: Vec<u64> = shown.iter().map(|(entry, _)| entry.seq).collect();
    assert_eq!(places, [1, 2, 3, 4, 5, 6, 7], "all are shown, in order");
    assert!(shown.iter().all(|(_, again)| !again), "and once");
}

#[tokio::test(start_paused = true)]
async fn what_panics_is_the_steps_failure_and_not_the_runs() {
    let world = StandIn::new()
        .does("a", Behaviour::Panics)
        .does("recall", Behaviour::Panics)
        .does("b", Behaviour::Hangs);
    let stage = Stage::new(world);
    let wants = Wants(|facts: &Facts| match facts.result(&tool("a")) {
        None => Next::Steps(vec![tool("a"), agent("b")]),
        Some(StepResult::Failed(failure)) => Next::Finish(RunOutcome::failed(&*failure.message)),
        other => panic!("{other:?}"),
    });
    let outcome = timeout(Duration::from_secs(600), stage.drive("one", &wants)).await;
    let outcome = outcome.expect("it ends, though calling back panics too");
    let why = "it broke off: see the log of this process";
    assert_eq!(outcome, Ok(RunOutcome::failed(why)));
}

#[tokio::test(start_paused = true)]
async fn the_outcome_is_told_until_it_is_heard() {
    let stage = Stage::new(StandIn::new().deaf(3, false));
    let outcome = stage.drive("one", &together(vec![])).await;
    assert_eq!(outcome, Ok(RunOutcome::completed("all came back")));
    assert_eq!(stage.world.count("conclude"), 4);

    let stage = Stage::new(StandIn::new().deaf(3, true));
    let outcome = stage.drive("one", &together(vec![])).await;
    assert_eq!(outcome, Ok(RunOutcome::completed("all came back")));
    assert_eq!(stage.world.count("conclude"), 1, "nobody ever hears");
}

#[tokio::test(start_paused = true)]
async fn a_run_that_cannot_tell_its_outcome_can_be_let_go_and_tells_it_later() {
    let stage = Arc::new(Stage::new(StandIn::new().deaf(u32::MAX, false)));
    let task = stage.start("one", together(vec![]));
    stage.world.until("conclude").await;
    stage.command.send_replace(Command::Suspend);
    assert_eq!(ended(task).await, Err(DriveError::Suspended));
    let later = Stage {
        journal: Arc::clone(&stage.journal),
        ..Stage::new(StandIn::new())
    };
    let outcome = later.drive("two", &together(vec![])).await;
    assert_eq!(outcome, Ok(RunOutcome::completed("all came back")));
    assert_eq!(later.world.log(), ["conclude completed"]);
    let again = later.drive("three", &together(vec![])).await;
    assert_eq!(again, outcome, "a run that is over says how it ended");
    assert_eq!(later.world.count("conclude"), 1, "and tells nobody again");
}

#[tokio::test(start_paused = true)]
async fn nothing_goes_out_before_it_is_written_however_slow_that_is() {
    let journal = FaultyJournal::slow(Duration::from_secs(4));
    let stage = Arc::new(Stage::on(journal, StandIn::new()));
    let task = stage.start("one", together(vec![tool("a")]));
    let written = async || {
        let entries = stage.journal.read(&stage.run, 0, usize::MAX).await;
        entries.map_or(0, |entries| entries.len())
    };
    while written().await < 2 {
        assert_eq!(stage.world.count("call"), 0);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(ended(task).await.is_ok(), "slow is not lost");
    assert_eq!(stage.world.count("call a#1"), 1);
}

/// A result and what follows from it take one append, and no step goes out before that.
#[tokio::test(start_paused = true)]
async fn what_follows_from_a_result_is_written_with_it() {
    let journal = FaultyJournal::slow(Duration::from_secs(4));
    let stage = Arc::new(Stage::on(Arc::clone(&journal) as _, StandIn::new()));
    let wants = Wants(|facts: &Facts| {
        let note = Step::new("note", Effect::Note("seen".into()));
        match (facts.result(&tool("a")), facts.result(&tool("b"))) {
            (None, _) => Next::Steps(vec![tool("a")]),
            (_, None) => Next::Steps(vec![note, tool("b")]),
            _ => Next::Finish(RunOutcome::completed("both came back")),
        }
    });
    let task = stage.start("one", wants);
    let written = || {
        let appends = journal.appends.lock().expect("nobody panicked");
        appends
            .iter()
            .map(|events| words(events))
            .collect::<Vec<_>>()
    };
    while written().len() < 2 {
        assert_eq!(stage.world.count("call b#1"), 0);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(ended(task).await.is_ok());
    let expected = [
        "begun a#1",
        "a#1 tool_returned, noted note, begun b#1",
        "b#1 tool_returned, stopping completed",
        "ended completed",
    ];
    let written: Vec<String> = written().iter().map(|events| events.join(", ")).collect();
    assert_eq!(written, expected);
}

/// A run that is let go keeps the results that it has.
#[tokio::test(start_paused = true)]
async fn a_result_that_comes_with_the_order_to_let_go_is_written() {
    let world = StandIn::new().does("b", Behaviour::Hangs);
    let stage = Stage::new(world);
    let command = stage.command.clone();
    let wants = Wants(move |facts: &Facts| {
        if facts.result(&tool("a")).is_some() {
            command.send_replace(Command::Suspend);
        }
        match facts.noted(&StepId::new("n")) {
            None if facts.result(&tool("a")).is_some() => {
                Next::Steps(vec![Step::new("n", Effect::Note("seen".into()))])
            }
            _ => Next::Steps(vec![tool("a"), tool("b")]),
        }
    });
    assert_eq!(stage.drive("one", &wants).await, Err(DriveError::Suspended));
    let events = words(&stage.events().await);
    assert_eq!(events[events.len() - 2..], ["a#1 tool_returned", "noted n"]);
}

#[tokio::test(start_paused = true)]
async fn a_journal_that_takes_nothing_stops_the_run_and_everything_that_is_out() {
    let journal = Arc::new(FaultyJournal::default());
    let world = StandIn::new()
        .does("a", Behaviour::Hangs)
        .does("b", Behaviour::After(Duration::from_secs(1), output("b")));
    let stage = Arc::new(Stage::on(Arc::clone(&journal) as _, world));
    let task = stage.start("one", together(vec![tool("a"), tool("b")]));
    stage.world.until("call b#1").await;
    journal.is_full.store(true, Ordering::Relaxed);
    let error = ended(task).await.expect_err("it cannot go on");
    let why = journal::JournalError::Unavailable("the disk is full".into());
    assert_eq!(error, DriveError::Journal(why));
    assert_eq!(stage.world.count("left a#1"), 1);
    assert_eq!(
        stage.world.count("conclude"),
        0,
        "nobody is told what is not kept"
    );

    journal.is_full.store(false, Ordering::Relaxed);
    let rest = Stage {
        journal,
        ..Stage::new(StandIn::new())
    };
    let outcome = rest
        .drive("one", &together(vec![tool("a"), tool("b")]))
        .await;
    assert!(
        outcome.is_ok(),
        "once it takes something again, the run goes on"
    );
}

#[tokio::test(start_paused = true)]
async fn what_an_agent_used_is_charged_and_a_failed_handover_costs_a_call() {
    let delegated = DelegationResult {
        state: "completed".into(),
        spent: Some(agenthub_runs::Spent {
            tokens: 40,
            calls: 3,
            cost_micros: 0,
            is_estimated: false,
        }),
        ..DelegationResult::default()
    };
    let away = StepResult::Failed(EffectFailure::lasting("the hub is away"));
    let world = StandIn::new()
        .does(
            "a",
            Behaviour::Gives(StepResult::DelegationEnded(delegated)),
        )
        .does("b", Behaviour::Gives(away));
    let mut stage = Stage::new(world);
    stage.first.budget.tokens = Some(1_000);
    let outcome = stage
        .drive("one", &together(vec![agent("a"), agent("b")]))
        .await;
    assert!(outcome.is_ok());
    let events = stage.events().await;
    let Some(RunEvent::Ended { spent, .. }) = events.last() else {
        panic!("{events:?}");
    };
    assert_eq!((spent.tokens, spent.calls), (40, 5));
}

/// spec: design 8 (budgets)
#[tokio::test(start_paused = true)]
async fn a_model_that_does_not_tell_what_it_used_is_charged_all_that_was_reserved() {
    let mut stage = Stage::new(StandIn::new());
    stage.first.budget.tokens = Some(1_000);
    let request = Request::new(vec![PromptMessage::user("go")]);
    let step = Step::new("a", Effect::Ask(Box::new(request)));
    let outcome = stage.drive("one", &together(vec![step])).await;
    assert!(outcome.is_ok());
    let events = stage.events().await;
    let Some(RunEvent::Ended { spent, .. }) = events.last() else {
        panic!("{events:?}");
    };
    assert_eq!((spent.tokens, spent.calls), (1_000, 1));
}

#[tokio::test(start_paused = true)]
async fn no_more_steps_are_out_than_may_be() {
    let long = Duration::from_secs(1);
    let names: Vec<String> = (0..40).map(|n| format!("s{n:02}")).collect();
    let mut world = StandIn::new();
    for name in &names {
        world = world.does(name, Behaviour::After(long, output(name)));
    }
    let stage = Stage::new(world);
    let steps = names.iter().map(|name| tool(name)).collect();
    assert!(stage.drive("one", &together(steps)).await.is_ok());
    let mut out = 0_usize;
    let mut most = 0;
    for line in stage.world.log() {
        match line.split(' ').next() {
            Some("call") => out += 1,
            Some("left") => out -= 1,
            _ => {}
        }
        most = most.max(out);
    }
    assert_eq!(most, Driver::MAX_OPEN);
}
