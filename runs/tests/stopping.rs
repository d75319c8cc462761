//! Cancelling, suspending, and deadlines, on paused time.

use std::{sync::Arc, time::Duration};

use agenthub_runs::{
    Command, DriveError, Effect, EffectFailure, RunEvent, RunOutcome, SentHandoff, Step, StepResult,
};
use tokio::time::Instant;

use crate::support::{
    NOON, Stage, agent, ended, output, together, tool, words,
    world::{Behaviour, StandIn},
};

fn cancel(stage: &Stage) {
    let reason = "nobody waits".to_owned();
    stage.command.send_replace(Command::Cancel(reason));
}

fn cancelled() -> RunOutcome {
    RunOutcome::Cancelled {
        reason: "nobody waits".into(),
    }
}

/// spec: design 8 (cancel)
#[tokio::test(start_paused = true)]
async fn a_tool_that_heeds_its_cancellation_has_five_seconds() {
    for (takes, ends) in [(4_900, "tool_returned"), (5_100, "cancelled")] {
        let heeds = Behaviour::Heeds(Duration::from_millis(takes), output("late"));
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
        .does("a", Behaviour::Hangs)
        .does("b", Behaviour::Hangs)
        .does("m", Behaviour::Hangs)
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
    let world = StandIn::new()
        .does("a", Behaviour::Hangs)
        .does("b", Behaviour::Hangs);
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
    let world = StandIn::new().does("a", Behaviour::Hangs);
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
    let sent = |stage: &Stage| -> Vec<SentHandoff> {
        stage.world.sent.lock().expect("nobody panicked").clone()
    };
    assert_eq!(sent(&stage), sent(&other), "it is sent again as it was");
    let shown = other.world.shown.lock().expect("nobody panicked").clone();
    let again: Vec<bool> = shown.iter().map(|(_, again)| *again).collect();
    assert_eq!(again, [true, true, false, false, false]);
}

#[tokio::test(start_paused = true)]
async fn a_run_whose_time_is_over_stops_and_says_so() {
    let world = StandIn::new().does("a", Behaviour::Hangs);
    let mut stage = Stage::new(world);
    stage.first.deadline_ms = Some(NOON + 60_000);
    let began = Instant::now();
    let outcome = stage.drive("one", &together(vec![agent("a")])).await;
    assert_eq!(
        outcome,
        Ok(RunOutcome::failed("the time for it, 60s, is over"))
    );
    let took = began.elapsed();
    assert!((60..62).contains(&took.as_secs()), "{took:?}");
    assert_eq!(stage.world.count("recall a#1"), 1);
    let sent = stage.world.sent.lock().expect("nobody panicked")[0].clone();
    assert_eq!(sent.deadline_ms, NOON + 60_000, "the agent knows");
}

#[tokio::test(start_paused = true)]
async fn a_step_whose_time_is_over_is_called_back_and_tried_again() {
    let world = StandIn::new().does("a#1", Behaviour::Hangs);
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
    assert_eq!(*failure, EffectFailure::passing("no answer within 10 s"));
    let sent = stage.world.sent.lock().expect("nobody panicked");
    assert_ne!(
        sent[0].task_id, sent[1].task_id,
        "another attempt, another task"
    );
}

#[tokio::test(start_paused = true)]
async fn a_step_that_nothing_worked_on_meanwhile_has_its_time_anew() {
    let world = StandIn::new().does("a", Behaviour::Hangs);
    let stage = Arc::new(Stage::new(world));
    let step = || tool("a").timeout_ms(10_000);
    let task = stage.start("one", together(vec![step()]));
    stage.world.until("call a#1").await;
    task.abort();
    assert!(task.await.is_err());
    tokio::time::advance(Duration::from_secs(20)).await;
    let began = Instant::now();
    let outcome = stage.drive("one", &together(vec![step()])).await;
    assert!(outcome.is_ok());
    assert_eq!(stage.world.count("call a#1"), 2);
    assert_eq!(began.elapsed().as_secs(), 10);
}

fn drain(stage: &Stage) {
    stage.command.send_replace(Command::Drain);
}

/// First this step, then the others.
fn then(first: Step, others: Vec<Step>) -> impl agenthub_runs::Strategy + Clone {
    #[derive(Clone)]
    struct Then(Step, Vec<Step>);
    impl agenthub_runs::Strategy for Then {
        fn name(&self) -> &'static str {
            "wants"
        }
        fn next(&self, facts: &agenthub_runs::Facts) -> agenthub_runs::Next {
            let steps = match facts.result(&self.0) {
                None => vec![self.0.clone()],
                Some(_) => self.1.clone(),
            };
            together(steps).next(facts)
        }
    }
    Then(first, others)
}

/// A tool call in flight may finish, so that it runs once.
#[tokio::test(start_paused = true)]
async fn a_run_that_is_drained_waits_for_its_tool_and_begins_nothing_more() {
    let takes = Duration::from_secs(2);
    let world = StandIn::new().does("a", Behaviour::After(takes, output("done")));
    let stage = Arc::new(Stage::new(world));
    let strategy = then(tool("a"), vec![tool("b")]);
    let task = stage.start("one", strategy.clone());
    stage.world.until("call a#1").await;
    let asked = Instant::now();
    drain(&stage);
    assert_eq!(ended(task).await, Err(DriveError::Suspended));
    assert!(asked.elapsed() >= takes - Duration::from_millis(10));
    assert_eq!(
        words(&stage.events().await),
        ["started", "begun a#1", "a#1 tool_returned"]
    );

    let other = Stage {
        journal: Arc::clone(&stage.journal),
        ..Stage::new(StandIn::new())
    };
    let outcome = other.drive("two", &strategy).await;
    assert_eq!(outcome, Ok(RunOutcome::completed("all came back")));
    assert_eq!(other.world.count("call a"), 0);
}

/// The requester need not wait for another process if nothing is left to do.
#[tokio::test(start_paused = true)]
async fn a_run_that_comes_to_its_end_while_it_is_drained_ends() {
    let pause = Behaviour::After(Duration::from_secs(2), output("done"));
    let stage = Arc::new(Stage::new(StandIn::new().does("a", pause)));
    let task = stage.start("one", together(vec![tool("a")]));
    stage.world.until("call a#1").await;
    drain(&stage);
    let outcome = ended(task).await;
    assert_eq!(outcome, Ok(RunOutcome::completed("all came back")));
}

/// An agent works on without the driver, and waits can continue elsewhere.
#[tokio::test(start_paused = true)]
async fn a_run_that_is_drained_waits_for_no_agent() {
    let world = StandIn::new().does("a", Behaviour::Hangs);
    let stage = Arc::new(Stage::new(world));
    let steps = vec![agent("a"), Step::new("w", Effect::Wait(u64::MAX))];
    let task = stage.start("one", together(steps));
    stage.world.until("delegate a#1").await;
    let asked = Instant::now();
    drain(&stage);
    assert_eq!(ended(task).await, Err(DriveError::Suspended));
    assert!(asked.elapsed() < Duration::from_secs(1));
    assert_eq!(stage.world.count("recall"), 0);
}

/// Also if draining waits for nothing more: the called agent has to confirm.
#[tokio::test(start_paused = true)]
async fn a_run_that_is_cancelled_while_it_is_drained_is_cancelled() {
    let world = StandIn::new()
        .does("a", Behaviour::Heeds(Duration::ZERO, output("late")))
        .does("b", Behaviour::Hangs)
        .recalls_after(Duration::from_secs(7));
    let stage = Arc::new(Stage::new(world));
    let task = stage.start("one", together(vec![tool("a"), agent("b")]));
    stage.world.until("delegate b#1").await;
    drain(&stage);
    tokio::time::sleep(Duration::from_millis(10)).await;
    cancel(&stage);
    assert_eq!(ended(task).await, Ok(cancelled()));
    assert_eq!(stage.world.count("recalled b#1"), 1);
}

/// Its result is discarded: it was interrupted, and is called again under the same key.
#[tokio::test(start_paused = true)]
async fn a_tool_is_told_before_its_run_is_let_go_and_called_again_elsewhere() {
    for (takes, is_dropped) in [(400, false), (5_000, true)] {
        let heeds = Behaviour::Heeds(Duration::from_millis(takes), output("stopped"));
        let stage = Arc::new(Stage::new(StandIn::new().does("a", heeds)));
        let task = stage.start("one", together(vec![tool("a")]));
        stage.world.until("call a#1").await;
        let asked = Instant::now();
        stage.command.send_replace(Command::Suspend);
        assert_eq!(ended(task).await, Err(DriveError::Suspended));
        assert_eq!(stage.world.count("heard a#1"), 1);
        let most = Duration::from_millis(if is_dropped { 600 } else { takes + 10 });
        assert!(asked.elapsed() <= most, "{:?}", asked.elapsed());
        assert_eq!(words(&stage.events().await), ["started", "begun a#1"]);
        let other = Stage {
            journal: Arc::clone(&stage.journal),
            ..Stage::new(StandIn::new())
        };
        let outcome = other.drive("two", &together(vec![tool("a")])).await;
        assert_eq!(outcome, Ok(RunOutcome::completed("all came back")));
        assert_eq!(other.world.count("call a#1"), 1);
    }
}
