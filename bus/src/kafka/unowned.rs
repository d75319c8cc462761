//! Partitions that no member of a group has.
//!
//! A partition that goes from one member to another is given up in one rebalance, and assigned in the next, which the member that gave it up asks for.
//! If that member dies in between, and is back under its name before it is missed, nobody asks: the group stays as it is, with a partition that nobody has.

use std::collections::BTreeSet;

use bytes::Buf;

use crate::Partition;

/// State of a group between rebalances.
const STABLE: &str = "Stable";

/// The partitions of an assignment as the group has it; none if it cannot be read.
///
/// Source: `ConsumerProtocolAssignment` of Kafka.
pub(super) fn assigned(mut assignment: &[u8]) -> Option<Vec<Partition>> {
    let from = &mut assignment;
    let _version = from.try_get_i16().ok()?;
    let mut partitions = Vec::new();
    for _ in 0..from.try_get_i32().ok()? {
        let length = usize::try_from(from.try_get_i16().ok()?).ok()?;
        let (topic, rest) = from.split_at_checked(length)?;
        *from = rest;
        let topic = std::str::from_utf8(topic).ok()?;
        for _ in 0..from.try_get_i32().ok()? {
            partitions.push(Partition {
                topic: topic.to_owned(),
                number: from.try_get_i32().ok()?,
            });
        }
    }
    Some(partitions)
}

/// Those of the partitions that are in no assignment of a group in this state. None while it is in a rebalance, or an assignment cannot be read.
pub(super) fn unowned<'a>(
    state: &str,
    mut partitions: BTreeSet<Partition>,
    assignments: impl IntoIterator<Item = &'a [u8]>,
) -> BTreeSet<Partition> {
    for assignment in assignments {
        match assigned(assignment) {
            Some(assigned) => assigned.iter().for_each(|of| {
                partitions.remove(of);
            }),
            None => return BTreeSet::new(),
        }
    }
    match state {
        STABLE => partitions,
        _ => BTreeSet::new(),
    }
}

#[cfg(test)]
mod tests {
    use bytes::BufMut as _;

    use super::*;

    fn partitions(numbers: &[i32]) -> BTreeSet<Partition> {
        let partition = |number: &i32| Partition {
            topic: "tasks".to_owned(),
            number: *number,
        };
        numbers.iter().map(partition).collect()
    }

    fn assignment(numbers: &[i32]) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.put_i16(3);
        bytes.put_i32(1);
        bytes.put_i16(5);
        bytes.put_slice(b"tasks");
        bytes.put_i32(i32::try_from(numbers.len()).expect("few"));
        numbers.iter().for_each(|number| bytes.put_i32(*number));
        // User data: none.
        bytes.put_i32(-1);
        bytes
    }

    #[test]
    fn a_partition_in_no_assignment_of_a_stable_group_is_unowned() {
        let (one, two) = (assignment(&[0, 2]), assignment(&[]));
        let unowned = |state, numbers: &[i32]| {
            let assignments = [&*one, &*two];
            unowned(state, partitions(numbers), assignments)
        };
        assert_eq!(unowned("Stable", &[0, 1, 2, 3]), partitions(&[1, 3]));
        assert_eq!(unowned("Stable", &[0, 2]), partitions(&[]));
        assert_eq!(unowned("PreparingRebalance", &[0, 1]), partitions(&[]));
    }

    #[test]
    fn an_assignment_that_cannot_be_read_says_nothing() {
        let whole = assignment(&[0, 1]);
        // Without the user data, which nobody reads.
        for length in 0..whole.len() - 4 {
            assert_eq!(assigned(&whole[..length]), None, "{length}");
        }
        let torn = [&whole[..7]];
        assert_eq!(unowned("Stable", partitions(&[2]), torn), partitions(&[]));
    }
}
