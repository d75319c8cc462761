//! Listings and counts by state.

use agenthub_proto::agenthub::TaskExtent;
use serde_json::json;

use super::*;
use crate::steps;

const LATE: Duration = Duration::from_secs(5);

fn add(tasks: &mut Tasks, id: &str) {
    tasks.apply_message(
        &message(id, "x"),
        &routing("asker"),
        Some(&"worker".into()),
        START,
    );
}

fn settle_all(tasks: &mut Tasks) {
    while !tasks
        .settle(LATE, START + Duration::from_secs(100))
        .is_empty()
    {}
}

fn of(states: &[TaskState], limit: usize) -> Query {
    Query {
        states: states.into(),
        limit,
        ..Query::default()
    }
}

/// The tasks of all pages, and the most that were visited for one.
fn pages(tasks: &Tasks, mut query: Query) -> (Vec<String>, usize) {
    let (mut found, mut most) = (Vec::new(), 0);
    loop {
        let (steps, page) = steps::count(|| tasks.list(&query));
        most = most.max(steps);
        found.extend(ids(page.tasks));
        query.before = page.next;
        if query.before.is_none() {
            return (found, most);
        }
    }
}

/// Issue 26, cost: a million tasks page without a slow query.
#[test]
fn tasks_of_a_rare_state_are_found_and_counted_without_the_others() {
    let mut tasks = Tasks::new(Bounds {
        open: 10_000,
        ended: usize::MAX,
        ..BOUNDS
    });
    for n in 0..5_000 {
        let id = format!("t{n}");
        add(&mut tasks, &id);
        let state = match n % 1_000 {
            0 => TaskState::Failed,
            _ => TaskState::Completed,
        };
        tasks.apply_status(&status(&id, state), None, START);
        if n == 4_000 {
            settle_all(&mut tasks);
        }
    }
    for n in 0..100 {
        add(&mut tasks, &format!("open{n}"));
    }
    tasks.apply_status(&status("open7", TaskState::InputRequired), None, START);
    let (failed, most) = pages(&tasks, of(&[TaskState::Failed], 2));
    assert_eq!(failed, ["t4000", "t3000", "t2000", "t1000", "t0"]);
    assert!(most <= 3, "{most}");
    let (asking, most) = pages(&tasks, of(&[TaskState::InputRequired], 9));
    assert_eq!((asking.len(), most), (1, 1), "it changed last");
    let both = [TaskState::Failed, TaskState::InputRequired];
    assert_eq!(pages(&tasks, of(&both, 3)).0.len(), 6);
    for (states, expected) in [
        (&both[..], 6),
        (&[TaskState::Completed][..], 4_995),
        (&[], 5_100),
    ] {
        let (steps, (count, next)) = steps::count(|| tasks.count(&of(states, 9)));
        assert_eq!((steps, count, next), (0, expected, None), "{states:?}");
    }
}

/// Issue 26, tasks: what was done in part, or not at all, is found by that, without a walk over all that is completed.
#[test]
fn completed_tasks_are_found_and_counted_by_the_extent_of_their_results() {
    let mut tasks = Tasks::new(Bounds {
        open: 10_000,
        ended: usize::MAX,
        ..BOUNDS
    });
    let partial = |n: u64| match n % 1_000 {
        0 => json!({"partial": true, "undone": "all"}),
        1 => json!({"partial": true}),
        _ => json!({"a": 1}),
    };
    for n in 0..3_000 {
        let id = format!("t{n}");
        add(&mut tasks, &id);
        let mut ended = status(&id, TaskState::Completed);
        let mut update = Message::new(Role::Agent, "done");
        update.content.push(Part::data(&partial(n)));
        ended.status.get_or_insert_default().update = Some(update);
        tasks.apply_status(&ended, None, START);
        if n == 1_500 {
            settle_all(&mut tasks);
        }
    }
    add(&mut tasks, "open");
    // An artifact that comes behind the end may say that it is a part.
    let late = TaskArtifactUpdateEvent {
        task_id: "t2500".into(),
        artifact: Some(Artifact {
            artifact_id: "a".into(),
            parts: vec![Part::data(&json!({"partial": true}))],
            ..Artifact::default()
        }),
        ..TaskArtifactUpdateEvent::default()
    };
    tasks.apply_artifact(&late, None);
    let of = |states: &[TaskState], extents: &[TaskExtent]| Query {
        extents: extents.into(),
        ..of(states, 2)
    };
    let completed = [TaskState::Completed];
    let (nothing, most) = pages(&tasks, of(&completed, &[TaskExtent::Nothing]));
    assert_eq!(nothing, ["t2000", "t1000", "t0"]);
    assert!(most <= 3, "{most}");
    let (part, most) = pages(&tasks, of(&completed, &[TaskExtent::Part]));
    assert_eq!(part, ["t2500", "t2001", "t1001", "t1"]);
    assert!(most <= 3, "{most}");
    for (states, extents, expected) in [
        (&completed[..], &[TaskExtent::Whole][..], 2_993),
        (&completed, &[TaskExtent::Part, TaskExtent::Nothing], 7),
        (&completed, &[], 3_000),
        (&[], &[TaskExtent::Nothing], 4),
    ] {
        let (steps, (count, next)) = steps::count(|| tasks.count(&of(states, extents)));
        assert_eq!((steps, count, next), (0, expected, None), "{extents:?}");
    }
    let of_agent = Query {
        agent: Some("worker".into()),
        ..of(&completed, &[TaskExtent::Nothing])
    };
    assert_eq!(pages(&tasks, of_agent).0, nothing);
    // It is known after a start as well.
    settle_all(&mut tasks);
    let mut restored = keeping(10_000);
    for ended in tasks.take_settled() {
        restored.restore_ended(ended);
    }
    let (nothing_again, _) = pages(&restored, of(&completed, &[TaskExtent::Nothing]));
    assert_eq!(nothing_again, nothing);
}

/// Lists and counts say what a walk over all tasks finds, whatever became of them.
#[test]
fn lists_and_counts_by_state_agree_with_all_tasks() {
    let mut rng = fastrand::Rng::with_seed(26);
    let mut tasks = keeping(60);
    let states = [
        TaskState::Submitted,
        TaskState::Working,
        TaskState::InputRequired,
        TaskState::Completed,
        TaskState::Failed,
        TaskState::Cancelled,
    ];
    for round in 0..400 {
        // Ids of tasks that have ended are taken again.
        let id = format!("t{}", rng.u32(..150));
        let is_open = tasks.get(&id).is_some_and(|known| !known.is_terminal());
        let is_settled = !tasks.live.contains_key(id.as_str());
        match (is_open, is_settled) {
            (true, _) => {
                let state = states[rng.usize(1..states.len())];
                tasks.apply_status(&status(&id, state), None, START);
            }
            (false, true) => add(&mut tasks, &id),
            (false, false) => {}
        }
        if rng.u32(..20) == 0 {
            settle_all(&mut tasks);
        }
        let (all, _) = pages(&tasks, of(&[], 7));
        for states in [
            &states[..1],
            &states[1..3],
            &states[3..4],
            &states[2..5],
            &states[4..],
        ] {
            let is_in = |id: &&String| {
                let known = tasks.get(id).expect("it is listed");
                states.contains(&known.state())
            };
            let expected: Vec<&String> = all.iter().filter(is_in).collect();
            let (found, _) = pages(&tasks, of(states, 7));
            assert_eq!(
                found.iter().collect::<Vec<_>>(),
                expected,
                "{round} {states:?}"
            );
            let count = tasks.count(&of(states, 7)).0;
            assert_eq!(count as usize, expected.len(), "{round} {states:?}");
        }
        assert_eq!(tasks.count(&of(&[], 7)).0 as usize, all.len(), "{round}");
    }
}
