//! Contract tests of every log.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, SystemTime},
};

use agenthub_proto::{
    a2a::{AgentCard, Message, Role},
    agenthub::{AgentEvent, Concern, EventKind, agent_event::Payload},
};
use uuid::Uuid;

use super::*;
use crate::{
    dead_letters::GivenUp, dedupe::Key, id::Address, routing::Route, sealed::Sealed, tasks::Spent,
};

const NO_BOUND: usize = usize::MAX;

fn sqlite(folder: &Path) -> (SqliteLog, Vec<Record>) {
    let mut read = Vec::new();
    let log = SqliteLog::open(folder, &Options::default(), |found| {
        if let LogPart::Record(record) = found {
            read.push(record.clone());
        }
        Ok(())
    })
    .expect("it opens");
    (log, read)
}

/// One entry of each kind.
fn entries() -> Vec<Entry> {
    let event = AgentEvent {
        event_id: "e1".into(),
        payload: Some(Payload::Message(Message::new(Role::User, "hello"))),
        ..Default::default()
    };
    let key = Key {
        sender: "a".into(),
        order: "c".into(),
        id: "m".into(),
    };
    let address = Address {
        agent: "b".into(),
        version: Some("2".into()),
    };
    let event: Arc<Sealed> = Arc::new(event.into());
    let again = Again {
        event: event.clone(),
        position: Position(1),
        concern: Concern::Replies,
        version: Some("2".into()),
        is_directed: true,
    };
    let published = Published {
        event,
        route: Route::To(vec![address]),
        assignee: Some("b".into()),
        passes_by: true,
        key: Some((Arc::new(key), Uuid::from_u128(7))),
    };
    vec![
        Entry::Published(Published {
            route: Route::Everyone,
            assignee: None,
            passes_by: false,
            key: None,
            ..published.clone()
        }),
        Entry::Published(published),
        Entry::Registered(Registration {
            card: AgentCard {
                name: "b".into(),
                ..Default::default()
            },
            topics: vec!["echo".into()],
            health_check_url: "http://127.0.0.1/".into(),
        }),
        Entry::Subscribed {
            agent: "b".into(),
            name: "inbox".into(),
            filter: Filter::kinds(&[EventKind::Message]),
            claims: vec![Position(1)],
            ordered: true,
        },
        Entry::Unsubscribed {
            agent: "b".into(),
            name: "inbox".into(),
        },
        Entry::Acknowledged {
            agent: "b".into(),
            name: "inbox".into(),
            positions: vec![Position(1), Position(2)],
        },
        Entry::Present { agent: "b".into() },
        Entry::Unregistered { agent: "b".into() },
        Entry::GivenUp(GivenUp {
            agent: "b".into(),
            name: "inbox".into(),
            reason: "it was refused".into(),
            attempts: 5,
            mail: again.clone(),
        }),
        Entry::Settled {
            letter: Position(1),
            again: true,
        },
        Entry::Reread {
            agent: "b".into(),
            name: "inbox".into(),
            mail: vec![again],
        },
        Entry::Tried {
            agent: "b".into(),
            name: "inbox".into(),
            tries: vec![Try {
                position: Position(1),
                attempts: 3,
                instance: "i".into(),
                is_out: true,
            }],
        },
        Entry::Superseded {
            agent: "b".into(),
            task: "t".into(),
            instances: vec!["i".into()],
        },
        Entry::Charged {
            principal: "alice".into(),
            spent: Spent {
                tokens: 5,
                cost_micros: 7,
            },
        },
    ]
}

fn append(log: &mut dyn EventLog, entry: Entry) -> Record {
    let record = Record {
        position: log.next_position(),
        time: SystemTime::UNIX_EPOCH + Duration::from_micros(1_234_567),
        namespace: "default".into(),
        principal: "someone".into(),
        order: entry.order(),
        entry,
    };
    log.append(record.clone());
    record
}

async fn safe(log: &dyn EventLog, position: Position) {
    let is_safe = log.commits().safe(position);
    tokio::time::timeout(Duration::from_secs(10), is_safe)
        .await
        .expect("in time")
        .expect("the log is there");
}

async fn contract(log: &mut dyn EventLog) -> Vec<Record> {
    let first = log.next_position();
    assert!(log.admit().is_ok());
    let mut records: Vec<Record> = entries().into_iter().map(|e| append(log, e)).collect();
    for pair in records.windows(2) {
        assert_eq!(
            pair[1].position.0,
            pair[0].position.0 + 1,
            "positions rise by one"
        );
    }
    log.commit();
    let last = records.last().expect("some").position;
    safe(log, last).await;

    records.push(append(log, entries().remove(0)));
    assert_eq!(
        log.commits().latest().position(),
        Some(last),
        "what is not committed is not safe"
    );
    log.commit();
    log.commit();
    safe(log, Position(last.0 + 1)).await;

    let before = Position(first.0 - 1);
    let events: Vec<Record> = records
        .iter()
        .filter(|r| matches!(r.entry, Entry::Published(_)))
        .cloned()
        .collect();
    let history = log.history();
    let upto = Position(last.0 + 1);
    let page = |events: &[Record], upto| {
        let events = events.to_vec();
        Ok(Page { events, upto })
    };
    assert_eq!(history.oldest(), Ok(Position(0)));
    assert_eq!(history.page(before, upto), page(&events, upto));
    let (last_event, others) = events.split_last().expect("some");
    assert_eq!(history.page(before, last), page(others, last));
    let rest = std::slice::from_ref(last_event);
    assert_eq!(history.page(last, upto), page(rest, upto));
    assert_eq!(history.page(upto, upto), page(&[], upto));
    assert_eq!(history.ended(&[1, 2]), Ok(Vec::new()));
    let token = log.id().token(last);
    assert_eq!(log.id().position(&token), Ok(last));
    records
}

#[tokio::test]
async fn memory_keeps_the_contract() {
    contract(&mut MemoryLog::new(NO_BOUND, NO_BOUND)).await;
}

/// Records that were not durable are lost in a crash, all others are kept.
#[tokio::test(start_paused = true)]
async fn kept_keeps_the_contract_and_what_was_safe() {
    let kept = RetainedLog::new(Duration::from_millis(5));
    let open = || {
        let mut read = Vec::new();
        let opened = kept.open(NO_BOUND, NO_BOUND, |found| {
            if let LogPart::Record(record) = found {
                read.push(record.clone());
            }
            Ok(())
        });
        let (log, work) = opened.expect("it can be read");
        (log, tokio::spawn(work), read)
    };
    let (mut log, work, read) = open();
    assert_eq!(read, []);
    let mut records = contract(&mut log).await;
    append(&mut log, entries().remove(0));
    log.commit();
    work.abort();
    drop(log);

    let (mut log, work, read) = open();
    assert_eq!(read, records, "it is the same after a crash");
    records.extend(contract(&mut log).await);
    work.abort();
    assert_eq!(open().2, records);
}

#[tokio::test]
async fn sqlite_keeps_the_contract_and_what_it_was_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut log, read) = sqlite(folder.path());
    assert_eq!(read, []);
    let mut records = contract(&mut log).await;
    let id = log.id();
    drop(log);

    let (mut log, read) = sqlite(folder.path());
    assert_eq!(read, records, "it is the same after a restart");
    assert_eq!(log.id(), id);
    records.extend(contract(&mut log).await);
    drop(log);
    assert_eq!(sqlite(folder.path()).1, records);
}

#[tokio::test]
async fn what_was_appended_is_written_before_the_log_goes() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut log, _) = sqlite(folder.path());
    let record = append(&mut log, entries().remove(0));
    drop(log);
    assert_eq!(sqlite(folder.path()).1, [record]);
}

#[test]
fn a_window_rereads_what_it_keeps_and_says_what_it_does_not() {
    let mut log = MemoryLog::new(3, NO_BOUND);
    for _ in 0..5 {
        append(&mut log, entries().remove(0));
    }
    let positions = |after| -> Option<Vec<u64>> {
        let page = log.history().page(Position(after), Position(99)).ok()?;
        Some(page.events.iter().map(|r| r.position.0).collect())
    };
    assert_eq!(positions(2), Some(vec![3, 4, 5]));
    assert_eq!(positions(4), Some(vec![5]));
    assert_eq!(positions(5), Some(vec![]));
    assert_eq!(positions(99), Some(vec![]));
    assert_eq!(positions(1), None);
}

#[test]
fn a_position_of_another_log_is_told_apart() {
    let (one, other) = (LogId::from_number(1), LogId::from_number(2));
    let token = one.token(Position(7));
    assert_eq!(one.position(&token), Ok(Position(7)));
    assert!(matches!(other.position(&token), Err(Error::OutOfRange(_))));
    assert!(matches!(
        one.position("garbage"),
        Err(Error::InvalidArgument(_))
    ));
}

#[tokio::test]
async fn a_folder_belongs_to_one_hub() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_log, _) = sqlite(folder.path());
    let second = SqliteLog::open(folder.path(), &Options::default(), |_| Ok(()));
    assert!(matches!(second, Err(OpenError::Locked(_))), "{second:?}");
}

/// Every flipped bit in a record is detected, and reported with its position.
#[tokio::test]
async fn damage_is_named_with_its_position() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut log, _) = sqlite(folder.path());
    contract(&mut log).await;
    drop(log);
    let database =
        rusqlite::Connection::open(folder.path().join(sqlite::FILE)).expect("the database");
    let damage = |sql: &str| {
        database.execute_batch(sql).expect("it can be changed");
        let opened = SqliteLog::open(folder.path(), &Options::default(), |_| Ok(()));
        match opened {
            Err(OpenError::Damaged { position, .. }) => position,
            other => panic!("{sql}: {other:?}"),
        }
    };
    assert_eq!(damage("DELETE FROM events WHERE position = 7"), 7);
    assert_eq!(damage("DELETE FROM events WHERE position = 5"), 5);
    assert_eq!(
        damage("UPDATE events SET payload = zeroblob(length(payload)) WHERE position = 3"),
        3
    );
    assert_eq!(
        damage("UPDATE events SET order_key = order_key || 'x' WHERE position = 2"),
        2
    );
    assert_eq!(
        damage("UPDATE events SET sum = sum + 1 WHERE position = 1"),
        1
    );
}
