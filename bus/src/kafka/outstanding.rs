//! Offsets up to which partitions may be committed, while messages are acknowledged in any order.

use std::collections::{BTreeMap, HashMap, btree_map::Entry};

use crate::Partition;

/// A message that is out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ticket {
    partition: Partition,
    offset: i64,
    assignment: u64,
}

impl Ticket {
    pub(super) fn partition(&self) -> &Partition {
        &self.partition
    }
}

/// The messages of one member that are out, by the partitions that are assigned to it.
#[derive(Debug, Default)]
pub(super) struct Outstanding {
    assigned: HashMap<Partition, Assigned>,
    assignments: u64,
    len: usize,
}

/// A partition that is assigned, since some assignment.
#[derive(Debug)]
struct Assigned {
    assignment: u64,
    /// Numbers of deliveries that are out, by their offsets: a message may be delivered twice, and is done with when both are acknowledged.
    out: BTreeMap<i64, usize>,
    /// The offset behind the last message that was taken out.
    next: i64,
    /// The offset up to which it may be committed.
    committed: i64,
}

impl Outstanding {
    /// Number of messages that are out, of partitions that are still assigned.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Forgets a partition, which others may get. Acknowledgements of its messages do not count any more.
    pub(super) fn revoke(&mut self, partition: &Partition) {
        if let Some(assigned) = self.assigned.remove(partition) {
            self.len -= assigned.out.values().sum::<usize>();
        }
    }

    /// The offset behind the last message that was taken out of a partition since it was assigned.
    pub(super) fn next(&self, partition: &Partition) -> Option<i64> {
        self.assigned.get(partition).map(|assigned| assigned.next)
    }

    /// Takes a message out.
    pub(super) fn take(&mut self, partition: Partition, offset: i64) -> Ticket {
        let assigned = self.assigned.entry(partition.clone()).or_insert_with(|| {
            self.assignments += 1;
            Assigned {
                assignment: self.assignments,
                out: BTreeMap::new(),
                next: offset,
                committed: offset,
            }
        });
        assigned.next = assigned.next.max(offset + 1);
        *assigned.out.entry(offset).or_default() += 1;
        self.len += 1;
        Ticket {
            partition,
            offset,
            assignment: assigned.assignment,
        }
    }

    /// Takes note of an acknowledgement. Returns the offset to commit, that of the first message that is to be delivered again after a crash,
    /// if it has risen.
    pub(super) fn acknowledge(&mut self, ticket: &Ticket) -> Option<i64> {
        let assigned = self.assigned.get_mut(&ticket.partition)?;
        if assigned.assignment != ticket.assignment {
            return None;
        }
        let Entry::Occupied(mut deliveries) = assigned.out.entry(ticket.offset) else {
            return None;
        };
        self.len -= 1;
        *deliveries.get_mut() -= 1;
        if *deliveries.get() == 0 {
            deliveries.remove();
        }
        let first_out = assigned.out.first_key_value();
        let first_out = first_out.map_or(assigned.next, |(offset, _)| *offset);
        let has_risen = first_out > assigned.committed;
        // An offset behind it may be out again.
        assigned.committed = assigned.committed.max(first_out);
        has_risen.then_some(first_out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn partition(number: i32) -> Partition {
        Partition {
            topic: "t".to_owned(),
            number,
        }
    }

    #[test]
    fn a_partition_is_committed_up_to_its_first_message_that_is_out() {
        let mut out = Outstanding::default();
        let tickets: Vec<Ticket> = [10, 11, 13]
            .map(|offset| out.take(partition(0), offset))
            .into();
        assert_eq!(out.next(&partition(1)), None);
        let other = out.take(partition(1), 3);
        assert_eq!(out.next(&partition(1)), Some(4));
        assert_eq!(out.len(), 4);
        assert_eq!(out.acknowledge(&tickets[1]), None);
        assert_eq!(out.acknowledge(&tickets[0]), Some(13), "12 was no message");
        assert_eq!(out.acknowledge(&tickets[0]), None, "once");
        assert_eq!(out.acknowledge(&tickets[2]), Some(14));
        assert_eq!(out.acknowledge(&other), Some(4));
        assert_eq!(out.len(), 0);
    }

    #[test]
    fn a_message_that_is_delivered_twice_is_done_with_when_both_are_acknowledged() {
        let mut out = Outstanding::default();
        let both = [10, 10].map(|offset| out.take(partition(0), offset));
        assert_eq!(out.len(), 2);
        assert_eq!(out.acknowledge(&both[0]), None, "one is out");
        assert_eq!(out.acknowledge(&both[1]), Some(11));
        out.take(partition(0), 11);
        out.take(partition(0), 11);
        out.revoke(&partition(0));
        assert_eq!(out.len(), 0);
    }

    #[test]
    fn an_offset_that_comes_again_takes_no_commit_back() {
        let mut out = Outstanding::default();
        let mut take = || [10, 11, 12].map(|offset| out.take(partition(0), offset));
        let (first, again) = (take(), take());
        for (first, again) in first.iter().zip(&again) {
            assert_eq!(out.acknowledge(first), None, "it is out again");
            assert!(out.acknowledge(again).is_some());
        }
        let again = [10, 11, 12].map(|offset| out.take(partition(0), offset));
        for ticket in &again {
            assert_eq!(out.acknowledge(ticket), None, "13 was committed");
        }
    }

    #[test]
    fn what_is_acknowledged_after_a_partition_has_gone_does_not_count() {
        let mut out = Outstanding::default();
        let before = out.take(partition(0), 5);
        out.revoke(&partition(0));
        assert_eq!((out.len(), out.acknowledge(&before)), (0, None));
        // Another member was further by then, or not as far.
        let again = out.take(partition(0), 5);
        assert_eq!(out.acknowledge(&before), None);
        assert_eq!(out.acknowledge(&again), Some(6));
    }
}
