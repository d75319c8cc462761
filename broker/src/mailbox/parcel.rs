//! Mail that may be lost, as it came: the events of a segment, or those of them that are left.

use std::{ops::Range, sync::Arc};

use super::{Mail, waiting::Waiting};
use crate::segment::Segment;

/// See the module's description. Holds one event at least.
#[derive(Clone, Debug)]
pub(crate) struct Parcel {
    /// Its first event; the others are like it.
    first: Waiting,
    segment: Arc<Segment>,
    range: Range<usize>,
}

impl Parcel {
    /// All of a segment, whose first event is this.
    pub(super) fn new(first: Waiting, segment: Arc<Segment>) -> Self {
        Self {
            first,
            range: 0..segment.len(),
            segment,
        }
    }

    pub(crate) fn segment(&self) -> &Arc<Segment> {
        &self.segment
    }

    /// Which events of the segment it holds.
    pub(crate) fn range(&self) -> Range<usize> {
        self.range.clone()
    }

    /// How many events it holds.
    pub(crate) fn len(&self) -> usize {
        self.range.len()
    }

    /// The bytes of its events.
    pub(super) fn bytes(&self) -> usize {
        self.range().map(|index| self.segment.size(index)).sum()
    }

    pub(super) fn first(&self) -> &Waiting {
        &self.first
    }

    /// Every event by itself.
    pub(super) fn each(&self) -> impl Iterator<Item = Waiting> + '_ {
        self.range().map(|index| self.at(index))
    }

    /// Takes out its first events, at least one and at most so many. What is left, if anything, comes second.
    pub(super) fn split(mut self, count: usize) -> (Self, Option<Self>) {
        let middle = self.range.start + count.clamp(1, self.len());
        let rest = (middle < self.range.end).then(|| Self {
            first: self.at(middle),
            segment: self.segment.clone(),
            range: middle..self.range.end,
        });
        self.range.end = middle;
        (self, rest)
    }

    fn at(&self, index: usize) -> Waiting {
        let later = (index - self.range.start) as u64;
        Waiting {
            mail: Mail {
                event: self.segment.event(index).clone(),
                ..self.first.mail.clone()
            },
            rank: self.first.rank.later(later),
            ..self.first.clone()
        }
    }
}
