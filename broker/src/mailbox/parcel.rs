//! Mail that may be lost, as it came: the events of a segment, or those of them that are left.

use std::{ops::Range, sync::Arc};

use super::{
    Mail,
    waiting::{Rank, Waiting},
};
use crate::segment::Segment;

/// See the module's description. Holds one event at least. A mailbox that nobody reads may hold very many of these, so that they are small.
#[derive(Clone, Debug)]
pub(crate) struct Parcel {
    /// What its events are like, but for event and rank. Shared by parcels that come one after the other.
    like: Arc<Waiting>,
    /// Of its first event.
    rank: Rank,
    segment: Arc<Segment>,
    range: Range<u32>,
}

impl Parcel {
    /// All of a segment, whose first event is this.
    pub(super) fn new(first: Waiting, segment: Arc<Segment>) -> Self {
        Self {
            rank: first.rank,
            like: Arc::new(first),
            range: 0..u32::try_from(segment.len()).unwrap_or(u32::MAX),
            segment,
        }
    }

    /// Shares with the parcel before it what both have, if they have the same.
    pub(super) fn share(&mut self, before: &Self) {
        if before.like.is_like(&self.like) {
            self.like = before.like.clone();
        }
    }

    pub(crate) fn segment(&self) -> &Arc<Segment> {
        &self.segment
    }

    /// Which events of the segment it holds.
    pub(crate) fn range(&self) -> Range<usize> {
        self.range.start as usize..self.range.end as usize
    }

    /// How many events it holds.
    pub(crate) fn len(&self) -> usize {
        self.range().len()
    }

    /// The bytes of its events.
    pub(super) fn bytes(&self) -> usize {
        self.range().map(|index| self.segment.size(index)).sum()
    }

    /// Where its first event stands in turn.
    pub(super) fn rank(&self) -> Rank {
        self.rank
    }

    /// Whether only instances of one version may have it.
    pub(super) fn is_versioned(&self) -> bool {
        self.like.mail.version.is_some()
    }

    /// Its first event by itself.
    pub(super) fn first(&self) -> Waiting {
        self.at(self.range().start)
    }

    /// Every event by itself.
    pub(super) fn each(&self) -> impl Iterator<Item = Waiting> + '_ {
        self.range().map(|index| self.at(index))
    }

    /// Takes out its first events, at least one and at most so many. What is left, if anything, comes second.
    pub(super) fn split(mut self, count: usize) -> (Self, Option<Self>) {
        let count = u32::try_from(count.clamp(1, self.len())).unwrap_or(u32::MAX);
        let middle = self.range.start.saturating_add(count);
        let rest = (middle < self.range.end).then(|| Self {
            like: self.like.clone(),
            rank: self.rank.later(count.into()),
            segment: self.segment.clone(),
            range: middle..self.range.end,
        });
        self.range.end = middle;
        (self, rest)
    }

    fn at(&self, index: usize) -> Waiting {
        let later = (index - self.range().start) as u64;
        Waiting {
            mail: Mail {
                event: self.segment.event(index).clone(),
                ..self.like.mail.clone()
            },
            rank: self.rank.later(later),
            ..(*self.like).clone()
        }
    }
}
