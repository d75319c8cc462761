//! Writing to an agent: batches taken from its mailboxes when the transport asks for more.

use std::{collections::VecDeque, pin::Pin, sync::Arc, time::SystemTime, vec};

use agenthub_proto::agenthub::PublishResult;
use bytes::Bytes;
use futures_util::{Stream, stream};
use tokio::{
    sync::Notify,
    time::{Sleep, sleep},
};
use tokio_util::{sync::DropGuard, task::task_tracker::TaskTrackerToken};
use tonic::{Code, Status};

use super::{
    super::frames::{Frame, SealedFrame, frames, goodbye},
    Outbox, Peer,
};
use crate::{
    connections,
    hub::{End, Outgoing},
    log::{Position, Wait},
};

/// Deliveries taken from the mailboxes at a time. At most this many wait for the transport, in memory shared with the
/// mailboxes.
const BATCH: usize = 256;

/// Next step after the frames in progress.
#[derive(Debug)]
enum Then {
    /// Check for more.
    Look,
    /// Wait for more.
    Wait,
    /// End the stream, with this status.
    End(Option<Status>),
}

/// Writer of a stream. Dropping the guard notifies the peer's reader.
#[derive(Debug)]
pub(super) struct Writer {
    peer: Arc<Peer>,
    wake: Arc<Notify>,
    /// Wait for the first result that is not durable; `None` once the log has failed.
    unsafe_result: Option<Wait>,
    frames: vec::IntoIter<Frame>,
    /// Rest of the frame in progress.
    pieces: VecDeque<Bytes>,
    then: Then,
    /// Time to retry mail that could not be read.
    pause: Option<Pin<Box<Sleep>>>,
    /// Position that must be durable before the hub ends the stream.
    until: Option<Position>,
    _gone: DropGuard,
    /// Keeps the hub from stopping until it is dropped.
    _running: TaskTrackerToken,
}

impl Writer {
    pub(super) fn new(peer: Arc<Peer>, first: Frame, gone: DropGuard) -> Self {
        let wake = peer.session().wake();
        Self {
            wake,
            unsafe_result: None,
            frames: vec![first].into_iter(),
            pieces: VecDeque::new(),
            then: Then::Look,
            pause: None,
            until: None,
            _gone: gone,
            _running: peer.hub.running(),
            peer,
        }
    }

    /// Pieces of frames, or the status at the end.
    pub(super) fn pieces(self) -> impl Stream<Item = Result<Bytes, Status>> {
        // Boxed: the writer itself would be moved for every piece.
        stream::unfold(Box::new(self), async |mut writer| {
            let piece = writer.next().await?;
            Some((piece, writer))
        })
    }

    /// The next piece; `None` at the end. Cancel-safe.
    async fn next(&mut self) -> Option<Result<Bytes, Status>> {
        loop {
            if let Some(piece) = self.piece() {
                return Some(Ok(piece));
            }
            match &mut self.then {
                Then::Look => {}
                Then::Wait => tokio::select! {
                    () = self.wake.notified() => {}
                    () = end_of(&mut self.unsafe_result) => {}
                    () = end_of_pause(&mut self.pause) => {}
                },
                Then::End(status) => return status.take().map(Err),
            }
            if let Some(taken) = self.look() {
                // Boxed: few streams need it, and it would enlarge all of them.
                Box::pin(self.read(taken)).await;
            }
        }
    }

    /// The next piece of the taken deliveries.
    fn piece(&mut self) -> Option<Bytes> {
        loop {
            if let Some(piece) = self.pieces.pop_front() {
                return Some(piece);
            }
            let Some(frame) = self.frames.next() else {
                // Frees the memory while idle.
                self.frames = vec::IntoIter::default();
                self.pieces = VecDeque::new();
                return None;
            };
            self.pieces = frame.bytes().into();
        }
    }

    /// Takes available deliveries. Returns them if some bodies must be read from the log.
    fn look(&mut self) -> Option<Taken> {
        let taken = self.take();
        if taken.outgoing.is_stored() {
            return Some(taken);
        }
        self.send(taken);
        None
    }

    /// Reads the missing bodies.
    async fn read(&mut self, mut taken: Taken) {
        let id = self.peer.session().id();
        taken.outgoing = self.peer.hub.fill(id, taken.outgoing).await;
        self.peer.outbox().give_back(&taken.outgoing.returned);
        self.send(taken);
    }

    /// Builds frames.
    fn send(&mut self, taken: Taken) {
        let Taken {
            results,
            heartbeat,
            outgoing,
            end,
            is_over,
        } = taken;
        let ended = match is_over {
            true => self.peer.outbox().ended.take(),
            false => None,
        };
        self.pause = outgoing.pause.map(|pause| Box::pin(sleep(pause)));
        let has_more = outgoing.has_more || outgoing.events() >= BATCH;
        let mut frames = frames(results, heartbeat, outgoing, SystemTime::now());
        self.then = match (end, ended) {
            (Some(end), _) => {
                frames.push(Frame::from(SealedFrame {
                    goodbye: Some(goodbye(&end)),
                    ..SealedFrame::default()
                }));
                Then::End(None)
            }
            (None, Some(reason)) => Then::End(reason.filter(|s| s.code() != Code::Cancelled)),
            (None, None) if has_more && self.pause.is_none() => Then::Look,
            (None, None) => Then::Wait,
        };
        self.frames = frames.into_iter();
    }

    /// Takes available deliveries.
    fn take(&mut self) -> Taken {
        let peer = &self.peer;
        let commits = peer.hub.commits();
        let safe = commits.latest().position();
        let mut outbox = peer.outbox();
        let results = outbox.safe_results(safe);
        let first = outbox.results.front().map(|(at, _)| *at);
        let awaited = first.filter(|_| safe.is_some());
        if self.unsafe_result.as_ref().map(Wait::position) != awaited {
            self.unsafe_result = awaited.map(|at| commits.safe(at));
        }
        let heartbeat = std::mem::take(&mut outbox.heartbeat);
        let outgoing = match outbox.ended {
            None => peer.session().take(&outbox.credits, BATCH),
            Some(_) => Outgoing::default(),
        };
        outbox.spend(&outgoing);
        // Accepted publishes are answered before the stream ends, unless the log has failed.
        let end = outgoing.end.clone().filter(|_| {
            let last = outbox.results.back().map_or(Position(0), |(at, _)| *at);
            let until = *self.until.get_or_insert(last);
            safe.is_none_or(|safe| safe >= until)
        });
        Taken {
            results,
            heartbeat,
            outgoing,
            end,
            is_over: outbox.ended.is_some() && awaited.is_none(),
        }
    }
}

/// Data to send at one time.
struct Taken {
    results: Vec<PublishResult>,
    heartbeat: bool,
    outgoing: Outgoing,
    end: Option<End>,
    /// The peer has finished sending, and all its publishes are answered.
    is_over: bool,
}

/// Waits for the end of a pause; forever without one.
async fn end_of_pause(pause: &mut Option<Pin<Box<Sleep>>>) {
    match pause {
        Some(pause) => pause.as_mut().await,
        None => std::future::pending().await,
    }
}

/// Waits for the end of a wait, with or without success; forever without one.
async fn end_of(wait: &mut Option<Wait>) {
    match wait {
        // After a failure nothing more becomes durable, as the next check shows.
        Some(wait) => drop(wait.await),
        None => std::future::pending().await,
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if connections::was_given_up() {
            let hub = &self.peer.hub;
            hub.metrics().cut_off.inc();
            let stall = hub.settings().connect_stall;
            let agent = self.peer.session().agent().clone();
            tracing::warn!(%agent, "stream cut off: nothing was read for {stall:?}");
        }
    }
}

impl Outbox {
    /// Results that may be sent, in the order of the publishes: their events are durable.
    fn safe_results(&mut self, safe: Option<Position>) -> Vec<PublishResult> {
        let safe = safe.unwrap_or(Position(0));
        let ready = self
            .results
            .iter()
            .take_while(|(at, _)| *at <= safe)
            .count();
        self.results.drain(..ready).map(|(_, r)| r).collect()
    }

    /// Uses one credit per delivery.
    fn spend(&mut self, outgoing: &Outgoing) {
        for (index, handed) in &outgoing.deliveries {
            if let Some(credit) = self.credits.get_mut(*index) {
                let spent = u32::try_from(handed.len()).unwrap_or(u32::MAX);
                *credit = credit.saturating_sub(spent);
            }
        }
    }

    /// Returns the credit of deliveries that went back to their mailbox.
    fn give_back(&mut self, returned: &[(usize, usize)]) {
        for (index, events) in returned {
            if let Some(credit) = self.credits.get_mut(*index) {
                *credit = credit.saturating_add(u32::try_from(*events).unwrap_or(u32::MAX));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{future::ready, sync::Mutex, time::Duration};

    use agenthub_proto::{
        a2a::{Message, Role},
        agenthub::{AgentEventMetadata, Hello},
    };
    use futures_util::StreamExt;
    use tokio::task::JoinSet;
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::{
        Caller, RetainedLog, Settings, Storage,
        hub::{Body, Hub, Kind, Repetition},
    };

    /// Starts streams on a hub, each with a result that becomes durable at this position.
    async fn streams(hub: &Hub, count: usize, safe_at: Position) -> JoinSet<()> {
        let mut streams = JoinSet::new();
        for n in 0..count {
            let hello = Hello {
                protocol_version: 1,
                agent_id: format!("agent {n}"),
                instance_id: "i".to_owned(),
                ..Hello::default()
            };
            let session = hub
                .connect(&Caller::anonymous(), Kind::Connect, hello, &[])
                .await;
            let mut outbox = Outbox::default();
            outbox
                .results
                .push_back((safe_at, PublishResult::default()));
            let peer = Peer {
                hub: hub.clone(),
                session: Mutex::new(session.expect("a good hello")),
                outbox: Mutex::new(outbox),
                witness: agenthub_access::audit::Witness::default(),
                meter: agenthub_access::Meter::default(),
            };
            let gone = CancellationToken::new().drop_guard();
            let writer = Writer::new(peer.into(), SealedFrame::default().into(), gone);
            streams.spawn(writer.pieces().for_each(|_| ready(())));
        }
        streams
    }

    #[tokio::test(start_paused = true)]
    async fn a_commit_wakes_no_stream_whose_results_it_does_not_make_safe() {
        const STREAMS: usize = 1_000;
        const COMMITS: usize = 5;
        let hub = Hub::start(Settings {
            storage: Storage::Retained(RetainedLog::new(Duration::from_millis(1))),
            ..Settings::default()
        });
        let hub = hub.expect("it is empty");
        let mut streams = streams(&hub, STREAMS, Position(u64::MAX)).await;
        tokio::time::sleep(Duration::from_millis(1)).await;
        let before = hub.locks();
        for _ in 0..COMMITS {
            let routing = AgentEventMetadata {
                to_agent_id: "somebody".to_owned(),
                ..AgentEventMetadata::default()
            };
            let body = Body::Message(Message::new(Role::User, "text"));
            let receipt = hub.publish(&Caller::anonymous(), body, routing, Repetition::Accept);
            let safe_at = receipt.expect("it is good").safe_at;
            hub.safe(safe_at).await.expect("the log is there");
            tokio::task::yield_now().await;
        }
        let locks = hub.locks() - before;
        assert!(locks < 10 * COMMITS, "the state was locked {locks} times");
        assert_eq!(streams.len(), STREAMS);
        streams.shutdown().await;
        hub.stop().await;
    }
}
