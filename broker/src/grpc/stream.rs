//! Server streams of older clients: each drains its own subscription, and an event counts as acknowledged when the
//! transport has taken it.

use std::{
    collections::VecDeque,
    convert::Infallible,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, ready},
};

use agenthub_proto::grpc::{HEADER, header};
use bytes::{BufMut, Bytes, BytesMut};
use hyper::body::{Body, Frame};
use tokio::sync::{Notify, mpsc, oneshot};
use tonic::Status;

use super::status::{ended, status, trailers};
use crate::{
    connections::{self, Line},
    hub::{End, Hub, Session},
    log::Position,
    sealed::Sealed,
};

/// Pieces queued for the transport.
const QUEUE: usize = 1;
/// Events taken from the mailbox at a time.
const BATCH: usize = 64;
/// A piece is sent once it exceeds this size, in bytes: it fills an HTTP/2 frame.
const PIECE: usize = 16 * 1024;

/// Events that go to the transport together.
#[derive(Debug)]
struct Piece {
    bytes: Bytes,
    events: usize,
}

/// Body that the transport reads. Counts the events and wakes the task that acknowledges them.
#[derive(Debug)]
pub(crate) struct EventBody {
    pieces: mpsc::Receiver<Piece>,
    /// Status at the end.
    reason: oneshot::Receiver<Status>,
    taken: Arc<AtomicUsize>,
    wake: Arc<Notify>,
    is_over: bool,
}

impl Body for EventBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        if let Some(piece) = ready!(self.pieces.poll_recv(cx)) {
            self.taken.fetch_add(piece.events, Ordering::Release);
            self.wake.notify_one();
            return Poll::Ready(Some(Ok(Frame::data(piece.bytes))));
        }
        let reason = self.reason.try_recv();
        let status = reason.unwrap_or_else(|_stopped| ended(&End::Drain));
        self.is_over = true;
        Poll::Ready(Some(trailers(&status)))
    }

    fn is_end_stream(&self) -> bool {
        self.is_over
    }
}

/// Sends a session's deliveries until it ends, its client disconnects, or nothing was read for too long.
pub(super) fn start(hub: &Hub, session: Session) -> EventBody {
    let (tx, pieces) = mpsc::channel(QUEUE);
    let (tell, reason) = oneshot::channel();
    let taken = Arc::new(AtomicUsize::new(0));
    let wake = session.wake();
    let mut sender = Sender {
        hub: hub.clone(),
        line: connections::line(),
        session,
        tx,
        piece: BytesMut::new(),
        events: 0,
        sent: VecDeque::new(),
        reread: None,
        taken: taken.clone(),
        acknowledged: 0,
    };
    hub.spawn(async move {
        let Err(over) = sender.send_all().await;
        if let Some(status) = over {
            let _ = tell.send(status);
        }
    });
    EventBody {
        pieces,
        reason,
        taken,
        wake,
        is_over: false,
    }
}

/// Status at the end of a stream; `None` if its client has disconnected.
type Over = Option<Status>;

struct Sender {
    hub: Hub,
    line: Line,
    session: Session,
    tx: mpsc::Sender<Piece>,
    /// The next piece, with the number of its events.
    piece: BytesMut,
    events: usize,
    /// Positions of sent, unacknowledged events; `None` for events that are not in the log.
    sent: VecDeque<Option<Position>>,
    /// The last of these that was reread from the log.
    reread: Option<Position>,
    taken: Arc<AtomicUsize>,
    acknowledged: usize,
}

impl Sender {
    async fn send_all(&mut self) -> Result<Infallible, Over> {
        let wake = self.session.wake();
        let mut first = self.session.first();
        loop {
            self.acknowledge();
            let limit = match self.session.has_backlog() {
                true => first.min(BATCH),
                false => BATCH,
            };
            let mut outgoing = self.session.take(&[u32::MAX], limit);
            if outgoing.is_stored() {
                // Boxed: few streams need it, and it would enlarge all of them.
                outgoing = Box::pin(self.hub.fill(self.session.id(), outgoing)).await;
            }
            let is_idle = outgoing.deliveries.is_empty() && !outgoing.has_more;
            first = first.saturating_sub(outgoing.events() - outgoing.cards);
            for (_, batch) in &outgoing.deliveries {
                for (event, position) in batch.events() {
                    // An event that was just reread needs only its acknowledgement.
                    if self.reread.is_none() || position.is_none() || !self.sent.contains(&position)
                    {
                        self.add(&event, position).await?;
                    }
                }
            }
            self.flush().await?;
            if let Some(end) = outgoing.end {
                return Err(Some(ended(&end)));
            }
            if let Some(pause) = outgoing.pause {
                tokio::select! {
                    () = tokio::time::sleep(pause) => {}
                    () = wake.notified() => {}
                    () = self.tx.closed() => return Err(None),
                }
            } else if is_idle && self.session.has_backlog() {
                first = 0;
                match self.session.reread().await {
                    Ok(events) => {
                        for (position, event) in events.into_iter().flatten() {
                            self.reread = Some(position);
                            self.add(&event, Some(position)).await?;
                        }
                        self.flush().await?;
                    }
                    Err(error) => return Err(Some(status(error))),
                }
            } else if is_idle {
                tokio::select! {
                    () = wake.notified() => {}
                    () = self.tx.closed() => return Err(None),
                }
            }
        }
    }

    async fn add(&mut self, event: &Sealed, position: Option<Position>) -> Result<(), Over> {
        let bytes = event.bytes();
        self.piece.reserve(HEADER + bytes.len());
        self.piece.put_slice(&header(bytes.len()));
        self.piece.extend_from_slice(bytes);
        self.events += 1;
        self.sent.push_back(position);
        if self.piece.len() > PIECE {
            self.flush().await?;
        }
        Ok(())
    }

    /// Hands the piece to the transport, once that takes it.
    async fn flush(&mut self) -> Result<(), Over> {
        if self.events == 0 {
            return Ok(());
        }
        let piece = Piece {
            bytes: self.piece.split().freeze(),
            events: std::mem::take(&mut self.events),
        };
        let stall = self.hub.settings().stream_stall;
        match self.line.wait(stall, self.tx.send(piece)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_gone)) => Err(None),
            Err(_elapsed) => {
                self.hub.metrics().cut_off.inc();
                tracing::warn!(agent = %self.session.agent(), "stream cut off: nothing was read for {stall:?}");
                Err(Some(ended(&End::Overflow)))
            }
        }
    }

    /// Acknowledges the events that the transport has taken.
    fn acknowledge(&mut self) {
        let taken = self.taken.load(Ordering::Acquire) - self.acknowledged;
        let count = taken.min(self.sent.len());
        self.acknowledged += count;
        let handled: Vec<Position> = self.sent.drain(..count).flatten().collect();
        if self.reread.is_some_and(|last| handled.contains(&last)) {
            self.reread = None;
        }
        if !handled.is_empty()
            && let Some(mut together) = self.session.try_together()
        {
            // Its only error is an unknown subscription.
            let _ = together.acknowledge_at(0, handled);
        }
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        self.acknowledge();
    }
}
