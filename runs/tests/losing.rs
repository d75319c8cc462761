//! Drivers that lose their lease.

use std::sync::{Arc, atomic::Ordering};

use agenthub_runs::{DriveError, Driver, Effect, RunOutcome, Step};
use tokio::time::{Instant, timeout};

use crate::support::{
    Stage, call,
    journals::FaultyJournal,
    together,
    world::{Behaviour, StandIn},
};

fn steps() -> Vec<Step> {
    vec![Step::new("a", Effect::Call(call("a")))]
}

/// spec: design 8 (fencing): a driver that cannot renew stops before another one may begin.
#[tokio::test(start_paused = true)]
async fn a_lease_that_cannot_be_renewed_stops_everything_before_it_is_over() {
    let journal = Arc::new(FaultyJournal::default());
    journal.is_silent.store(true, Ordering::Relaxed);
    let world = StandIn::new().does("a", Behaviour::Hangs);
    let stage = Stage::on(journal, world);
    let began = Instant::now();
    let lost = stage.drive("one", &together(steps())).await;
    assert_eq!(lost, Err(DriveError::Fenced));
    assert!(began.elapsed() < Driver::LEASE, "{:?}", began.elapsed());
    assert_eq!(stage.world.count("left a#1"), 1);
}

/// spec: design 8 (fencing)
#[tokio::test(start_paused = true)]
async fn a_run_that_another_driver_took_is_let_alone() {
    let world = StandIn::new().does("a", Behaviour::Hangs);
    let stage = Arc::new(Stage::new(world));
    let task = stage.start("one", together(steps()));
    stage.world.until("call a#1").await;
    // The same name takes over at once, as if the first process were gone.
    let other = Stage {
        journal: Arc::clone(&stage.journal),
        ..Stage::new(StandIn::new())
    };
    let outcome = other.drive("one", &together(steps())).await;
    assert_eq!(outcome, Ok(RunOutcome::completed("all came back")));
    let lost = timeout(Driver::LEASE, task)
        .await
        .expect("it notices in time");
    assert_eq!(lost.expect("it does not panic"), Err(DriveError::Fenced));
    assert_eq!(stage.world.count("conclude"), 0, "the loser tells nobody");
    assert_eq!(other.world.count("conclude"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_driven_long_after_it_was_taken_does_nothing_in_anothers_stead() {
    let stage = Stage::new(StandIn::new());
    let driver = |name: &str| Driver::new(Arc::clone(&stage.journal), name);
    let first = Some(stage.first.clone());
    let late = driver("one").open(stage.run.clone(), "owner", first).await;
    let late = late.expect("it is free");
    tokio::time::advance(2 * Driver::LEASE).await;
    let other = driver("two").open(stage.run.clone(), "owner", None).await;
    other.expect("the lease was over");
    let world = Arc::clone(&stage.world);
    let commands = stage.command.subscribe();
    let lost = late.drive(&together(steps()), world, commands).await;
    assert_eq!(lost, Err(DriveError::Fenced));
    assert_eq!(stage.world.count("call"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_long_run_keeps_its_lease() {
    let takes = 20 * Driver::LEASE;
    let world = StandIn::new().does(
        "a",
        Behaviour::After(takes, agenthub_runs::StepResult::ToolReturned("a".into())),
    );
    let stage = Arc::new(Stage::new(world));
    let task = stage.start("one", together(steps()));
    stage.world.until("call a#1").await;
    for _ in 0..15 {
        tokio::time::sleep(Driver::LEASE).await;
        let other = Driver::new(Arc::clone(&stage.journal), "two");
        let taken = other.open(stage.run.clone(), "owner", None).await;
        assert!(taken.is_err_and(|error| error.is_retryable()), "it is held");
    }
    assert!(task.await.expect("it does not panic").is_ok());
}
