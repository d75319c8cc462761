//! Tells the monitoring topic how a run goes.
//!
//! Messages follow from the run's journal. Those of entries that are new wait in a queue for the bus; where it overflows, and where a run is
//! recovered, the journal is read instead, so that each message is published at least once. The run's last message is published before
//! the journal says that the run has ended.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use agenthub_sdk::{
    durable::Journal,
    runs::{EffectFailure, RunId, journal::Entry},
};
use tokio::{
    sync::{Notify, mpsc, watch},
    task::JoinSet,
    time::{sleep, timeout},
};

use crate::{
    bus::{Bus, BusError, Message},
    monitoring::{TOPIC, of_end, of_step},
};

/// Messages that wait for the bus.
const QUEUE: usize = 256;

/// Messages that are published together.
const TOGETHER: usize = 32;

/// Entries that are read together.
const PAGE: usize = 64;

/// Pause before the bus or the journal is asked again.
const PAUSE: Duration = Duration::from_secs(1);

/// Deadline for the end of a run to be told in one try.
const FINISH: Duration = Duration::from_secs(30);

/// The monitoring messages of one run. Dropping it stops them.
#[derive(Debug)]
pub(super) struct Monitor {
    shared: Arc<Shared>,
    queue: mpsc::Sender<(u64, Message)>,
    /// Number of the last entry with a message.
    shown: AtomicU64,
    /// The run's last message.
    last: Mutex<Option<Message>>,
    /// Number of the entry up to which all messages are published.
    published: watch::Receiver<u64>,
    _publisher: JoinSet<()>,
}

#[derive(Debug)]
struct Shared {
    run: RunId,
    journal: Arc<dyn Journal>,
    bus: Arc<dyn Bus>,
    /// True if there are messages that are not in the queue.
    is_behind: AtomicBool,
    behind: Notify,
}

/// The side that publishes.
struct Publisher {
    shared: Arc<Shared>,
    published: watch::Sender<u64>,
}

impl Monitor {
    pub(super) fn new(run: RunId, journal: Arc<dyn Journal>, bus: Arc<dyn Bus>) -> Self {
        let (queue, waiting) = mpsc::channel(QUEUE);
        let (sender, published) = watch::channel(0);
        let shared = Arc::new(Shared {
            run,
            journal,
            bus,
            is_behind: AtomicBool::new(false),
            behind: Notify::new(),
        });
        let publisher = Publisher {
            shared: Arc::clone(&shared),
            published: sender,
        };
        let mut tasks = JoinSet::new();
        tasks.spawn(publisher.run(waiting));
        Self {
            shared,
            queue,
            shown: AtomicU64::new(0),
            last: Mutex::default(),
            published,
            _publisher: tasks,
        }
    }

    /// Takes an entry in. `again` says that the run was recovered, and the entry is one of its last.
    pub(super) fn show(&self, entry: &Entry, again: bool) {
        let run = &self.shared.run;
        if let Some(message) = of_end(run, entry) {
            *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(message);
            return;
        }
        let message = of_step(run, entry);
        if message.is_some() || again {
            self.shown.fetch_max(entry.seq, Ordering::Relaxed);
        }
        let is_queued = match message {
            _ if again => false,
            None => true,
            Some(message) => self.queue.try_send((entry.seq, message)).is_ok(),
        };
        if !is_queued {
            self.shared.is_behind.store(true, Ordering::Release);
            self.shared.behind.notify_one();
        }
    }

    fn last(&self) -> Option<Message> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.clone()
    }

    /// Publishes the run's last message, behind all others.
    ///
    /// # Errors
    ///
    /// The bus does not take it.
    pub(super) async fn finish(&self) -> Result<(), EffectFailure> {
        let finish = async {
            let shown = self.shown.load(Ordering::Relaxed);
            let mut published = self.published.clone();
            if published.wait_for(|seq| *seq >= shown).await.is_err() {
                return Ok(());
            }
            let Some(last) = self.last() else {
                return Ok(());
            };
            self.shared.bus.publish(TOPIC, &[last]).await
        };
        match timeout(FINISH, finish).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(BusError::Unavailable(why))) => Err(EffectFailure::passing(why)),
            Ok(Err(error)) => Err(EffectFailure::lasting(error.to_string())),
            Err(_) => Err(EffectFailure::passing("the bus does not answer")),
        }
    }
}

impl Publisher {
    async fn run(self, mut waiting: mpsc::Receiver<(u64, Message)>) {
        let mut batch = Vec::new();
        loop {
            if self.shared.is_behind.swap(false, Ordering::Acquire) {
                self.catch_up().await;
                continue;
            }
            tokio::select! {
                () = self.shared.behind.notified() => {}
                count = waiting.recv_many(&mut batch, TOGETHER) => {
                    if count == 0 {
                        return;
                    }
                    // What overflowed in between comes from the journal, with these.
                    if self.shared.is_behind.load(Ordering::Acquire) {
                        batch.clear();
                        continue;
                    }
                    self.publish(std::mem::take(&mut batch)).await;
                }
            }
        }
    }

    /// Publishes what the journal has behind the last message that was published.
    async fn catch_up(&self) {
        let Shared { run, journal, .. } = &*self.shared;
        loop {
            let after = *self.published.borrow();
            let entries = match journal.read(run, after, PAGE).await {
                Ok(entries) => entries,
                Err(error) if error.is_retryable() => {
                    tracing::debug!(%run, %error, "a run's journal cannot be read for its monitoring messages yet");
                    sleep(PAUSE).await;
                    continue;
                }
                Err(error) => {
                    tracing::warn!(%run, %error, "monitoring messages of a run are missing");
                    self.published.send_replace(u64::MAX);
                    return;
                }
            };
            let Some(end) = entries.last().map(|entry| entry.seq) else {
                return;
            };
            let messages = entries.iter().filter_map(|entry| {
                let message = of_step(run, entry)?;
                Some((entry.seq, message))
            });
            self.publish(messages.collect()).await;
            self.published.send_if_modified(|seq| {
                let is_on = *seq < end;
                *seq = end.max(*seq);
                is_on
            });
        }
    }

    /// Publishes messages, for as long as that takes. Those that are published already are left out.
    async fn publish(&self, messages: Vec<(u64, Message)>) {
        let after = *self.published.borrow();
        let (numbers, messages): (Vec<u64>, Vec<Message>) =
            messages.into_iter().filter(|(seq, _)| *seq > after).unzip();
        let Some(end) = numbers.last().copied() else {
            return;
        };
        loop {
            match self.shared.bus.publish(TOPIC, &messages).await {
                Ok(()) => break,
                Err(BusError::Unavailable(why)) => {
                    tracing::debug!(run = %self.shared.run, why, "monitoring messages wait");
                    sleep(PAUSE).await;
                }
                Err(error) => {
                    tracing::warn!(run = %self.shared.run, %error, "monitoring messages are left out");
                    break;
                }
            }
        }
        self.published.send_replace(end);
    }
}

#[cfg(test)]
mod tests {
    use agenthub_sdk::runs::{
        Budget, RunEvent, RunOutcome, RunStarted, StepId, StepRequest, StepResult,
        journal::{Claim, MemoryJournal},
    };
    use serde_json::{Value, json};

    use super::*;
    use crate::bus::memory::MemoryBus;

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
            let opened = journal.open(&run, "owner", claim, Some(&first)).await;
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
        assert_eq!(end.body["step_name"], "workflow");
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
    async fn a_bus_that_is_away_keeps_the_run_from_its_end_and_one_that_refuses_does_not() {
        let mut stage = Stage::new().await;
        let monitor = stage.monitor();
        let last = stage.stopping().await;
        monitor.show(&last, false);
        stage.bus.fail(BusError::Unavailable("away".to_owned()));
        let failure = monitor.finish().await.expect_err("it is away");
        assert!(failure.is_retryable, "{failure}");
        stage.bus.fail(BusError::Refused("too large".to_owned()));
        let failure = monitor.finish().await.expect_err("it refuses");
        assert!(!failure.is_retryable, "{failure}");
    }
}
