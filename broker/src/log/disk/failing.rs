//! Failing syncs and full disks.

use super::*;

/// Design part 6, promise 11: after a failed fsync: stop and recover, never retry it.
#[test]
fn a_failed_sync_stops_the_log_and_is_never_tried_again() {
    for (syncs, few) in (0..12).flat_map(|syncs| [(syncs, 0), (syncs, 1)]) {
        let mut machine = Machine::new(Disk::default());
        machine.checkpoint_pages = 8;
        machine.few = few;
        let (mut log, _) = machine.open().expect("it opens");
        let mut acknowledged = vec![publish(&mut log, "before").expect("the disk is fine")];
        machine.disk().fail_sync_after(syncs);
        let reason = (0..100).find_map(|_| {
            publish(&mut log, "more")
                .map(|record| acknowledged.push(record))
                .err()
        });
        let reason = reason.expect("a failed sync is not hidden");
        assert!(reason.contains("I/O"), "{reason}");
        assert!(matches!(log.admit(), Err(Error::Unavailable(_))));
        assert_eq!(publish(&mut log, "after"), Err(reason));
        drop(log);
        assert_eq!(
            machine.disk().syncs_since_failure(),
            Some(0),
            "after {syncs} syncs"
        );

        // The page cache still shows data that the disk does not have.
        machine.disk().restart();
        let (mut log, found) = machine.open().expect("it opens again");
        assert_eq!(
            found[..acknowledged.len()],
            acknowledged,
            "after {syncs} syncs"
        );
        assert!(
            found.len() <= acknowledged.len() + 1,
            "what came later is not there"
        );
        acknowledged = found;
        acknowledged.push(publish(&mut log, "again").expect("the disk is fine again"));
        machine.disk().cut_in(1);
        drop(log);
        machine
            .disk()
            .power_on(&mut fastrand::Rng::with_seed(syncs));
        let (_log, found) = machine.open().expect("it opens once more");
        assert_eq!(found, acknowledged, "after {syncs} syncs");
    }
}

/// A failed sync is reported also while the disk is full and nobody publishes.
///
/// promise 11
#[test]
fn a_failed_sync_of_a_full_disk_is_told() {
    let mut machine = Machine::new(Disk::default());
    machine.few = 0;
    let (mut log, _) = machine.open().expect("it opens");
    publish(&mut log, "before").expect("there is room");
    machine.disk().leave_room(Some(0));
    append(&mut log, [noise(10_000, &mut fastrand::Rng::with_seed(7))]);
    log.commit();
    wait(&log, |c| matches!(c, Commit::Full(_)));
    machine.disk().fail_sync_after(0);
    machine.disk().leave_room(None);
    wait(&log, |c| matches!(c, Commit::Failed(_)));
    std::thread::sleep(Duration::from_millis(500));
    assert!(matches!(log.admit(), Err(Error::Unavailable(_))));
    drop(log);
    assert_eq!(machine.disk().syncs_since_failure(), Some(0));
}

/// Design part 6, promise 11: writes are refused loudly, and taken again when there is room, even if nobody publishes.
#[test]
fn a_full_disk_refuses_until_there_is_room() {
    for more in [0, 1, 5_000, 50_000, 100_000] {
        refuses_until_there_is_room(Machine::new(Disk::default()), more);
    }
}

/// The same for a quota, which SQLite reports as a disk error.
#[test]
fn a_quota_that_is_used_up_refuses_until_there_is_room() {
    for more in [0, 1, 5_000, 50_000, 100_000] {
        let mut machine = Machine::new(Disk::default());
        machine.probe = |_| Err(std::io::ErrorKind::QuotaExceeded.into());
        machine.disk().has_quota();
        refuses_until_there_is_room(machine, more);
    }
}

fn refuses_until_there_is_room(machine: Machine, more: u64) {
    let (mut log, _) = machine.open().expect("it opens");
    let mut records = vec![publish(&mut log, "before").expect("there is room")];
    machine.disk().leave_room(Some(more));
    loop {
        let record = append(&mut log, [noise(3_000, &mut fastrand::Rng::with_seed(7))]).remove(0);
        log.commit();
        let last = record.position;
        records.push(record);
        match wait(&log, |c| {
            matches!(c, Commit::Full(_)) || c.position() >= Some(last)
        }) {
            Commit::Upto(_) => {}
            Commit::Full(position) => {
                assert!(position < last, "what is not written is not acknowledged");
                break;
            }
            Commit::Failed(reason) => panic!("{reason}"),
        }
    }
    let refused = log.admit().expect_err("there is no room");
    assert!(matches!(refused, Error::ResourceExhausted(_)), "{refused}");
    assert!(refused.to_string().contains("disk"), "{refused}");

    machine.disk().leave_room(None);
    wait(
        &log,
        |c| matches!(c, Commit::Upto(p) if *p == records[records.len() - 1].position),
    );
    assert!(log.admit().is_ok());
    drop(log);
    assert_eq!(machine.open().expect("it opens").1, records);
}

#[test]
fn a_full_disk_does_not_keep_the_hub_from_ending() {
    let machine = Machine::new(Disk::default());
    let (mut log, _) = machine.open().expect("it opens");
    let record = publish(&mut log, "before").expect("there is room");
    machine.disk().leave_room(Some(0));
    append(&mut log, [noise(10_000, &mut fastrand::Rng::with_seed(7))]);
    log.commit();
    wait(&log, |c| matches!(c, Commit::Full(_)));
    drop(log);
    machine.disk().leave_room(None);
    assert_eq!(machine.open().expect("it opens").1, [record]);
}
