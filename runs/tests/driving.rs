//! The driver, on paused time: what starts, what stops, and when.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use agenthub_runs::{
    Command, Delegated, DriveError, Driver, Effect, Facts, Failure, Handoff, Next, RunEvent,
    RunOutcome, Sent, Step, StepResult, ToolOutput, journal,
};
use tokio::time::{Instant, timeout};

use crate::support::{
    NOON, Stage, Wants, call,
    journals::Moody,
    together, words,
    world::{Does, StandIn},
};

const PATIENCE: Duration = Duration::from_secs(600);

fn tool(name: &str) -> Step {
    Step::new(name, Effect::Call(call(name)))
}

fn agent(name: &str) -> Step {
    let handoff = Handoff {
        agent: name.into(),
        text: "please".into(),
        ..Handoff::default()
    };
    Step::new(name, Effect::Delegate(handoff))
}

fn output(text: &str) -> StepResult {
    StepResult::ToolReturned(ToolOutput::from(text))
}

fn cancel(stage: &Stage) {
    let reason = "nobody waits".to_owned();
    stage.command.send_replace(Command::Cancel(reason));
}

fn cancelled() -> RunOutcome {
    RunOutcome::Cancelled {
        reason: "nobody waits".into(),
    }
}

async fn ended<T>(task: tokio::task::JoinHandle<T>) -> T {
    timeout(PATIENCE, task)
        .await
        .expect("it ends")
        .expect("it does not panic")
}

#[tokio::test(start_paused = true)]
async fn steps_that_are_wanted_together_go_out_together() {
    let long = Duration::from_secs(10);
    let world = StandIn::new()
        .does("a", Does::After(long, output("a")))
        .does("b", Does::After(long, output("b")));
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

/// spec: design 8 (cancel)
#[tokio::test(start_paused = true)]
async fn a_tool_that_heeds_its_cancellation_has_five_seconds() {
    for (takes, ends) in [(4_900, "tool_returned"), (5_100, "cancelled")] {
        let heeds = Does::Heeds(Duration::from_millis(takes), output("late"));
        let stage = Arc::new(Stage::new(StandIn::new().does("a", heeds)));
        let task = stage.start("one", together(vec![tool("a")]));
        stage.world.until("call a#1").await;
        let asked = Instant::now();
        cancel(&stage);
        assert_eq!(ended(task).await, Ok(cancelled()));
        assert!(asked.elapsed() <= Duration::from_secs(6));
        let events = words(&stage.events().await);
        let wanted = [
            "stopping cancelled".to_owned(),
            format!("a#1 {ends}"),
            "ended cancelled".to_owned(),
        ];
        assert_eq!(events[2..], wanted);
    }
}

/// spec: design 8 (cancel): `cancelled` when every descendant has confirmed, and nothing starts any more.
#[tokio::test(start_paused = true)]
async fn a_cancelled_run_calls_its_agents_back_and_waits_for_them() {
    let confirms = Duration::from_secs(7);
    let world = StandIn::new()
        .does("a", Does::Hangs)
        .does("b", Does::Hangs)
        .does("m", Does::Hangs)
        .recalls_after(confirms);
    let stage = Arc::new(Stage::new(world));
    let steps = vec![
        agent("a"),
        agent("b"),
        Step::new("m", Effect::Ask(Box::default())),
        Step::new("w", Effect::Wait(u64::MAX)),
    ];
    let task = stage.start("one", together(steps));
    stage.world.until("delegate b#1").await;
    let asked = Instant::now();
    cancel(&stage);
    stage.world.until("recall b#1").await;
    assert!(!task.is_finished(), "the agents have not confirmed");
    let events = words(&stage.events().await);
    assert!(
        events.contains(&"stopping cancelled".to_owned()),
        "that is known at once"
    );
    assert_eq!(ended(task).await, Ok(cancelled()));
    assert!(asked.elapsed() >= confirms);
    assert_eq!(stage.world.count("recalled"), 2);
    let log = stage.world.log();
    let at = |what: &str| log.iter().position(|l| l == what).expect("it was done");
    assert!(
        at("left a#1") < at("recall a#1"),
        "nothing goes on while it is called back"
    );
    let starts = ["ask", "call", "delegate"];
    let is_start = |l: &String| starts.iter().any(|s| l.starts_with(s));
    let last = log.iter().rposition(is_start).expect("it began");
    assert!(last < at("recall a#1"), "nothing starts any more: {log:?}");
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_cancelled_at_once_does_nothing() {
    let stage = Stage::new(StandIn::new());
    cancel(&stage);
    let outcome = stage.drive("one", &together(vec![tool("a")])).await;
    assert_eq!(outcome, Ok(cancelled()));
    assert_eq!(stage.world.log(), ["conclude cancelled"]);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_was_cancelled_before_a_restart_sends_nothing_again() {
    let world = StandIn::new().does("a", Does::Hangs).does("b", Does::Hangs);
    let stage = Arc::new(Stage::new(world));
    let strategy = || together(vec![agent("a"), tool("b")]);
    let task = stage.start("one", strategy());
    stage.world.until("call b#1").await;
    task.abort();
    assert!(task.await.expect_err("it was aborted").is_cancelled());

    let again = Stage {
        world: Arc::new(StandIn::new()),
        journal: Arc::clone(&stage.journal),
        ..Stage::new(StandIn::new())
    };
    cancel(&again);
    assert_eq!(again.drive("one", &strategy()).await, Ok(cancelled()));
    let log = again.world.log();
    assert_eq!(log, ["recall a#1", "recalled a#1", "conclude cancelled"]);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_let_go_is_taken_up_by_another_driver_at_once() {
    let world = StandIn::new().does("a", Does::Hangs);
    let stage = Arc::new(Stage::new(world));
    let task = stage.start("one", together(vec![agent("a")]));
    stage.world.until("delegate a#1").await;
    stage.command.send_replace(Command::Suspend);
    assert_eq!(ended(task).await, Err(DriveError::Suspended));
    assert_eq!(stage.world.count("left a#1"), 1);
    assert_eq!(stage.world.count("recall"), 0, "the agent works on");

    let other = Stage {
        journal: Arc::clone(&stage.journal),
        ..Stage::new(StandIn::new())
    };
    let outcome = other.drive("two", &together(vec![agent("a")])).await;
    assert_eq!(outcome, Ok(RunOutcome::completed("all came back")));
    let sent =
        |stage: &Stage| -> Vec<Sent> { stage.world.sent.lock().expect("nobody panicked").clone() };
    assert_eq!(sent(&stage), sent(&other), "it is sent again as it was");
    let shown = other.world.shown.lock().expect("nobody panicked").clone();
    let again: Vec<bool> = shown.iter().map(|(_, again)| *again).collect();
    assert_eq!(again, [true, true, false, false, false]);
}

#[tokio::test(start_paused = true)]
async fn a_run_whose_time_is_over_stops_and_says_so() {
    let world = StandIn::new().does("a", Does::Hangs);
    let mut stage = Stage::new(world);
    stage.first.deadline_ms = Some(NOON + 60_000);
    let began = Instant::now();
    let outcome = stage.drive("one", &together(vec![agent("a")])).await;
    assert_eq!(outcome, Ok(RunOutcome::failed("the time for it is over")));
    let took = began.elapsed();
    assert!((60..62).contains(&took.as_secs()), "{took:?}");
    assert_eq!(stage.world.count("recall a#1"), 1);
    let sent = stage.world.sent.lock().expect("nobody panicked")[0].clone();
    assert_eq!(sent.deadline_ms, NOON + 60_000, "the agent knows");
}

#[tokio::test(start_paused = true)]
async fn a_step_whose_time_is_over_is_called_back_and_tried_again() {
    let world = StandIn::new().does("a#1", Does::Hangs);
    let stage = Stage::new(world);
    let retry = agenthub_runs::Retry {
        attempts: 2,
        pause_ms: 1_000,
    };
    let step = agent("a").timeout_ms(10_000).retry(retry);
    let began = Instant::now();
    let outcome = stage.drive("one", &together(vec![step])).await;
    assert_eq!(outcome, Ok(RunOutcome::completed("all came back")));
    assert_eq!(began.elapsed().as_secs(), 11);
    let log = stage.world.log();
    let wanted = [
        "delegate a#1",
        "left a#1",
        "recall a#1",
        "recalled a#1",
        "delegate a#2",
        "left a#2",
        "conclude completed",
    ];
    assert_eq!(log, wanted);
    let events = stage.events().await;
    let RunEvent::StepEnded {
        result: StepResult::Failed(failure),
        ..
    } = &events[2]
    else {
        panic!("{events:?}");
    };
    assert_eq!(*failure, Failure::passing("no answer within 10 s"));
    let sent = stage.world.sent.lock().expect("nobody panicked");
    assert_ne!(
        sent[0].task_id, sent[1].task_id,
        "another attempt, another task"
    );
}

#[tokio::test(start_paused = true)]
async fn a_step_whose_time_was_over_before_the_restart_is_not_begun_again() {
    let world = StandIn::new().does("a", Does::Hangs);
    let stage = Arc::new(Stage::new(world));
    let step = || tool("a").timeout_ms(10_000);
    let task = stage.start("one", together(vec![step()]));
    stage.world.until("call a#1").await;
    task.abort();
    assert!(task.await.is_err());
    tokio::time::advance(Duration::from_secs(20)).await;
    let outcome = stage.drive("one", &together(vec![step()])).await;
    assert!(outcome.is_ok());
    assert_eq!(stage.world.count("call a"), 1);
}

#[tokio::test(start_paused = true)]
async fn what_panics_is_the_steps_failure_and_not_the_runs() {
    let world = StandIn::new()
        .does("a", Does::Panics)
        .does("recall", Does::Panics)
        .does("b", Does::Hangs);
    let stage = Stage::new(world);
    let wants = Wants(|facts: &Facts| match facts.result(&tool("a")) {
        None => Next::Steps(vec![tool("a"), agent("b")]),
        Some(StepResult::Failed(failure)) => Next::Finish(RunOutcome::failed(&*failure.message)),
        other => panic!("{other:?}"),
    });
    let outcome = timeout(PATIENCE, stage.drive("one", &wants)).await;
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
    let journal = Moody::slow(Duration::from_secs(4));
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

#[tokio::test(start_paused = true)]
async fn a_journal_that_takes_nothing_stops_the_run_and_everything_that_is_out() {
    let journal = Arc::new(Moody::default());
    let world = StandIn::new()
        .does("a", Does::Hangs)
        .does("b", Does::After(Duration::from_secs(1), output("b")));
    let stage = Arc::new(Stage::on(Arc::clone(&journal) as _, world));
    let task = stage.start("one", together(vec![tool("a"), tool("b")]));
    stage.world.until("call b#1").await;
    journal.is_full.store(true, Ordering::Relaxed);
    let error = ended(task).await.expect_err("it cannot go on");
    let why = journal::Error::Unavailable("the disk is full".into());
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
    let delegated = Delegated {
        state: "completed".into(),
        spent: Some(agenthub_runs::Spent {
            tokens: 40,
            calls: 3,
            cost_micros: 0,
        }),
        ..Delegated::default()
    };
    let away = StepResult::Failed(Failure::lasting("the hub is away"));
    let world = StandIn::new()
        .does("a", Does::Gives(StepResult::DelegationEnded(delegated)))
        .does("b", Does::Gives(away));
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

#[tokio::test(start_paused = true)]
async fn no_more_steps_are_out_than_may_be() {
    let long = Duration::from_secs(1);
    let names: Vec<String> = (0..40).map(|n| format!("s{n:02}")).collect();
    let mut world = StandIn::new();
    for name in &names {
        world = world.does(name, Does::After(long, output(name)));
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
