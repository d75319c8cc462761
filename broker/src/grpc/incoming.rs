//! Frames of an agent, with undecoded publishes.

use std::fmt::Display;

use agenthub_proto::{agenthub::Hello, grpc::Messages, weight::MemoryBudget};
use bytes::Bytes;
use futures_util::FutureExt;
use prost::Message;
use tonic::Status;

use super::notes::{Notes, claims};
use crate::{
    Error,
    fields::Fields,
    log::{LogId, Position},
};

/// Maximum publishes processed together, and a limit on their bytes.
const TOGETHER: usize = 256;
const TOGETHER_BYTES: usize = 256 * 1024;

/// Field numbers of `AgentFrame` and its notes (`connect.proto`).
pub(super) mod tag {
    pub(super) const HELLO: u32 = 1;
    pub(super) const PUBLISH: u32 = 2;
    pub(in super::super) const ACK: u32 = 3;
    pub(in super::super) const REFUSE: u32 = 4;
    pub(in super::super) const EXTEND: u32 = 5;
    pub(in super::super) const CREDIT: u32 = 6;
    pub(super) const HEARTBEAT: u32 = 7;
    pub(super) const GOODBYE: u32 = 8;

    /// Fields of `Ack` and `Extension`.
    pub(in super::super) const SUBSCRIPTION: u32 = 1;
    pub(in super::super) const POSITION: u32 = 2;
}

/// An `AgentFrame` whose parts stay encoded, so that its memory equals its size on the wire.
#[derive(Debug, Default)]
pub(super) struct RawFrame {
    // Boxed: only the first frame has one.
    pub(super) hello: Option<Box<Hello>>,
    /// At most as many as the peer may have unanswered.
    pub(super) publish: Vec<Bytes>,
    /// True if there were more.
    pub(super) has_excess: bool,
    /// The whole frame, for reading acknowledgements, refusals, extensions and credit later; empty if it has none.
    pub(super) notes: Bytes,
    /// True if its extensions were taken as claims.
    were_claimed: bool,
    pub(super) heartbeat: bool,
    pub(super) goodbye: bool,
}

impl RawFrame {
    /// Parses a frame, up to `most_publishes` publishes.
    ///
    /// # Errors
    ///
    /// It is malformed, or its hello is too large once decoded.
    fn read(frame: &Bytes, most_publishes: usize) -> Result<Self, Status> {
        let malformed =
            |e: &dyn Display| Status::invalid_argument(format!("a frame is malformed: {e}"));
        let mut read = Self::default();
        let mut room = MemoryBudget::for_bytes(frame.len());
        for field in Fields::of(frame) {
            let (number, value) = field.map_err(|e| malformed(&e))?;
            let known = tag::HELLO..=tag::GOODBYE;
            if !known.contains(&number) {
                continue;
            }
            let bytes = value.bytes().map_err(|e| malformed(&e))?;
            match number {
                tag::HELLO => {
                    if !room.takes::<Hello>(bytes) {
                        return Err(Status::invalid_argument(
                            "`hello` consists of too many parts",
                        ));
                    }
                    let hello = read.hello.get_or_insert_default();
                    let merged = hello.merge(frame.slice_ref(bytes));
                    merged.map_err(|e| malformed(&e))?;
                }
                tag::PUBLISH if read.publish.len() < most_publishes => {
                    read.publish.push(frame.slice_ref(bytes));
                }
                tag::PUBLISH => read.has_excess = true,
                tag::HEARTBEAT => read.heartbeat = true,
                tag::GOODBYE => read.goodbye = true,
                _ => read.notes = frame.clone(),
            }
        }
        Ok(read)
    }

    /// Deliveries claimed by a first frame, with their subscriptions. Positions of another log are ignored.
    ///
    /// # Errors
    ///
    /// There are more than an instance can have, or they are malformed.
    pub(super) fn take_claims(&mut self, log: LogId) -> Result<Vec<(u32, Position)>, Error> {
        self.were_claimed = true;
        claims(&self.notes, log)
    }

    /// Its acknowledgements, refusals and extensions, with positions in this log.
    pub(super) fn notes(&self, log: LogId) -> Notes {
        Notes::of(self.notes.clone(), log, !self.were_claimed)
    }

    fn publish_bytes(&self) -> usize {
        self.publish.iter().map(Bytes::len).sum()
    }

    /// True if it contains only publishes.
    fn is_publishes(&self) -> bool {
        let Self {
            hello,
            publish,
            has_excess,
            notes,
            were_claimed: _,
            heartbeat,
            goodbye,
        } = self;
        !publish.is_empty()
            && !has_excess
            && hello.is_none()
            && notes.is_empty()
            && !heartbeat
            && !goodbye
    }
}

/// Frames of a stream. Frames with publishes that arrive faster than they are processed are merged.
#[derive(Debug)]
pub(super) struct Frames {
    messages: Messages,
    /// Maximum publishes per frame.
    most_publishes: usize,
    /// Received and not returned yet. Boxed, because every agent has one.
    next: Option<Box<Result<Option<RawFrame>, Status>>>,
}

impl Frames {
    /// The frames of a peer that may have this many unanswered publishes.
    pub(super) fn new(messages: Messages, most_publishes: usize) -> Self {
        Self {
            messages,
            most_publishes,
            next: None,
        }
    }

    /// Returns a frame to the front.
    pub(super) fn put_back(&mut self, frame: RawFrame) {
        self.next = Some(Box::new(Ok(Some(frame))));
    }

    /// The next frame; `None` at the end. Cancel-safe.
    ///
    /// # Errors
    ///
    /// See [`Messages::next`]; the bytes are not a frame.
    pub(super) async fn next(&mut self) -> Result<Option<RawFrame>, Status> {
        if self.next.is_none() {
            self.next = Some(Box::new(self.read().await));
        }
        if let Some(Ok(Some(frame))) = self.next.as_deref()
            && frame.is_publishes()
        {
            // Lets other tasks run first: under load, more frames arrive meanwhile.
            tokio::task::yield_now().await;
        }
        let Some(first) = self.next.take() else {
            return Ok(None);
        };
        let mut frame = match *first {
            Ok(Some(frame)) => frame,
            other => return other,
        };
        let mut bytes = frame.publish_bytes();
        while frame.publish.len() < TOGETHER
            && bytes < TOGETHER_BYTES
            && frame.is_publishes()
            && let Some(next) = self.read().now_or_never()
        {
            match next {
                Ok(Some(next)) if next.is_publishes() => {
                    bytes += next.publish_bytes();
                    frame.publish.extend(next.publish);
                }
                next => {
                    self.next = Some(Box::new(next));
                    break;
                }
            }
        }
        Ok(Some(frame))
    }

    async fn read(&mut self) -> Result<Option<RawFrame>, Status> {
        let message = self.messages.next().await?;
        let read = |message| RawFrame::read(&message, self.most_publishes);
        message.map(read).transpose()
    }
}

#[cfg(test)]
mod tests {
    use agenthub_proto::agenthub::{
        Ack, AgentFrame, Credit, Extension, Goodbye, Heartbeat, Publish, Refusal,
    };

    use super::*;

    fn read(frame: &AgentFrame) -> RawFrame {
        RawFrame::read(&frame.encode_to_vec().into(), 2).expect("it is one")
    }

    /// A new field of the protocol has to be added here.
    #[test]
    fn a_raw_frame_is_a_frame_of_the_protocol() {
        let AgentFrame {
            hello,
            publish,
            ack,
            refuse,
            extend,
            credit,
            heartbeat,
            goodbye,
        } = AgentFrame::default();
        assert!(hello.is_none() && heartbeat.is_none() && goodbye.is_none());
        assert!(publish.is_empty() && ack.is_empty() && refuse.is_empty());
        assert!(extend.is_empty() && credit.is_empty());

        let publish = Publish {
            sequence: 7,
            ..Publish::default()
        };
        let hello = Hello {
            agent_id: "a".to_owned(),
            ..Hello::default()
        };
        let raw = read(&AgentFrame {
            hello: Some(hello.clone()),
            publish: vec![publish.clone()],
            heartbeat: Some(Heartbeat {}),
            goodbye: Some(Goodbye::default()),
            ..AgentFrame::default()
        });
        assert_eq!(raw.hello.as_deref(), Some(&hello));
        assert_eq!(Publish::decode(raw.publish[0].clone()), Ok(publish));
        assert!(raw.heartbeat && raw.goodbye && raw.notes.is_empty());
        type Change = fn(&mut AgentFrame);
        let changes: [Change; 4] = [
            |f| f.ack.push(Ack::default()),
            |f| f.refuse.push(Refusal::default()),
            |f| f.extend.push(Extension::default()),
            |f| f.credit.push(Credit::default()),
        ];
        for change in changes {
            let mut frame = AgentFrame::default();
            change(&mut frame);
            assert_eq!(read(&frame).notes, frame.encode_to_vec());
        }
    }

    /// promise 10
    #[test]
    fn more_publishes_than_count_are_left_out() {
        let publishes = |count| {
            read(&AgentFrame {
                publish: vec![Publish::default(); count],
                ..AgentFrame::default()
            })
        };
        let (all, too_many) = (publishes(2), publishes(3));
        assert!(all.publish.len() == 2 && !all.has_excess);
        assert!(too_many.publish.len() == 2 && too_many.has_excess);
    }

    #[test]
    fn what_is_no_frame_is_refused() {
        for bad in [&b"\xff"[..], b"\x12\x05", b"\x10\x01", b"\x0a\x01\xff"] {
            let refused = RawFrame::read(&Bytes::from_static(bad), 1);
            let code = refused.expect_err("it is refused").code();
            assert_eq!(code, tonic::Code::InvalidArgument, "{bad:?}");
        }
        let unknown = Bytes::from_static(b"\xa0\x01\x01");
        assert!(RawFrame::read(&unknown, 1).is_ok());
    }
}
