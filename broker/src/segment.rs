//! Segments: events that travel together. Their bytes are contiguous, as in a frame, and shared by all subscribers.

use std::{
    ops::Range,
    sync::{Arc, OnceLock},
};

use agenthub_proto::grpc::{HEADER, header};
use bytes::Bytes;

use crate::{
    fields::{self, Field},
    log::Position,
    sealed::Sealed,
};

/// Field number of an event in a `HubFrame` (`connect.proto`).
const EVENT: u32 = 3;

/// Maximum bytes of tag and length before an event, unless it is very large.
const TAG: usize = 4;

/// Maximum bytes of a segment with several events.
const MAX_BYTES: usize = 64 * 1024;

/// Maximum events of a segment.
const MAX_EVENTS: usize = 256;

/// The segment, see the module. Has at least one event.
#[derive(Debug)]
pub(crate) struct Segment {
    /// Created on the first send, unless it was built from a frame.
    frame: OnceLock<Framed>,
    /// Positions of the events, in order; empty for unlogged ones.
    positions: Vec<Position>,
    /// The first event by itself: represents all of them if they are alike.
    first: OnceLock<Arc<Sealed>>,
    /// The single events, created on demand unless it was built from them.
    sealed: OnceLock<Vec<Arc<Sealed>>>,
    /// Bytes of all events.
    bytes: usize,
    /// Set if the bodies are only in the log.
    stored: Option<Box<Stored>>,
}

/// Events whose bodies must be read from the log.
#[derive(Debug)]
struct Stored {
    /// Head of the first event. All are alike.
    head: Bytes,
    /// Size of each event in the log.
    sizes: Box<[u32]>,
}

/// A frame with events alone.
#[derive(Debug)]
struct Framed {
    /// The gRPC encoding.
    bytes: Bytes,
    /// Range of each event in it, without its tag.
    events: Vec<Range<usize>>,
}

impl Segment {
    /// A segment of one unlogged event.
    pub(crate) fn of(event: Arc<Sealed>) -> Self {
        Self::consisting_of(vec![event], Vec::new())
    }

    /// Positions of the events, in order; empty for unlogged ones.
    pub(crate) fn positions(&self) -> &[Position] {
        &self.positions
    }

    /// Logged events, in order, at least one. If the first is a head, they are [stored](Self::is_stored).
    pub(crate) fn logged(events: Vec<(Position, Arc<Sealed>)>) -> Self {
        let (positions, sealed): (_, Vec<Arc<Sealed>>) = events.into_iter().unzip();
        match sealed[0].is_head() {
            true => Self::heads(&sealed, positions),
            false => Self::consisting_of(sealed, positions),
        }
    }

    fn heads(events: &[Arc<Sealed>], positions: Vec<Position>) -> Self {
        let size = |event: &Arc<Sealed>| u32::try_from(event.size()).unwrap_or(u32::MAX);
        let sizes: Box<[u32]> = events.iter().map(size).collect();
        Self {
            frame: OnceLock::new(),
            positions,
            first: OnceLock::new(),
            sealed: OnceLock::new(),
            bytes: events.iter().map(|event| event.size()).sum(),
            stored: Some(Box::new(Stored {
                head: events[0].head().into_head(),
                sizes,
            })),
        }
    }

    /// The same without bodies, which the log has.
    pub(crate) fn stored(&self) -> Self {
        Self::heads(self.sealed(), self.positions.clone())
    }

    /// True if the bodies are only in the log, and must be read before sending.
    pub(crate) fn is_stored(&self) -> bool {
        self.stored.is_some()
    }

    fn consisting_of(sealed: Vec<Arc<Sealed>>, positions: Vec<Position>) -> Self {
        Self {
            frame: OnceLock::new(),
            positions,
            bytes: sealed.iter().map(|event| event.size()).sum(),
            first: sealed[0].clone().into(),
            sealed: sealed.into(),
            stored: None,
        }
    }

    /// Number of events.
    pub(crate) fn len(&self) -> usize {
        match (&self.stored, self.sealed.get()) {
            (Some(stored), _) => stored.sizes.len(),
            (None, Some(sealed)) => sealed.len(),
            (None, None) => self.frame().events.len(),
        }
    }

    /// Bytes of some events.
    pub(crate) fn bytes(&self, range: Range<usize>) -> usize {
        match range.len() == self.len() {
            true => self.bytes,
            false => range.map(|index| self.size(index)).sum(),
        }
    }

    /// Size of an event.
    fn size(&self, index: usize) -> usize {
        match (&self.stored, self.sealed.get()) {
            (Some(stored), _) => stored.size(index),
            (None, Some(sealed)) => sealed[index].size(),
            (None, None) => self.frame().events[index].len(),
        }
    }

    /// The first event, or its head.
    pub(crate) fn first(&self) -> Arc<Sealed> {
        match &self.stored {
            Some(stored) => stored.event(0),
            None => self.first.get_or_init(|| self.frame().event(0)).clone(),
        }
    }

    /// An event, or its head.
    pub(crate) fn event(&self, index: usize) -> Arc<Sealed> {
        match &self.stored {
            Some(stored) => stored.event(index),
            None => self.sealed()[index].clone(),
        }
    }

    /// The single events; empty if they are [stored](Self::is_stored).
    pub(crate) fn sealed(&self) -> &[Arc<Sealed>] {
        if self.is_stored() {
            return &[];
        }
        self.sealed.get_or_init(|| {
            let frame = self.frame();
            (0..frame.events.len()).map(|n| frame.event(n)).collect()
        })
    }

    /// The events in order, each with its position, if logged.
    pub(crate) fn each(&self) -> impl Iterator<Item = (Arc<Sealed>, Option<Position>)> + Clone {
        (0..self.len()).map(|index| (self.event(index), self.positions.get(index).copied()))
    }

    /// A frame with all its events, in gRPC encoding.
    pub(crate) fn framed(&self) -> Bytes {
        self.frame().bytes.clone()
    }

    /// True if [`framed`](Self::framed) is cached.
    pub(crate) fn is_framed(&self) -> bool {
        self.frame.get().is_some()
    }

    /// Some of its events, as fields of a frame.
    pub(crate) fn fields(&self, range: Range<usize>) -> Bytes {
        let frame = self.frame();
        let end = |index: usize| match index {
            0 => HEADER,
            _ => frame.events[index - 1].end,
        };
        frame.bytes.slice(end(range.start)..end(range.end))
    }

    fn frame(&self) -> &Framed {
        assert!(!self.is_stored(), "only the log has these events");
        self.frame.get_or_init(|| {
            let sealed = self.sealed.get().map_or(&[][..], |sealed| sealed);
            let mut builder = Builder::new(sealed.len(), self.bytes);
            sealed.iter().for_each(|e| builder.push_encoded(e.bytes()));
            builder.finish()
        })
    }
}

impl Stored {
    fn size(&self, index: usize) -> usize {
        self.sizes[index] as usize
    }

    fn event(&self, index: usize) -> Arc<Sealed> {
        Arc::new(Sealed::of_head(self.head.clone(), self.size(index)))
    }
}

impl Framed {
    fn event(&self, index: usize) -> Arc<Sealed> {
        let bytes = self.bytes.slice(self.events[index].clone());
        Arc::new(Sealed::encoded(bytes))
    }
}

/// True if this many events with this total size fit into a segment.
pub(crate) fn has_room_for(events: usize, bytes: usize) -> bool {
    events <= MAX_EVENTS && bytes <= MAX_BYTES
}

/// Builder of a segment.
#[derive(Debug)]
pub(crate) struct Builder {
    framed: Vec<u8>,
    events: Vec<Range<usize>>,
}

impl Builder {
    /// An empty builder with capacity for this many events with this total size.
    pub(crate) fn new(events: usize, bytes: usize) -> Self {
        let mut framed = Vec::with_capacity(HEADER + events * TAG + bytes);
        framed.resize(HEADER, 0);
        Self {
            framed,
            events: Vec::with_capacity(events),
        }
    }

    /// Adds an encoded event.
    pub(crate) fn push_encoded(&mut self, event: &[u8]) {
        self.add(event.len(), |framed| framed.extend_from_slice(event));
    }

    /// Adds an event that consists of these fields.
    pub(crate) fn push_fields(&mut self, fields: &[Field<'_>]) {
        self.add(fields::len(fields), |framed| fields::put(fields, framed));
    }

    /// The segment of unlogged events; at least one must have been added.
    pub(crate) fn build(self) -> Segment {
        Segment {
            bytes: self.events.iter().map(Range::len).sum(),
            frame: self.finish().into(),
            positions: Vec::new(),
            first: OnceLock::new(),
            sealed: OnceLock::new(),
            stored: None,
        }
    }

    fn finish(mut self) -> Framed {
        let header = header(self.framed.len() - HEADER);
        self.framed[..HEADER].copy_from_slice(&header);
        Framed {
            bytes: self.framed.into(),
            events: self.events,
        }
    }

    fn add(&mut self, length: usize, encode: impl FnOnce(&mut Vec<u8>)) {
        fields::head(EVENT, length, &mut self.framed);
        let start = self.framed.len();
        encode(&mut self.framed);
        self.events.push(start..self.framed.len());
    }
}

#[cfg(test)]
mod tests {
    use agenthub_proto::agenthub::{AgentEvent, HubFrame};
    use prost::Message as _;

    use super::*;

    fn event(id: &str) -> AgentEvent {
        AgentEvent {
            event_id: id.to_owned(),
            ..AgentEvent::default()
        }
    }

    fn segment(ids: &[&str]) -> Segment {
        let mut builder = Builder::new(0, 0);
        for id in ids {
            builder.push_encoded(&event(id).encode_to_vec());
        }
        builder.build()
    }

    fn ids(frame: &[u8]) -> Vec<String> {
        let frame = HubFrame::decode(frame).expect("a frame");
        frame.event.into_iter().map(|e| e.event_id).collect()
    }

    #[test]
    fn a_segment_is_a_frame_of_its_events() {
        let segment = segment(&["a", "b", "c"]);
        let framed = segment.framed();
        assert_eq!(framed[..HEADER], header(framed.len() - HEADER));
        assert_eq!(ids(&framed[HEADER..]), ["a", "b", "c"]);
        assert_eq!(ids(&segment.fields(0..3)), ["a", "b", "c"]);
        assert_eq!(ids(&segment.fields(1..2)), ["b"]);
        assert_eq!(AgentEvent::clone(&segment.event(2)), event("c"));
        assert_eq!(segment.size(2), event("c").encoded_len());
    }

    /// Both ways of building give the same frame and events.
    #[test]
    fn a_segment_of_events_has_the_frame_that_one_made_as_a_frame_has() {
        let events: [Arc<Sealed>; 2] = ["a", "b"].map(|id| Arc::new(event(id).into()));
        let logged = events.iter().enumerate();
        let logged = logged.map(|(n, event)| (Position(n as u64 + 1), event.clone()));
        let (logged, passing) = (Segment::logged(logged.collect()), segment(&["a", "b"]));
        assert_eq!((logged.len(), passing.len()), (2, 2));
        assert_eq!(logged.size(1), passing.size(1));
        assert_eq!(logged.framed(), passing.framed());
        assert_eq!(logged.fields(1..2), passing.fields(1..2));
        assert!(
            logged
                .each()
                .map(|(event, _)| event)
                .eq(passing.each().map(|(event, _)| event))
        );
        assert_eq!(logged.positions(), [Position(1), Position(2)]);
        assert_eq!(logged.first(), events[0]);
        assert_eq!(passing.first(), events[0]);
        let one = Segment::of(events[0].clone());
        assert_eq!(one.framed(), segment(&["a"]).framed());
    }
}
