//! Size of the write-ahead log: stays small with slow readers, and shrinks after a long read.

use std::{fs, time::SystemTime};

use agenthub_proto::a2a::AgentCard;

use super::*;
use crate::{
    log::{Entry, Registration, disk::noise},
    maintenance,
};

const RECORD_BYTES: usize = 256 * 1024;

fn open(folder: &Path) -> SqliteLog {
    let options = Options {
        checkpoint_pages: 100,
        ..Options::default()
    };
    SqliteLog::open(folder, &options, |_| Ok(())).expect("it opens")
}

/// Writes a record, and waits until it is durable.
fn write(log: &mut SqliteLog) {
    let position = log.next_position();
    let entry = Entry::Registered(Registration {
        card: AgentCard {
            name: noise(RECORD_BYTES, &mut fastrand::Rng::with_seed(position.0)),
            ..Default::default()
        },
        topics: Vec::new(),
        health_check_url: String::new(),
    });
    log.append(Record {
        position,
        time: SystemTime::UNIX_EPOCH,
        namespace: "default".into(),
        principal: "someone".into(),
        order: "o".into(),
        entry,
    });
    log.commit();
    let safe = log.commits().safe(position);
    tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime")
        .block_on(safe)
        .expect("the disk is fine");
}

fn wal_bytes(folder: &Path) -> u64 {
    let wal = fs::metadata(wal::path(&folder.join(FILE)));
    wal.expect("it is there").len()
}

#[test]
fn a_slow_export_does_not_make_the_write_ahead_log_grow() {
    const BEFORE: usize = 40;
    const MEANWHILE: usize = 60;
    let folder = tempfile::tempdir().expect("a folder");
    let mut log = open(folder.path());
    for _ in 0..BEFORE {
        write(&mut log);
    }
    let mut exported = 0;
    let done = maintenance::export(folder.path(), 0, None, |_| {
        exported += 1;
        if exported == 1 {
            (0..MEANWHILE).for_each(|_| write(&mut log));
        }
        Ok(())
    });
    done.expect("it is sound");
    assert_eq!(exported, BEFORE, "as of when it began");
    let bytes = wal_bytes(folder.path());
    assert!(bytes < 8 * RECORD_BYTES as u64, "{bytes} bytes");
}

#[test]
fn the_write_ahead_log_gets_small_again_after_somebody_has_read_for_long() {
    let limit = schema::JOURNAL_BYTES.cast_unsigned();
    let folder = tempfile::tempdir().expect("a folder");
    let mut log = open(folder.path());
    write(&mut log);
    let reading = beside(folder.path(), |_| {
        while wal_bytes(folder.path()) <= limit {
            write(&mut log);
        }
        Ok(())
    });
    reading.expect("it is sound");
    // Enough writes for the next checkpoint.
    for _ in 0..6 {
        write(&mut log);
    }
    let bytes = wal_bytes(folder.path());
    assert!(bytes <= limit, "{bytes} bytes");
}

#[test]
fn an_export_says_that_records_went_before_it_came_to_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut log = open(folder.path());
    for _ in 0..40 {
        write(&mut log);
    }
    let shorten = |connection: &rusqlite::Connection| {
        compaction::remove(connection, 1..=30)?;
        extent::begin_at(connection, 31)
    };
    let mut exported = 0;
    let done = maintenance::export(folder.path(), 0, None, |_| {
        exported += 1;
        if exported == 1 {
            let step: writer::Step = Box::new(shorten);
            log.jobs.send(Job::Step(step)).expect("it is there");
            write(&mut log);
        }
        Ok(())
    });
    let shortened = |e: &maintenance::Error| {
        matches!(
            e,
            maintenance::Error::Open(OpenError::Shortened { first: 31, .. })
        )
    };
    assert!(done.as_ref().is_err_and(shortened), "{done:?}");
    assert!(exported < 30);
}
