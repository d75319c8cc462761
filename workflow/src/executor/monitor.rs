//! Tells the monitoring topic how a run goes.
//!
//! Messages follow from the run's journal. Those of entries that are new wait in a queue for the bus, for a moment longer than they must,
//! so that several go out together beside the steps and not between them. Where the queue overflows, and where a run is
//! recovered, the journal is read instead, so that each message is published at least once. The run's last message is published before
//! the journal says that the run has ended.

use std::{
    slice,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use agenthub_sdk::{
    TaskContext,
    durable::Journal,
    runs::{
        EffectFailure, RunId,
        journal::{Entry, JournalError},
    },
};
use tokio::{
    sync::{Notify, mpsc, watch},
    task::JoinSet,
    time::{sleep, timeout},
};

use crate::{
    bus::{Bus, BusError, HubBus, Message},
    monitoring::{TOPIC, of_end, of_step},
};

/// Messages that wait for the bus.
const QUEUE: usize = 256;

/// Messages that are published together.
const TOGETHER: usize = 32;

/// Time that a message waits for others. The end of the run waits for none of it.
const LINGER: Duration = Duration::from_millis(20);

/// Place of the run's last message, behind every entry.
const END: u64 = u64::MAX;

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
    /// True once nothing but the run's last message will follow.
    finishing: watch::Sender<bool>,
    /// Number of the entry up to which all messages are published, [`END`] once the last one is.
    published: watch::Receiver<u64>,
    _publisher: JoinSet<()>,
}

#[derive(Debug)]
struct Shared {
    run: RunId,
    journal: Arc<dyn Journal>,
    bus: Arc<dyn Bus>,
    /// Number of the last entry with a message. The messages up to it are in the queue, or in the journal alone.
    shown: AtomicU64,
    /// True if there are messages that are not in the queue.
    is_behind: AtomicBool,
    behind: Notify,
    /// The run's last message.
    last: Mutex<Option<Message>>,
}

/// The side that publishes.
struct Publisher {
    shared: Arc<Shared>,
    published: watch::Sender<u64>,
    finishing: watch::Receiver<bool>,
}

impl Monitor {
    /// The monitoring messages of a task's run, on the task's hub.
    pub(super) fn on_hub(task: &TaskContext, run: &RunId, journal: &Arc<dyn Journal>) -> Self {
        let bus = HubBus::new(task.client().clone());
        Self::new(run.clone(), Arc::clone(journal), Arc::new(bus))
    }

    fn new(run: RunId, journal: Arc<dyn Journal>, bus: Arc<dyn Bus>) -> Self {
        let (queue, waiting) = mpsc::channel(QUEUE);
        let (sender, published) = watch::channel(0);
        let shared = Arc::new(Shared {
            run,
            journal,
            bus,
            shown: AtomicU64::new(0),
            is_behind: AtomicBool::new(false),
            behind: Notify::new(),
            last: Mutex::default(),
        });
        let (finishing, told) = watch::channel(false);
        let publisher = Publisher {
            shared: Arc::clone(&shared),
            published: sender,
            finishing: told,
        };
        let mut tasks = JoinSet::new();
        tasks.spawn(publisher.run(waiting));
        Self {
            shared,
            queue,
            finishing,
            published,
            _publisher: tasks,
        }
    }

    /// Takes an entry in. `again` says that the run was recovered, and the entry is one of its last.
    pub(super) fn show(&self, entry: &Entry, again: bool) {
        let run = &self.shared.run;
        if let Some(message) = of_end(run, entry) {
            *self.shared.last() = Some(message);
            return;
        }
        let message = of_step(run, entry);
        let has_message = message.is_some() || again;
        let is_queued = match message {
            _ if again => false,
            None => true,
            Some(message) => self.queue.try_send((entry.seq, message)).is_ok(),
        };
        if has_message {
            self.shared.shown.fetch_max(entry.seq, Ordering::Release);
        }
        if !is_queued {
            self.shared.is_behind.store(true, Ordering::Release);
            self.shared.behind.notify_one();
        }
    }

    /// Publishes the run's last message, with what waits before it.
    ///
    /// # Errors
    ///
    /// The bus cannot be reached. What it refuses is left out.
    pub(super) async fn finish(&self) -> Result<(), EffectFailure> {
        self.finishing.send_replace(true);
        let mut published = self.published.clone();
        match timeout(FINISH, published.wait_for(|seq| *seq == END)).await {
            Ok(_) => Ok(()),
            Err(_) => Err(EffectFailure::passing("the bus does not answer")),
        }
    }
}

impl Shared {
    fn last(&self) -> MutexGuard<'_, Option<Message>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_behind(&self) -> bool {
        self.is_behind.load(Ordering::Acquire)
    }
}

/// Waits until the run is about to end.
async fn is_told(finishing: &mut watch::Receiver<bool>) {
    if finishing
        .wait_for(|is_finishing| *is_finishing)
        .await
        .is_err()
    {
        std::future::pending::<()>().await;
    }
}

impl Publisher {
    async fn run(mut self, mut waiting: mpsc::Receiver<(u64, Message)>) {
        loop {
            if self.shared.is_behind.swap(false, Ordering::Acquire) {
                if let Err(error) = self.catch_up().await {
                    let run = &self.shared.run;
                    tracing::warn!(%run, %error, "monitoring messages of a run are missing");
                    self.go_on(&mut waiting).await;
                }
                continue;
            }
            let mut batch = Vec::new();
            let is_last = tokio::select! {
                () = self.shared.behind.notified() => continue,
                () = is_told(&mut self.finishing) => true,
                count = waiting.recv_many(&mut batch, TOGETHER) => match count {
                    0 => return,
                    _ => self.linger(&mut waiting, &mut batch).await,
                }
            };
            if is_last {
                batch.extend(std::iter::from_fn(|| waiting.try_recv().ok()));
            }
            // What overflowed in between comes from the journal, with these.
            if self.shared.is_behind() {
                continue;
            }
            if is_last {
                return self.publish_last(batch).await;
            }
            self.publish(batch).await;
        }
    }

    /// Adds the messages of the next moment. True if nothing but the last one follows.
    async fn linger(
        &mut self,
        waiting: &mut mpsc::Receiver<(u64, Message)>,
        batch: &mut Vec<(u64, Message)>,
    ) -> bool {
        let pause = sleep(LINGER);
        tokio::pin!(pause);
        while batch.len() < TOGETHER {
            let room = TOGETHER - batch.len();
            tokio::select! {
                () = is_told(&mut self.finishing) => return true,
                () = &mut pause => return false,
                count = waiting.recv_many(batch, room) => if count == 0 {
                    return false;
                },
            }
        }
        false
    }

    /// Publishes the run's last message behind these.
    async fn publish_last(&self, mut batch: Vec<(u64, Message)>) {
        batch.extend(self.shared.last().take().map(|message| (END, message)));
        let mut batch = batch.into_iter().peekable();
        while batch.peek().is_some() {
            self.publish(batch.by_ref().take(TOGETHER).collect()).await;
        }
        self.is_published(END);
    }

    /// Publishes what is in the queue, and leaves out what else was shown until now.
    async fn go_on(&self, waiting: &mut mpsc::Receiver<(u64, Message)>) {
        let shown = self.shared.shown.load(Ordering::Acquire);
        loop {
            let queued = std::iter::from_fn(|| waiting.try_recv().ok());
            let batch: Vec<_> = queued.take(TOGETHER).collect();
            if batch.is_empty() {
                break;
            }
            self.publish(batch).await;
        }
        self.is_published(shown);
    }

    /// Publishes what the journal has behind the last message that was published.
    ///
    /// # Errors
    ///
    /// The journal cannot be read, and trying again is of no use.
    async fn catch_up(&self) -> Result<(), JournalError> {
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
                Err(error) => return Err(error),
            };
            let Some(end) = entries.last().map(|entry| entry.seq) else {
                return Ok(());
            };
            let messages = entries.iter().filter_map(|entry| {
                let message = of_step(run, entry)?;
                Some((entry.seq, message))
            });
            self.publish(messages.collect()).await;
            self.is_published(end);
        }
    }

    /// Marks all up to this entry as published.
    fn is_published(&self, end: u64) {
        self.published.send_if_modified(|seq| {
            let is_on = *seq < end;
            *seq = end.max(*seq);
            is_on
        });
    }

    /// Publishes messages. Those that are published already are left out, and those that the bus refuses.
    async fn publish(&self, messages: Vec<(u64, Message)>) {
        let after = *self.published.borrow();
        let (numbers, messages): (Vec<u64>, Vec<Message>) =
            messages.into_iter().filter(|(seq, _)| *seq > after).unzip();
        let Some(end) = numbers.last().copied() else {
            return;
        };
        if let Err(error) = self.offer(&messages).await {
            // One of them is refused; the others are not to be missing with it.
            tracing::debug!(run = %self.shared.run, %error, "monitoring messages go out one by one");
            for message in &messages {
                if let Err(error) = self.offer(slice::from_ref(message)).await {
                    let (run, id) = (&self.shared.run, &message.id);
                    tracing::warn!(%run, id, %error, "a monitoring message is left out");
                }
            }
        }
        self.published.send_replace(end);
    }

    /// Has the bus take messages, for as long as that takes.
    ///
    /// # Errors
    ///
    /// The bus refuses them.
    async fn offer(&self, messages: &[Message]) -> Result<(), BusError> {
        loop {
            match self.shared.bus.publish(TOPIC, messages).await {
                Err(BusError::Unavailable(why)) => {
                    tracing::debug!(run = %self.shared.run, why, "monitoring messages wait");
                    sleep(PAUSE).await;
                }
                answered => return answered,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use agenthub_sdk::runs::{
        Budget, RunEvent, RunOutcome, RunStarted, StepId, StepRequest, StepResult,
        journal::{Claim, MemoryJournal},
    };
    use serde_json::{Value, json};
    use tokio::time::Instant;

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
}
