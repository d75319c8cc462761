//! Tests with files written by an earlier release, and files written by other processes.

use rusqlite::Connection;

use super::*;
use crate::{
    event::{RunOutcome, RunStarted},
    journal::{
        ProgressSize, State,
        contract::{ended, keeps_its_promises, run, saw, showed, started},
        encode,
    },
};

/// Marks a file as schema 1.
const MARKS_1: &str = "PRAGMA application_id = 1095258698; PRAGMA user_version = 1;";

fn started_as(strategy: &str, at_ms: u64) -> RunEvent {
    match started() {
        RunEvent::Started(first) => RunEvent::Started(RunStarted {
            strategy: strategy.to_owned(),
            thread: String::new(),
            at_ms,
            ..first
        }),
        other => other,
    }
}

fn ended_as(outcome: RunOutcome) -> RunEvent {
    match ended() {
        RunEvent::Ended { spent, at_ms, .. } => RunEvent::Ended {
            outcome,
            spent,
            at_ms,
        },
        other => other,
    }
}

/// Writes a run in schema 1.
fn write(sql: &Connection, id: i64, name: &str, events: &[RunEvent]) {
    let last = events.len() as i64;
    let is_over = matches!(events.last(), Some(RunEvent::Ended { .. }));
    sql.execute(
        "INSERT INTO runs VALUES (?1, ?2, 'owner', 'a', 1, 0, ?3, ?4)",
        rusqlite::params![id, name, last, is_over.then_some(77)],
    )
    .expect("it is SQL");
    for (seq, event) in (1_i64..).zip(events) {
        let event = encode(event);
        let text = String::from_utf8(event.clone()).expect("JSON is UTF-8");
        let is_small = event.len() <= 64 * 1024;
        sql.execute(
            "INSERT INTO events VALUES (?1, ?2, ?3)",
            rusqlite::params![id, seq, is_small.then_some(text)],
        )
        .expect("it is SQL");
        if !is_small {
            sql.execute(
                "INSERT INTO large_events VALUES (?1, ?2, ?3)",
                rusqlite::params![id, seq, event],
            )
            .expect("it is SQL");
        }
    }
}

/// A file in schema 1: large first and last events, every outcome, and a run whose first event is damaged.
fn old(path: &Path) {
    let sql = Connection::open(path).expect("it opens");
    sql.execute_batch(schema::TABLES).expect("it is SQL");
    sql.execute_batch(MARKS_1).expect("it is SQL");
    let large = match started_as("large", 20) {
        RunEvent::Started(first) => RunEvent::Started(RunStarted {
            input: "x".repeat(100_000).into(),
            ..first
        }),
        other => other,
    };
    let working = [
        started_as("chat", 10),
        showed("planning"),
        saw(1),
        showed(&"z".repeat(100_000)),
        saw("\"event\":\"progressed\""),
    ];
    write(&sql, 1, "working", &working);
    let done = ended_as(RunOutcome::completed("y".repeat(100_000)));
    write(&sql, 2, "done", &[large, saw(1), done]);
    let failed = ended_as(RunOutcome::failed("no"));
    write(&sql, 3, "failed", &[started_as("chat", 30), failed]);
    write(&sql, 4, "damaged", &[started_as("chat", 40), ended()]);
    sql.execute_batch("UPDATE events SET event = '{' WHERE run = 4")
        .expect("it is SQL");
}

#[tokio::test]
async fn a_file_of_an_earlier_release_lists_the_runs_that_are_in_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("runs.db");
    old(&path);
    let journal = SqliteJournal::open(&path).expect("it is brought up to date");
    let listed = journal.list(&Filter::default()).await.expect("it works");
    let said: Vec<_> = listed
        .iter()
        .map(|l| {
            (
                l.run.as_str(),
                &*l.strategy,
                l.state,
                l.started_ms,
                l.ended_ms,
            )
        })
        .collect();
    let wanted = [
        ("damaged", "", State::Failed, 0, Some(77)),
        ("failed", "chat", State::Failed, 30, Some(77)),
        ("done", "large", State::Completed, 20, Some(77)),
        ("working", "chat", State::Working, 10, None),
    ];
    assert_eq!(said, wanted);
    let summed: Vec<bool> = listed.iter().map(|l| l.summary.is_some()).collect();
    assert_eq!(summed, [false, true, true, true], "one cannot be read");
    let working = RunId::new("working");
    let read = journal.read(&working, 0, 9).await.expect("it is there");
    let claim = Claim {
        driver: "a",
        lease: Duration::from_secs(60),
    };
    let opened = Journal::open(&journal, &working, "owner", claim, &[]).await;
    let opened = opened.expect("it is its own");
    let places: Vec<u64> = opened.entries.iter().map(|e| e.seq).collect();
    assert_eq!((places, opened.last), (vec![1, 3, 5], 5));
    let shown = ProgressSize::of(read.iter().map(|e| &e.event));
    assert_eq!((opened.progress, shown.pieces), (shown, 2));
    let journal: std::sync::Arc<dyn Journal> = std::sync::Arc::new(journal);
    keeps_its_promises(&journal).await;
}

#[tokio::test]
async fn a_file_that_others_write_can_be_read_and_is_not_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("runs.db");
    let refused = SqliteJournal::open_to_read(&path).expect_err("there is none");
    assert!(matches!(refused, OpenError::Missing(_)), "{refused}");
    assert!(!path.exists(), "it is not made");

    let writing = SqliteJournal::open(&path).expect("it opens");
    let reading = SqliteJournal::open_to_read(&path).expect("it opens beside it");
    let run = run("read");
    let claim = Claim {
        driver: "a",
        lease: Duration::from_secs(60),
    };
    let first = started();
    let opened = Journal::open(&writing, &run, "owner", claim, std::slice::from_ref(&first)).await;
    let epoch = opened.expect("it is free").epoch;
    assert_eq!(writing.append(&run, epoch, 1, &[saw(1)]).await, Ok(()));
    assert_eq!(
        reading.read(&run, 0, 9).await.expect("it is there").len(),
        2
    );
    let listed = reading.list(&Filter::default()).await.expect("it works");
    assert_eq!(listed[0].run, run);

    let why = format!("{} was opened only to be read", path.display());
    let refused = JournalError::Unavailable(why);
    let opened = Journal::open(&reading, &run, "owner", claim, std::slice::from_ref(&first)).await;
    assert_eq!(opened, Err(refused.clone()));
    let appended = reading.append(&run, epoch, 2, &[saw(2)]).await;
    assert_eq!(appended, Err(refused.clone()));
    let lease = Duration::from_secs(60);
    assert_eq!(
        reading.renew(&run, epoch, lease).await,
        Err(refused.clone())
    );
    assert_eq!(reading.release(&run, epoch).await, Err(refused.clone()));
    assert_eq!(reading.forget("owner", Duration::ZERO).await, Err(refused));
    drop(writing);
    let after = reading.read(&run, 0, 9).await.expect("it is still there");
    assert_eq!(after.len(), 2, "also when nobody writes any more");
    drop(reading);
    let reading = SqliteJournal::open_to_read(&path).expect("it opens alone");
    assert_eq!(
        reading.read(&run, 0, 9).await.expect("it is there").len(),
        2
    );
}

#[tokio::test]
async fn a_file_of_another_release_is_not_read_as_if_it_were_of_this_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("runs.db");
    old(&path);
    let refused = SqliteJournal::open_to_read(&path).expect_err("it is old");
    assert!(
        refused.to_string().contains("an earlier release"),
        "{refused}"
    );
    drop(SqliteJournal::open(&path).expect("it is brought up to date"));
    SqliteJournal::open_to_read(&path).expect("it is as this release has it");
    let sql = Connection::open(&path).expect("it opens");
    sql.execute_batch("PRAGMA user_version = 99")
        .expect("it is SQL");
    let refused = SqliteJournal::open_to_read(&path).expect_err("it is later");
    assert!(refused.to_string().contains("a later release"), "{refused}");
    let other = folder.path().join("other.db");
    let sql = Connection::open(&other).expect("it opens");
    sql.execute_batch("CREATE TABLE t (x)").expect("it is SQL");
    let refused = SqliteJournal::open_to_read(&other).expect_err("it is no journal");
    assert!(refused.to_string().contains("something else"), "{refused}");
}
