//! Events that travel together: their bytes stand one behind the other, as a frame holds them. All subscribers share these.

use std::{
    ops::Range,
    sync::{Arc, OnceLock},
};

use agenthub_proto::grpc::{HEADER, header};
use bytes::Bytes;
use prost::{
    Message,
    encoding::{WireType, encode_key, encode_varint, encoded_len_varint, key_len},
};

use crate::{log::Position, sealed::Sealed};

/// The field of a `HubFrame` that holds an event (`connect.proto`).
const EVENT: u32 = 3;

/// What a frame puts before an event, at most, where that is not very large.
const TAG: usize = 4;

/// A segment takes no more events once it is larger than this, in bytes.
const FULL_BYTES: usize = 64 * 1024;

/// A segment takes no more events than this.
const FULL_EVENTS: usize = 256;

/// See the module's description. Holds one event at least.
#[derive(Debug)]
pub(crate) struct Segment {
    /// A frame with all its events, as gRPC sends it.
    framed: Bytes,
    /// Where the event lies in that, without the tag before it.
    events: Vec<Range<usize>>,
    /// Where the events stand in the log, in its order; nothing of events that are in no log.
    positions: Vec<Position>,
    /// The first event by itself: it stands for all of them where they are alike.
    first: OnceLock<Arc<Sealed>>,
    /// The events by themselves, for those who take them one by one.
    sealed: OnceLock<Vec<Arc<Sealed>>>,
}

impl Segment {
    /// A segment of one event.
    pub(crate) fn of(event: Arc<Sealed>) -> Self {
        let mut builder = Builder::new(1, event.size());
        builder.push(&**event);
        Self {
            first: event.clone().into(),
            sealed: vec![event].into(),
            ..builder.build()
        }
    }

    /// Where its events stand in the log, in its order; nothing if they are in no log.
    pub(crate) fn positions(&self) -> &[Position] {
        &self.positions
    }

    /// Events of the log, in its order: the first, and as many more as fit together.
    pub(crate) fn logged(
        first: (Position, Arc<Sealed>),
        mut more: impl FnMut() -> Option<(Position, Arc<Sealed>)>,
    ) -> Self {
        let mut bytes = first.1.size();
        let (mut positions, mut sealed) = (vec![first.0], vec![first.1]);
        while !is_full(sealed.len(), bytes)
            && let Some((position, event)) = more()
        {
            bytes += event.size();
            positions.push(position);
            sealed.push(event);
        }
        let mut builder = Builder::new(sealed.len(), bytes.div_ceil(sealed.len()) + TAG);
        sealed.iter().for_each(|e| builder.push_encoded(e.bytes()));
        Self {
            positions,
            first: sealed[0].clone().into(),
            sealed: sealed.into(),
            ..builder.build()
        }
    }

    /// How many events there are.
    pub(crate) fn len(&self) -> usize {
        self.events.len()
    }

    /// How many bytes an event is by itself.
    pub(crate) fn size(&self, index: usize) -> usize {
        self.events[index].len()
    }

    /// The first event.
    pub(crate) fn first(&self) -> &Arc<Sealed> {
        self.first.get_or_init(|| self.sealed(&self.events[0]))
    }

    /// One event.
    pub(crate) fn event(&self, index: usize) -> &Arc<Sealed> {
        let all = || self.events.iter().map(|range| self.sealed(range)).collect();
        &self.sealed.get_or_init(all)[index]
    }

    /// The events in their order, each with where it stands in the log, if it does.
    pub(crate) fn each(&self) -> impl Iterator<Item = (&Arc<Sealed>, Option<Position>)> + Clone {
        (0..self.len()).map(|index| (self.event(index), self.positions.get(index).copied()))
    }

    fn sealed(&self, range: &Range<usize>) -> Arc<Sealed> {
        Arc::new(Sealed::encoded(self.framed.slice(range.clone())))
    }

    /// A frame with all its events and nothing else, as gRPC sends it.
    pub(crate) fn framed(&self) -> Bytes {
        self.framed.clone()
    }

    /// Some of its events, as fields of a frame.
    pub(crate) fn fields(&self, range: Range<usize>) -> Bytes {
        let end = |index: usize| match index {
            0 => HEADER,
            _ => self.events[index - 1].end,
        };
        self.framed.slice(end(range.start)..end(range.end))
    }
}

/// Whether a segment of so many events and bytes takes no more.
fn is_full(events: usize, bytes: usize) -> bool {
    events >= FULL_EVENTS || bytes > FULL_BYTES
}

/// A segment while it grows.
#[derive(Debug)]
pub(crate) struct Builder {
    framed: Vec<u8>,
    events: Vec<Range<usize>>,
}

impl Builder {
    /// An empty one, with room for so many events of so many bytes, as far as it takes them.
    pub(crate) fn new(events: usize, bytes: usize) -> Self {
        let events = events.min(FULL_EVENTS);
        let mut framed = Vec::with_capacity(HEADER + (events * bytes).min(FULL_BYTES + bytes));
        framed.resize(HEADER, 0);
        Self {
            framed,
            events: Vec::with_capacity(events),
        }
    }

    /// Adds an event.
    pub(crate) fn push(&mut self, event: &impl Message) {
        self.add(event.encoded_len(), |framed| event.encode_raw(framed));
    }

    /// Adds an event that is encoded.
    fn push_encoded(&mut self, event: &[u8]) {
        self.add(event.len(), |framed| framed.extend_from_slice(event));
    }

    /// Adds an event that consists of these fields, each with its bytes.
    pub(crate) fn push_fields(&mut self, fields: &[(u32, &[u8])]) {
        let length = |(field, bytes): &(u32, &[u8])| {
            key_len(*field) + encoded_len_varint(bytes.len() as u64) + bytes.len()
        };
        self.add(fields.iter().map(length).sum(), |framed| {
            for (field, bytes) in fields {
                encode_key(*field, WireType::LengthDelimited, framed);
                encode_varint(bytes.len() as u64, framed);
                framed.extend_from_slice(bytes);
            }
        });
    }

    /// Whether it takes no more.
    pub(crate) fn is_full(&self) -> bool {
        is_full(self.events.len(), self.framed.len())
    }

    /// The segment, which must hold something.
    pub(crate) fn build(mut self) -> Segment {
        let header = header(self.framed.len() - HEADER);
        self.framed[..HEADER].copy_from_slice(&header);
        Segment {
            framed: self.framed.into(),
            events: self.events,
            positions: Vec::new(),
            first: OnceLock::new(),
            sealed: OnceLock::new(),
        }
    }

    fn add(&mut self, length: usize, encode: impl FnOnce(&mut Vec<u8>)) {
        encode_key(EVENT, WireType::LengthDelimited, &mut self.framed);
        encode_varint(length as u64, &mut self.framed);
        let start = self.framed.len();
        encode(&mut self.framed);
        self.events.push(start..self.framed.len());
    }
}

#[cfg(test)]
mod tests {
    use agenthub_proto::agenthub::{AgentEvent, HubFrame};

    use super::*;

    fn event(id: &str) -> AgentEvent {
        AgentEvent {
            event_id: id.to_owned(),
            ..AgentEvent::default()
        }
    }

    fn segment(ids: &[&str]) -> Segment {
        let mut builder = Builder::new(0, 0);
        ids.iter().for_each(|id| builder.push(&event(id)));
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
        assert_eq!(AgentEvent::clone(segment.event(2)), event("c"));
        assert_eq!(segment.size(2), event("c").encoded_len());
    }

    #[test]
    fn a_segment_of_one_event_is_that() {
        let segment = Segment::of(Arc::new(event("a").into()));
        assert_eq!(
            (segment.len(), ids(&segment.framed()[HEADER..])),
            (1, vec!["a".to_owned()])
        );
    }
}
