//! Progress of steps in flight, on paused time.

use std::{sync::Arc, time::Duration};

use agenthub_runs::{
    Command, Effect, Facts, Next, RunEvent, RunOutcome, Step, StepResult, journal::ProgressSize,
};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use crate::support::{
    NOON, Stage, Wants, agent, ended,
    journals::FaultyJournal,
    output, together, tool, words,
    world::{Behaviour, StandIn},
};

fn shows(count: u64, then: StepResult) -> Behaviour {
    Behaviour::Shows((0..count).map(|n| json!({ "n": n })).collect(), then)
}

/// Progress of this step, and whether all of it is between its beginning and its end.
fn shown_by(events: &[RunEvent], name: &str) -> Vec<Value> {
    let mut is_out = false;
    let mut values = Vec::new();
    for event in events {
        match event {
            RunEvent::StepBegun { step, .. } if step.as_str() == name => is_out = true,
            RunEvent::StepEnded { step, .. } if step.as_str() == name => is_out = false,
            RunEvent::Progressed { step, value, .. } if step.as_str() == name => {
                assert!(is_out, "{value} is shown while {name} is not out");
                values.push(value.clone());
            }
            _ => {}
        }
    }
    values
}

fn numbers(count: u64) -> Vec<Value> {
    (0..count).map(|n| json!({ "n": n })).collect()
}

#[tokio::test(start_paused = true)]
async fn all_that_a_step_shows_stands_in_order_before_its_end_and_is_then_seen() {
    let told = StepResult::DelegationEnded(Default::default());
    let world = StandIn::new()
        .does("a", shows(200, output("a")))
        .does("b", shows(70, told));
    let stage = Stage::new(world);
    let steps = together(vec![tool("a"), agent("b")]);
    assert!(stage.drive("one", &steps).await.is_ok());
    let events = stage.events().await;
    assert_eq!(shown_by(&events, "a"), numbers(200));
    assert_eq!(shown_by(&events, "b"), numbers(70));
    let seen = stage.world.shown.lock().expect("nobody panicked").clone();
    let seen: Vec<RunEvent> = seen.into_iter().map(|(entry, _)| entry.event).collect();
    assert_eq!(seen, events, "each once, in the order of the journal");
}

#[tokio::test(start_paused = true)]
async fn what_comes_meanwhile_is_written_down_together() {
    let world = StandIn::new().does("a", shows(640, output("a")));
    let journal = FaultyJournal::slow(Duration::from_secs(1));
    let stage = Stage::on(journal, world);
    let began = Instant::now();
    assert!(stage.drive("one", &together(vec![tool("a")])).await.is_ok());
    let took = began.elapsed().as_secs();
    assert!((20..40).contains(&took), "{took} appends");
    assert_eq!(shown_by(&stage.events().await, "a"), numbers(640));
}

/// Every entry that was written but not shown is among those shown again.
#[tokio::test(start_paused = true)]
async fn no_more_is_written_down_at_once_than_is_shown_again_after_a_restart() {
    let world = StandIn::new().does("a", shows(200, output("a")));
    let journal = FaultyJournal::slow(Duration::from_secs(1));
    let stage = Arc::new(Stage::on(journal, world));
    let task = stage.start("one", together(vec![tool("a")]));
    let written = async || {
        let entries = stage.journal.read(&stage.run, 0, usize::MAX).await;
        entries.map_or(0, |entries| entries.len())
    };
    let (mut before, mut most) = (0, 0);
    while !task.is_finished() {
        let length = written().await;
        most = most.max(length - before);
        before = length;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!((2..=32).contains(&most), "{most} at once");
}

#[tokio::test(start_paused = true)]
async fn a_step_that_is_over_shows_nothing_more_and_does_not_wait() {
    let world = StandIn::new()
        .does("a", shows(1, output("a")))
        .does("b", Behaviour::Hangs);
    let stage = Arc::new(Stage::new(world));
    let task = stage.start("one", together(vec![tool("a"), tool("b")]));
    stage.world.until("left a#1").await;
    let progress = stage.world.kept.lock().expect("nobody panicked")[0].clone();
    let late = async {
        for _ in 0..200 {
            progress.note(json!("late")).await;
        }
    };
    let done = timeout(Duration::from_secs(1), late).await;
    assert!(done.is_ok(), "nobody takes it, and nobody waits");
    stage.command.send_replace(Command::Cancel("enough".into()));
    assert!(ended(task).await.is_ok());
    assert_eq!(shown_by(&stage.events().await, "a"), numbers(1));
}

/// The step reports a piece right after its recall.
#[tokio::test(start_paused = true)]
async fn a_step_that_is_called_back_shows_nothing_more() {
    let heeds = Behaviour::Heeds(Duration::from_secs(1), output("a"));
    let stage = Arc::new(Stage::new(StandIn::new().does("a", heeds)));
    let task = stage.start("one", together(vec![tool("a")]));
    stage.world.until("call a#1").await;
    stage.command.send_replace(Command::Cancel("enough".into()));
    assert!(ended(task).await.is_ok());
    assert_eq!(stage.world.count("heard a#1"), 1);
    let events = words(&stage.events().await);
    let wanted = ["stopping cancelled", "a#1 tool_returned", "ended cancelled"];
    assert_eq!(events[2..], wanted);
}

#[tokio::test(start_paused = true)]
async fn what_was_shown_before_the_run_stops_is_written_down_while_it_stops() {
    let world = StandIn::new().does("a", shows(100, output("a")));
    let stage = Arc::new(Stage::on(
        FaultyJournal::slow(Duration::from_secs(1)),
        world,
    ));
    let task = stage.start("one", together(vec![tool("a")]));
    stage.world.until("call a#1").await;
    stage.command.send_replace(Command::Cancel("enough".into()));
    assert!(ended(task).await.is_ok());
    let events = stage.events().await;
    let values = shown_by(&events, "a");
    assert_eq!(values, numbers(values.len() as u64), "without gaps");
    let stopping = events
        .iter()
        .position(|e| matches!(e, RunEvent::Stopping { .. }));
    let last = events
        .iter()
        .rposition(|e| matches!(e, RunEvent::Progressed { .. }));
    assert!(last > stopping, "{:?}", words(&events));
}

#[tokio::test(start_paused = true)]
async fn a_step_that_shows_without_end_keeps_no_run_from_ending_in_time() {
    let world = StandIn::new().does("a", Behaviour::Floods);
    let mut stage = Stage::on(FaultyJournal::slow(Duration::from_millis(100)), world);
    stage.first.deadline_ms = Some(NOON + 10_000);
    let began = Instant::now();
    let outcome = stage.drive("one", &together(vec![agent("a")])).await;
    assert_eq!(
        outcome,
        Ok(RunOutcome::failed("the time for it, 10s, is over"))
    );
    assert!(began.elapsed() < Duration::from_secs(12));
}

#[tokio::test(start_paused = true)]
async fn a_run_shows_only_so_many_pieces_also_when_it_is_taken_up() {
    let steps = || together(vec![tool("a"), tool("b")]);
    let world = StandIn::new()
        .does("a", shows(10_010, output("a")))
        .does("b", Behaviour::Hangs);
    let stage = Arc::new(Stage::new(world));
    let task = stage.start("one", steps());
    stage.world.until("left a#1").await;
    task.abort();
    assert!(task.await.is_err());

    let world = StandIn::new().does("b", shows(10, output("b")));
    let rest = Stage {
        journal: Arc::clone(&stage.journal),
        ..Stage::new(world)
    };
    assert!(rest.drive("one", &steps()).await.is_ok());
    let events = rest.events().await;
    let values: Vec<&Value> = events
        .iter()
        .filter_map(|event| match event {
            RunEvent::Progressed { value, .. } => Some(value),
            _ => None,
        })
        .collect();
    assert_eq!(values.len(), 10_001);
    assert_eq!(values[10_000]["type"], "warning");
}

/// Only progress is dropped: results and the end are written, however large.
#[tokio::test(start_paused = true)]
async fn a_run_shows_only_so_many_bytes_and_keeps_its_results() {
    let large = || Value::from("x".repeat(60_000));
    let many = vec![large(); 400];
    let steps = || together(vec![tool("a"), tool("b")]);
    let world = StandIn::new()
        .does(
            "a",
            Behaviour::Shows(many.clone(), output(&"y".repeat(9 << 20))),
        )
        .does("b", Behaviour::Hangs);
    let stage = Arc::new(Stage::new(world));
    let task = stage.start("one", steps());
    stage.world.until("left a#1").await;
    task.abort();
    assert!(task.await.is_err());

    let world = StandIn::new().does("b", Behaviour::Shows(many, output("b")));
    let rest = Stage {
        journal: Arc::clone(&stage.journal),
        ..Stage::new(world)
    };
    assert!(rest.drive("one", &steps()).await.is_ok());
    let events = rest.events().await;
    let shown = ProgressSize::of(&events);
    let values = [shown_by(&events, "a"), shown_by(&events, "b")].concat();
    let (markers, pieces): (Vec<Value>, Vec<Value>) = values
        .into_iter()
        .partition(|value| value["data"]["dropped"] == true);
    assert_eq!(markers.len(), 1, "it is said once that there was more");
    let bytes: usize = pieces.iter().map(|piece| piece.to_string().len()).sum();
    assert!((7 << 20..8 << 20).contains(&bytes), "{bytes}");
    assert_eq!(shown.pieces as usize, pieces.len() + 1);
    let facts = Facts::of(&events);
    assert_eq!(
        facts.result(&tool("a")),
        Some(&output(&"y".repeat(9 << 20)))
    );
    assert_eq!(facts.result(&tool("b")), Some(&output("b")));
    assert_eq!(facts.ended(), Some(&RunOutcome::completed("all came back")));
}

/// A note is journaled at once, and once, whoever drives the run.
#[tokio::test(start_paused = true)]
async fn a_note_is_decided_upon_once_and_survives_being_taken_up() {
    let wants = || {
        Wants(|facts: &Facts| {
            let first = Step::new(
                "first",
                Effect::Note(json!({ "says": facts.spent().calls })),
            );
            let then = Step::new("then", Effect::Note(json!({ "says": facts.spent().calls })));
            match (facts.noted(&first.id), facts.noted(&then.id)) {
                (Some(_), Some(then)) => Next::Finish(RunOutcome::completed(then.to_string())),
                _ if facts.result(&tool("a")).is_some() => Next::Steps(vec![first, then]),
                _ => Next::Steps(vec![first, tool("a")]),
            }
        })
    };
    let stage = Arc::new(Stage::new(StandIn::new().does("a", Behaviour::Hangs)));
    let task = stage.start("one", wants());
    stage.world.until("call a#1").await;
    task.abort();
    assert!(task.await.is_err());
    let again = Stage {
        journal: Arc::clone(&stage.journal),
        ..Stage::new(StandIn::new())
    };
    let outcome = again.drive("one", &wants()).await;
    assert_eq!(outcome, Ok(RunOutcome::completed(r#"{"says":1}"#)));
    let events = again.events().await;
    let notes: Vec<String> = words(&events)
        .into_iter()
        .filter(|word| word.starts_with("noted") || word.starts_with("begun"))
        .collect();
    assert_eq!(notes, ["noted first", "begun a#1", "noted then"]);
    let facts = Facts::of(&events);
    let first = facts.noted(&Step::new("first", Effect::Note(json!(1))).id);
    assert_eq!(first, Some(&json!({ "says": 0 })), "it says what it said");
}
