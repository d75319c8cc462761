//! Frames of a `Connect` stream.

use std::{
    collections::HashSet,
    sync::Arc,
    time::{Duration, SystemTime},
};

use agenthub_proto::{
    agenthub::{Cancel, Concern, Delivery as Note, Goodbye, Heartbeat, PublishResult, Welcome},
    event::wire_duration,
    grpc::{HEADER, header},
};
use bytes::{BufMut, Bytes, BytesMut};
use prost::Message;

use super::waited;
use crate::{
    hub::{End, Outgoing},
    mailbox::Batch,
    sealed::Sealed,
};

/// A frame is completed once its events exceed this size, in bytes.
const FRAME_BYTES: usize = 64 * 1024;

/// Logged events that arrived together stay together from this size on, in bytes.
const SMALL_BYTES: usize = 4 * 1024;

/// A `HubFrame` with encoded events, shared by all recipients. Equal to a `HubFrame` on the wire. Has no field for
/// publish credit, since the hub gives none beyond that of its welcome.
#[derive(Clone, PartialEq, Message)]
pub(super) struct SealedFrame {
    #[prost(message, optional, tag = "1")]
    pub(super) welcome: Option<Welcome>,
    #[prost(message, repeated, tag = "2")]
    pub(super) delivery: Vec<Note>,
    #[prost(bytes = "bytes", repeated, tag = "3")]
    pub(super) event: Vec<Bytes>,
    #[prost(message, repeated, tag = "4")]
    pub(super) result: Vec<PublishResult>,
    #[prost(message, repeated, tag = "6")]
    pub(super) cancel: Vec<Cancel>,
    #[prost(message, optional, tag = "7")]
    pub(super) heartbeat: Option<Heartbeat>,
    #[prost(message, optional, tag = "8")]
    pub(super) goodbye: Option<Goodbye>,
}

/// A delivery in a frame that belongs to this stream alone.
#[derive(Debug)]
struct Own {
    subscription: u32,
    event: Arc<Sealed>,
    attempt: u32,
    /// Time spent at the hub, if the agent has to know.
    waited: Option<Duration>,
}

/// A frame to send.
#[derive(Debug)]
pub(super) enum Frame {
    /// A frame of this stream alone. Boxed, because the other variant is small and more frequent.
    Sealed(Box<SealedFrame>),
    /// Events of the subscription with that index, in bytes shared with other streams.
    Shared(usize, Batch),
}

impl From<SealedFrame> for Frame {
    fn from(frame: SealedFrame) -> Self {
        Self::Sealed(Box::new(frame))
    }
}

impl Frame {
    /// The gRPC encoding.
    pub(super) fn bytes(&self) -> Vec<Bytes> {
        match self {
            Self::Sealed(frame) => vec![framed(frame, 0)],
            // First attempts on the first subscription need no note.
            Self::Shared(0, batch) if batch.len() == batch.segment().len() => {
                vec![batch.segment().framed()]
            }
            Self::Shared(index, batch) => {
                let note = |position: &str| Note {
                    position: position.to_owned(),
                    subscription: u32::try_from(*index).unwrap_or(u32::MAX),
                    attempt: 1,
                    waited: None,
                };
                let delivery = match (index, batch.positions()) {
                    (0, _) => Vec::new(),
                    (_, []) => vec![note(""); batch.len()],
                    _ => batch.events().map(|(e, _)| note(&e.position)).collect(),
                };
                let notes = SealedFrame {
                    delivery,
                    ..SealedFrame::default()
                };
                let events = batch.segment().fields(batch.range());
                vec![framed(&notes, events.len()), events]
            }
        }
    }
}

/// A frame in gRPC encoding, or its beginning, with `more` bytes to follow.
fn framed(frame: &SealedFrame, more: usize) -> Bytes {
    let length = frame.encoded_len();
    let mut bytes = BytesMut::with_capacity(HEADER + length);
    bytes.put_slice(&header(length + more));
    frame.encode_raw(&mut bytes);
    bytes.freeze()
}

/// Builds frames of a size that the peer accepts. A heartbeat is answered after the deliveries.
pub(super) fn frames(
    results: Vec<PublishResult>,
    heartbeat: bool,
    outgoing: Outgoing,
    now: SystemTime,
) -> Vec<Frame> {
    let mut frames = Vec::new();
    // Nothing could share a frame with it.
    let is_alone =
        outgoing.deliveries.len() == 1 && results.is_empty() && outgoing.cancels.is_empty();
    let mut frame = SealedFrame {
        result: results,
        cancel: outgoing.cancels,
        ..SealedFrame::default()
    };
    let is_shared = |batch: &Batch| {
        let has_frame = batch.positions().is_empty() && batch.segment().is_framed();
        batch.attempt() == 1
            && (is_alone || has_frame || batch.bytes() >= SMALL_BYTES)
            && !waited::is_told(batch, now)
    };
    let mut deliveries = outgoing.deliveries.into_iter().peekable();
    loop {
        let mut own = Vec::new();
        let mut bytes = 0;
        while bytes <= FRAME_BYTES
            && let Some((index, batch)) = deliveries.next_if(|(_, batch)| !is_shared(batch))
        {
            let subscription = u32::try_from(index).unwrap_or(u32::MAX);
            for (event, _) in batch.events() {
                bytes += event.size();
                own.push(Own {
                    subscription,
                    waited: match batch.concern() {
                        Concern::Work => waited::of(&event, now),
                        _ => None,
                    },
                    event: event.clone(),
                    attempt: batch.attempt(),
                });
            }
        }
        frame.delivery = notes(&own);
        frame.event = own.iter().map(|own| own.event.bytes().clone()).collect();
        if !(frame.event.is_empty() && frame.result.is_empty() && frame.cancel.is_empty()) {
            frames.push(std::mem::take(&mut frame).into());
        }
        match deliveries.next_if(|(_, batch)| is_shared(batch)) {
            Some((index, batch)) => frames.push(Frame::Shared(index, batch)),
            None if deliveries.peek().is_none() => break,
            None => {}
        }
    }
    if heartbeat {
        match frames.last_mut() {
            Some(Frame::Sealed(last)) => last.heartbeat = Some(Heartbeat {}),
            _ => frames.push(Frame::from(SealedFrame {
                heartbeat: Some(Heartbeat {}),
                ..SealedFrame::default()
            })),
        }
    }
    frames
}

/// Notes on the deliveries of one frame, in order. Events of one position are identified by that order, so that all of
/// them have a note if one needs it.
fn notes(deliveries: &[Own]) -> Vec<Note> {
    let needs = |own: &&Own| own.subscription > 0 || own.attempt > 1 || own.waited.is_some();
    let noted: HashSet<&str> = deliveries
        .iter()
        .filter(needs)
        .map(|own| own.event.position.as_str())
        .collect();
    deliveries
        .iter()
        .filter(|own| noted.contains(own.event.position.as_str()))
        .map(|own| Note {
            position: own.event.position.clone(),
            subscription: own.subscription,
            attempt: own.attempt,
            waited: own.waited.map(wire_duration),
        })
        .collect()
}

/// The goodbye at the end of a stream.
pub(super) fn goodbye(end: &End) -> Goodbye {
    let (reason, reconnect) = match end {
        End::Drain => ("the hub is shutting down".to_owned(), true),
        End::Superseded(reason) => (reason.clone(), false),
        End::Overflow => ("the subscriber did not take its events".to_owned(), true),
    };
    Goodbye { reason, reconnect }
}

#[cfg(test)]
mod tests {
    use agenthub_proto::agenthub::{AgentEvent, HubFrame};
    use tokio::time::Instant;

    use super::*;
    use crate::{
        log::Position,
        mailbox::{Bounds, Mail, Mailbox, Timing},
        segment::Segment,
    };

    /// A delivery of one event: index of the subscription, position, attempt and id.
    type One<'a> = (usize, &'a str, u32, &'a str);

    fn mail(position: &str, id: &str) -> Mail {
        let event = AgentEvent {
            event_id: id.to_owned(),
            position: position.to_owned(),
            ..AgentEvent::default()
        };
        Mail {
            event: Arc::new(event.into()),
            recipient: "a".into(),
            position: None,
            order: "".into(),
            concern: Default::default(),
            version: None,
            is_directed: true,
            is_copy: false,
            timing: Timing {
                since: Instant::now(),
                due: None,
                expires: Instant::now() + Duration::from_secs(100),
            },
        }
    }

    /// Takes an event from a mailbox as often as it was attempted.
    fn delivery((index, position, attempt, id): One<'_>) -> (usize, Batch) {
        let now = Instant::now();
        let mut mailbox = Mailbox::new(BOUNDS, now);
        let mut mail = mail(position, id);
        mail.position = position.parse().ok().map(Position);
        mailbox.push(&mail, now);
        let mut taken = mailbox.take(&"i".into(), None, 1, now);
        for _ in 1..attempt {
            mailbox.release(&"i".into(), now);
            taken = mailbox.take(&"i".into(), None, 1, now);
        }
        let batch = taken.expect("it is there").batch;
        assert_eq!(batch.attempt(), attempt);
        (index, batch)
    }

    /// Notes of each frame: position, subscription and attempt.
    fn noted(deliveries: &[One<'_>]) -> Vec<Vec<(String, u32, u32)>> {
        let outgoing = Outgoing {
            deliveries: deliveries.iter().map(|one| delivery(*one)).collect(),
            ..Outgoing::default()
        };
        let note = |n: Note| (n.position, n.subscription, n.attempt);
        let frames = frames(Vec::new(), false, outgoing, SystemTime::now()).into_iter();
        let frames = frames.map(|f| HubFrame::decode(&f.bytes().concat()[HEADER..]).expect("one"));
        frames
            .map(|f| f.delivery.into_iter().map(note).collect())
            .collect()
    }

    /// A new field of the protocol has to be added here.
    #[test]
    fn a_sealed_frame_is_a_frame_of_the_protocol() {
        let event = AgentEvent {
            event_id: "e".to_owned(),
            ..AgentEvent::default()
        };
        let sealed = SealedFrame {
            welcome: Some(Welcome::default()),
            delivery: vec![Note::default()],
            event: vec![Sealed::from(event.clone()).bytes().clone()],
            result: vec![PublishResult::default()],
            cancel: vec![Cancel::default()],
            heartbeat: Some(Heartbeat {}),
            goodbye: Some(Goodbye::default()),
        };
        let HubFrame {
            welcome,
            delivery,
            event: events,
            result,
            publish_credit,
            cancel,
            heartbeat,
            goodbye,
        } = HubFrame::decode(&*sealed.encode_to_vec()).expect("it is one");
        assert_eq!(events, [event]);
        assert_eq!(publish_credit, 0);
        assert!(welcome.is_some() && heartbeat.is_some() && goodbye.is_some());
        assert_eq!((delivery.len(), result.len(), cancel.len()), (1, 1, 1));
    }

    #[test]
    fn a_first_attempt_on_the_first_subscription_has_no_note() {
        let found = noted(&[(0, "1", 1, "e"), (0, "2", 2, "f")]);
        assert_eq!(found, [[("2".to_owned(), 0, 2)]]);
    }

    /// promise 2
    #[test]
    fn the_copies_of_an_event_are_noted_in_their_order() {
        let found = noted(&[(0, "1", 1, "e"), (0, "2", 1, "f"), (1, "1", 3, "e")]);
        let one = "1".to_owned();
        assert_eq!(found, [[(one.clone(), 0, 1), (one, 1, 3)]]);
    }

    /// Events without a position are identified by their note alone.
    #[test]
    fn events_that_may_be_lost_are_noted_in_their_order() {
        let found = noted(&[(0, "", 1, "e"), (1, "", 1, "f")]);
        let none = String::new();
        assert_eq!(found, [[(none.clone(), 0, 1), (none, 1, 1)]]);
    }

    /// Batches of this many events of this size each.
    fn batches(index: usize, sizes: &[(usize, usize)]) -> Outgoing {
        let mut mailbox = Mailbox::new(BOUNDS, Instant::now());
        let mut next = 0;
        for (count, bytes) in sizes {
            let events = (0..*count).map(|_| {
                next += 1;
                let event = AgentEvent {
                    event_id: "e".repeat(*bytes),
                    position: next.to_string(),
                    ..AgentEvent::default()
                };
                (Position(next), Arc::<Sealed>::new(event.into()))
            });
            let events: Vec<_> = events.collect();
            let mail = Mail {
                event: events[0].1.clone(),
                position: Some(events[0].0),
                ..mail("", "")
            };
            let segment = Segment::logged(events);
            mailbox.push_segment(&mail, &segment.into(), Instant::now());
        }
        let mut outgoing = Outgoing::default();
        while let Some(taken) = mailbox.take(&"i".into(), None, 100, Instant::now()) {
            outgoing.deliveries.push((index, taken.batch));
        }
        outgoing
    }

    const BOUNDS: Bounds = Bounds {
        events: 100,
        bytes: usize::MAX,
        ack_deadline: Duration::from_secs(30),
        max_attempts: 3,
    };

    /// Positions of the events and of the notes in each frame.
    fn positions(outgoing: Outgoing) -> Vec<(Vec<String>, Vec<String>)> {
        let frames = frames(Vec::new(), false, outgoing, SystemTime::now()).into_iter();
        let frames = frames.map(|f| HubFrame::decode(&f.bytes().concat()[HEADER..]).expect("one"));
        let positions = frames.map(|frame| {
            let of = frame.event.into_iter().map(|e| e.position);
            let noted = frame.delivery.into_iter().map(|n| {
                assert_eq!((n.subscription, n.attempt), (1, 1));
                n.position
            });
            (of.collect(), noted.collect())
        });
        positions.collect()
    }

    #[test]
    fn what_came_together_stays_together_unless_it_is_little() {
        let texts = |numbers: &[u32]| numbers.iter().map(u32::to_string).collect::<Vec<_>>();
        let large = SMALL_BYTES / 2;
        let sizes = [(1, 9), (2, 9), (3, large), (1, 9)];
        let expected = [&[1, 2, 3][..], &[4, 5, 6], &[7]].map(texts);
        let noted: Vec<_> = expected.iter().map(|e| (e.clone(), e.clone())).collect();
        assert_eq!(positions(batches(1, &sizes)), noted);
        let plain: Vec<_> = expected.iter().map(|e| (e.clone(), Vec::new())).collect();
        assert_eq!(positions(batches(0, &sizes)), plain);
        let alone = texts(&[1, 2]);
        let outgoing = batches(1, &[(2, 9)]);
        assert_eq!(positions(outgoing), [(alone.clone(), alone)]);
    }

    #[test]
    fn every_frame_has_the_notes_of_its_own_events() {
        let large = "x".repeat(FRAME_BYTES);
        let found = noted(&[
            (1, "1", 1, &large),
            (0, "1", 1, &large),
            (0, "2", 1, "last"),
        ]);
        assert_eq!(found, [vec![("1".to_owned(), 1, 1)], vec![], vec![]]);
    }
}
