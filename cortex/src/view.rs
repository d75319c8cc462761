//! The way of a turn's frames to whoever watches it.

use std::time::Duration;

use agenthub_proto::cortex::Frame as Wire;
use agenthub_sdk::Gathering;
use async_trait::async_trait;
use tokio::{
    sync::mpsc,
    time::{Instant, timeout, timeout_at},
};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::frame::{Frame, Stamp};

/// Frames that wait for a slow sink; a turn that has more to show waits.
const MAX_WAITING: usize = 256;

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
    items: mpsc::Sender<Item>,
    over: CancellationToken,
}

/// The other end. [`run`](Self::run) it for as long as the turn lasts.
#[derive(Debug)]
pub(crate) struct Projector {
    items: mpsc::Receiver<Item>,
    _over: DropGuard,
}

/// What is on the way.
#[derive(Debug)]
enum Item {
    Frame(Frame),
    /// A frame that was shown by another process: it only counts.
    Past,
    /// Nothing follows.
    End,
}

/// A way for the frames of one turn.
pub(crate) fn open() -> (View, Projector) {
    let (sender, receiver) = mpsc::channel(MAX_WAITING);
    let over = CancellationToken::new();
    let projector = Projector {
        items: receiver,
        _over: over.clone().drop_guard(),
    };
    let items = sender;
    (View { items, over }, projector)
}

impl View {
    /// Shows a frame; does nothing if nobody watches any more. Waits while the sink is far behind.
    pub(crate) async fn show(&self, frame: Frame) {
        self.send(Item::Frame(frame)).await;
    }

    /// Counts a frame that was shown before the turn was taken up here.
    pub(crate) async fn skip(&self) {
        self.send(Item::Past).await;
    }

    /// Waits until all has been shown that will be.
    pub(crate) async fn close(&self) {
        self.send(Item::End).await;
        self.over.cancelled().await;
    }

    async fn send(&self, item: Item) {
        // Nobody watching is no failure of the turn.
        let _ = self.items.send(item).await;
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
        mut self,
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
                None => self.items.recv().await,
                Some(due) => match timeout_at(due, self.items.recv()).await {
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
                Some(Item::End) | None => return flush(sink, &mut clock, &mut gathered).await,
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
    /// Whether it continues what was shown.
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
