//! Ended tasks in segments of the log.

use agenthub_proto::{
    a2a::{Artifact, Part, TaskState, TaskStatus},
    agenthub::{ListTasksRequest, TaskArtifactUpdateEvent, TaskStatusUpdateEvent},
};

use super::*;
use crate::{Caller, Hub, Storage, log::Segment, snapshot::ended, steps, tasks::Content};

/// An hour ago: everything has settled since.
fn long_ago() -> SystemTime {
    SystemTime::now() - Duration::from_secs(3_600)
}

fn update(payload: Payload) -> Entry {
    let routing = AgentEventMetadata {
        from_agent_id: "worker".into(),
        ..Default::default()
    };
    let event = AgentEvent {
        event_id: "update".into(),
        routing: Some(routing),
        payload: Some(payload),
        ..Default::default()
    };
    Entry::Published(Published {
        event: Arc::new(event.into()),
        route: Route::To(Vec::new()),
        assignee: None,
        passes_by: false,
        key: None,
    })
}

/// Events of a task from its request to its end.
fn whole(task: &str) -> [Entry; 3] {
    let artifact = TaskArtifactUpdateEvent {
        task_id: task.into(),
        context_id: "c".into(),
        artifact: Some(Artifact {
            artifact_id: "a".into(),
            parts: vec![Part::text(format!("result of {task}"))],
            ..Default::default()
        }),
        ..Default::default()
    };
    let done = TaskStatusUpdateEvent {
        task_id: task.into(),
        context_id: "c".into(),
        status: Some(TaskStatus {
            state: TaskState::Completed.into(),
            ..Default::default()
        }),
        ..Default::default()
    };
    [
        work(task, "worker"),
        update(Payload::ArtifactUpdate(artifact)),
        update(Payload::StatusUpdate(done)),
    ]
}

/// Appends tasks that ended at some time.
async fn end(log: &mut SqliteLog, tasks: std::ops::Range<usize>, time: SystemTime) {
    let mut last = Position(0);
    for n in tasks {
        for entry in whole(&format!("t{n}")) {
            last = log.next_position();
            log.append(Record {
                position: last,
                time,
                namespace: "default".into(),
                principal: "someone".into(),
                order: entry.order(),
                entry,
            });
        }
        log.commit();
    }
    safe(log, last).await;
}

/// A log with this many ended tasks, all in segments.
async fn apart(folder: &Path, tasks: usize) -> SqliteLog {
    let (mut log, _) = open(folder).expect("it opens");
    end(&mut log, 0..tasks, long_ago()).await;
    let done = keep(&log.upkeep(), &Settings::default(), None, &|| false).expect("it is kept");
    assert_eq!(done.ended, Some(3 * tasks as u64));
    log
}

/// The artifact of a task whose content is only in the log.
fn stored(log: &SqliteLog, state: &State, task: &str) -> Option<String> {
    let Content::Stored(changed) = state.tasks.get(task)?.content() else {
        return None;
    };
    let segments = log.history().ended(&[changed]).expect("it is read");
    let found = segments
        .iter()
        .flat_map(|s| ended::contents(s, &[changed]).expect("sound"));
    let (_, task) = found.last()?;
    Some(task.artifacts[0].text())
}

/// spec: HUB-3
#[tokio::test]
async fn an_ended_task_is_known_after_a_restart_and_read_from_the_log() {
    let folder = tempfile::tempdir().expect("a folder");
    drop(apart(folder.path(), 500).await);
    let (log, state) = open(folder.path()).expect("it opens");
    assert_eq!(state.tasks.len(), 500);
    for task in ["t0", "t250", "t499"] {
        let known = state.tasks.get(task).expect("it is known");
        assert_eq!(known.state(), TaskState::Completed);
        assert_eq!((known.context(), &**known.requester()), ("c", "asker"));
        assert_eq!(known.initiator(), "alice");
        assert!(
            state
                .tasks
                .made_by(task, state.dedupe.fingerprint(&key(task)))
                .is_some()
        );
        assert_eq!(
            stored(&log, &state, task),
            Some(format!("result of {task}"))
        );
    }
}

/// Promises 8 and 9, for tasks whose content is not in memory.
#[tokio::test]
async fn a_hub_answers_with_tasks_that_are_in_its_log_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    drop(apart(folder.path(), 120).await);
    let hub = Hub::start(Settings {
        storage: Storage::Folder(folder.path().into()),
        ..Settings::default()
    });
    let (hub, caller) = (hub.expect("it starts"), Caller::anonymous());
    let task = hub.task(&caller, "t7", -1).await.expect("it is known").0;
    assert_eq!(task.artifacts[0].text(), "result of t7");
    assert_eq!(
        (task.state(), task.history.len()),
        (TaskState::Completed, 0)
    );
    let unknown = hub.task(&caller, "t120", 0).await;
    assert!(matches!(unknown, Err(Error::NotFound(_))), "{unknown:?}");
    let mut request = ListTasksRequest {
        agent_id: "worker".into(),
        states: vec![TaskState::Completed.into()],
        page_size: 50,
        ..Default::default()
    };
    let mut listed = Vec::new();
    loop {
        let page = hub.list_tasks(&caller, &request).await.expect("a page");
        assert!(page.tasks.iter().all(|t| t.history.len() == 1));
        listed.extend(page.tasks.into_iter().map(|t| t.id));
        request.page_token = page.next_page_token;
        if request.page_token.is_empty() {
            break;
        }
    }
    let expected: Vec<String> = (0..120).rev().map(|n| format!("t{n}")).collect();
    assert_eq!(listed, expected);
    for (principal, total) in [("alice", 120), ("bob", 0)] {
        let request = ListTasksRequest {
            on_behalf_of: principal.into(),
            count: true,
            ..Default::default()
        };
        let page = hub.list_tasks(&caller, &request).await.expect("a page");
        assert_eq!(page.total_size, total, "{principal}");
    }
    let again = hub.cancel_task(&caller, "t7", "").await;
    assert!(
        matches!(again, Err(Error::FailedPrecondition(_))),
        "{again:?}"
    );
    hub.stop().await;
}

/// No task is written twice.
#[tokio::test]
async fn a_snapshot_costs_what_ended_since_the_one_before() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut log = apart(folder.path(), 1_000).await;
    end(&mut log, 1_000..1_010, long_ago()).await;
    let settings = Settings::default();
    let (steps, done) = steps::count(|| keep(&log.upkeep(), &settings, None, &|| false));
    assert_eq!(done.expect("it is kept").ended, Some(3 * 1_010));
    assert!(steps <= 4 * 10, "{steps}");
    drop(log);
    let (log, state) = open(folder.path()).expect("it opens");
    assert_eq!(state.tasks.len(), 1_010);
    assert_eq!(stored(&log, &state, "t3").as_deref(), Some("result of t3"));
    assert_eq!(
        stored(&log, &state, "t1005").as_deref(),
        Some("result of t1005")
    );
}

/// Tasks of the last minute are not written with each snapshot: the hub knows better than a clock which tasks have
/// settled.
#[tokio::test]
async fn a_task_lies_apart_once_the_hub_has_settled_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut log, _) = open(folder.path()).expect("it opens");
    end(&mut log, 0..5, SystemTime::now()).await;
    let kept = |upto, position| {
        let settled = SettledTasks {
            upto,
            position: Position(position),
        };
        let settings = Settings::default();
        keep(&log.upkeep(), &settings, Some(settled), &|| false).expect("it is kept")
    };
    // The log ends before the hub's position: a task may have changed since.
    assert_eq!(kept(9, 16).ended, Some(0));
    drop(log);
    let (mut log, _) = open(folder.path()).expect("it opens");
    end(&mut log, 5..6, SystemTime::now()).await;
    let settled = SettledTasks {
        upto: 10,
        position: Position(15),
    };
    let settings = Settings::default();
    let done = keep(&log.upkeep(), &settings, Some(settled), &|| false).expect("it is kept");
    assert_eq!(done.ended, Some(9), "three have settled");
    drop(log);
    let (log, state) = open(folder.path()).expect("it opens");
    assert_eq!(state.tasks.len(), 6);
    assert_eq!(stored(&log, &state, "t2").as_deref(), Some("result of t2"));
    let content = state.tasks.get("t3").expect("it is known").content();
    assert!(content.task().is_ok(), "it is in the snapshot");
}

/// A fold of the log uses the hub's settled tasks.
#[tokio::test(start_paused = true)]
async fn a_hub_says_how_far_its_tasks_have_settled() {
    let mut tasks = State::new(&Settings::default()).tasks;
    assert_eq!(tasks.settled_upto(), 0);
    let mut state = State::new(&Settings::default());
    for (n, entry) in ["a", "b"].iter().flat_map(|task| whole(task)).enumerate() {
        let record = Record {
            position: Position(n as u64 + 1),
            time: long_ago(),
            namespace: String::new(),
            principal: String::new(),
            order: entry.order(),
            entry,
        };
        state.apply(&record, tokio::time::Instant::now());
    }
    std::mem::swap(&mut tasks, &mut state.tasks);
    assert_eq!(tasks.settled_upto(), 0, "they have only ended");
    tasks.settle_upto(3);
    assert_eq!((tasks.settled_upto(), tasks.len()), (3, 2));
    tasks.settle(Duration::ZERO, SystemTime::now());
    assert_eq!(tasks.settled_upto(), 6);
}

#[tokio::test]
async fn a_task_that_has_just_ended_is_in_the_snapshot() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut log, _) = open(folder.path()).expect("it opens");
    end(&mut log, 0..3, SystemTime::now()).await;
    let done = keep(&log.upkeep(), &Settings::default(), None, &|| false).expect("it is kept");
    assert_eq!(done.ended, Some(0));
    drop(log);
    let (_log, state) = open(folder.path()).expect("it opens");
    let content = state.tasks.get("t1").expect("it is known").content();
    assert_eq!(
        content.task().expect("in memory").artifacts[0].text(),
        "result of t1"
    );
}

#[tokio::test]
async fn segments_of_a_snapshot_that_was_not_finished_count_for_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut log = apart(folder.path(), 5).await;
    end(&mut log, 5..8, long_ago()).await;
    let left_over = Segment {
        first: 16,
        last: 18,
        tasks: 1,
        bytes: 1,
        ended_us: 0,
        heads: Vec::new(),
        contents: vec![9],
    };
    let written = log.upkeep().write_ended(15, |each| each(left_over));
    written.expect("it is written");
    drop(log);
    let (log, state) = open(folder.path()).expect("it opens");
    assert_eq!(state.tasks.len(), 8);
    keep(&log.upkeep(), &Settings::default(), None, &|| false).expect("it is kept");
    drop(log);
    let (log, state) = open(folder.path()).expect("it opens");
    assert_eq!(stored(&log, &state, "t5").as_deref(), Some("result of t5"));
}

/// Settings limit ended tasks in number, age and bytes, in memory and on disk.
#[tokio::test]
async fn no_more_ended_tasks_are_kept_than_the_settings_say() {
    const TASKS: usize = 3_000;
    let few = Settings {
        ended_tasks: 1_000,
        ..Settings::default()
    };
    let small = Settings {
        ended_tasks_bytes: 100_000,
        ..Settings::default()
    };
    let young = Settings {
        ended_tasks_age: Duration::from_secs(60),
        ..Settings::default()
    };
    for (settings, least, most) in [(few, 1_000, 1_500), (small, 300, 1_200), (young, 0, 0)] {
        let folder = tempfile::tempdir().expect("a folder");
        let log = apart(folder.path(), TASKS).await;
        let mut log = log;
        end(&mut log, TASKS..TASKS + 1, long_ago()).await;
        keep(&log.upkeep(), &settings, None, &|| false).expect("it is kept");
        drop(log);
        let (_log, state) = open(folder.path()).expect("it opens");
        let kept = state.tasks.len();
        assert!((least..=most).contains(&kept), "{kept} are left");
    }
}

#[tokio::test]
async fn a_damaged_segment_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    drop(apart(folder.path(), 5).await);
    maintenance::verify(folder.path()).expect("it is sound");
    let database = rusqlite::Connection::open(folder.path().join(FILE)).expect("it opens");
    database
        .execute("UPDATE ended SET contents = x'00'", [])
        .expect("it is damaged");
    drop(database);
    let report = maintenance::verify(folder.path());
    assert!(
        matches!(&report, Err(OpenError::Snapshot { reason, .. }) if reason.contains("ended tasks")),
        "{report:?}"
    );
}

/// A log with ended tasks inside its snapshot, as in schema 2, and tasks that ended after that.
#[test]
fn the_log_of_schema_2_is_read() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/log-v2.db");
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::copy(golden, folder.path().join(FILE)).expect("copied");
    let known = |state: &State, log: &SqliteLog| {
        assert_eq!(state.tasks.len(), 12);
        for task in ["t0", "t1", "t3", "t4"] {
            let entry = state.tasks.get(task).expect("it is known");
            assert_eq!(entry.state(), TaskState::Completed);
            let result = match entry.content().task() {
                Ok(task) => Some(task.artifacts[0].text()),
                Err(_) => stored(log, state, task),
            };
            assert_eq!(result, Some(format!("result of {task}")));
            assert!(
                state
                    .tasks
                    .made_by(task, state.dedupe.fingerprint(&key(task)))
                    .is_some()
            );
        }
        let open = state.tasks.get("t2").expect("it is known");
        assert_eq!(open.state(), TaskState::Submitted);
    };
    let (log, state) = open(folder.path()).expect("it opens");
    known(&state, &log);
    let done = keep(&log.upkeep(), &Settings::default(), None, &|| false).expect("it is kept");
    assert_ne!(
        done.ended,
        Some(0),
        "those of the old snapshot lie apart as well"
    );
    drop(log);
    let (log, state) = open(folder.path()).expect("it opens");
    known(&state, &log);
    drop(log);
    maintenance::verify(folder.path()).expect("it is sound");
}
