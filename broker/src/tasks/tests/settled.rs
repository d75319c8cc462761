//! Large numbers of ended tasks.

use prost::Message as _;

use super::*;
use crate::{allocated, log::Position, steps};

const LATE: Duration = Duration::from_secs(5);

/// A time when everything has settled.
fn later() -> SystemTime {
    START + Duration::from_secs(100)
}

/// A store with this many settled tasks. Every hundredth has a rare agent and context.
fn many(count: usize) -> Tasks {
    let mut tasks = Tasks::new(Bounds {
        ended: usize::MAX,
        ..BOUNDS
    });
    for n in 0..count {
        let (context, worker) = match n % 100 {
            0 => ("rare", "rare worker"),
            _ => ("usual", "worker"),
        };
        let id = format!("t{n}");
        let worker = AgentId::from(worker);
        tasks.apply_message(
            &message(&id, context),
            &routing("asker"),
            Some(&worker),
            START,
        );
        tasks.apply_status(&status(&id, TaskState::Completed), None, START);
    }
    settle_all(&mut tasks);
    tasks
}

fn settle_all(tasks: &mut Tasks) {
    while !tasks.settle(LATE, later()).is_empty() {}
}

fn all_pages(tasks: &Tasks, mut query: Query) -> Vec<String> {
    let mut found = Vec::new();
    loop {
        let page = tasks.list(&query);
        found.extend(ids(page.tasks));
        query.before = page.next;
        if query.before.is_none() {
            return found;
        }
    }
}

#[test]
fn a_settled_task_is_what_it_was() {
    let mut tasks = store();
    let mut last = status("t1", TaskState::Failed);
    last.metadata = Some(json::to_struct(
        &serde_json::json!({"usage": {"tokens": 3}}),
    ));
    tasks.apply_status(&last, None, START);
    let before = task(&tasks, "t1");
    assert_eq!(tasks.settle(LATE, START + LATE), []);
    assert_eq!(tasks.settle(LATE, later()), ["t1".into()]);
    assert_eq!(task(&tasks, "t1"), before);
    let known = tasks.get("t1").expect("it is known");
    assert!(known.is_terminal() && !known.can_change(START, LATE));
    assert_eq!((known.context(), &**known.requester()), ("y", "asker"));
    assert_eq!(known.assignee(), Some(&"worker".into()));
    assert_eq!(known.bytes(), before.history[0].encoded_len());
}

#[test]
fn what_comes_late_joins_a_task_that_has_ended() {
    let mut tasks = store();
    tasks.apply_status(&status("t1", TaskState::Completed), None, START);
    let late = TaskArtifactUpdateEvent {
        task_id: "t1".into(),
        artifact: Some(Artifact {
            artifact_id: "a".into(),
            parts: vec![Part::text("late")],
            ..Default::default()
        }),
        ..Default::default()
    };
    tasks.apply_artifact(&late, None);
    tasks.apply_status(&status("t0", TaskState::Completed), None, START);
    settle_all(&mut tasks);
    assert_eq!(task(&tasks, "t1").artifacts[0].text(), "late");
    let ended = Query {
        states: vec![TaskState::Completed],
        limit: 9,
        ..Query::default()
    };
    assert_eq!(all_pages(&tasks, ended), ["t0", "t1"]);
}

#[test]
fn a_page_looks_at_the_tasks_of_its_agent_or_context_alone() {
    let tasks = many(20_000);
    let rare: Vec<String> = (0..200).rev().map(|n| format!("t{}", n * 100)).collect();
    for (agent, context) in [
        (Some("rare worker".into()), None),
        (None, Some("rare".to_owned())),
        (Some("asker".into()), Some("rare".to_owned())),
    ] {
        let query = Query {
            agent,
            context,
            limit: 50,
            ..Query::default()
        };
        let (steps, found) = steps::count(|| all_pages(&tasks, query));
        assert_eq!(found, rare);
        // Each page begins at the last task of the previous one.
        assert!(steps <= 2 * rare.len(), "{steps}");
    }
    let nobody = Query {
        agent: Some("nobody".into()),
        limit: 50,
        ..Query::default()
    };
    let (steps, found) = steps::count(|| all_pages(&tasks, nobody));
    assert_eq!((steps, found.len()), (0, 0));
}

#[test]
fn a_page_that_finds_little_goes_on_where_it_was() {
    let mut tasks = many(20_000);
    let last = message("last", "usual");
    tasks.apply_message(&last, &routing("asker"), Some(&"worker".into()), START);
    // The tasks of a context are not apart by their states.
    let query = Query {
        context: Some("usual".to_owned()),
        states: vec![TaskState::Submitted, TaskState::Failed],
        limit: 50,
        ..Query::default()
    };
    let (steps, page) = steps::count(|| tasks.list(&query));
    assert!(steps <= 4_096, "{steps}");
    assert!(page.next.is_some() && !page.is_full);
    assert_eq!(all_pages(&tasks, query), ["last"]);
}

#[test]
fn open_and_settled_tasks_are_listed_by_their_last_change() {
    let mut tasks = keeping(100);
    for n in 0..6 {
        tasks.apply_message(
            &message(&format!("t{n}"), "x"),
            &routing("asker"),
            None,
            START,
        );
    }
    for n in [4, 0, 2] {
        tasks.apply_status(&status(&format!("t{n}"), TaskState::Completed), None, START);
    }
    settle_all(&mut tasks);
    tasks.apply_status(&status("t3", TaskState::Working), None, START);
    for limit in 1..7 {
        let query = Query {
            limit,
            ..Query::default()
        };
        assert_eq!(
            all_pages(&tasks, query),
            ["t3", "t2", "t0", "t4", "t5", "t1"]
        );
    }
}

#[test]
fn the_bounds_on_ended_tasks_hold_in_number_bytes_and_age() {
    let mut tasks = many(1_000);
    tasks.bounds.ended = 700;
    tasks.make_room();
    assert_eq!(tasks.len(), 700);
    let each = tasks.settled.content() / 700;
    tasks.bounds.ended_bytes = each * 500;
    tasks.make_room();
    assert!((490..=510).contains(&tasks.len()), "{}", tasks.len());
    assert!(tasks.get("t0").is_none() && tasks.get("t999").is_some());
    tasks.bounds.ended_age = Duration::from_secs(60);
    tasks.tidy(START + Duration::from_secs(60));
    assert!(tasks.len() > 0);
    tasks.tidy(later());
    assert_eq!(tasks.len(), 0);
    assert_eq!(tasks.bytes(), 0, "nothing of them is left");
}

#[test]
fn an_id_is_free_once_its_task_is_forgotten() {
    let mut tasks = many(3);
    tasks.apply_message(&message("t1", "other"), &routing("asker"), None, START);
    let all = Query {
        limit: 9,
        ..Query::default()
    };
    assert_eq!(all_pages(&tasks, all.clone()), ["t1", "t2", "t0"]);
    tasks.apply_status(&status("t1", TaskState::Completed), None, START);
    settle_all(&mut tasks);
    assert_eq!(all_pages(&tasks, all.clone()), ["t1", "t2", "t0"]);
    tasks.bounds.ended = 1;
    tasks.make_room();
    assert_eq!(all_pages(&tasks, all), ["t1"]);
    assert_eq!(tasks.get("t1").map(|t| t.context()), Some("other"));
}

#[test]
fn contents_leave_the_memory_once_the_log_has_them() {
    let mut tasks = many(1_000);
    let before = tasks.bytes();
    let content = tasks.settled.content();
    tasks.set_stored(tasks.changes() / 2);
    tasks.tidy(later());
    let stored = |n: usize| {
        matches!(
            tasks.get(&format!("t{n}")).map(|t| t.content()),
            Some(Content::Stored(_))
        )
    };
    assert!(stored(0) && !stored(999));
    assert!(before - tasks.bytes() >= usize::try_from(content / 2).expect("small") - 1_000);
    assert_eq!(tasks.settled.content(), content, "they count still");
}

/// A task as the SDK makes it: 100 bytes each way, progress, a result, usage.
fn delegated(tasks: &mut Tasks, n: u64) {
    let uuid = |kind: u64| uuid::Uuid::from_u64_pair(n, kind).to_string();
    let (id, context) = (uuid(1), uuid(2));
    let request = Message {
        message_id: uuid(3),
        metadata: Some(json::to_struct(&serde_json::json!({"task_type": "echo"}))),
        ..Message::new(Role::User, "x".repeat(100))
    };
    let request = Message {
        task_id: id.clone(),
        context_id: context.clone(),
        ..request
    };
    let seen = PublishOutcome {
        digest: n,
        position: Position(n),
        stamp: 1_700_000_000,
    };
    tasks.apply_message(
        &request,
        &routing("agent_asker"),
        Some(&"agent_echo".into()),
        START,
    );
    tasks.set_made_by(&id, (Fingerprint::from([n, n]), seen));
    tasks.apply_status(&status(&id, TaskState::Working), None, START);
    let result = TaskArtifactUpdateEvent {
        task_id: id.clone(),
        artifact: Some(Artifact {
            artifact_id: uuid(5),
            name: "result".into(),
            parts: vec![Part::text("y".repeat(100))],
            ..Default::default()
        }),
        ..Default::default()
    };
    tasks.apply_artifact(&result, None);
    let mut last = status(&id, TaskState::Completed);
    last.metadata = Some(json::to_struct(
        &serde_json::json!({"usage": {"tokens": 12}}),
    ));
    tasks.apply_status(&last, None, START);
}

#[test]
fn an_ended_task_takes_little_memory() {
    const TASKS: u16 = 20_000;
    let each = |bytes: isize| bytes / isize::try_from(TASKS).expect("small");
    let store = || {
        Tasks::new(Bounds {
            ended: usize::MAX,
            ..BOUNDS
        })
    };
    let (fresh, _tasks) = allocated::by(|| {
        let mut tasks = store();
        (0..TASKS).for_each(|n| delegated(&mut tasks, n.into()));
        tasks
    });
    assert!(
        each(fresh) <= 2_048,
        "{} bytes when it has just ended",
        each(fresh)
    );
    let (settled, mut tasks) = allocated::by(|| {
        let mut tasks = store();
        for n in 0..TASKS {
            delegated(&mut tasks, n.into());
            if n % 1_000 == 999 {
                settle_all(&mut tasks);
            }
        }
        tasks
    });
    assert!(
        each(settled) <= 1_536,
        "{} bytes when it has settled",
        each(settled)
    );
    let counted = tasks.bytes().cast_signed();
    assert!(
        counted <= settled && settled <= 2 * counted,
        "{counted} are counted of {settled}"
    );
    let (left, ()) = allocated::by(|| {
        tasks.set_stored(u64::MAX);
        (0..TASKS).step_by(AT_ONCE).for_each(|_| tasks.tidy(START));
    });
    let stored = settled + left;
    assert!(
        each(stored) <= 768,
        "{} bytes when the log has it",
        each(stored)
    );
    println!(
        "{} fresh, {} settled, {} stored",
        each(fresh),
        each(settled),
        each(stored)
    );
}
