//! Frames for those who watch the task of a run, read from the journal as they are shown. The run never waits for that.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use agenthub_proto::cortex::Frame;
use agenthub_sdk::{TaskContext, TaskUpdate, runs::RunId};
use tokio::{
    sync::watch,
    task::JoinSet,
    time::{sleep, timeout},
};

use super::world::line;
use crate::{
    frame,
    frames::Frames,
    origin::{CORTEX, context_of},
    shared::Shared,
};

/// The entries of a journal that are read at one time.
const PAGE: usize = 256;

/// Time that the end of a run waits for what is to be seen before it.
const CATCH_UP: Duration = Duration::from_secs(2);

/// Pause before a journal that cannot be read is read again.
const READ_AGAIN: Duration = Duration::from_millis(500);

/// Progress of a run, and of its showing. Dropping it ends the showing.
#[derive(Debug)]
pub(super) struct RunDisplay {
    subject: Subject,
    /// The place of the first event that is to be shown, and of the last one.
    reached: watch::Sender<(u64, u64)>,
    /// The place of the last event that was shown.
    done: watch::Sender<u64>,
    showing: Mutex<JoinSet<()>>,
}

/// The run, and its task.
#[derive(Clone, Debug)]
struct Subject {
    shared: Arc<Shared>,
    task: TaskContext,
    run: RunId,
}

/// Shows the run on its task.
struct Showing {
    subject: Subject,
    frames: Frames,
    reached: watch::Receiver<(u64, u64)>,
    done: watch::Sender<u64>,
}

impl RunDisplay {
    /// Display of this run, without any event.
    pub(super) fn new(shared: Arc<Shared>, task: TaskContext, run: RunId) -> Self {
        Self {
            subject: Subject { shared, task, run },
            reached: watch::Sender::new((0, 0)),
            done: watch::Sender::new(0),
            showing: Mutex::default(),
        }
    }

    /// Notes that there is an event at this place. Never waits.
    pub(super) fn reach(&self, seq: u64) {
        self.reached.send_modify(|(first, last)| {
            *first = if *first == 0 { seq } else { *first };
            *last = seq.max(*last);
        });
        let mut showing = self.showing.lock().unwrap_or_else(PoisonError::into_inner);
        if showing.is_empty() {
            let Subject { run, task, .. } = &self.subject;
            let all = Showing {
                frames: Frames::new(run.as_str(), &context_of(task), CORTEX),
                subject: self.subject.clone(),
                reached: self.reached.subscribe(),
                done: self.done.clone(),
            };
            showing.spawn(all.show());
        }
    }

    /// Waits until all has been shown, for at most 2 s. What is not shown by then stands in the journal alone.
    pub(super) async fn caught_up(&self) {
        let (_, last) = *self.reached.borrow();
        let mut done = self.done.subscribe();
        let caught_up = timeout(CATCH_UP, done.wait_for(|done| *done >= last));
        if caught_up.await.is_err() {
            tracing::debug!("those who watch a run's task are too far behind");
        }
    }
}

impl Showing {
    async fn show(mut self) {
        let Subject { shared, run, .. } = self.subject.clone();
        let mut done = 0;
        loop {
            let (first, last) = *self.reached.borrow_and_update();
            while done < last {
                match shared.journal().read(&run, done, PAGE).await {
                    Ok(entries) if !entries.is_empty() => {
                        for entry in entries.iter().filter(|entry| entry.seq <= last) {
                            let frames = self.frames.of(entry);
                            if entry.seq >= first {
                                self.publish(frames, entry.event.at_ms()).await;
                            }
                            done = entry.seq;
                            self.done.send_replace(done);
                        }
                    }
                    Ok(_) => sleep(READ_AGAIN).await,
                    Err(error) => {
                        tracing::debug!(%run, %error, "frames wait for the journal");
                        sleep(READ_AGAIN).await;
                    }
                }
            }
            if self.reached.changed().await.is_err() {
                return;
            }
        }
    }

    /// Publishes the frames of an event of this time: whoever takes the run up publishes the same, which the hub knows then.
    async fn publish(&self, frames: Vec<Frame>, at_ms: u64) {
        for frame in frames {
            // Text is with the agent that makes it; the end is the task's own.
            if matches!(&*frame.r#type, "delta" | "metrics" | "complete" | "error") {
                continue;
            }
            let key = format!("{}/frame/{}", self.subject.run, frame.sequence);
            let update = TaskUpdate::new(line(&frame))
                .metadata("frame", frame::metadata(&frame))
                .once(key, at_ms);
            if let Err(error) = self.subject.task.publish_update(update).await {
                tracing::debug!(%error, frame = frame.r#type, "a frame could not be shown");
            }
        }
    }
}
