//! Batches: events that arrived in a mailbox together and share one history there, with their rank by priority.

use std::{
    collections::{BTreeMap, HashMap},
    ops::Range,
    sync::Arc,
};

use agenthub_proto::agenthub::{Concern, Priority};
use tokio::time::Instant;

use super::{HandOver, Mail, Timing, Undelivered, lanes::LaneKey};
use crate::{
    id::{AgentId, InstanceId, OrderKey, Version},
    log::Position,
    sealed::Sealed,
    segment::Segment,
};

/// Rank of an event among waiting ones: lower goes first. The serial number orders events of the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    due_ms: i64,
    pub(super) serial: u64,
}

impl Rank {
    /// Rank of an event that is due at a time, in a mailbox of that age.
    pub(super) fn new(
        due: Instant,
        priority: Priority,
        serial: u64,
        mailbox_born: Instant,
    ) -> Self {
        let waited = due.duration_since(mailbox_born).as_millis();
        let waited = i64::try_from(waited).unwrap_or(i64::MAX);
        Self {
            due_ms: waited - head_start_ms(priority),
            serial,
        }
    }

    /// Rank of an event that arrived this many before.
    fn earlier(self, events: usize) -> Self {
        Self {
            serial: self.serial - events as u64,
            ..self
        }
    }
}

/// Bonus of a priority, in milliseconds of waiting.
fn head_start_ms(priority: Priority) -> i64 {
    match priority {
        Priority::Critical => 60_000,
        Priority::High => 10_000,
        Priority::Medium | Priority::Unspecified => 0,
        Priority::Low => -10_000,
    }
}

/// Facts about mail that are equal for all events of a batch, and mostly for the next batch.
#[derive(Debug)]
pub(super) struct Common {
    recipient: AgentId,
    order: OrderKey,
    concern: Concern,
    version: Option<Version>,
    is_directed: bool,
    is_copy: bool,
    due: Option<Instant>,
}

impl PartialEq<Mail> for Common {
    fn eq(&self, mail: &Mail) -> bool {
        let Self {
            recipient,
            order,
            concern,
            version,
            is_directed,
            is_copy,
            due,
        } = self;
        *recipient == mail.recipient
            && *order == mail.order
            && *concern == mail.concern
            && *version == mail.version
            && *is_directed == mail.is_directed
            && *is_copy == mail.is_copy
            && *due == mail.timing.due
    }
}

impl From<&Mail> for Common {
    fn from(mail: &Mail) -> Self {
        Self {
            recipient: mail.recipient.clone(),
            order: mail.order.clone(),
            concern: mail.concern,
            version: mail.version.clone(),
            is_directed: mail.is_directed,
            is_copy: mail.is_copy,
            due: mail.timing.due,
        }
    }
}

/// One event, or consecutive events of a segment. Cutting has a constant cost.
///
/// Indexes use a batch's last event, so that its key is stable while events leave from its front.
#[derive(Clone, Debug)]
pub(crate) struct Batch {
    segment: Arc<Segment>,
    range: Range<u32>,
    common: Arc<Common>,
    /// Rank of its last event.
    rank: Rank,
    /// Time when it came, or was due.
    since: Instant,
    /// Time when it is given up if it still waits.
    expires: Instant,
    /// Deliveries so far.
    pub(super) attempts: u32,
    /// The last holder.
    pub(super) last: Option<InstanceId>,
    /// True if `last` held it when the log ended: see [`resume`](super::Mailbox::resume).
    pub(super) was_out: bool,
}

/// A range of events in a batch, which is found by the position of its last event.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) batch: Position,
    pub(super) range: Range<usize>,
}

/// Events cut out of a batch.
#[derive(Debug)]
pub(super) struct Cut {
    pub(super) batch: Batch,
    /// Last position and serial number of the events before them, which form a batch of their own now.
    pub(super) before: Option<(Position, u64)>,
    /// True if no event came after them in that batch.
    pub(super) end: bool,
}

impl Cut {
    /// Cuts events out of a batch in a map whose keys derive from a batch's last event.
    pub(super) fn of<K: Ord>(
        batches: &mut BTreeMap<K, Batch>,
        key: K,
        key_of: impl Fn(&Batch) -> K,
        range: Range<usize>,
    ) -> Option<Self> {
        let batch = batches.get_mut(&key)?;
        let end = range.end == batch.len();
        if end && range.start == 0 {
            let batch = batches.remove(&key)?;
            let before = None;
            return Some(Self { batch, before, end });
        }
        let (before, cut) = batch.cut(range);
        if end {
            batches.remove(&key);
        }
        Some(Self {
            before: before.and_then(|before| {
                let last = before.last_position();
                let serial = before.rank.serial;
                batches.insert(key_of(&before), before);
                Some((last?, serial))
            }),
            batch: cut,
            end,
        })
    }
}

impl Batch {
    /// All events of a segment. The rank is that of the last one.
    pub(super) fn new(
        segment: Arc<Segment>,
        common: Arc<Common>,
        rank: Rank,
        timing: &Timing,
    ) -> Self {
        Self {
            range: 0..u32::try_from(segment.len()).expect("a segment is short"),
            segment,
            rank,
            since: timing.due.map_or(timing.since, |due| due.max(timing.since)),
            expires: timing.expires,
            common,
            attempts: 0,
            last: None,
            was_out: false,
        }
    }

    /// Unlogged mail that is delivered without entering a mailbox.
    pub(crate) fn by_the_way(mail: &Mail) -> Self {
        let rank = Rank {
            due_ms: 0,
            serial: 0,
        };
        let segment = Segment::of(mail.event.clone()).into();
        let batch = Self::new(segment, Arc::new(mail.into()), rank, &mail.timing);
        Self {
            attempts: 1,
            ..batch
        }
    }

    pub(crate) fn segment(&self) -> &Arc<Segment> {
        &self.segment
    }

    /// Time when it came, or was due.
    pub(crate) fn since(&self) -> Instant {
        self.since
    }

    /// Number of its deliveries so far.
    pub(crate) fn attempts(&self) -> u32 {
        self.attempts
    }

    /// True if its bodies are only in the log.
    pub(crate) fn is_stored(&self) -> bool {
        self.segment.is_stored()
    }

    /// Drops its bodies, if the log has them.
    pub(super) fn shed(&mut self) {
        let is_kept = self.is_stored() || self.common.is_copy || self.positions().is_empty();
        if !is_kept {
            self.segment = self.segment.stored().into();
        }
    }

    /// A copy with bodies read from the log, as far as they were found.
    pub(crate) fn filled(&self, found: &HashMap<Position, Arc<Sealed>>) -> Option<Self> {
        let events = self.positions().iter();
        let events = events.filter_map(|position| Some((*position, found.get(position)?.clone())));
        let events: Vec<_> = events.collect();
        (!events.is_empty()).then(|| Self {
            range: 0..u32::try_from(events.len()).expect("a segment is short"),
            segment: Segment::logged(events).into(),
            ..self.clone()
        })
    }

    /// Its range in the segment.
    pub(crate) fn range(&self) -> Range<usize> {
        self.range.start as usize..self.range.end as usize
    }

    /// Its events in order, each with its position, if logged.
    pub(crate) fn events(&self) -> impl Iterator<Item = (Arc<Sealed>, Option<Position>)> {
        let Range { start, end } = self.range();
        self.segment.each().take(end).skip(start)
    }

    /// Number of events.
    pub(crate) fn len(&self) -> usize {
        self.range().len()
    }

    /// Bytes of its events.
    pub(crate) fn bytes(&self) -> usize {
        self.segment.bytes(self.range())
    }

    /// Delivery attempt, from 1; 0 before the first.
    pub(crate) fn attempt(&self) -> u32 {
        self.attempts
    }

    /// The agent's side of the task.
    pub(crate) fn concern(&self) -> Concern {
        self.common.concern
    }

    /// Positions of its events, in order; empty for unlogged ones.
    pub(crate) fn positions(&self) -> &[Position] {
        let positions = self.segment.positions();
        positions.get(self.range()).unwrap_or(&[])
    }

    /// Positions of its first and its last event.
    pub(super) fn ends(&self) -> Option<(Position, Position)> {
        let positions = self.positions();
        Some((*positions.first()?, *positions.last()?))
    }

    /// True if its first event is at or before the position.
    pub(super) fn begins_by(&self, position: Position) -> bool {
        self.positions().first() <= Some(&position)
    }

    /// Position of its last event.
    pub(super) fn last_position(&self) -> Option<Position> {
        self.positions().last().copied()
    }

    /// The longest prefix of `positions` that is consecutive in the batch.
    pub(super) fn find(&self, positions: &[Position]) -> Option<Run> {
        let (first, own) = (positions.first()?, self.positions());
        let start = match own.first() == Some(first) {
            true => 0,
            false => own.binary_search(first).ok()?,
        };
        let both = own[start..].iter().zip(positions);
        let count = both.take_while(|(own, wanted)| own == wanted).count();
        Some(Run {
            batch: *own.last()?,
            range: start..start + count,
        })
    }

    /// The range of all its events.
    pub(super) fn whole(&self) -> Option<Run> {
        Some(Run {
            batch: self.last_position()?,
            range: 0..self.len(),
        })
    }

    pub(super) fn rank(&self) -> Rank {
        self.rank
    }

    pub(super) fn expires(&self) -> Instant {
        self.expires
    }

    pub(super) fn lane(&self) -> LaneKey {
        (self.common.order.clone(), self.common.version.clone())
    }

    /// Cuts some of its events out. Those after them stay, possibly none; those before them are returned first, as
    /// another batch.
    pub(super) fn cut(&mut self, range: Range<usize>) -> (Option<Self>, Self) {
        let before = (range.start > 0).then(|| self.part(0..range.start));
        let cut = self.part(range.clone());
        self.range.start += u32::try_from(range.end).expect("a segment is short");
        (before, cut)
    }

    fn part(&self, range: Range<usize>) -> Self {
        let start = self.range.start as usize;
        let short = |index: usize| u32::try_from(start + index).expect("a segment is short");
        Self {
            rank: self.rank.earlier(self.len() - range.end),
            range: short(range.start)..short(range.end),
            ..self.clone()
        }
    }

    /// Its events as mail.
    pub(crate) fn mail(&self) -> impl Iterator<Item = Mail> + '_ {
        let common = &self.common;
        self.events().map(|(event, position)| Mail {
            event,
            recipient: common.recipient.clone(),
            position,
            order: common.order.clone(),
            concern: common.concern,
            version: common.version.clone(),
            is_directed: common.is_directed,
            is_copy: common.is_copy,
            timing: Timing {
                since: self.since,
                due: common.due,
                expires: self.expires,
            },
        })
    }

    /// Its events, as handed over from one instance to another; empty if both are the same.
    pub(super) fn hand_over(&self, from: &InstanceId, to: &InstanceId) -> Vec<HandOver> {
        if from == to {
            return Vec::new();
        }
        let hand_over = |mail| HandOver {
            mail,
            from: from.clone(),
            to: to.clone(),
        };
        self.mail().map(hand_over).collect()
    }

    /// The same from its last holder.
    pub(super) fn hand_over_to(&self, to: &InstanceId) -> Vec<HandOver> {
        let from = self.last.as_ref();
        from.map_or_else(Vec::new, |from| self.hand_over(from, to))
    }

    /// Its events as undelivered mail.
    pub(super) fn give_up(&self, reason: &str) -> impl Iterator<Item = Undelivered> {
        self.mail().map(|mail| Undelivered {
            mail,
            attempts: self.attempts,
            reason: reason.to_owned(),
            mailbox: None,
        })
    }
}
