//! The offset at which a partition is read on.

/// Offset from which a partition is read on, and what is to be said of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// The offset.
    pub offset: i64,
    /// Records that are missing, or were perhaps taken in before.
    pub fault: Option<String>,
}

/// Start in a partition that has records from `first` to before `end`, of which those before `next` are taken in.
pub fn start(next: Option<i64>, first: i64, end: i64) -> Start {
    let from_first = |fault| Start {
        offset: first,
        fault: Some(fault),
    };
    match next {
        None => Start {
            offset: first,
            fault: None,
        },
        Some(next) if next < first => from_first(format!(
            "{} records from offset {next} on are missing: Kafka removed them before they were taken in",
            first - next
        )),
        Some(next) if next > end => from_first(format!(
            "it ends at offset {end}, and those before {next} were taken in: the topic was made anew, or cut; all it has is taken in"
        )),
        Some(next) => Start {
            offset: next,
            fault: None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partition_is_read_on_where_it_was_left_and_a_gap_is_said() {
        let offset = |start: Start| (start.offset, start.fault.is_some());
        assert_eq!(offset(start(None, 3, 9)), (3, false), "it is new");
        assert_eq!(offset(start(Some(5), 3, 9)), (5, false));
        assert_eq!(offset(start(Some(9), 3, 9)), (9, false), "nothing is left");
        let lost = start(Some(1), 3, 9);
        assert_eq!(lost.offset, 3);
        assert!(
            lost.fault
                .is_some_and(|fault| fault.starts_with("2 records"))
        );
        assert_eq!(
            offset(start(Some(10), 0, 9)),
            (0, true),
            "it is another topic"
        );
    }
}
