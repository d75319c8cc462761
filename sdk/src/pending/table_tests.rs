use super::*;
use agenthub_proto::{
    a2a::{TaskState, TaskStatus},
    agenthub::{AgentEventMetadata, TaskStatusUpdateEvent, agent_event::Payload},
};
use futures_util::FutureExt;

fn status(state: TaskState) -> AgentEvent {
    AgentEvent {
        payload: Some(Payload::StatusUpdate(TaskStatusUpdateEvent {
            task_id: "t".into(),
            status: Some(TaskStatus {
                state: state.into(),
                ..Default::default()
            }),
            ..Default::default()
        })),
        ..Default::default()
    }
}

fn at(position: &str, state: TaskState) -> AgentEvent {
    AgentEvent {
        position: position.to_owned(),
        ..status(state)
    }
}

/// A client that comes back is told again what it did not acknowledge.
#[tokio::test]
async fn an_earlier_question_is_no_outcome_of_its_answer() {
    let table = Table::default();
    let ends = table.add("t", "", Duration::from_secs(1), Before::GoesOn);
    let ends = ends.expect("a new task");
    table.apply(&at("log-4", TaskState::InputRequired));
    table.apply(&at("log-9", TaskState::Working));
    table.accept("t", "log-7", false);
    table.apply(&at("log-5", TaskState::InputRequired));
    assert!(table.overdue(Instant::now()).is_empty());
    table.apply(&at("log-12", TaskState::InputRequired));
    let outcome = ends.outcome.await.expect("it waits").expect("an outcome");
    assert_eq!(outcome.state, TaskState::InputRequired);
    let mut updates = ends.updates;
    let mut shown = 0;
    while updates.try_recv().is_ok() {
        shown += 1;
    }
    assert_eq!(shown, 2, "what is of this question");
}

/// The task of `accept` is in the middle of the early events as a later one comes.
#[test]
fn no_later_event_overtakes_an_early_one() {
    for round in 0..200 {
        let table = Table::default();
        let ends = table.add("t", "", Duration::from_secs(60), Before::GoesOn);
        let mut ends = ends.expect("a new task");
        let early = 30;
        for n in 0..early {
            table.apply(&at(&format!("log-{n}"), TaskState::Working));
        }
        let start = std::sync::Barrier::new(2);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                start.wait();
                table.accept("t", "", false);
            });
            start.wait();
            while table.accepted().is_empty() {
                std::hint::spin_loop();
            }
            table.apply(&at("log-99", TaskState::InputRequired));
        });
        assert!(ends.outcome.try_recv().is_ok(), "round {round}");
        let mut shown = 0;
        while ends.updates.try_recv().is_ok() {
            shown += 1;
        }
        assert_eq!(shown, early + 1, "round {round}");
    }
}

#[tokio::test]
async fn early_events_without_room_are_no_outcome_and_the_hub_is_asked() {
    let is_doubted = |table: &Table| table.doubted.notified().now_or_never().is_some();
    for (taken_at, missed_some) in [("log-70", false), ("log-3", true)] {
        let table = Table::default();
        let ends = table.add("t", "", Duration::from_secs(60), Before::GoesOn);
        let mut ends = ends.expect("a new task");
        for n in 0..MOST_EARLY + 5 {
            table.apply(&at(&format!("log-{n}"), TaskState::Working));
        }
        table.apply(&at("log-70", TaskState::InputRequired));
        assert!(
            ends.outcome.try_recv().is_err(),
            "it may be an old question"
        );
        assert!(!is_doubted(&table), "the hub does not know of it yet");
        table.accept("t", taken_at, false);
        assert_eq!(is_doubted(&table), missed_some);
        assert_eq!(ends.outcome.try_recv().is_ok(), missed_some);
    }
}

#[tokio::test]
async fn a_slow_reader_learns_how_much_it_missed_and_gets_the_outcome() {
    let table = Table::default();
    let mut ends = table
        .add("t", "", Duration::from_secs(1), Before::Nothing)
        .expect("a new task");
    for _ in 0..Pending::MAX_UPDATES + 5 {
        table.apply(&status(TaskState::Working));
    }
    let mut read = 0;
    while ends.updates.try_recv().is_ok() {
        read += 1;
    }
    assert_eq!(read, Pending::MAX_UPDATES);

    table.apply(&status(TaskState::Completed));
    assert_eq!(
        ends.updates.recv().await.as_deref(),
        Some(&Update::Missed(5))
    );
    let last = ends.updates.recv().await;
    assert!(matches!(last.as_deref(), Some(Update::Status(_))));
    assert_eq!(ends.updates.recv().await, None);
    assert!(ends.outcome.await.is_ok_and(|o| o.is_ok()));
}

#[tokio::test]
async fn a_question_that_was_asked_before_is_no_answer_to_what_goes_on() {
    let task = |state: TaskState| Task {
        id: "t".into(),
        status: Some(TaskStatus {
            state: state.into(),
            ..Default::default()
        }),
        ..Default::default()
    };
    for (before, settled) in [(Before::Nothing, true), (Before::GoesOn, false)] {
        let table = Table::default();
        let _ends = table.add("t", "", Duration::ZERO, before);
        assert_eq!(table.settle(&task(TaskState::InputRequired)), settled);
        assert!(table.settle(&task(TaskState::Completed)));
    }
}

#[tokio::test]
async fn a_task_is_awaited_once() {
    let table = Table::default();
    let _ends = table
        .add("t", "", Duration::ZERO, Before::Nothing)
        .expect("a new task");
    assert!(matches!(
        table.add("t", "", Duration::ZERO, Before::Nothing),
        Err(Error::Conflict(_))
    ));
}

/// spec: HUB-5.3
#[tokio::test(start_paused = true)]
async fn what_was_said_at_the_end_is_the_outcome_where_no_artifact_follows_and_no_hub_answers() {
    let table = Table::default();
    let ends = table.add("t", "", Duration::from_secs(60), Before::Nothing);
    let mut completed = status(TaskState::Completed);
    completed.routing = Some(AgentEventMetadata {
        from_agent_id: "worker".into(),
        ..Default::default()
    });
    table.apply(&completed);
    assert!(table.overdue(Instant::now()).is_empty());
    tokio::time::advance(LATE).await;
    assert_eq!(table.overdue(Instant::now()), ["t"]);
    table.fail("t", Error::Timeout(LATE));
    let outcome = ends.expect("a new task").outcome.await.expect("it is told");
    assert!(outcome.expect("it completed").is_completed());
}
