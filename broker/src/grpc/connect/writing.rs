//! What is sent to an agent: taken from its mailboxes, a batch at a time, when the transport asks for it.

use std::{collections::VecDeque, sync::Arc, vec};

use agenthub_proto::agenthub::PublishResult;
use bytes::Bytes;
use futures_util::{Stream, stream};
use tokio::sync::{Notify, watch};
use tokio_util::{sync::DropGuard, task::task_tracker::TaskTrackerToken};
use tonic::{Code, Status};

use super::{
    super::frames::{Frame, SealedFrame, frames, goodbye},
    Outbox, Peer,
};
use crate::{
    connections,
    hub::Outgoing,
    log::{Commit, Position},
};

/// Deliveries taken from the mailboxes at a time. So many wait for the transport at most, in memory that they share with the mailboxes.
const BATCH: usize = 256;

/// What comes behind the frames that are being sent.
#[derive(Debug)]
enum Then {
    /// There may be more.
    Look,
    /// There is no more now; it may have to do with the log's commits.
    Wait { for_results: bool },
    /// Nothing, but for what is wrong.
    End(Option<Status>),
}

/// The one who writes to a peer. The peer's reader hears from the guard when it is dropped.
#[derive(Debug)]
pub(super) struct Writer {
    peer: Arc<Peer>,
    wake: Arc<Notify>,
    commits: watch::Receiver<Commit>,
    frames: vec::IntoIter<Frame>,
    /// What is left of the frame that is being sent.
    pieces: VecDeque<Bytes>,
    then: Then,
    /// The hub ends the stream once it is safe up to here.
    until: Option<Position>,
    _gone: DropGuard,
    /// The hub stops when this has gone.
    _running: TaskTrackerToken,
}

impl Writer {
    pub(super) fn new(peer: Arc<Peer>, first: Frame, gone: DropGuard) -> Self {
        let wake = peer.session().wake();
        Self {
            wake,
            commits: peer.hub.commits(),
            frames: vec![first].into_iter(),
            pieces: VecDeque::new(),
            then: Then::Look,
            until: None,
            _gone: gone,
            _running: peer.hub.running(),
            peer,
        }
    }

    /// Pieces of frames, or why there are no more.
    pub(super) fn pieces(self) -> impl Stream<Item = Result<Bytes, Status>> {
        // A pointer moves where the writer itself would be copied for every piece.
        stream::unfold(Box::new(self), async |mut writer| {
            let piece = writer.next().await?;
            Some((piece, writer))
        })
    }

    /// The next piece, once there is one; `None` at the end. Nothing is lost when this is cancelled.
    async fn next(&mut self) -> Option<Result<Bytes, Status>> {
        loop {
            if let Some(piece) = self.piece() {
                return Some(Ok(piece));
            }
            match &mut self.then {
                Then::Look => {}
                Then::Wait { for_results } => tokio::select! {
                    () = self.wake.notified() => {}
                    Ok(()) = self.commits.changed(), if *for_results => {}
                },
                Then::End(status) => return status.take().map(Err),
            }
            self.look();
        }
    }

    /// The next piece of what was taken.
    fn piece(&mut self) -> Option<Bytes> {
        loop {
            if let Some(piece) = self.pieces.pop_front() {
                return Some(piece);
            }
            let Some(frame) = self.frames.next() else {
                // What is idle keeps no room.
                self.frames = vec::IntoIter::default();
                self.pieces = VecDeque::new();
                return None;
            };
            self.pieces = frame.bytes().into();
        }
    }

    /// Takes what is there to be sent.
    fn look(&mut self) {
        let peer = &self.peer;
        let safe = self.commits.borrow_and_update().position();
        let mut outbox = peer.outbox();
        let results = outbox.safe_results(safe);
        let for_results = !outbox.results.is_empty();
        let heartbeat = std::mem::take(&mut outbox.heartbeat);
        let outgoing = match outbox.ended {
            None => peer.session().take(&outbox.credits, BATCH),
            Some(_) => Outgoing::default(),
        };
        outbox.spend(&outgoing);
        // What was accepted is answered before the stream ends, unless the log has failed.
        let end = outgoing.end.clone().filter(|_| {
            let last = outbox.results.back().map_or(Position(0), |(at, _)| *at);
            let until = *self.until.get_or_insert(last);
            safe.is_none_or(|safe| safe >= until)
        });
        let is_over = !for_results || safe.is_none();
        let ended = outbox.ended.take_if(|_| is_over);
        drop(outbox);
        let has_more = outgoing.events() == BATCH;
        let mut frames = frames(results, heartbeat, outgoing);
        self.then = match (end, ended) {
            (Some(end), _) => {
                frames.push(Frame::from(SealedFrame {
                    goodbye: Some(goodbye(&end)),
                    ..SealedFrame::default()
                }));
                Then::End(None)
            }
            (None, Some(reason)) => Then::End(reason.filter(|s| s.code() != Code::Cancelled)),
            (None, None) if has_more => Then::Look,
            (None, None) => Then::Wait { for_results },
        };
        self.frames = frames.into_iter();
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if connections::was_given_up() {
            let hub = &self.peer.hub;
            hub.counters().cut_off.inc();
            let stall = hub.settings().connect_stall;
            let agent = self.peer.session().agent().clone();
            tracing::warn!(%agent, "stream cut off: nothing was read for {stall:?}");
        }
    }
}

impl Outbox {
    /// The results that the peer may see, in the order of its publishes: their events are safe.
    fn safe_results(&mut self, safe: Option<Position>) -> Vec<PublishResult> {
        let safe = safe.unwrap_or(Position(0));
        let ready = self
            .results
            .iter()
            .take_while(|(at, _)| *at <= safe)
            .count();
        self.results.drain(..ready).map(|(_, r)| r).collect()
    }

    /// Every delivery uses up one credit of its subscription.
    fn spend(&mut self, outgoing: &Outgoing) {
        for (index, handed) in &outgoing.deliveries {
            if let Some(credit) = self.credits.get_mut(*index) {
                let spent = u32::try_from(handed.len()).unwrap_or(u32::MAX);
                *credit = credit.saturating_sub(spent);
            }
        }
    }
}
