//! A log over time: removed and kept records, and the state after a restart.

mod damage;
mod ended;
mod seen;

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, SystemTime},
};

use agenthub_proto::{
    a2a::{AgentCard, Message, Role},
    agenthub::{AgentEvent, AgentEventMetadata, agent_event::Payload},
};

use super::*;
use crate::{
    Error, OpenError,
    dedupe::{Key, digest},
    filter::Filter,
    log::{Entry, EventLog, FILE, LogId, Options, Published, Record, Registration, SqliteLog},
    maintenance,
    routing::Route,
    state::State,
};

/// Settings without retention.
fn short_lived() -> Settings {
    Settings {
        log_disk_bytes: 0,
        ..Settings::default()
    }
}

fn open(folder: &Path) -> Result<(SqliteLog, State), OpenError> {
    let settings = Settings::default();
    let mut folding = Folding::new(&settings, Moment::now());
    let log = SqliteLog::open(folder, &Options::default(), |found| folding.take(found))?;
    let state = folding.finish();
    Ok((log, state))
}

fn append(log: &mut SqliteLog, entry: Entry) -> Position {
    let position = log.next_position();
    log.append(Record {
        position,
        time: SystemTime::now(),
        namespace: "default".into(),
        principal: "someone".into(),
        order: entry.order(),
        entry,
    });
    log.commit();
    position
}

fn work(task: &str, to: &str) -> Entry {
    let message = Message {
        task_id: task.into(),
        context_id: "c".into(),
        message_id: task.into(),
        ..Message::new(Role::User, "go")
    };
    let routing = AgentEventMetadata {
        from_agent_id: "asker".into(),
        to_agent_id: to.into(),
        on_behalf_of: "alice".into(),
        ..Default::default()
    };
    let event = AgentEvent {
        event_id: format!("evt_{task}_3"),
        routing: Some(routing),
        payload: Some(Payload::Message(message)),
        ..Default::default()
    };
    Entry::Published(Published {
        event: Arc::new(event.into()),
        route: Route::To(vec![crate::id::AgentId::from(to).into()]),
        assignee: Some(to.into()),
        passes_by: false,
        key: Some((Arc::new(key(task)), digest(task.as_bytes(), ""))),
    })
}

fn key(task: &str) -> Key {
    Key {
        sender: "asker".into(),
        order: "c".into(),
        id: task.into(),
    }
}

/// An agent with a mailbox and ten tasks, of which it has handled all but the third.
fn busy(log: &mut SqliteLog) -> Position {
    let card = AgentCard {
        name: "worker".into(),
        ..Default::default()
    };
    append(
        log,
        Entry::Registered(Registration {
            card,
            topics: vec!["topic".into()],
            health_check_url: String::new(),
        }),
    );
    append(
        log,
        Entry::Subscribed {
            agent: "worker".into(),
            name: "work".into(),
            filter: Filter::default(),
            claims: Vec::new(),
            ordered: false,
        },
    );
    let positions: Vec<Position> = (0..10)
        .map(|n| append(log, work(&format!("t{n}"), "worker")))
        .collect();
    append(log, work("for nobody", "nobody"));
    append(
        log,
        Entry::Acknowledged {
            agent: "worker".into(),
            name: "work".into(),
            positions: positions
                .iter()
                .copied()
                .filter(|p| *p != positions[2])
                .collect(),
        },
    )
}

/// Contents of the worker's mailbox, and the number of unclaimed pieces.
fn mail(state: &State) -> (Vec<Option<Position>>, usize) {
    let saved = state.mailboxes.saved().into_iter();
    let mut workers = saved.filter(|s| **s.agent == *"worker" && s.name == "work");
    let mail = workers.next().expect("it is there").mail;
    let waiting = state
        .mailboxes
        .unclaimed
        .of(&"nobody".into(), Position(0))
        .count();
    (mail.iter().map(|m| m.position).collect(), waiting)
}

async fn safe(log: &SqliteLog, position: Position) {
    let is_safe = log.commits().safe(position);
    tokio::time::timeout(Duration::from_secs(10), is_safe)
        .await
        .expect("in time")
        .expect("the log is there");
}

/// A log with everything removed that can be.
async fn compacted(folder: &Path) -> (SqliteLog, Done) {
    let (mut log, _) = open(folder).expect("it opens");
    let last = busy(&mut log);
    safe(&log, last).await;
    let done = keep(&log.upkeep(), &short_lived(), None, &|| false).expect("it is kept");
    (log, done)
}

fn standing_at(last: u64, bytes: u64) -> Standing {
    Standing {
        last: Position(last),
        snapshot: Position(10),
        bytes,
    }
}

/// Promise 1, across compaction: everything that a mailbox needs is kept, and the state after a restart is the same.
#[tokio::test]
async fn compaction_leaves_what_mailboxes_need_and_what_the_hub_knows() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut log, done) = compacted(folder.path()).await;
    assert_eq!(done.snapshot, Position(14));
    assert_eq!(done.removed, 12, "all but one mail and the one for nobody");
    let id = log.id();
    append(&mut log, work("later", "worker"));
    drop(log);

    let report = maintenance::verify(folder.path()).expect("it is sound");
    assert_eq!((report.first, report.last, report.kept), (15, 15, 2));
    let (log, state) = open(folder.path()).expect("it opens");
    assert_eq!((log.id(), log.next_position()), (id, Position(16)));
    assert!(state.registry.get(&"worker".into()).is_some());
    assert_eq!(state.tasks.len(), 12);
    assert_eq!(state.tasks.in_flight(&"worker".into()), 11);
    let publish = state.dedupe.fingerprint(&key("t3"));
    let seen = state.dedupe.get(publish, Moment::now().instant);
    assert_eq!(seen.map(|s| (s.position, s.stamp)), Some((Position(6), 3)));
    let waiting = vec![Some(Position(5)), Some(Position(15))];
    assert_eq!(mail(&state), (waiting, 1));
}

#[tokio::test]
async fn what_was_kept_for_a_mailbox_goes_once_it_is_handled() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut log, _) = compacted(folder.path()).await;
    let handled = Entry::Acknowledged {
        agent: "worker".into(),
        name: "work".into(),
        positions: vec![Position(5)],
    };
    let last = append(&mut log, handled);
    safe(&log, last).await;
    let done = keep(&log.upkeep(), &short_lived(), None, &|| false).expect("it is kept");
    assert_eq!((done.snapshot, done.removed), (last, 2));
    drop(log);
    assert_eq!(
        maintenance::verify(folder.path()).expect("sound").kept,
        1,
        "the one for nobody"
    );
    let (_log, state) = open(folder.path()).expect("it opens");
    assert_eq!(mail(&state), (vec![], 1));
}

#[tokio::test]
async fn a_position_that_is_gone_is_out_of_range() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut log, _) = compacted(folder.path()).await;
    append(&mut log, work("later", "worker"));
    drop(log);
    let (log, _) = open(folder.path()).expect("it opens");
    let page = |after| log.history().page(Position(after), Position(15));
    let old = page(13).expect_err("it is gone");
    assert!(
        matches!(&old, Error::OutOfRange(e) if e.contains("-14")),
        "{old}"
    );
    assert_eq!(page(14).expect("it is there").events.len(), 1);
}

/// Young records are kept, though the snapshot covers them, and can be reread after a restart.
#[tokio::test]
async fn a_snapshot_alone_removes_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut log, _) = open(folder.path()).expect("it opens");
    let last = busy(&mut log);
    safe(&log, last).await;
    let done = keep(&log.upkeep(), &Settings::default(), None, &|| false).expect("it is kept");
    assert_eq!((done.snapshot, done.removed), (last, 0));
    let again = keep(&log.upkeep(), &short_lived(), None, &|| false).expect("it is kept");
    assert_eq!(again.snapshot, last);
    assert_eq!(again.removed, 12, "what the snapshot refers to stays");
    drop(log);
    open(folder.path()).expect("it opens");
}

/// A partial snapshot is ignored.
#[tokio::test]
async fn a_snapshot_that_was_not_finished_leaves_no_trace() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut log, _) = open(folder.path()).expect("it opens");
    let last = busy(&mut log);
    safe(&log, last).await;
    let unfinished = log
        .upkeep()
        .write_snapshot(last, &[Position(5)].into(), |each| {
            each(vec![0; 2 * 1024 * 1024])?;
            Err(Unfinished::Stopped)
        });
    assert!(matches!(unfinished, Err(Unfinished::Stopped)));
    drop(log);
    assert_eq!(
        maintenance::verify(folder.path()).expect("sound").snapshot,
        None
    );
    let (log, _) = open(folder.path()).expect("it opens");
    let done = keep(&log.upkeep(), &Settings::default(), None, &|| false).expect("it is kept");
    drop(log);
    let report = maintenance::verify(folder.path()).expect("sound");
    assert_eq!(report.snapshot, Some(done.snapshot.0));
}

#[tokio::test]
async fn a_backup_is_the_log_as_of_one_moment() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut log, _) = compacted(folder.path()).await;
    let elsewhere = tempfile::tempdir().expect("a folder");
    let copy = elsewhere.path().join(FILE);
    let report = maintenance::backup(folder.path(), &copy).expect("it is copied");
    let last = append(&mut log, work("later", "worker"));
    safe(&log, last).await;
    assert!(matches!(
        maintenance::backup(folder.path(), &copy),
        Err(maintenance::Error::Exists(_))
    ));
    assert_eq!(maintenance::verify(elsewhere.path()).ok(), Some(report));
    let (copy, state) = open(elsewhere.path()).expect("it opens");
    assert_eq!((copy.id(), copy.next_position()), (log.id(), Position(15)));
    assert_eq!(mail(&state), (vec![Some(Position(5))], 1));
}

#[test]
fn a_snapshot_is_due_after_so_many_records_or_bytes() {
    let settings = Settings {
        log_snapshot: 100,
        log_disk_bytes: 1600,
        ..Settings::default()
    };
    let before = standing_at(10, 1000);
    let is_due = |last, bytes| is_due(&standing_at(last, bytes), &before, &settings);
    assert!(!is_due(109, 1600));
    assert!(is_due(110, 1000), "a hundred records");
    assert!(is_due(11, 1601), "too many bytes");
    let before = standing_at(10, 1590);
    let still = super::is_due(&standing_at(11, 1601), &before, &settings);
    assert!(!still, "which the round before could not help");
    assert!(!has_grown(Position(10), Position(10), 0));
}

#[test]
fn a_hub_that_ends_takes_a_snapshot_of_less() {
    let settings = Settings {
        log_snapshot: 100,
        ..Settings::default()
    };
    assert!(!is_worth_it_at_the_end(&standing_at(19, 0), &settings));
    assert!(is_worth_it_at_the_end(&standing_at(20, 0), &settings));
}

/// Logs of earlier releases are read: the state of a schema 1 hub is restored.
#[test]
fn the_log_of_the_first_release_is_read() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/log-v1.db");
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::copy(golden, folder.path().join(FILE)).expect("copied");
    let older = maintenance::verify(folder.path());
    assert!(matches!(older, Err(OpenError::Older(_))), "{older:?}");
    let (log, state) = open(folder.path()).expect("it opens");
    assert_eq!(log.next_position(), Position(11));
    assert_ne!(log.id(), LogId::from_number(0));
    let states = ["done", "waiting", "nobody"].map(|task| {
        let entry = state.tasks.get(task).expect("it is known");
        entry.state().label().to_owned()
    });
    assert_eq!(states, ["completed", "submitted", "submitted"]);
    let echo = state.registry.get(&"agent_echo".into());
    assert_eq!(echo.map(|a| a.latest().skills.len()), Some(1));
    let inbox = state.mailboxes.saved();
    assert_eq!(inbox.len(), 1);
    assert_eq!(inbox[0].mail.len(), 1, "the message that waits");
    drop(log);
    maintenance::verify(folder.path()).expect("it is sound");
}
