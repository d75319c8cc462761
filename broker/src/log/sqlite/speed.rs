//! Startup time of a long log.

use std::{
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use agenthub_proto::{
    a2a::{AgentCard, Message, Role, TaskState, TaskStatus},
    agenthub::{AgentEvent, AgentEventMetadata, TaskStatusUpdateEvent, agent_event::Payload},
};
use rusqlite::params;

use super::{row::Row, *};
use crate::{
    Settings,
    dedupe::{Key, digest},
    filter::Filter,
    id::AgentId,
    log::{Entry, Published, Registration},
    routing::Route,
    snapshot::{Folding, Moment},
    upkeep,
};

const RECORDS: u64 = 1_000_000;
const BOUND: Duration = Duration::from_secs(5);

fn published(payload: Payload, to: &str, key: Option<String>) -> Entry {
    let routing = AgentEventMetadata {
        from_agent_id: "asker".into(),
        to_agent_id: to.into(),
        event_type: "a2a.message".into(),
        traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".into(),
        ..Default::default()
    };
    let event = AgentEvent {
        event_id: "evt_0123456789_0123456789".into(),
        trace_id: "0af7651916cd43dd8448eb211c80319c".into(),
        span_id: "b7ad6b7169203331".into(),
        routing: Some(routing),
        payload: Some(payload),
        ..Default::default()
    };
    Entry::Published(Published {
        event: Arc::new(event.into()),
        route: Route::To(vec![AgentId::from(to).into()]),
        assignee: Some("worker".into()),
        passes_by: false,
        key: key.map(|id| {
            let key = Key {
                sender: "asker".into(),
                order: "c".into(),
                id,
            };
            (Arc::new(key), digest(b"body", ""))
        }),
    })
}

/// A task, its outcome and the acknowledgements of both sides are five records.
fn entry(position: u64) -> Entry {
    let task = format!("task-{}", position / 5);
    let context = format!("context-{}", position / 50);
    let status = |state: TaskState| {
        Payload::StatusUpdate(TaskStatusUpdateEvent {
            task_id: task.clone(),
            context_id: context.clone(),
            status: Some(TaskStatus {
                state: state.into(),
                ..Default::default()
            }),
            ..Default::default()
        })
    };
    match (position, position % 5) {
        (1, _) => Entry::Registered(Registration {
            card: AgentCard {
                name: "worker".into(),
                ..Default::default()
            },
            topics: vec!["work".into()],
            health_check_url: String::new(),
        }),
        (2 | 3, _) => Entry::Subscribed {
            agent: ["worker", "asker"][usize::from(position == 3)].into(),
            name: "inbox".into(),
            filter: Filter::default(),
            claims: Vec::new(),
            ordered: false,
        },
        (_, 0) => {
            let message = Message {
                message_id: task.clone(),
                task_id: task.clone(),
                context_id: context.clone(),
                ..Message::new(Role::User, "a question of some length ".repeat(8))
            };
            let message = message.with_metadata("task_type", "work");
            published(Payload::Message(message), "worker", Some(task.clone()))
        }
        (_, 1) => published(status(TaskState::Working), "asker", None),
        (_, 2) => published(status(TaskState::Completed), "asker", None),
        (_, 3) => acknowledged("worker", &[position - 3]),
        (_, _) => acknowledged("asker", &[position - 3, position - 2]),
    }
}

fn acknowledged(agent: &str, positions: &[u64]) -> Entry {
    Entry::Acknowledged {
        agent: agent.into(),
        name: "inbox".into(),
        positions: positions.iter().copied().map(Position).collect(),
    }
}

fn build(folder: &Path) {
    let options = Options::default();
    drop(SqliteLog::open(folder, &options, |_| Ok(())).expect("it is made"));
    let connection = schema::open(&folder.join(FILE), None).expect("it opens");
    connection
        .pragma_update(None, "wal_autocheckpoint", 1000)
        .expect("it is known");
    let begin = SystemTime::now() - Duration::from_secs(3600);
    let transaction = connection.unchecked_transaction().expect("it begins");
    let mut packer = Packer::default();
    let mut insert = transaction
        .prepare("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?)")
        .expect("the table is there");
    for position in 1..=RECORDS {
        let entry = entry(position);
        let row = Row::from(Record {
            position: Position(position),
            time: begin + Duration::from_millis(position),
            namespace: "default".into(),
            principal: "anonymous".into(),
            order: entry.order(),
            entry,
        });
        let (payload, sum) = row.written(&mut packer);
        insert
            .execute(params![
                row.position.cast_signed(),
                row.time_us,
                row.kind,
                row.namespace,
                &*row.order,
                row.principal,
                payload,
                sum
            ])
            .expect("it is written");
    }
    drop(insert);
    extent::set(&transaction, None, RECORDS).expect("it is written");
    transaction.commit().expect("it is written");
}

fn ready(folder: &Path) -> (SqliteLog, Duration) {
    let begin = Instant::now();
    let settings = Settings::default();
    let options = Options::default();
    let mut folding = Folding::new(&settings, Moment::now());
    let log = SqliteLog::open(folder, &options, |found| folding.take(found)).expect("it opens");
    let state = folding.finish();
    assert!(state.tasks.len() as u64 >= RECORDS / 5);
    (log, begin.elapsed())
}

/// A log of a million events is ready in less than 5 s, with and without a snapshot.
#[test]
#[ignore = "says something in a release build only, and takes a minute"]
fn a_million_records_are_ready_soon() {
    let folder = tempfile::tempdir().expect("a folder");
    build(folder.path());
    let (log, whole) = ready(folder.path());
    println!("ready in {whole:?} from the whole log");
    let begin = Instant::now();
    upkeep::keep(&log.upkeep(), &Settings::default(), None, &|| false).expect("it is kept");
    println!("snapshot taken in {:?}", begin.elapsed());
    drop(log);
    let (_log, short) = ready(folder.path());
    println!("ready in {short:?} from a snapshot");
    assert!(short < whole && whole < BOUND, "{whole:?}, {short:?}");
}
