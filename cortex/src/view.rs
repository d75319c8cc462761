//! The way of a turn's frames to whoever watches it.

use std::time::Duration;

use agenthub_proto::cortex::Frame as Wire;
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

/// How long text is gathered, and how much of it, before it is shown.
const GATHER: Duration = Duration::from_millis(50);
const GATHER_BYTES: usize = 1024;

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
        let mut gathered: Option<(Frame, Instant)> = None;
        loop {
            let next = match &gathered {
                None => self.items.recv().await,
                Some((_, until)) => match timeout_at(*until, self.items.recv()).await {
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
            let Some(frame) = gather(&mut gathered, frame) else {
                continue;
            };
            let is_last = frame.is_last();
            let watched = flush(sink, &mut clock, &mut gathered).await
                && match frame {
                    Frame::Delta { .. } => {
                        gathered = Some((frame, Instant::now() + GATHER));
                        true
                    }
                    frame => show(sink, &mut clock, &frame).await,
                };
            if is_last || !watched {
                return watched;
            }
        }
    }
}

/// Joins a piece of text to what is gathered; gives back what cannot be joined.
fn gather(gathered: &mut Option<(Frame, Instant)>, frame: Frame) -> Option<Frame> {
    match (gathered, frame) {
        (
            Some((Frame::Delta { text, .. }, _)),
            Frame::Delta {
                text: more,
                append: true,
            },
        ) if text.len() < GATHER_BYTES => {
            text.push_str(&more);
            None
        }
        (_, frame) => Some(frame),
    }
}

async fn flush(
    sink: &mut dyn FrameSink,
    clock: &mut Clock,
    gathered: &mut Option<(Frame, Instant)>,
) -> bool {
    match gathered.take() {
        Some((frame, _)) => show(sink, clock, &frame).await,
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
mod tests {
    use super::*;

    #[derive(Default)]
    struct Recorder {
        shown: Vec<Wire>,
        leaves_after: Option<usize>,
    }

    #[async_trait]
    impl FrameSink for Recorder {
        async fn show(&mut self, _: &Frame, wire: Wire) -> bool {
            self.shown.push(wire);
            self.leaves_after != Some(self.shown.len())
        }
    }

    fn delta(text: &str, append: bool) -> Frame {
        Frame::Delta {
            text: text.to_owned(),
            append,
        }
    }

    async fn project(sink: &mut Recorder, frames: Vec<(u64, Frame)>) {
        let (view, projector) = open();
        let turn = async move {
            for (pause, frame) in frames {
                tokio::time::sleep(Duration::from_millis(pause)).await;
                view.show(frame).await;
            }
        };
        tokio::join!(
            turn,
            projector.run(sink, "turn".to_owned(), "context".to_owned())
        );
    }

    fn kinds(sink: &Recorder) -> Vec<(u64, &str, &str)> {
        let shown = sink.shown.iter();
        shown
            .map(|w| (w.sequence, &*w.r#type, &*w.message))
            .collect()
    }

    #[tokio::test(start_paused = true)]
    async fn text_is_gathered_for_a_moment_and_frames_are_numbered() {
        let mut sink = Recorder::default();
        let frames = vec![
            (0, Frame::Start),
            (0, delta("a", false)),
            (20, delta("b", true)),
            (60, delta("c", true)),
            (0, delta("D", false)),
            (0, Frame::Message("D".to_owned())),
            (0, Frame::Complete("D".to_owned())),
            (0, Frame::Start),
        ];
        project(&mut sink, frames).await;
        assert_eq!(
            kinds(&sink),
            [
                (1, "start", "at work"),
                (2, "delta", "ab"),
                (3, "delta", "c"),
                (4, "delta", "D"),
                (5, "message", "D"),
                (6, "complete", ""),
            ]
        );
        assert!(
            sink.shown
                .iter()
                .all(|w| w.correlation_id == "turn" && w.context_id == "context")
        );
    }

    #[tokio::test(start_paused = true)]
    async fn much_text_is_not_held_back() {
        let mut sink = Recorder::default();
        let piece = "x".repeat(600);
        let frames = (0..4).map(|n| (0, delta(&piece, n > 0))).collect();
        project(&mut sink, frames).await;
        let sizes: Vec<usize> = sink.shown.iter().map(|w| w.message.len()).collect();
        assert_eq!(sizes, [1200, 1200]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_turn_that_nobody_watches_goes_on() {
        let mut sink = Recorder {
            leaves_after: Some(1),
            ..Recorder::default()
        };
        let frames = (0..2000).map(|_| (0, Frame::Start)).collect();
        project(&mut sink, frames).await;
        assert_eq!(sink.shown.len(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_sink_that_hangs_is_given_up() {
        struct Hanging;
        #[async_trait]
        impl FrameSink for Hanging {
            async fn show(&mut self, _: &Frame, _: Wire) -> bool {
                std::future::pending().await
            }
        }
        let (view, projector) = open();
        view.show(Frame::Start).await;
        let begun = Instant::now();
        let mut sink = Hanging;
        let shown = projector.run(&mut sink, String::new(), String::new());
        assert!(!shown.await);
        assert_eq!(begun.elapsed(), SINK_DEADLINE);
        view.show(Frame::Start).await;
    }
}
