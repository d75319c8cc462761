//! Flipped bits and truncation: the log opens with exactly its records, or reports the damage.

use proptest::prelude::*;

use super::*;

/// State of the files.
#[derive(Clone, Copy, Debug)]
enum Left {
    /// Everything is in the database.
    Closed,
    /// The latest records are in the write-ahead log.
    Killed,
}

/// A log with some records.
fn used(left: Left) -> (Machine, LogId, Vec<Record>) {
    let mut machine = Machine::new(Disk::default());
    machine.checkpoint_pages = 40;
    let (mut log, _) = machine.open().expect("it opens");
    let id = log.id();
    let mut records = Vec::new();
    let mut rng = fastrand::Rng::with_seed(7);
    for n in 0..60 {
        let bytes = 5 * if n % 9 == 0 { 1_500 } else { n };
        let text = noise(bytes, &mut rng);
        records.push(publish(&mut log, &text).expect("the disk is fine"));
    }
    if matches!(left, Left::Killed) {
        machine.disk().cut_in(1);
    }
    drop(log);
    machine.disk().restart();
    (machine, id, records)
}

/// Opens a damaged log. Returns whether the damage was reported.
fn check((machine, id, records): (Machine, LogId, Vec<Record>)) -> Result<bool, TestCaseError> {
    match machine.open() {
        Ok((log, found)) => {
            prop_assert_eq!(found.len(), records.len());
            prop_assert!(found == records, "other records");
            prop_assert_eq!(log.id(), id);
            Ok(false)
        }
        Err(
            OpenError::Damaged { .. }
            | OpenError::Sqlite { .. }
            | OpenError::Lost { .. }
            | OpenError::Newer { .. },
        ) => Ok(true),
        Err(other) => Err(TestCaseError::fail(format!("{other:?}"))),
    }
}

fn forget_marker(machine: &Machine) {
    std::fs::remove_file(machine.folder().join("acknowledged")).expect("it is there");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_flipped_bit_of_the_database_is_harmless_or_named(
        flips in prop::collection::vec((any::<prop::sample::Index>(), 0..8_u8), 1..4)
    ) {
        let log = used(Left::Closed);
        forget_marker(&log.0);
        log.0.disk().change("log.db", |bytes| {
            for (at, bit) in flips {
                let at = at.index(bytes.len());
                bytes[at] ^= 1 << bit;
            }
        });
        check(log)?;
    }

    #[test]
    fn a_flipped_bit_of_the_header_or_of_a_page_is_harmless_or_named(
        page in 0..10_usize, at in 0..110_usize, value: u8
    ) {
        let log = used(Left::Closed);
        forget_marker(&log.0);
        log.0.disk().change("log.db", |bytes| {
            let at = (page * 4096 + at) % bytes.len();
            bytes[at] = value;
        });
        check(log)?;
    }

    #[test]
    fn a_flipped_bit_of_the_write_ahead_log_is_harmless_or_named(
        at: prop::sample::Index, bit in 0..8_u8
    ) {
        let log = used(Left::Killed);
        log.0.disk().change("-wal", |bytes| {
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
        });
        check(log)?;
    }

    #[test]
    fn a_file_that_was_cut_short_is_named(wal: bool, at: prop::sample::Index) {
        let log = used(Left::Killed);
        let name = if wal { "-wal" } else { "log.db" };
        log.0.disk().change(name, |bytes| bytes.truncate(at.index(bytes.len())));
        check(log)?;
    }
}

#[test]
fn a_write_ahead_log_that_was_removed_is_missed() {
    let (machine, _, records) = used(Left::Killed);
    machine.disk().change("-wal", Vec::clear);
    let error = machine.open().map(|_| ()).expect_err("records are missing");
    let OpenError::Lost {
        acknowledged,
        marker,
        ..
    } = &error
    else {
        panic!("{error:?}");
    };
    assert_eq!(*acknowledged, records.len() as u64);
    std::fs::remove_file(marker).expect("the error says that this helps");
    let (_log, found) = machine.open().expect("it opens with what is left");
    assert!(found.len() < records.len());
    assert_eq!(found, records[..found.len()]);
}
