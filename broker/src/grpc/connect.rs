//! `Connect`: one task reads the agent's frames and never waits for anything else; the transport pulls the hub's
//! frames.

mod reading;
mod writing;

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use agenthub_access::{Action, Decision, Meter, audit::Witness};
use agenthub_proto::{
    agenthub::{PublishResult, Welcome},
    grpc::Messages,
    wkt,
};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tonic::Status;

use self::writing::Writer;
use super::{
    body::FrameBody,
    frames::{Frame, SealedFrame},
    incoming::Frames,
    status::status,
};
use crate::{
    Caller, connections,
    hub::{Hub, Kind, Session},
    log::Position,
};

/// Maximum credit of a subscription.
const MAX_CREDIT: u32 = 65_536;

/// State that the reader shares with the writer.
#[derive(Debug, Default)]
struct Outbox {
    /// Results, each with the position that must be durable first.
    results: VecDeque<(Position, PublishResult)>,
    /// Delivery credit, by subscription.
    credits: Vec<u32>,
    heartbeat: bool,
    /// The reader has ended, with the status for the stream.
    ended: Option<Option<Status>>,
}

/// The peer of a stream, shared by reader and writer.
#[derive(Debug)]
struct Peer {
    hub: Hub,
    session: Mutex<Session>,
    outbox: Mutex<Outbox>,
    witness: Witness,
    meter: Meter,
}

impl Peer {
    fn session(&self) -> MutexGuard<'_, Session> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn outbox(&self) -> MutexGuard<'_, Outbox> {
        self.outbox.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Processes the hello, then serves the stream.
pub(super) async fn start(
    hub: &Hub,
    (caller, kind): (&Caller, Kind),
    (witness, meter): (Witness, Meter),
    messages: Messages,
) -> Result<FrameBody, Status> {
    let settings = hub.settings();
    let credit = usize::try_from(settings.publish_credit).unwrap_or(usize::MAX);
    let mut frames = Frames::new(messages, credit);
    let lease = settings.presence_lease;
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
    let claims = first.take_claims(hub.log()).map_err(status)?;
    let session = hub.connect(caller, kind, *hello, &claims).await;
    let session = session.map_err(status)?;
    witness.note(&format!("agent={}", session.agent()), |caller| {
        let id = session.agent();
        Decision::of(caller, None, &Action::Be { id, owner: None }).rule
    });
    let welcome = Frame::from(SealedFrame {
        welcome: Some(Welcome {
            agent_id: session.agent().to_string(),
            hub_incarnation: hub.log().to_string(),
            publish_credit: settings.publish_credit,
            heartbeat_interval: duration(settings.heartbeat_interval),
            ack_deadline: duration(settings.ack_deadline),
            away_grace: duration(settings.away_grace),
        }),
        ..SealedFrame::default()
    });
    connections::give_up_after(settings.connect_stall);
    let peer = Arc::new(Peer {
        hub: hub.clone(),
        session: Mutex::new(session),
        outbox: Mutex::new(Outbox {
            credits,
            ..Outbox::default()
        }),
        witness,
        meter,
    });
    let gone = CancellationToken::new();
    // The first frame may contain more than the hello.
    frames.put_back(first);
    let (reader, is_gone, line) = (peer.clone(), gone.clone(), connections::line());
    // Passed by reference: an async function stores by-value arguments twice.
    hub.spawn(async move { reader.read(&mut frames, &line, &is_gone).await });
    let writer = Writer::new(peer, welcome, gone.drop_guard());
    Ok(FrameBody::new(writer.pieces()))
}

pub(super) fn duration(duration: Duration) -> Option<wkt::Duration> {
    wkt::Duration::try_from(duration).ok()
}
