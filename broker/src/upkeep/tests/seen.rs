//! Deduplicated publishes in segments of the log.

use super::*;
use crate::{log::SeenSegment, snapshot::seen::segments, steps};

/// A message without task and recipient.
fn message(id: &str) -> Entry {
    let message = Message {
        context_id: "c".into(),
        message_id: id.into(),
        ..Message::new(Role::User, "text")
    };
    let routing = AgentEventMetadata {
        from_agent_id: "asker".into(),
        ..Default::default()
    };
    let event = AgentEvent {
        event_id: format!("evt_{id}_3"),
        routing: Some(routing),
        payload: Some(Payload::Message(message)),
        ..Default::default()
    };
    Entry::Published(Published {
        event: Arc::new(event.into()),
        route: Route::To(Vec::new()),
        assignee: None,
        passes_by: false,
        key: Some((Arc::new(key(id)), digest(id.as_bytes(), ""))),
    })
}

/// Appends messages that were published at some time.
async fn publish(log: &mut SqliteLog, ids: std::ops::Range<usize>, time: SystemTime) -> Position {
    let mut last = Position(0);
    for n in ids {
        last = log.next_position();
        let entry = message(&format!("m{n}"));
        log.append(Record {
            position: last,
            time,
            namespace: "default".into(),
            principal: "someone".into(),
            order: entry.order(),
            entry,
        });
        log.commit();
    }
    safe(log, last).await;
    last
}

fn kept(log: &SqliteLog) -> Done {
    keep(&log.upkeep(), &Settings::default(), None, &|| false).expect("it is kept")
}

/// Position of a remembered publish.
fn known(state: &State, n: usize) -> Option<Position> {
    let publish = state.dedupe.fingerprint(&key(&format!("m{n}")));
    let seen = state.dedupe.get(publish, tokio::time::Instant::now());
    seen.map(|seen| seen.position)
}

/// Promise 4, over restarts and snapshots.
#[tokio::test]
async fn publishes_are_known_after_a_restart_from_each_of_the_snapshots() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut log, _) = open(folder.path()).expect("it opens");
    for round in 0..3 {
        publish(&mut log, 10 * round..10 * (round + 1), SystemTime::now()).await;
        kept(&log);
    }
    publish(&mut log, 30..35, SystemTime::now()).await;
    drop(log);
    let (_log, state) = open(folder.path()).expect("it opens");
    for n in 0..35 {
        assert_eq!(known(&state, n), Some(Position(n as u64 + 1)), "{n}");
    }
    assert_eq!(known(&state, 35), None);
    assert_eq!(state.dedupe.iter().count(), 35, "each is known once");
}

/// No publish is written twice.
#[tokio::test]
async fn a_snapshot_costs_what_was_published_since_the_one_before() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut log, _) = open(folder.path()).expect("it opens");
    publish(&mut log, 0..1_000, SystemTime::now()).await;
    kept(&log);
    publish(&mut log, 1_000..1_010, SystemTime::now()).await;
    let (steps, _) = steps::count(|| kept(&log));
    assert!(steps <= 2 * 10, "{steps}");
}

#[tokio::test]
async fn publishes_out_of_the_window_leave_the_log() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut log, _) = open(folder.path()).expect("it opens");
    let ago = |seconds| SystemTime::now() - Duration::from_secs(seconds);
    // A segment as written by a snapshot an hour ago.
    let hour_old = SeenSegment {
        first: 1,
        last_us: snapshot::micros(ago(3_600)),
        publishes: Vec::new(),
    };
    let last = publish(&mut log, 0..10, ago(300)).await;
    let upkeep = log.upkeep();
    upkeep
        .write_seen(Position(0), [hour_old].into_iter(), &|| false)
        .expect("it is written");
    let settings = Settings::default();
    let window = settings.dedupe_window;
    let done = keep(&upkeep, &settings, None, &|| false).expect("it is kept");
    assert_eq!(done.snapshot, last);
    let count = || {
        let database = rusqlite::Connection::open(folder.path().join(FILE)).expect("it opens");
        database
            .query_one("SELECT count(*) FROM seen", [], |row| row.get::<_, i64>(0))
            .expect("a number")
    };
    assert_eq!(count(), 1, "those of five minutes ago are known");
    upkeep
        .trim_seen(snapshot::micros(ago(300) + Duration::from_secs(1)))
        .expect("it is trimmed");
    assert_eq!(count(), 0);
    assert!(window < Duration::from_secs(3_600));
}

#[tokio::test]
async fn segments_of_a_snapshot_that_was_not_finished_count_for_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut log, _) = open(folder.path()).expect("it opens");
    let first = publish(&mut log, 0..3, SystemTime::now()).await;
    kept(&log);
    publish(&mut log, 3..6, SystemTime::now()).await;
    let left_over = SeenSegment {
        first: first.0 + 1,
        last_us: i64::MAX,
        publishes: vec![9],
    };
    let written = log
        .upkeep()
        .write_seen(first, [left_over].into_iter(), &|| false);
    written.expect("it is written");
    drop(log);
    let (log, state) = open(folder.path()).expect("it opens");
    assert_eq!(state.dedupe.iter().count(), 6);
    kept(&log);
    drop(log);
    let (_log, state) = open(folder.path()).expect("it opens");
    assert_eq!(state.dedupe.iter().count(), 6);
}

#[tokio::test]
async fn a_damaged_segment_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut log, _) = open(folder.path()).expect("it opens");
    publish(&mut log, 0..3, SystemTime::now()).await;
    kept(&log);
    drop(log);
    maintenance::verify(folder.path()).expect("it is sound");
    let database = rusqlite::Connection::open(folder.path().join(FILE)).expect("it opens");
    database
        .execute("UPDATE seen SET publishes = x'00'", [])
        .expect("it is damaged");
    drop(database);
    let report = maintenance::verify(folder.path());
    assert!(
        matches!(&report, Err(OpenError::Snapshot { reason, .. }) if reason.contains("known publishes")),
        "{report:?}"
    );
}

#[tokio::test]
async fn segments_hold_what_is_known_in_its_order() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut log, _) = open(folder.path()).expect("it opens");
    publish(&mut log, 0..20_000, SystemTime::now()).await;
    drop(log);
    let (_log, state) = open(folder.path()).expect("it opens");
    let segments: Vec<SeenSegment> = segments(&state.dedupe, Moment::now()).collect();
    let firsts: Vec<u64> = segments.iter().map(|segment| segment.first).collect();
    assert_eq!(firsts, [1, 16_385]);
}
