//! One stream, from welcome to its end.

use std::time::Duration;

use agenthub_proto::{
    agenthub::{AgentFrame, Goodbye, Heartbeat, HubFrame, Refusal},
    grpc::{HEADER, header},
};
use bytes::{Bytes, BytesMut};
use prost::Message as _;
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep_until};
use tokio_util::sync::CancellationToken;

use super::{
    Dialed, leases,
    peer::{Leaving, State},
};

/// Deadline of a goodbye, with all that is still to be published.
pub(super) const LEAVE: Duration = Duration::from_secs(2);

/// A snapshot of the directory that has not ended itself with a change has come by then.
const SNAPSHOT: Duration = Duration::from_secs(1);

/// End of a stream.
pub(super) enum End {
    /// Connect again.
    Broken(String),
    /// Connect again, with another introduction.
    Renewed,
    /// Stay away.
    Closed(String),
}

/// Work that is due besides publishes and notes.
#[derive(Default)]
struct Due {
    heartbeat: bool,
    extension: bool,
    /// Something was sent since the last heartbeat.
    spoke: bool,
    said_goodbye: bool,
}

/// Runs the stream to its end. Frames are always read; what is to be sent waits for room and is merged meanwhile.
pub(super) async fn run(state: &mut State, dialed: Dialed, closed: &CancellationToken) -> End {
    let Dialed {
        welcome,
        rest,
        mut frames,
        sender,
    } = dialed;
    let duration = |d: Option<agenthub_proto::wkt::Duration>, default: u64| {
        d.and_then(|d| agenthub_proto::event::duration(&d))
            .filter(|d| !d.is_zero())
            .unwrap_or(Duration::from_secs(default))
    };
    let mut heartbeat = every(duration(welcome.heartbeat_interval, 3) / 2);
    let mut extension = every(duration(welcome.ack_deadline, 30) / 3);
    let mut snapshot_ends = Instant::now() + SNAPSHOT;
    let mut in_snapshot = true;
    let mut due = Due::default();
    if let Some(end) = state.take(rest) {
        return end;
    }
    loop {
        let leave_by = state.leaving.as_ref().map(|l| l.until);
        let release = state.outbox.next_release();
        tokio::select! {
            frame = frames.next() => match frame {
                Ok(Some(frame)) => {
                    snapshot_ends = Instant::now() + SNAPSHOT;
                    if let Some(end) = state.take(frame) {
                        return end;
                    }
                }
                Ok(None) => return state.ended("the hub ended the stream"),
                Err(status) => return state.ended(status.message()),
            },
            command = state.commands.recv(), if leave_by.is_none() && !state.outbox.is_full() => match command {
                Some(command) => {
                    state.order(command);
                    if state.introduced.as_ref().is_some_and(|i| i.is_at_once) {
                        return End::Renewed;
                    }
                }
                None => state.leave(Vec::new(), "the client was closed".to_owned()),
            },
            room = sender.reserve(), if state.has_something(&due) => match room {
                Ok(room) => room.send(state.next_frame(&mut due)),
                Err(_) => return state.ended("the stream broke"),
            },
            () = sleep_until(release.unwrap_or(snapshot_ends)), if release.is_some() => {
                state.outbox.release(Instant::now());
            }
            _ = heartbeat.tick() => due.heartbeat = !std::mem::take(&mut due.spoke),
            _ = extension.tick() => due.extension = true,
            () = sleep_until(snapshot_ends), if in_snapshot => {
                in_snapshot = false;
                state.inbound.directory.iter().for_each(crate::Directory::end_snapshot);
            }
            () = closed.cancelled(), if leave_by.is_none() => {
                state.leave(Vec::new(), "the client was closed".to_owned());
            }
            () = sleep_until(leave_by.unwrap_or(snapshot_ends)), if leave_by.is_some() => {
                return state.ended("the goodbye took too long");
            }
        }
    }
}

fn every(period: Duration) -> tokio::time::Interval {
    let mut interval = interval_at(Instant::now() + period, period);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    interval
}

impl State {
    /// Takes a frame of the hub in. Returns how the stream ends, if that is what it says.
    fn take(&mut self, frame: HubFrame) -> Option<End> {
        let (leases, notes) = (&mut self.leases, &mut self.notes);
        self.inbound
            .events(frame.event, frame.delivery, self.epoch, leases, notes);
        for result in frame.result {
            let settled = self.outbox.result(result);
            if let Some(lease) = settled.filter(|lease| lease.epoch == self.epoch) {
                self.leases.settle(lease);
            }
        }
        if let Some(work) = &self.inbound.work {
            for cancel in frame.cancel {
                work.in_flight.cancel(&cancel.task_id, &cancel.reason);
            }
        }
        let goodbye = frame.goodbye?;
        Some(match goodbye.reconnect && self.leaving.is_none() {
            true => End::Broken(goodbye.reason),
            false => End::Closed(goodbye.reason),
        })
    }

    fn ended(&self, reason: &str) -> End {
        match &self.leaving {
            Some(leaving) => End::Closed(leaving.reason.clone()),
            None => End::Broken(reason.to_owned()),
        }
    }

    fn has_something(&self, due: &Due) -> bool {
        !due.said_goodbye
            && (self.outbox.is_ready()
                || !self.notes.is_empty()
                || due.heartbeat
                || due.extension
                || self.may_leave())
    }

    fn may_leave(&self) -> bool {
        self.leaving.is_some() && self.outbox.is_empty()
    }

    /// The next frame, as gRPC sends it.
    fn next_frame(&mut self, due: &mut Due) -> Bytes {
        due.spoke = true;
        // Acknowledgements of a frame count only if its publishes are accepted: these go without any.
        let mut bytes = BytesMut::zeroed(HEADER);
        if self.notes.acks.is_empty() {
            self.outbox.fill(&mut bytes);
        }
        let acks = std::mem::take(&mut self.notes.acks);
        let mut frame = AgentFrame {
            ack: leases::acks(acks.iter()),
            refuse: std::mem::take(&mut self.notes.refusals),
            credit: self.notes.take_credit(),
            ..Default::default()
        };
        if std::mem::take(&mut due.extension) {
            frame.extend = self.leases.extensions();
        }
        if std::mem::take(&mut due.heartbeat) {
            frame.heartbeat = Some(Heartbeat {});
        }
        if self.may_leave()
            && let Some(Leaving { refuse, reason, .. }) = &mut self.leaving
        {
            let given_back = std::mem::take(refuse)
                .into_iter()
                .filter(|lease| lease.epoch == self.epoch)
                .map(|lease| Refusal {
                    subscription: lease.subscription,
                    position: lease.position,
                    delay: None,
                    reason: reason.clone(),
                });
            frame.refuse.extend(given_back);
            frame.goodbye = Some(Goodbye {
                reason: reason.clone(),
                reconnect: false,
            });
            due.said_goodbye = true;
        }
        frame.encode_raw(&mut bytes);
        let length = bytes.len() - HEADER;
        bytes[..HEADER].copy_from_slice(&header(length));
        bytes.freeze()
    }
}
