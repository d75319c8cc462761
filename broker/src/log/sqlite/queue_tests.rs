//! The writer's queue is bounded in groups and in bytes, and loses nothing.

use std::{
    sync::mpsc,
    time::{Duration, SystemTime},
};

use agenthub_proto::a2a::AgentCard;

use super::*;
use crate::log::{Entry, Registration};

/// A log whose writer is blocked until the returned sender is dropped.
fn behind(folder: &Path) -> (SqliteLog, mpsc::Sender<()>) {
    let log = SqliteLog::open(folder, &Options::default(), |_| Ok(())).expect("it opens");
    let (free, until) = mpsc::channel();
    let wait = move |_: &rusqlite::Connection| {
        let _ = until.recv();
        Ok(())
    };
    let sent = log.jobs.send(Job::Step(Box::new(wait)));
    sent.expect("the writer is there");
    (log, free)
}

/// Commits records, one per group, while they are admitted. Returns their sizes.
fn fill(log: &mut SqliteLog, payload_bytes: usize) -> Vec<usize> {
    let mut bytes = Vec::new();
    while log.admit().is_ok() {
        let entry = Entry::Registered(Registration {
            card: AgentCard {
                name: "a".repeat(payload_bytes),
                ..Default::default()
            },
            topics: Vec::new(),
            health_check_url: String::new(),
        });
        log.append(Record {
            position: log.next_position(),
            time: SystemTime::UNIX_EPOCH,
            namespace: "default".into(),
            principal: "someone".into(),
            order: entry.order(),
            entry,
        });
        bytes.push(log.group.last().expect("it was appended").bytes());
        log.commit();
    }
    bytes
}

/// Waits until everything is durable, and checks that the log accepts new records.
async fn catches_up(log: &SqliteLog, records: usize) {
    let all = log.commits().safe(Position(records as u64));
    tokio::time::timeout(Duration::from_secs(10), all)
        .await
        .expect("in time")
        .expect("the log is there");
    // A batch counts until the writer has reported it as durable.
    let (done, is_done) = mpsc::channel();
    let tell = move |_: &rusqlite::Connection| {
        let _ = done.send(());
        Ok(())
    };
    let sent = log.jobs.send(Job::Step(Box::new(tell)));
    sent.expect("the writer is there");
    is_done.recv().expect("it is done");
    assert_eq!((log.queued.groups(), log.queued.bytes()), (0, 0));
    assert!(log.admit().is_ok());
}

#[tokio::test]
async fn a_log_that_is_behind_holds_no_more_bytes_than_it_may() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut log, free) = behind(folder.path());
    let bytes = fill(&mut log, 1024 * 1024);
    let before_the_last: usize = bytes[..bytes.len() - 1].iter().sum();
    assert!(before_the_last <= QUEUE_BYTES && before_the_last + bytes[0] > QUEUE_BYTES);
    drop(free);
    catches_up(&log, bytes.len()).await;
}

#[tokio::test]
async fn a_log_that_is_behind_holds_no_more_groups_than_it_may() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut log, free) = behind(folder.path());
    let bytes = fill(&mut log, 1);
    assert_eq!(log.queued.groups(), QUEUE);
    assert_eq!(log.group.len(), QUEUE + 1);
    drop(free);
    while log.queued.groups() >= QUEUE {
        tokio::task::yield_now().await;
    }
    log.commit();
    catches_up(&log, bytes.len()).await;
}
