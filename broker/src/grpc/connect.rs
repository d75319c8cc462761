//! `Connect`: one task reads the agent's frames and never waits for anything else; another writes the hub's.

use std::{
    collections::VecDeque,
    future::poll_fn,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use agenthub_proto::{
    agenthub::{PublishResult, Welcome},
    grpc::Messages,
    wkt,
};
use futures_channel::mpsc::{self, SendError};
use tokio::time::{Timeout, timeout};
use tokio_util::sync::CancellationToken;
use tonic::{Code, Status};

use super::{
    answers::answers,
    body::{FrameBody, Piece},
    frames::{Frame, SealedFrame, frames, goodbye},
    incoming::{Frames, RawFrame},
    publishes::Envelopes,
    status::status,
};
use crate::{
    Error,
    caller::Caller,
    hub::{Hub, Outgoing, Session},
    log::Position,
};

/// Pieces of frames that wait for the transport. Those that are not shared have 64 KiB, unless one event alone has more.
const QUEUE: usize = 4;
/// Deliveries taken from the mailboxes at a time.
const BATCH: usize = 256;
/// The credit that one subscription can hold.
const MAX_CREDIT: u32 = 65_536;

/// What the reader leaves for the writer.
#[derive(Debug, Default)]
struct Outbox {
    /// With the position at which each is safe.
    results: VecDeque<(Position, PublishResult)>,
    /// The deliveries that may still be sent, by subscription.
    credits: Vec<u32>,
    heartbeat: bool,
    /// The reader has ended, and why the stream must.
    ended: Option<Option<Status>>,
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
}

/// Says hello, then serves the stream.
pub(super) async fn start(
    hub: &Hub,
    caller: Caller,
    messages: Messages,
) -> Result<FrameBody, Status> {
    let mut frames = Frames::new(messages);
    let lease = hub.settings().presence_lease;
    let mut first = timeout(lease, frames.next())
        .await
        .map_err(|_| {
            Status::deadline_exceeded("the first frame did not come in time; it must hold `hello`")
        })??
        .ok_or_else(|| {
            Status::invalid_argument(
                "the stream ended before its first frame; it must hold `hello`",
            )
        })?;
    let hello = first
        .hello
        .take()
        .ok_or_else(|| Status::invalid_argument("the first frame must hold `hello`"))?;
    let credits = hello
        .subscription
        .iter()
        .map(|s| s.credit.min(MAX_CREDIT))
        .collect();
    let claims = std::mem::take(&mut first.extend);
    let session = hub.connect(&caller, *hello, &claims).map_err(status)?;
    let settings = hub.settings();
    let welcome = Welcome {
        agent_id: session.agent().to_string(),
        hub_incarnation: hub.incarnation().to_owned(),
        publish_credit: settings.publish_credit,
        heartbeat_interval: duration(settings.heartbeat_interval),
        ack_deadline: duration(settings.ack_deadline),
    };
    // It takes one more from each who sends.
    let (mut tx, rx) = mpsc::channel(QUEUE - 1);
    let first_frame = Frame::from(SealedFrame {
        welcome: Some(welcome),
        ..SealedFrame::default()
    });
    for bytes in first_frame.bytes() {
        tx.try_send(Ok(bytes))
            .map_err(|_| Status::internal("a new channel has room"))?;
    }

    let session = Arc::new(Mutex::new(session));
    let outbox = Arc::new(Mutex::new(Outbox {
        credits,
        ..Outbox::default()
    }));
    let gone = CancellationToken::new();
    let peer = Peer {
        hub: hub.clone(),
        session,
        outbox,
    };
    let mut envelopes = Envelopes::default();
    peer.handle(first, &mut envelopes).map_err(status)?;
    let (reader, is_gone) = (peer.clone(), gone.clone());
    // An async function holds twice what it is given by value.
    hub.spawn(async move { reader.read(&mut frames, &mut envelopes, &is_gone).await });
    let is_gone = gone.clone();
    hub.spawn(async move {
        peer.write(tx, &is_gone).await;
        is_gone.cancel();
    });
    Ok(FrameBody::new(rx, gone.drop_guard()))
}

#[derive(Clone)]
struct Peer {
    hub: Hub,
    session: Arc<Mutex<Session>>,
    outbox: Arc<Mutex<Outbox>>,
}

impl Peer {
    fn session(&self) -> std::sync::MutexGuard<'_, Session> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn outbox(&self) -> std::sync::MutexGuard<'_, Outbox> {
        self.outbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How long a peer may say nothing.
    fn silence(&self) -> Duration {
        self.hub.settings().presence_lease
    }

    /// Reads frames until the peer goes, falls silent or breaks the protocol.
    async fn read(&self, frames: &mut Frames, envelopes: &mut Envelopes, gone: &CancellationToken) {
        let wake = self.session().wake();
        let ended = loop {
            let frame = tokio::select! {
                () = gone.cancelled() => break None,
                frame = timeout(self.silence(), frames.next()) => frame,
            };
            let frame = match frame {
                Err(_elapsed) => {
                    break Some(Status::deadline_exceeded(format!(
                        "nothing came for {:?}; send a heartbeat in every interval of the welcome",
                        self.silence()
                    )));
                }
                Ok(Err(error)) => break Some(error),
                Ok(Ok(None)) => break None,
                Ok(Ok(Some(frame))) => frame,
            };
            let is_goodbye = frame.goodbye.is_some();
            if let Err(error) = self.handle(frame, envelopes) {
                break Some(status(error));
            }
            wake.notify_one();
            if is_goodbye {
                self.session().say_goodbye();
                break None;
            }
        };
        self.outbox().ended = Some(ended);
        wake.notify_one();
    }

    fn handle(&self, frame: RawFrame, envelopes: &mut Envelopes) -> Result<(), Error> {
        if frame.hello.is_some() {
            return Err(Error::InvalidArgument(
                "`hello` belongs into the first frame only".to_owned(),
            ));
        }
        let session = self.session();
        let items = envelopes
            .gather(session.agent(), frame.publish)
            .map_err(|error| Error::InvalidArgument(format!("a publish is malformed: {error}")))?;
        let mut together = session.together();
        let results = answers(&mut together, session.agent(), items);
        let all_accepted = results.iter().all(|(_, r)| r.code == 0);
        for ack in frame.ack.iter().filter(|_| all_accepted) {
            tolerate(together.acknowledge(ack.subscription, &ack.position))?;
        }
        for refusal in &frame.refuse {
            let delay = refusal.delay.as_ref().map(wait).unwrap_or_default();
            tolerate(together.refuse(
                refusal.subscription,
                &refusal.position,
                delay,
                &refusal.reason,
            ))?;
        }
        for extension in &frame.extend {
            tolerate(together.extend(extension.subscription, &extension.position))?;
        }
        drop(together);
        drop(session);

        let mut outbox = self.outbox();
        for credit in &frame.credit {
            let index = usize::try_from(credit.subscription).unwrap_or(usize::MAX);
            let Some(held) = outbox.credits.get_mut(index) else {
                return Err(Error::InvalidArgument(format!(
                    "there is no subscription {} on this stream",
                    credit.subscription
                )));
            };
            *held = held.saturating_add(credit.messages).min(MAX_CREDIT);
        }
        outbox.heartbeat |= frame.heartbeat.is_some();
        outbox.results.extend(results);
        let allowed = usize::try_from(self.hub.settings().publish_credit).unwrap_or(usize::MAX);
        if outbox.results.len() > allowed {
            return Err(Error::ResourceExhausted(format!(
                "more than {allowed} publishes are unanswered: read their results before sending more"
            )));
        }
        Ok(())
    }

    /// Writes frames until the session ends or the peer takes nothing more.
    async fn write(self, mut tx: mpsc::Sender<Piece>, gone: &CancellationToken) {
        let stall = self.hub.settings().connect_stall;
        let wake = self.session().wake();
        let mut commits = self.hub.commits();
        loop {
            let safe = commits.borrow_and_update().position();
            let (results, waits, heartbeat, credits, is_ending, ended) = {
                let mut outbox = self.outbox();
                let results = outbox.safe_results(safe);
                let waits = !outbox.results.is_empty();
                // What was accepted is answered before the stream ends, unless the log has failed.
                let is_over = !waits || safe.is_none();
                (
                    results,
                    waits,
                    std::mem::take(&mut outbox.heartbeat),
                    outbox.credits.clone(),
                    outbox.ended.is_some(),
                    outbox.ended.take_if(|_| is_over),
                )
            };
            let outgoing = match is_ending {
                false => self.session().take(&credits, BATCH),
                true => Outgoing::default(),
            };
            self.spend(&outgoing);
            let has_more = outgoing.events() == BATCH;
            let end = outgoing.end.clone();
            let frames = frames(results, heartbeat, outgoing).into_iter();
            for bytes in frames.flat_map(|frame| frame.bytes()) {
                let Err(unsent) = tx.try_send(Ok(bytes)) else {
                    continue;
                };
                match waited(stall, send(&mut tx, unsent.into_inner())).await {
                    Ok(Ok(())) => {}
                    Ok(Err(_gone)) => return,
                    Err(_elapsed) => {
                        self.hub.counters().cut_off.inc();
                        let agent = self.session().agent().clone();
                        tracing::warn!(%agent, "stream cut off: nothing was read for {stall:?}");
                        return;
                    }
                }
            }
            if let Some(end) = end {
                let last = Frame::from(SealedFrame {
                    goodbye: Some(goodbye(&end)),
                    ..SealedFrame::default()
                });
                for bytes in last.bytes() {
                    let _ = waited(stall, send(&mut tx, Ok(bytes))).await;
                }
                return;
            }
            if let Some(reason) = ended {
                if let Some(status) = reason.filter(|s| s.code() != Code::Cancelled) {
                    let _ = waited(stall, send(&mut tx, Err(status))).await;
                }
                return;
            }
            if !has_more {
                tokio::select! {
                    () = wake.notified() => {}
                    _ = commits.changed(), if waits => {}
                    () = gone.cancelled() => return,
                }
            }
        }
    }

    /// Every delivery uses up one credit of its subscription.
    fn spend(&self, outgoing: &Outgoing) {
        let mut outbox = self.outbox();
        for (index, handed) in &outgoing.deliveries {
            if let Some(credit) = outbox.credits.get_mut(*index) {
                let spent = u32::try_from(handed.len()).unwrap_or(u32::MAX);
                *credit = credit.saturating_sub(spent);
            }
        }
    }
}

/// Sends a piece once there is room.
async fn send(tx: &mut mpsc::Sender<Piece>, piece: Piece) -> Result<(), SendError> {
    poll_fn(|context| tx.poll_ready(context)).await?;
    tx.start_send(piece)
}

/// Waits for room, no longer than that. It is a piece of memory of its own, as few writers wait and every agent has one.
fn waited<F: Future>(stall: Duration, sending: F) -> Pin<Box<Timeout<F>>> {
    Box::pin(timeout(stall, sending))
}

/// A position of a log that is gone, as a peer may still hold after the hub's restart, means nothing any more.
fn tolerate(result: Result<(), Error>) -> Result<(), Error> {
    match result {
        Err(Error::OutOfRange(_)) => Ok(()),
        result => result,
    }
}

fn duration(duration: Duration) -> Option<wkt::Duration> {
    wkt::Duration::try_from(duration).ok()
}

/// A delay as a peer gives it: nothing below zero, and an hour at most.
fn wait(delay: &wkt::Duration) -> Duration {
    const LONGEST: Duration = Duration::from_secs(3600);
    agenthub_proto::event::duration(delay)
        .unwrap_or_default()
        .min(LONGEST)
}
