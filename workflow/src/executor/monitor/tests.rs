//! What is published of a run, in which order, over crashes and while bus or journal are away.

use agenthub_bus::{BusError, MemoryBus};
use agenthub_sdk::runs::{
    Budget, RunEvent, RunOutcome, RunStarted, StepId, StepRequest, StepResult,
    journal::{Claim, MemoryJournal},
};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::*;

/// A run in a journal, and a bus.
struct Stage {
    run: RunId,
    journal: Arc<dyn Journal>,
    bus: Arc<MemoryBus>,
    epoch: u64,
    entries: Vec<Entry>,
}

impl Stage {
    async fn new() -> Self {
        let run = RunId::new("r");
        let journal: Arc<dyn Journal> = Arc::new(MemoryJournal::default());
        let first = RunEvent::Started(RunStarted {
            strategy: "workflow".to_owned(),
            input: json!({}),
            thread: String::new(),
            origin: Value::Null,
            budget: Budget::default(),
            deadline_ms: None,
            at_ms: 1_000,
        });
        let claim = Claim {
            driver: "d",
            lease: Duration::from_secs(60),
        };
        let opened = journal
            .open(&run, "owner", claim, std::slice::from_ref(&first))
            .await;
        Self {
            run,
            bus: Arc::default(),
            epoch: opened.expect("it is free").epoch,
            entries: vec![Entry {
                seq: 1,
                event: first,
            }],
            journal,
        }
    }

    async fn append(&mut self, event: RunEvent) -> Entry {
        let last = self.entries.len() as u64;
        let events = [event.clone()];
        let appended = self.journal.append(&self.run, self.epoch, last, &events);
        appended.await.expect("it is ours");
        let entry = Entry {
            seq: last + 1,
            event,
        };
        self.entries.push(entry.clone());
        entry
    }

    /// Steps that begin and end, in the journal.
    async fn steps(&mut self, count: usize) -> Vec<Entry> {
        let mut entries = Vec::new();
        for n in 0..count {
            let step = StepId::new(format!("s{n}"));
            let begun = RunEvent::StepBegun {
                step: step.clone(),
                attempt: 1,
                what: StepRequest::Waiting { until_ms: 1 },
                grant: Budget::default(),
                deadline_ms: None,
                at_ms: 2_000,
            };
            entries.push(self.append(begun).await);
            let ended = RunEvent::StepEnded {
                step,
                attempt: 1,
                result: StepResult::Woke,
                spent: None,
                at_ms: 3_000,
            };
            entries.push(self.append(ended).await);
        }
        entries
    }

    async fn stopping(&mut self) -> Entry {
        let stopping = RunEvent::Stopping {
            outcome: RunOutcome::completed("x"),
            at_ms: 4_000,
        };
        self.append(stopping).await
    }

    fn monitor(&self) -> Monitor {
        let bus = Arc::clone(&self.bus) as Arc<dyn Bus>;
        Monitor::new(self.run.clone(), Arc::clone(&self.journal), bus)
    }

    fn ids(&self) -> Vec<String> {
        let published = self.bus.published();
        let all = published.borrow();
        all.iter().map(|(_, message)| message.id.clone()).collect()
    }
}

fn numbers(range: std::ops::RangeInclusive<usize>) -> Vec<String> {
    range.map(|n| format!("r.{n}")).collect()
}

#[tokio::test(start_paused = true)]
async fn each_message_is_published_in_order_though_the_bus_is_away() {
    let mut stage = Stage::new().await;
    let monitor = stage.monitor();
    for _ in 0..3 {
        stage.bus.fail(BusError::Unavailable("away".to_owned()));
    }
    // More than there is room for, before the bus takes one.
    for entry in stage.steps(QUEUE).await {
        monitor.show(&entry, false);
    }
    let last = stage.stopping().await;
    monitor.show(&last, false);
    monitor.finish().await.expect("the bus is back");
    assert_eq!(stage.ids(), numbers(2..=2 * QUEUE + 2));
    let published = stage.bus.published();
    let (topic, end) = published.borrow().last().cloned().expect("there are some");
    assert_eq!(topic, "workflow.monitoring.updates");
    assert_eq!(end.value().expect("JSON")["step_name"], "workflow");
}

#[tokio::test(start_paused = true)]
async fn after_a_crash_every_message_comes_again_under_its_id() {
    let mut stage = Stage::new().await;
    let shown = stage.steps(40).await;
    // The process before this one died, and nobody knows what it had published.
    let monitor = stage.monitor();
    for entry in &shown[48..] {
        monitor.show(entry, true);
    }
    for entry in stage.steps(1).await {
        monitor.show(&entry, false);
    }
    let last = stage.stopping().await;
    monitor.show(&last, false);
    monitor.finish().await.expect("the bus takes it");
    assert_eq!(stage.ids(), numbers(2..=84));
}

#[tokio::test(start_paused = true)]
async fn a_message_that_is_refused_is_left_out_alone() {
    let mut stage = Stage::new().await;
    let monitor = stage.monitor();
    stage.bus.refuse("r.4");
    for entry in stage.steps(2).await {
        monitor.show(&entry, false);
    }
    let last = stage.stopping().await;
    monitor.show(&last, false);
    monitor.finish().await.expect("the bus takes it");
    assert_eq!(stage.ids(), ["r.2", "r.3", "r.5", "r.6"]);
}

#[tokio::test(start_paused = true)]
async fn without_the_journal_what_is_in_the_queue_and_what_comes_later_is_published() {
    let mut stage = Stage::new().await;
    let bus = Arc::clone(&stage.bus) as Arc<dyn Bus>;
    let strange: Arc<dyn Journal> = Arc::new(MemoryJournal::default());
    let monitor = Monitor::new(stage.run.clone(), strange, bus);
    // One more than there is room for.
    let shown = stage.steps(QUEUE / 2 + 1).await;
    for entry in &shown[..=QUEUE] {
        monitor.show(entry, false);
    }
    let shown_last = shown[QUEUE].seq;
    let mut published = monitor.published.clone();
    let caught_up = published.wait_for(|seq| *seq >= shown_last).await;
    drop(caught_up.expect("it goes on"));
    monitor.show(&shown[QUEUE + 1], false);
    let last = stage.stopping().await;
    monitor.show(&last, false);
    monitor.finish().await.expect("the bus takes it");
    let mut expected = numbers(2..=QUEUE + 1);
    expected.extend(numbers(QUEUE + 3..=QUEUE + 4));
    assert_eq!(stage.ids(), expected);
}

#[tokio::test(start_paused = true)]
async fn a_bus_that_is_away_keeps_the_run_from_its_end_and_one_that_refuses_does_not() {
    let mut stage = Stage::new().await;
    let monitor = stage.monitor();
    let last = stage.stopping().await;
    monitor.show(&last, false);
    for _ in 0..40 {
        stage.bus.fail(BusError::Unavailable("away".to_owned()));
    }
    let failure = monitor.finish().await.expect_err("it is away");
    assert!(failure.is_retryable, "{failure}");
    monitor.finish().await.expect("it is back");
    assert_eq!(stage.ids(), ["r.2"], "once");

    let mut stage = Stage::new().await;
    let monitor = stage.monitor();
    let last = stage.stopping().await;
    monitor.show(&last, false);
    stage.bus.refuse("r.2");
    monitor.finish().await.expect("it is left out");
}

#[tokio::test(start_paused = true)]
async fn messages_of_one_moment_go_out_together_and_the_last_one_with_them() {
    let mut stage = Stage::new().await;
    let monitor = stage.monitor();
    for entry in stage.steps(2).await {
        monitor.show(&entry, false);
        tokio::task::yield_now().await;
    }
    assert_eq!(stage.bus.calls(), 0, "they wait for others");
    let mut published = monitor.published.clone();
    let shown = published.wait_for(|seq| *seq == 5).await;
    drop(shown.expect("they wait for no more than a moment"));
    assert_eq!(stage.bus.calls(), 1);
    for entry in stage.steps(1).await {
        monitor.show(&entry, false);
    }
    let last = stage.stopping().await;
    monitor.show(&last, false);
    let began = Instant::now();
    monitor.finish().await.expect("the bus takes it");
    assert_eq!(began.elapsed(), Duration::ZERO, "the end does not wait");
    assert_eq!(stage.bus.calls(), 2);
    assert_eq!(stage.ids(), numbers(2..=8));
}
