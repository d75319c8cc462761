//! Events that travel together: their bytes stand one behind the other, as a frame holds them. All subscribers share these.

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

/// The field of a `HubFrame` that holds an event (`connect.proto`).
const EVENT: u32 = 3;

/// What a frame puts before an event, at most, where that is not very large.
const TAG: usize = 4;

/// A segment of several events is no larger than this, in bytes.
const MAX_BYTES: usize = 64 * 1024;

/// A segment has no more events than this.
const MAX_EVENTS: usize = 256;

/// See the module's description. Holds one event at least.
#[derive(Debug)]
pub(crate) struct Segment {
    /// Made when it is first sent, unless that is what it was made of.
    frame: OnceLock<Framed>,
    /// Where the events stand in the log, in its order; nothing of events that are in no log.
    positions: Vec<Position>,
    /// The first event by itself: it stands for all of them where they are alike.
    first: OnceLock<Arc<Sealed>>,
    /// The events by themselves, for those who take them one by one, unless that is what it was made of.
    sealed: OnceLock<Vec<Arc<Sealed>>>,
    /// The bytes of all its events.
    bytes: usize,
    /// There where only the log has the events.
    stored: Option<Box<Stored>>,
}

/// Events that are to be read from the log.
#[derive(Debug)]
struct Stored {
    /// Of the first event. They are alike.
    head: Bytes,
    /// The bytes of each event in the log.
    sizes: Box<[u32]>,
}

/// A frame with events and nothing else.
#[derive(Debug)]
struct Framed {
    /// As gRPC sends it.
    bytes: Bytes,
    /// Where each event lies in that, without the tag before it.
    events: Vec<Range<usize>>,
}

impl Segment {
    /// A segment of one event, which is in no log.
    pub(crate) fn of(event: Arc<Sealed>) -> Self {
        Self::consisting_of(vec![event], Vec::new())
    }

    /// Where its events stand in the log, in its order; nothing if they are in no log.
    pub(crate) fn positions(&self) -> &[Position] {
        &self.positions
    }

    /// Events of the log, in its order, one at least. Where the first is a head, they are [stored](Self::is_stored).
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

    /// The same without the bodies, which the log has.
    pub(crate) fn stored(&self) -> Self {
        Self::heads(self.sealed(), self.positions.clone())
    }

    /// Whether only the log has its events: they have to be read before they are sent.
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

    /// How many events there are.
    pub(crate) fn len(&self) -> usize {
        match (&self.stored, self.sealed.get()) {
            (Some(stored), _) => stored.sizes.len(),
            (None, Some(sealed)) => sealed.len(),
            (None, None) => self.frame().events.len(),
        }
    }

    /// The bytes of some of its events.
    pub(crate) fn bytes(&self, range: Range<usize>) -> usize {
        match range.len() == self.len() {
            true => self.bytes,
            false => range.map(|index| self.size(index)).sum(),
        }
    }

    /// How many bytes an event is by itself.
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

    /// One event, or its head.
    pub(crate) fn event(&self, index: usize) -> Arc<Sealed> {
        match &self.stored {
            Some(stored) => stored.event(index),
            None => self.sealed()[index].clone(),
        }
    }

    /// The events by themselves; none that are [stored](Self::is_stored).
    pub(crate) fn sealed(&self) -> &[Arc<Sealed>] {
        if self.is_stored() {
            return &[];
        }
        self.sealed.get_or_init(|| {
            let frame = self.frame();
            (0..frame.events.len()).map(|n| frame.event(n)).collect()
        })
    }

    /// The events in their order, each with where it stands in the log, if it does.
    pub(crate) fn each(&self) -> impl Iterator<Item = (Arc<Sealed>, Option<Position>)> + Clone {
        (0..self.len()).map(|index| (self.event(index), self.positions.get(index).copied()))
    }

    /// A frame with all its events and nothing else, as gRPC sends it.
    pub(crate) fn framed(&self) -> Bytes {
        self.frame().bytes.clone()
    }

    /// Whether [`framed`](Self::framed) costs nothing any more.
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

/// Whether several events, so many of so many bytes in all, fit into a segment.
pub(crate) fn has_room_for(events: usize, bytes: usize) -> bool {
    events <= MAX_EVENTS && bytes <= MAX_BYTES
}

/// A segment while it grows.
#[derive(Debug)]
pub(crate) struct Builder {
    framed: Vec<u8>,
    events: Vec<Range<usize>>,
}

impl Builder {
    /// An empty one, with room for so many events, which have so many bytes in all.
    pub(crate) fn new(events: usize, bytes: usize) -> Self {
        let mut framed = Vec::with_capacity(HEADER + events * TAG + bytes);
        framed.resize(HEADER, 0);
        Self {
            framed,
            events: Vec::with_capacity(events),
        }
    }

    /// Adds an event that is encoded.
    pub(crate) fn push_encoded(&mut self, event: &[u8]) {
        self.add(event.len(), |framed| framed.extend_from_slice(event));
    }

    /// Adds an event that consists of these fields.
    pub(crate) fn push_fields(&mut self, fields: &[Field<'_>]) {
        self.add(fields::len(fields), |framed| fields::put(fields, framed));
    }

    /// The segment, whose events are in no log, and which must hold something.
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

    /// Whatever it was made of, it has both.
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
