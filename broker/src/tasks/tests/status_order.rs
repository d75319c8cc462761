//! Listings by the time of the status.

use std::{cmp::Reverse, collections::HashMap};

use proptest::{collection::vec, prelude::*};

use super::*;
use crate::{snapshot::ended, steps};

const LATE: Duration = Duration::from_secs(5);

fn at(task: &str, state: TaskState, seconds: u64) -> TaskStatusUpdateEvent {
    let mut update = status(task, state);
    if let Some(status) = &mut update.status {
        status.timestamp = Some(timestamp(START + Duration::from_secs(seconds)));
    }
    update
}

fn late_artifact(task: &str) -> TaskArtifactUpdateEvent {
    TaskArtifactUpdateEvent {
        task_id: task.into(),
        artifact: Some(Artifact {
            artifact_id: "a".into(),
            ..Default::default()
        }),
        ..Default::default()
    }
}

fn of(agent: &str) -> StatusQuery {
    StatusQuery {
        initiator: None,
        agent: agent.into(),
        context: None,
        states: Vec::new(),
        since: None,
        before: None,
        limit: 50,
    }
}

fn pages(tasks: &Tasks, mut query: StatusQuery) -> Vec<String> {
    let mut found = Vec::new();
    loop {
        let page = tasks.list_by_status(&query);
        assert!(page.tasks.len() <= query.limit);
        found.extend(ids(page.tasks));
        query.before = page.next;
        if query.before.is_none() {
            return found;
        }
    }
}

fn add(tasks: &mut Tasks, task: &str, context: &str, worker: &str, seconds: u64) {
    let time = START + Duration::from_secs(seconds);
    let worker = AgentId::from(worker);
    tasks.apply_message(
        &message(task, context),
        &routing("asker"),
        Some(&worker),
        time,
    );
}

/// Many tasks of one worker that have settled, the latest last. Every hundredth has a rare context.
fn many(count: u64) -> Tasks {
    let mut tasks = Tasks::new(Bounds {
        ended: usize::MAX,
        ..BOUNDS
    });
    for n in 0..count {
        let task = format!("t{n}");
        let context = if n % 100 == 0 { "rare" } else { "usual" };
        add(&mut tasks, &task, context, "worker", n);
        tasks.apply_status(&at(&task, TaskState::Completed, n), None, START);
    }
    while !tasks.settle(LATE, START + LATE + LATE).is_empty() {}
    tasks
}

/// spec: A2A 1.0.1 §3.1.4
#[test]
fn what_changes_no_status_moves_no_task() {
    let mut tasks = keeping(100);
    for (n, task) in ["a", "b", "c"].into_iter().enumerate() {
        add(&mut tasks, task, "x", "worker", n as u64);
    }
    tasks.apply_artifact(&late_artifact("a"), None);
    tasks.apply_message(&message("b", "x"), &routing("asker"), None, START);
    for limit in 1..5 {
        let query = StatusQuery {
            limit,
            ..of("worker")
        };
        assert_eq!(pages(&tasks, query), ["c", "b", "a"]);
    }
    // Its agent's clock is behind.
    tasks.apply_status(&at("c", TaskState::Completed, 1), None, START);
    tasks.apply_status(&at("a", TaskState::Completed, 9), None, START);
    tasks.apply_artifact(&late_artifact("c"), None);
    while !tasks.settle(LATE, START + LATE + LATE).is_empty() {}
    assert_eq!(pages(&tasks, of("worker"))[0], "a");
    assert_eq!(pages(&tasks, of("asker")), [""; 0]);
}

/// spec: A2A 1.0.1 §3.1.4
#[test]
fn a_page_is_followed_by_the_same_tasks_though_others_move() {
    let mut tasks = many(20);
    for n in 20..30 {
        add(&mut tasks, &format!("t{n}"), "usual", "worker", n);
    }
    let first = StatusQuery {
        limit: 5,
        ..of("worker")
    };
    let page = tasks.list_by_status(&first);
    let token = page.next.expect("there are more").token();
    // One of the page, one of the next page, and one that is new.
    tasks.apply_status(&at("t28", TaskState::Working, 100), None, START);
    tasks.apply_status(&at("t23", TaskState::Completed, 101), None, START);
    add(&mut tasks, "new", "usual", "worker", 102);
    while !tasks.settle(LATE, START + LATE + LATE).is_empty() {}
    let rest = StatusQuery {
        before: Place::of_token(&token),
        ..first
    };
    assert!(rest.before.is_some());
    let expected: Vec<String> = (0..25)
        .rev()
        .filter(|n| *n != 23)
        .map(|n| format!("t{n}"))
        .collect();
    assert_eq!(pages(&tasks, rest), expected);
}

#[test]
fn a_token_is_its_place_and_anything_else_is_none() {
    for at in [i64::MIN, -1, 0, 1_700_000_000_123_456_789, i64::MAX] {
        let place = Place::new(Nanos(at), "task");
        assert_eq!(Place::of_token(&place.token()), Some(place));
    }
    let sound = Place::new(Nanos(0), "task").token();
    for wrong in [
        "",
        "s",
        "12",
        &sound[1..],
        &sound[..32],
        &format!("{sound}0"),
        &format!("s+{}", &sound[2..]),
    ] {
        assert_eq!(Place::of_token(wrong), None, "{wrong}");
    }
}

#[test]
fn a_listing_visits_no_more_than_its_page_or_its_context() {
    let tasks = many(20_000);
    let first = of("worker");
    let (steps, page) = steps::count(|| tasks.list_by_status(&first));
    assert_eq!(page.tasks.len(), 50);
    assert!(steps <= 51, "{steps}");
    let (steps, counted) = steps::count(|| tasks.count_by_status(&first));
    assert_eq!((steps, counted), (0, (20_000, None)));
    let rare = StatusQuery {
        context: Some("rare".to_owned()),
        ..of("worker")
    };
    let (steps, page) = steps::count(|| tasks.list_by_status(&rare));
    assert_eq!(page.tasks.len(), 50);
    assert!(steps <= 300, "{steps}");
    assert_eq!(tasks.count_by_status(&rare), (200, None));
    // A context with more tasks than are visited at once.
    let usual = StatusQuery {
        context: Some("usual".to_owned()),
        ..of("worker")
    };
    assert_eq!(tasks.list_by_status(&usual).tasks.len(), 50);
    assert_eq!(pages(&tasks, usual).len(), 19_800);
    let since = StatusQuery {
        since: Some(Nanos::of(timestamp(START + Duration::from_secs(19_990)))),
        ..of("worker")
    };
    let (steps, page) = steps::count(|| tasks.list_by_status(&since));
    assert_eq!((page.tasks.len(), page.next), (10, None));
    assert!(steps <= 10, "{steps}");
    assert_eq!(tasks.count_by_status(&since), (10, None));
}

#[test]
fn the_order_outlives_a_restart_from_segments() {
    let mut tasks = keeping(100);
    for n in 0..9 {
        let task = format!("t{n}");
        add(&mut tasks, &task, "x", "worker", n);
        // In another order than that of their ends, and finer than a microsecond.
        let mut last = at(&task, TaskState::Completed, (n * 5) % 9);
        if let Some(time) = last.status.as_mut().and_then(|s| s.timestamp.as_mut()) {
            time.nanos = 7;
        }
        tasks.apply_status(&last, None, START + Duration::from_secs(n));
    }
    while !tasks
        .settle(LATE, START + Duration::from_secs(99))
        .is_empty()
    {}
    let before = pages(&tasks, of("worker"));
    assert_eq!(
        before,
        ["t7", "t5", "t3", "t1", "t8", "t6", "t4", "t2", "t0"]
    );
    let token = tasks
        .list_by_status(&StatusQuery {
            limit: 4,
            ..of("worker")
        })
        .next;
    let settled = tasks.take_settled();
    let of_change: HashMap<u64, String> = settled
        .iter()
        .map(|ended| (ended.changed, ended.id.to_string()))
        .collect();
    let mut restored = keeping(100);
    let _ = ended::write(settled, &mut |segment| {
        for row in ended::heads(&segment.heads)? {
            restored.restore_ended(row?);
        }
        Ok::<_, String>(())
    });
    let page = restored.list_by_status(&StatusQuery {
        before: token,
        limit: 9,
        ..of("worker")
    });
    let rest: Vec<&str> = page
        .tasks
        .into_iter()
        .map(|content| content.task().expect_err("it is in the segment"))
        .map(|change| of_change[&change].as_str())
        .collect();
    assert_eq!(rest, before[4..]);
    assert_eq!(restored.count_by_status(&of("worker")), (9, None));
    // Nothing is left of tasks that are dropped.
    restored.bounds.ended = 0;
    restored.make_room();
    assert_eq!(restored.count_by_status(&of("worker")), (0, None));
}

/// A step of a random history.
#[derive(Clone, Debug)]
enum Op {
    Message { task: u8, worker: u8, context: u8 },
    Status { task: u8, state: u8, seconds: u8 },
    Artifact { task: u8 },
    Settle,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        (0..12u8, 0..3u8, 0..3u8).prop_map(|(task, worker, context)| Op::Message {
            task,
            worker,
            context
        }),
        (0..12u8, 0..6u8, 0..20u8).prop_map(|(task, state, seconds)| Op::Status {
            task,
            state,
            seconds
        }),
        (0..12u8).prop_map(|task| Op::Artifact { task }),
        Just(Op::Settle),
    ]
}

const STATES: [TaskState; 6] = [
    TaskState::Working,
    TaskState::InputRequired,
    TaskState::Completed,
    TaskState::Failed,
    TaskState::Cancelled,
    TaskState::Rejected,
];

fn apply(tasks: &mut Tasks, op: &Op) {
    let id = |task: &u8| format!("t{task}");
    match op {
        Op::Message {
            task,
            worker,
            context,
        } => {
            let is_open = tasks
                .get(&id(task))
                .is_none_or(|t| !t.is_terminal() || matches!(t, Known::Settled(_)));
            if is_open {
                add(
                    tasks,
                    &id(task),
                    &format!("c{context}"),
                    &format!("w{worker}"),
                    3,
                );
            }
        }
        Op::Status {
            task,
            state,
            seconds,
        } => {
            if tasks.get(&id(task)).is_some_and(|t| !t.is_terminal()) {
                let update = at(&id(task), STATES[usize::from(*state)], (*seconds).into());
                tasks.apply_status(&update, None, START);
            }
        }
        Op::Artifact { task } => tasks.apply_artifact(&late_artifact(&id(task)), None),
        Op::Settle => {
            tasks.settle(LATE, START + LATE + LATE);
        }
    }
}

/// The filtered tasks of all, in memory, sorted.
fn sorted(tasks: &Tasks, query: &StatusQuery) -> Vec<String> {
    let all: Vec<Task> = (0..12)
        .filter_map(|n| {
            Some(
                tasks
                    .get(&format!("t{n}"))?
                    .content()
                    .task()
                    .expect("in memory"),
            )
        })
        .collect();
    let place = |task: &Task| Place::new(Nanos::of_status(task.status.as_ref()), &task.id);
    let mut found: Vec<&Task> = all
        .iter()
        .filter(|task| {
            task.assignee() == &*query.agent
                && query.context.as_ref().is_none_or(|c| *c == task.context_id)
                && (query.states.is_empty() || query.states.contains(&task.state()))
                && query.since.is_none_or(|since| place(task).at >= since)
        })
        .collect();
    found.sort_by_key(|task| Reverse(place(task)));
    found.into_iter().map(|task| task.id.clone()).collect()
}

proptest! {
    /// spec: A2A 1.0.1 §3.1.4
    #[test]
    fn every_listing_is_the_sorted_and_filtered_store(
        ops in vec(op(), 0..60),
        worker in 0..3u8,
        context in proptest::option::of(0..3u8),
        state in proptest::option::of(0..6usize),
        since in proptest::option::of(0..20u64),
        limit in 1..6usize,
    ) {
        let mut tasks = keeping(100);
        for op in &ops {
            apply(&mut tasks, op);
        }
        let query = StatusQuery {
            context: context.map(|c| format!("c{c}")),
            states: state.map(|n| STATES[n]).into_iter().collect(),
            since: since.map(|s| Nanos::of(timestamp(START + Duration::from_secs(s)))),
            limit,
            ..of(&format!("w{worker}"))
        };
        let expected = sorted(&tasks, &query);
        prop_assert_eq!(pages(&tasks, query.clone()), expected.clone());
        prop_assert_eq!(tasks.count_by_status(&query), (u32::try_from(expected.len()).expect("few"), None));
    }
}
