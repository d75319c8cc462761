//! Partitions that stand still though messages wait in them.

use std::{
    collections::BTreeMap,
    fmt,
    time::{Duration, Instant},
};

use rdkafka::statistics;

use crate::Partition;

/// Position of a partition, by the client's statistics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position {
    /// Offset that is to be read next.
    pub(super) next: i64,
    /// True if it is fetched. A client may never begin to fetch one that is assigned to it.
    ///
    /// Source: librdkafka#5586
    pub(super) is_fetched: bool,
}

impl Position {
    pub(super) fn of(partition: &statistics::Partition) -> Self {
        // Those that are paused are active, too.
        let is_fetched = partition.fetch_state == "active";
        // The next offset is below zero until something was read, and that of an earlier assignment until it is read in this one. The other is below
        // zero if nothing was committed.
        let next = Some(partition.next_offset).filter(|_| is_fetched);
        let mut known = next.into_iter().chain([partition.committed_offset]);
        Self {
            next: known.find(|offset| *offset >= 0).unwrap_or_default(),
            is_fetched,
        }
    }
}

/// A partition from which nothing comes though messages wait in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Standing {
    pub(super) partition: Partition,
    /// Offset that is to be read next.
    pub(super) next: i64,
    /// Messages behind it.
    pub(super) waiting: i64,
    /// Time for which they have waited at least.
    pub(super) time: Duration,
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            partition: Partition { topic, number },
            next,
            waiting,
            time,
        } = self;
        let seconds = time.as_secs();
        write!(
            f,
            "partition {number} of {topic} stands still at offset {next} for {seconds} s, though {waiting} messages wait there"
        )
    }
}

/// Positions of the last look, and since when messages wait at them.
#[derive(Debug, Default)]
pub(super) struct Looks {
    positions: BTreeMap<Partition, Position>,
    waiting_since: BTreeMap<Partition, Instant>,
}

impl Looks {
    /// Takes note of the positions of partitions. Returns the offsets of those that are where they were at the last look. A member that `had_no_room`
    /// since then is no reason to doubt those that are read.
    pub(super) fn unmoved(
        &mut self,
        positions: BTreeMap<Partition, Position>,
        had_no_room: bool,
    ) -> BTreeMap<Partition, i64> {
        let before = std::mem::replace(&mut self.positions, positions);
        let unmoved: BTreeMap<Partition, i64> = self
            .positions
            .iter()
            .filter(|(partition, position)| before.get(partition) == Some(position))
            .filter(|(_, position)| !(had_no_room && position.is_fetched))
            .map(|(partition, position)| (partition.clone(), position.next))
            .collect();
        self.waiting_since
            .retain(|partition, _| unmoved.contains_key(partition));
        unmoved
    }

    /// Takes note of the end of a partition that has not moved. Returns it if messages have waited in it for longer than `patience`.
    pub(super) fn ends(
        &mut self,
        partition: &Partition,
        (next, end): (i64, i64),
        now: Instant,
        patience: Duration,
    ) -> Option<Standing> {
        if end <= next {
            self.waiting_since.remove(partition);
            return None;
        }
        let since = self.waiting_since.entry(partition.clone()).or_insert(now);
        let time = now.duration_since(*since);
        (time >= patience).then(|| Standing {
            partition: partition.clone(),
            next,
            waiting: end - next,
            time,
        })
    }
}

/// Time in which a partition that stands still again makes the next member more patient.
const HOUR: Duration = Duration::from_secs(3_600);

/// Times at which members of a group gave themselves up for a partition.
#[derive(Debug, Default)]
pub(super) struct GivenUp(Vec<Instant>);

impl GivenUp {
    /// A member gives itself up.
    pub(super) fn note(&mut self, now: Instant) {
        self.0.push(now);
    }

    /// The patience of a member that joins: it doubles with each that gave itself up within the last hour, up to 16 times.
    pub(super) fn patience(&mut self, patience: Duration, now: Instant) -> Duration {
        self.0.retain(|at| now.duration_since(*at) < HOUR);
        patience * (1 << self.0.len().min(4))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_joins_again_and_again_for_a_partition_waits_longer_each_time() {
        let (mut given_up, began) = (GivenUp::default(), Instant::now());
        let mut times = Vec::new();
        for _ in 0..6 {
            times.push(given_up.patience(PATIENCE, began).as_secs());
            given_up.note(began);
        }
        assert_eq!(times, [30, 60, 120, 240, 480, 480]);
        let later = began + HOUR;
        assert_eq!(
            given_up.patience(PATIENCE, later),
            PATIENCE,
            "it is long ago"
        );
    }

    const PATIENCE: Duration = Duration::from_secs(30);

    fn partition() -> Partition {
        Partition {
            topic: "tasks".to_owned(),
            number: 3,
        }
    }

    /// Looks every ten seconds at a partition that is read: what is read next, its end, and whether there was room.
    fn look(looks: &[(i64, i64, bool)]) -> Vec<Option<Standing>> {
        look_at(true, looks)
    }

    fn look_at(is_fetched: bool, looks: &[(i64, i64, bool)]) -> Vec<Option<Standing>> {
        let (mut kept, began) = (Looks::default(), Instant::now());
        let mut now = began;
        let looks = looks.iter().map(|(next, end, has_room)| {
            now += Duration::from_secs(10);
            let next = *next;
            let positions = [(partition(), Position { next, is_fetched })].into();
            let unmoved = kept.unmoved(positions, !has_room);
            let (partition, next) = unmoved.into_iter().next()?;
            kept.ends(&partition, (next, *end), now, PATIENCE)
        });
        looks.collect()
    }

    #[test]
    fn a_partition_stands_still_if_messages_wait_and_nothing_comes() {
        let looks = look(&[
            (5, 5, true),
            (5, 7, true),
            (5, 7, true),
            (5, 8, true),
            (5, 9, true),
        ]);
        assert_eq!(looks[..4], [None, None, None, None], "not long enough");
        let standing = looks[4].as_ref().expect("since the second look");
        assert_eq!(
            standing.to_string(),
            "partition 3 of tasks stands still at offset 5 for 30 s, though 4 messages wait there"
        );
    }

    #[test]
    fn a_partition_that_is_not_fetched_stands_still_however_busy_its_member_is() {
        let looks = look_at(false, &[(48, 50, false); 5]);
        assert_eq!(looks[..4], [const { None }; 4]);
        assert!(looks[4].is_some());
    }

    #[test]
    fn the_position_of_a_partition_that_is_not_fetched_is_what_was_committed() {
        let position = |fetch_state: &str, next_offset, committed_offset| {
            let statistics = statistics::Partition {
                fetch_state: fetch_state.to_owned(),
                next_offset,
                committed_offset,
                ..statistics::Partition::default()
            };
            let Position { next, is_fetched } = Position::of(&statistics);
            (next, is_fetched)
        };
        assert_eq!(position("active", 50, 48), (50, true));
        assert_eq!(position("active", -1001, 48), (48, true));
        assert_eq!(position("stopped", 50, 48), (48, false));
        assert_eq!(position("none", -1001, -1001), (0, false));
    }

    #[test]
    fn a_partition_that_is_read_or_empty_or_has_to_wait_for_room_does_not_stand_still() {
        let check = |looks: [(i64, i64, bool); 6]| assert_eq!(look(&looks), [const { None }; 6]);
        check([5, 6, 7, 8, 9, 10].map(|next| (next, 20, true)));
        check([(5, 5, true); 6]);
        check([(5, 9, false); 6]);
        // Messages that come at last, and others after them, have not waited since the first ones.
        check([
            (5, 6, true),
            (5, 6, true),
            (6, 6, true),
            (6, 6, true),
            (6, 7, true),
            (6, 7, true),
        ]);
    }
}
