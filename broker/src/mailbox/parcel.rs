//! Mail as it came: the events of a segment, or those of them that are left.

use std::{ops::Range, sync::Arc};

use tokio::time::Instant;

use super::{
    Mail,
    waiting::{Rank, Waiting},
};
use crate::{log::Position, sealed::Sealed, segment::Segment};

/// See the module's description. Holds one event at least. A mailbox that nobody reads may hold very many of these, so that they are small.
#[derive(Clone, Debug)]
pub(crate) struct Parcel {
    /// What its events are like, but for event, position and rank. Shared by parcels that come one after the other and may be lost.
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

    /// Its events in their order, each with where it stands in the log, if it does.
    pub(crate) fn events(&self) -> impl Iterator<Item = (&Arc<Sealed>, Option<Position>)> {
        let Range { start, end } = self.range();
        self.segment.each().take(end).skip(start)
    }

    /// How many events it holds.
    pub(crate) fn len(&self) -> usize {
        self.range().len()
    }

    /// Where its events stand in the log, in its order; nothing if they are in no log.
    pub(crate) fn positions(&self) -> &[Position] {
        let positions = self.segment.positions();
        positions.get(self.range()).unwrap_or(&[])
    }

    /// Whether the log has its events, so that they are out with whoever takes them until that one acknowledges them.
    pub(super) fn is_logged(&self) -> bool {
        !self.segment.positions().is_empty()
    }

    /// When its events are given up if they still wait.
    pub(super) fn expires(&self) -> Instant {
        self.like.mail.timing.expires
    }

    /// Whether its events come only at a time.
    pub(super) fn is_delayed(&self) -> bool {
        self.like.mail.timing.due.is_some()
    }

    /// The so-manieth of its events that has this position.
    pub(super) fn find(&self, position: Position) -> Option<usize> {
        self.positions().binary_search(&position).ok()
    }

    /// The bytes of its first event.
    pub(super) fn bytes_of_first(&self) -> usize {
        self.segment.size(self.range().start)
    }

    /// Takes out its first event. `false` if there is no other: it is nothing any more then.
    pub(super) fn remove_first(&mut self) -> bool {
        self.rank = self.rank.later(1);
        self.range.start += 1;
        !self.range.is_empty()
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
        self.at(0)
    }

    /// Every event by itself.
    pub(super) fn each(&self) -> impl Iterator<Item = Waiting> + '_ {
        (0..self.len()).map(|index| self.at(index))
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

    /// One of its events by itself.
    pub(super) fn at(&self, index: usize) -> Waiting {
        let later = index as u64;
        let index = self.range().start + index;
        Waiting {
            mail: Mail {
                event: self.segment.event(index).clone(),
                position: self.segment.positions().get(index).copied(),
                ..self.like.mail.clone()
            },
            rank: self.rank.later(later),
            ..(*self.like).clone()
        }
    }
}
