//! Cost of ticks, in steps, at two sizes.

use agenthub_proto::{a2a::TaskStatus, agenthub::TaskStatusUpdateEvent, event::timestamp};

use super::*;
use crate::{id::TaskId, steps};

fn status(task: &str, state: TaskState) -> Body {
    Body::Status(TaskStatusUpdateEvent {
        task_id: task.into(),
        status: Some(TaskStatus {
            state: state.into(),
            ..Default::default()
        }),
        ..Default::default()
    })
}

/// A worker with `tasks` cancelled tasks in progress and as many ended ones. Each has changed hands.
fn busy(tasks: usize) -> Bench {
    let mut b = Bench::new(Settings::default());
    let worker = b.connect("worker", "i", durable("work"));
    for n in 0..tasks {
        for (task, end) in [(format!("ended{n}"), true), (format!("open{n}"), false)] {
            b.work(&task, "asker", "worker").expect("good");
            b.publish(status(&task, TaskState::Working), "worker", "")
                .expect("good");
            let id = TaskId::from(task.as_str());
            let state = &mut b.core.state;
            state
                .superseded
                .set(&id, &"worker".into(), &["other".into()]);
            if end {
                b.publish(status(&task, TaskState::Completed), "worker", "")
                    .expect("good");
                b.core.note_ender(worker.id, &task, b.now);
            } else {
                let _ = b.core.cancel(&id, "enough", b.now);
            }
        }
    }
    b.wait(Duration::from_millis(50));
    b
}

#[test]
fn a_tick_costs_the_same_however_many_tasks_there_are() {
    for tasks in [100, 200] {
        let mut b = busy(tasks);
        let (steps, ()) = steps::count(|| b.wait(Duration::from_millis(50)));
        assert_eq!(steps, 0, "with {tasks} tasks of each kind");
    }
}

#[test]
fn who_ended_or_lost_a_task_is_forgotten_with_the_time_for_late_artifacts() {
    const TASKS: usize = 100;
    let mut b = busy(TASKS);
    b.wait(b.core.settings.late_artifacts);
    let (steps, ()) = steps::count(|| b.wait(Duration::from_millis(50)));
    assert!(steps <= 4 * TASKS, "{steps}");
    assert_eq!(b.core.enders.len(), 0);
    assert_eq!(b.core.state.superseded.iter().count(), TASKS, "open ones");
    b.wait(b.core.settings.cancel_grace);
    assert_eq!(b.states(TaskState::Cancelled), TASKS);
    b.wait(b.core.settings.late_artifacts + Duration::from_secs(1));
    assert_eq!(b.core.state.superseded.iter().count(), 0);
}

#[test]
fn an_agent_that_leaves_costs_its_own_tasks() {
    for others in [100, 200] {
        let mut b = Bench::new(Settings::default());
        for n in 0..others {
            b.work(&format!("other{n}"), "asker", "other")
                .expect("good");
        }
        b.work("t", "asker", "worker").expect("good");
        let worker = "worker".into();
        let (steps, open) = steps::count(|| b.core.state.tasks.open_of(&worker, 10));
        assert_eq!((steps, open.len()), (1, 1));
    }
}

/// Agents probed in one round, with the number checked per acquisition of the lock.
#[test]
fn agents_are_probed_in_pages() {
    const AGENTS: usize = 600;
    let mut b = Bench::new(Settings::default());
    for n in 0..AGENTS {
        let registration = Registration {
            card: AgentCard {
                name: format!("agent{n}"),
                version: "1".into(),
                ..Default::default()
            },
            topics: Vec::new(),
            health_check_url: "http://127.0.0.1:1/health".into(),
        };
        let (caller, now) = (Caller::anonymous(), b.now);
        b.core
            .register(&caller, registration, None, now)
            .expect("good");
    }
    let mut probed = 0;
    let mut after = None;
    loop {
        let (steps, page) = steps::count(|| b.core.to_probe(after.as_ref()));
        assert!(steps <= 256, "{steps}");
        probed += page.targets.len();
        match page.next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
    assert_eq!(probed, AGENTS);
}

#[test]
fn unused_mailboxes_are_looked_for_a_few_at_a_time() {
    const MAILBOXES: usize = 600;
    let mut b = Bench::new(Settings::default());
    for n in 0..MAILBOXES {
        let client = b.connect(&format!("client{n}"), "i", durable("mail"));
        b.close(client.id, true);
    }
    b.wait(Duration::from_millis(50));
    b.wait(Duration::from_secs(599));
    let looks = [(); 5].map(|()| steps::count(|| b.wait(Duration::from_secs(1))).0);
    assert_eq!(looks, [256, 256, 88, 0, 0]);
}

/// Tasks with a common deadline end in portions, one per acquisition of the lock.
#[test]
fn tasks_that_are_overdue_end_some_at_a_time() {
    const TASKS: usize = 150;
    let mut b = Bench::new(Settings::default());
    let deadline = b.now.time + Duration::from_secs(1);
    for n in 0..TASKS {
        let message = Message {
            task_id: format!("t{n}"),
            context_id: format!("c{n}"),
            ..Message::new(Role::User, "go")
        };
        let routing = AgentEventMetadata {
            from_agent_id: "asker".into(),
            to_agent_id: "worker".into(),
            deadline: Some(timestamp(deadline)),
            ..Default::default()
        };
        let (caller, now) = (Caller::anonymous(), b.now);
        let body = Body::Message(message);
        b.core()
            .publish(&caller, body, routing, Repetition::Accept, now)
            .expect("good");
    }
    b.now.time += Duration::from_secs(2);
    b.now.instant += Duration::from_secs(2);
    let now = b.now;
    let mut ended = Vec::new();
    loop {
        let is_left = b.core().tick(now);
        ended.push(b.states(TaskState::Failed));
        if !is_left {
            break;
        }
    }
    assert_eq!(ended, [64, 128, 150]);
}
