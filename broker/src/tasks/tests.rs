mod filters;
mod settled;
mod states;
mod status_order;

use std::time::Duration;

use agenthub_proto::{
    a2a::{Artifact, Message, Part, Role, Task, TaskState, TaskStatus},
    agenthub::{AgentEventMetadata, TaskArtifactUpdateEvent, TaskStatusUpdateEvent},
    event::timestamp,
    json,
};

use super::*;

const START: SystemTime = SystemTime::UNIX_EPOCH;

fn routing(from: &str) -> AgentEventMetadata {
    AgentEventMetadata {
        from_agent_id: from.into(),
        ..Default::default()
    }
}

fn message(task: &str, context: &str) -> Message {
    Message {
        task_id: task.into(),
        context_id: context.into(),
        ..Message::new(Role::User, "do it")
    }
}

fn status(task: &str, state: TaskState) -> TaskStatusUpdateEvent {
    TaskStatusUpdateEvent {
        task_id: task.into(),
        status: Some(TaskStatus {
            state: state.into(),
            ..Default::default()
        }),
        ..Default::default()
    }
}

const BOUNDS: Bounds = Bounds {
    open: 100,
    ended: 100,
    ended_age: Duration::from_secs(1_000_000),
    ended_bytes: u64::MAX,
    bytes: usize::MAX,
};

fn keeping(ended: usize) -> Tasks {
    Tasks::new(Bounds { ended, ..BOUNDS })
}

fn store() -> Tasks {
    let mut tasks = keeping(100);
    for (n, context) in ["x", "y", "x", "x"].into_iter().enumerate() {
        tasks.apply_message(
            &message(&format!("t{n}"), context),
            &routing("asker"),
            Some(&"worker".into()),
            START,
        );
    }
    tasks
}

fn task(tasks: &Tasks, id: &str) -> Task {
    let known = tasks.get(id).expect("it is known");
    known.content().task().expect("it is in memory")
}

fn ids(page: Vec<Content>) -> Vec<String> {
    let tasks = page.into_iter().map(|content| content.task());
    tasks.map(|task| task.expect("in memory").id).collect()
}

/// spec: HUB-3
#[test]
fn a_message_creates_its_task_and_the_next_extends_it() {
    let mut tasks = store();
    tasks.apply_message(&message("t0", "x"), &routing("asker"), None, START);
    let task = task(&tasks, "t0");
    assert_eq!(task.history.len(), 2);
    assert_eq!(task.state(), TaskState::Submitted);
    assert_eq!((task.requester(), task.assignee()), ("asker", "worker"));
    assert_eq!(with_history(task.clone(), 1).history.len(), 1);
    assert_eq!(with_history(task.clone(), 9).history.len(), 2);
    assert_eq!(with_history(task, -1).history.len(), 0);
}

#[test]
fn listing_is_newest_first_and_pages_fit_together() {
    let mut tasks = store();
    tasks.apply_status(&status("t1", TaskState::Working), None, START);
    let page = |tasks: &Tasks, query: Query| {
        let page = tasks.list(&query);
        (ids(page.tasks), page.next)
    };
    let first = Query {
        limit: 3,
        ..Query::default()
    };
    let (one, next) = page(&tasks, first.clone());
    assert_eq!(one, ["t1", "t3", "t2"]);
    assert_eq!(
        page(
            &tasks,
            Query {
                before: next,
                ..first.clone()
            }
        ),
        (vec!["t0".into()], None)
    );

    let all = Query {
        limit: 9,
        ..Query::default()
    };
    let with = |query| page(&tasks, query).0;
    assert_eq!(
        with(Query {
            context: Some("x".into()),
            ..all.clone()
        }),
        ["t3", "t2", "t0"]
    );
    assert_eq!(
        with(Query {
            states: vec![TaskState::Working],
            ..all.clone()
        }),
        ["t1"]
    );
    assert_eq!(
        with(Query {
            agent: Some("worker".into()),
            ..all.clone()
        })
        .len(),
        4
    );
    assert_eq!(
        with(Query {
            agent: Some("asker".into()),
            ..all.clone()
        })
        .len(),
        4
    );
    assert_eq!(
        with(Query {
            agent: Some("other".into()),
            ..all
        })
        .len(),
        0
    );
}

#[test]
fn open_tasks_are_counted_until_they_end() {
    let mut tasks = store();
    let worker = AgentId::from("worker");
    assert_eq!(tasks.in_flight(&worker), 4);
    tasks.apply_status(&status("t1", TaskState::Completed), None, START);
    tasks.apply_status(&status("t1", TaskState::Completed), None, START);
    assert_eq!(tasks.in_flight(&worker), 3);
    assert_eq!(tasks.open_of(&worker, 10).len(), 3);
}

#[test]
fn what_a_task_used_stays_known_if_it_is_short() {
    let mut tasks = store();
    for (task, usage, is_kept) in [
        ("t0", serde_json::json!({"tokens": 12}), true),
        ("t1", serde_json::json!("x".repeat(300)), false),
    ] {
        let mut last = status(task, TaskState::Completed);
        let told = serde_json::json!({"usage": usage, "model": "offline"});
        last.metadata = Some(json::to_struct(&told));
        tasks.apply_status(&last, None, START);
        let metadata = self::task(&tasks, task).metadata.unwrap_or_default();
        let kept = metadata.fields.get("usage");
        assert_eq!(kept.map(json::from_value), is_kept.then_some(usage));
        let model = metadata.fields.get("model").map(json::from_value);
        assert_eq!(model, Some("offline".into()));
    }
}

#[test]
fn deadlines_are_watched_until_the_end() {
    let mut tasks = keeping(9);
    let soon = START + Duration::from_secs(5);
    let routing = AgentEventMetadata {
        deadline: Some(timestamp(soon)),
        ..routing("asker")
    };
    tasks.apply_message(&message("t", "x"), &routing, None, START);
    assert!(tasks.overdue(9, START).is_empty());
    assert_eq!(tasks.overdue(9, soon), ["t".into()]);
    tasks.apply_status(&status("t", TaskState::Failed), None, soon);
    assert!(tasks.overdue(9, soon).is_empty());
}

#[test]
fn chunks_of_an_artifact_become_one() {
    let mut tasks = store();
    let chunk = |text: &str, append| TaskArtifactUpdateEvent {
        task_id: "t0".into(),
        artifact: Some(Artifact {
            artifact_id: "a".into(),
            parts: vec![Part::text(text)],
            ..Default::default()
        }),
        append,
        ..Default::default()
    };
    tasks.apply_artifact(&chunk("one", true), None);
    tasks.apply_artifact(&chunk("two", true), None);
    assert_eq!(task(&tasks, "t0").artifacts[0].text(), "one\ntwo");
    tasks.apply_artifact(&chunk("three", false), None);
    assert_eq!(task(&tasks, "t0").artifacts[0].text(), "three");
}

#[test]
fn only_so_many_ended_tasks_are_kept() {
    let mut tasks = keeping(2);
    for n in 0..4 {
        tasks.apply_message(
            &message(&format!("t{n}"), ""),
            &routing("asker"),
            None,
            START,
        );
        tasks.apply_status(&status(&format!("t{n}"), TaskState::Completed), None, START);
    }
    assert_eq!(tasks.len(), 2);
    assert!(tasks.get("t0").is_none() && tasks.get("t3").is_some());
    assert_eq!(
        tasks
            .list(&Query {
                limit: 9,
                ..Query::default()
            })
            .tasks
            .len(),
        2
    );
}

#[test]
fn all_tasks_together_are_bounded() {
    let mut tasks = Tasks::new(Bounds {
        open: 2,
        bytes: 30_000,
        ..BOUNDS
    });
    let big = |task: &str| Message {
        content: vec![Part::text("x".repeat(10_000))],
        ..message(task, "")
    };
    for n in 0..9 {
        assert!(tasks.has_room_for_another());
        let task = format!("t{n}");
        tasks.apply_message(&big(&task), &routing("asker"), None, START);
        tasks.apply_status(&status(&task, TaskState::Completed), None, START);
        assert!(tasks.bytes() <= 30_000);
    }
    assert_eq!(tasks.len(), 2, "the latest that fit");
    for task in ["a", "b"] {
        tasks.apply_message(&big(task), &routing("asker"), None, START);
    }
    assert!(!tasks.has_room_for_another(), "two are open");
    tasks.apply_message(&big("a"), &routing("asker"), None, START);
    assert!(!tasks.has_room(), "and nothing has ended that could go");
    for task in ["a", "b"] {
        tasks.apply_status(&status(task, TaskState::Failed), None, START);
    }
    assert!(tasks.has_room_for_another());
}

#[test]
fn what_an_artifact_replaces_does_not_count() {
    let mut tasks = store();
    let before = tasks.bytes();
    let full = |text: &str| TaskArtifactUpdateEvent {
        task_id: "t0".into(),
        artifact: Some(Artifact {
            artifact_id: "a".into(),
            parts: vec![Part::text(text)],
            ..Default::default()
        }),
        ..Default::default()
    };
    for _ in 0..10 {
        tasks.apply_artifact(&full(&"x".repeat(1000)), None);
    }
    let added = tasks.bytes() - before;
    assert!((1000..1100).contains(&added), "{added}");
}
