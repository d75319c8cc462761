//! The way of a turn's frames to whoever watches it. The turn never waits for them: what a slow watcher has no room for is left out, and said
//! to be missing.

mod queue;

use std::{sync::Arc, time::Duration};

use agenthub_proto::cortex::Frame as Wire;
use agenthub_sdk::internal::Gathering;
use async_trait::async_trait;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::{CancellationToken, DropGuard};

use self::queue::{Item, Queue};
use crate::frame::{Frame, Stamp};

/// Time that the end of a turn waits for what is to be seen before it.
const CATCH_UP: Duration = Duration::from_secs(2);

/// The longest that a sink may take for one frame. After that it is shown nothing more.
pub(crate) const SINK_DEADLINE: Duration = Duration::from_secs(10);

/// Somewhere that frames are shown.
#[async_trait]
pub(crate) trait FrameSink: Send {
    /// Shows a frame. Returns whether anybody may still be watching.
    async fn show(&mut self, frame: &Frame, wire: Wire) -> bool;
}

/// The turn's end of the way.
#[derive(Debug)]
pub(crate) struct View {
    items: Arc<Queue>,
    over: CancellationToken,
}

/// The other end. [`run`](Self::run) it for as long as the turn lasts.
#[derive(Debug)]
pub(crate) struct Projector {
    items: Arc<Queue>,
    _over: DropGuard,
}

/// A way for the frames of one turn.
pub(crate) fn open() -> (View, Projector) {
    let items = Arc::new(Queue::default());
    let over = CancellationToken::new();
    let projector = Projector {
        items: Arc::clone(&items),
        _over: over.clone().drop_guard(),
    };
    (View { items, over }, projector)
}

impl View {
    /// Shows a frame, if there is room for it and somebody watches. Never waits.
    pub(crate) fn show(&self, frame: Frame) {
        self.items.push(Item::Frame(frame));
    }

    /// Counts a frame that was shown before the turn was taken up here.
    pub(crate) fn skip(&self) {
        self.items.push(Item::Past);
    }

    /// Shows the last frames, and waits until all has been shown that will be, for at most 2 s. What is not shown by then is
    /// shown later.
    pub(crate) async fn close(&self, last: Vec<Frame>) {
        self.items.close(last);
        // Who is slower than that is waited for by nobody.
        let _ = timeout(CATCH_UP, self.over.cancelled()).await;
    }
}

impl Drop for View {
    fn drop(&mut self) {
        self.items.close(Vec::new());
    }
}

impl Drop for Projector {
    fn drop(&mut self) {
        self.items.close(Vec::new());
    }
}

/// The frames' numbering and clock.
struct Clock {
    sequence: u64,
    correlation_id: String,
    context_id: String,
    begun: Instant,
}

impl Clock {
    fn stamp(&mut self, frame: &Frame) -> Wire {
        self.sequence += 1;
        frame.stamped(&Stamp {
            sequence: self.sequence,
            correlation_id: self.correlation_id.clone(),
            context_id: self.context_id.clone(),
            elapsed: self.begun.elapsed(),
        })
    }
}

impl Projector {
    /// Shows the frames, numbered, until the last one, until the turn has closed or dropped its [`View`], or until nobody watches. Pieces
    /// of text are joined to one frame for every 50 ms or 1 KiB. Returns whether everything was shown.
    pub(crate) async fn run(
        self,
        sink: &mut dyn FrameSink,
        correlation_id: String,
        context_id: String,
    ) -> bool {
        let mut clock = Clock {
            sequence: 0,
            correlation_id,
            context_id,
            begun: Instant::now(),
        };
        let mut gathered = Gathered::default();
        loop {
            let next = match gathered.text.due() {
                None => self.items.next().await,
                Some(due) => match timeout_at(due, self.items.next()).await {
                    Ok(next) => next,
                    Err(_) => {
                        if !flush(sink, &mut clock, &mut gathered).await {
                            return false;
                        }
                        continue;
                    }
                },
            };
            let frame = match next {
                Some(Item::Frame(frame)) => frame,
                Some(Item::Past) => {
                    clock.sequence += 1;
                    continue;
                }
                Some(Item::Missing(count)) => {
                    // The frame that says so has the number of one of them.
                    clock.sequence += count - 1;
                    Frame::Warning(format!(
                        "{count} frames are left out: the watcher is too slow"
                    ))
                }
                None => return flush(sink, &mut clock, &mut gathered).await,
            };
            let is_last = frame.is_last();
            let watched = match frame {
                // What begins anew without text is shown as it is: what was shown before is withdrawn.
                Frame::Delta { text, append } if append || !text.is_empty() => {
                    // What begins anew takes the place of what was shown before.
                    (append || flush(sink, &mut clock, &mut gathered).await)
                        && gather(sink, &mut clock, &mut gathered, &text, append).await
                }
                frame => {
                    flush(sink, &mut clock, &mut gathered).await
                        && show(sink, &mut clock, &frame).await
                }
            };
            if is_last || !watched {
                return watched;
            }
        }
    }
}

/// Text that is not shown yet.
#[derive(Default)]
struct Gathered {
    text: Gathering,
    /// True if it continues what was shown.
    append: bool,
}

/// Adds a piece of text, and shows all that is gathered once it is enough.
async fn gather(
    sink: &mut dyn FrameSink,
    clock: &mut Clock,
    gathered: &mut Gathered,
    piece: &str,
    append: bool,
) -> bool {
    if gathered.text.due().is_none() {
        gathered.append = append;
    }
    match gathered.text.add(piece, Instant::now()) {
        Some(text) => show(sink, clock, &gathered.frame(text)).await,
        None => true,
    }
}

impl Gathered {
    fn frame(&self, text: String) -> Frame {
        let append = self.append;
        Frame::Delta { text, append }
    }
}

/// Shows what is gathered.
async fn flush(sink: &mut dyn FrameSink, clock: &mut Clock, gathered: &mut Gathered) -> bool {
    match gathered.text.take() {
        Some(text) => show(sink, clock, &gathered.frame(text)).await,
        None => true,
    }
}

async fn show(sink: &mut dyn FrameSink, clock: &mut Clock, frame: &Frame) -> bool {
    let wire = clock.stamp(frame);
    timeout(SINK_DEADLINE, sink.show(frame, wire))
        .await
        .unwrap_or_else(|_| {
            tracing::warn!(
                frame = frame.kind(),
                "a turn is shown no further: the watcher is too slow"
            );
            false
        })
}

#[cfg(test)]
mod tests;
