//! The side of a run's monitoring messages that publishes them, from the queue or, where that does not have them, from the journal.

use std::{
    slice,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use agenthub_bus::{BusError, Message, messages::MONITORING};
use agenthub_sdk::runs::journal::JournalError;
use tokio::{
    sync::{mpsc, watch},
    time::sleep,
};

use super::{END, Shared};
use crate::monitoring::of_step;

/// Messages that are published together.
const TOGETHER: usize = 32;

/// Time that a message waits for others. The end of the run waits for none of it.
const LINGER: Duration = Duration::from_millis(20);

/// Entries that are read together.
const PAGE: usize = 64;

/// Pause before the bus or the journal is asked again.
const PAUSE: Duration = Duration::from_secs(1);

/// The side that publishes.
pub(super) struct Publisher {
    pub(super) shared: Arc<Shared>,
    pub(super) published: watch::Sender<u64>,
    pub(super) finishing: watch::Receiver<bool>,
}

impl Publisher {
    pub(super) async fn run(mut self, mut waiting: mpsc::Receiver<(u64, Message)>) {
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
            match self.shared.bus.publish(MONITORING, messages).await {
                Err(BusError::Unavailable(why)) => {
                    tracing::debug!(run = %self.shared.run, why, "monitoring messages wait");
                    sleep(PAUSE).await;
                }
                answered => return answered,
            }
        }
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
