//! The load that is counted, and the cost of asking for it.

use agenthub_proto::{a2a::TaskStatus, agenthub::TaskStatusUpdateEvent};

use super::*;
use crate::steps;

/// Counts that are kept as mail moves equal counts of the mail that is there.
#[test]
fn the_load_that_is_counted_is_what_is_there() {
    for seed in 0..20 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut b = Bench::new(Settings {
            mailbox_events: 40,
            max_attempts: 3,
            ..Settings::default()
        });
        let agents = ["a", "b", "c"];
        let mut open: Vec<(Opened, Vec<Position>)> = Vec::new();
        for step in 0..400 {
            let agent = agents[random.usize(..agents.len())];
            match random.u8(..11) {
                10 => {
                    let owner = [None, Some("alice"), Some("bob")][random.usize(..3)];
                    let mailboxes = &mut b.core().state.mailboxes;
                    mailboxes.set_owner(&agent.into(), owner);
                }
                0..4 => {
                    let message = Message::new(Role::User, "go");
                    b.publish(Body::Message(message), "asker", agent)
                        .expect("good");
                }
                4 => {
                    let subscription = match random.bool() {
                        true => durable("work"),
                        false => of_instance("more"),
                    };
                    let instance = format!("i{}", random.u8(..2));
                    open.push((b.connect(agent, &instance, subscription), Vec::new()));
                }
                5 if !open.is_empty() => {
                    let (gone, _) = open.swap_remove(random.usize(..open.len()));
                    b.close(gone.id, random.bool());
                }
                6 => b.wait(Duration::from_secs(random.u64(..40))),
                7 if !open.is_empty() => {
                    let n = random.usize(..open.len());
                    let outgoing = b.take(open[n].0.id);
                    let taken = outgoing.deliveries.iter();
                    let taken = taken.flat_map(|(_, batch)| batch.positions().to_vec());
                    open[n].1 = taken.collect();
                }
                8 if !open.is_empty() => {
                    let n = random.usize(..open.len());
                    let (id, taken) = (open[n].0.id, std::mem::take(&mut open[n].1));
                    let (caller, now) = (Caller::anonymous(), b.now);
                    let _ = b.core().acknowledge_at(&caller, id, 0, &taken, now);
                }
                9 if !open.is_empty() => {
                    let n = random.usize(..open.len());
                    let (id, now) = (open[n].0.id, b.now);
                    if let Some(position) = open[n].1.pop() {
                        let delay = Duration::from_secs(random.u64(..3));
                        let _ = b.core().refuse(id, 0, position, delay, "no", now);
                    }
                }
                _ => {}
            }
            let now = b.now;
            let gauges = b.core().gauges(now);
            let (load, classes, since) = b.core.state.mailboxes.recounted();
            let at = format!("step {step} of seed {seed}");
            assert_eq!(gauges.load, load, "{at}");
            assert_eq!(gauges.classes, classes, "{at}");
            for principal in ["alice", "bob"] {
                let mailboxes = &b.core.state.mailboxes;
                let (bytes, _) = mailboxes.bytes_of(principal);
                assert_eq!(bytes, mailboxes.recounted_of(principal), "{at}");
            }
            let waited = since.map_or(Duration::ZERO, |since| now.instant - since);
            assert_eq!(gauges.longest_wait, waited, "{at}");
        }
    }
}

#[test]
fn open_tasks_are_counted_by_state() {
    let mut b = Bench::new(Settings::default());
    b.connect("worker", "i", durable("work"));
    for n in 0..5 {
        b.work(&format!("t{n}"), "asker", "worker").expect("good");
    }
    for (task, state) in [
        ("t0", TaskState::Working),
        ("t1", TaskState::Working),
        ("t1", TaskState::InputRequired),
        ("t2", TaskState::Working),
        ("t2", TaskState::Completed),
        ("t3", TaskState::Failed),
    ] {
        let update = TaskStatusUpdateEvent {
            task_id: task.into(),
            status: Some(TaskStatus {
                state: state.into(),
                ..Default::default()
            }),
            ..Default::default()
        };
        b.publish(Body::Status(update), "worker", "").expect("good");
    }
    let now = b.now;
    let count = |open: [u32; 9], state: TaskState| open[i32::from(state) as usize];
    let open = b.core().gauges(now).open;
    assert_eq!(open.iter().sum::<u32>(), 3);
    for state in [
        TaskState::Submitted,
        TaskState::Working,
        TaskState::InputRequired,
    ] {
        assert_eq!(count(open, state), 1, "{state:?}");
    }
    let ended = &b.core.metrics.tasks_ended;
    let ended = ended.each_ref().map(agenthub_metrics::Counter::get);
    assert_eq!(ended.iter().sum::<u64>(), 2);
    assert_eq!(ended[i32::from(TaskState::Failed) as usize], 1);
}

/// Absence 7
#[test]
fn a_look_costs_the_same_however_much_there_is() {
    let cost = |agents: usize| {
        let mut b = Bench::new(Settings::default());
        for n in 0..agents {
            let agent = format!("agent{n}");
            b.connect(&agent, "i", durable("work"));
            b.work(&format!("t{n}"), "asker", &agent).expect("good");
        }
        let now = b.now;
        b.core().gauges(now);
        let (steps, gauges) = steps::count(|| b.core.gauges(now));
        assert_eq!(gauges.tasks, agents);
        steps
    };
    assert_eq!(cost(50), cost(500));
}

/// The mailboxes that are full are told by name, at most ten of them, however many there are.
#[test]
fn the_fullest_mailboxes_are_told_by_name() {
    let mut b = Bench::new(Settings::default());
    for n in 0..30 {
        let agent = format!("agent{n}");
        b.connect(&agent, "i", durable("work"));
        let events = if n < 20 { 100 + n } else { 20 };
        for _ in 0..events {
            let message = Message::new(Role::User, "go");
            b.publish(Body::Message(message), "asker", &agent)
                .expect("good");
        }
    }
    let now = b.now;
    let fullest = b.core().gauges(now).fullest;
    let told: Vec<(&str, usize)> = fullest.iter().map(|(a, _, n)| (&**a, *n)).collect();
    assert_eq!(told.len(), 10);
    assert_eq!((told[0], told[9]), (("agent19", 119), ("agent10", 110)));
}
