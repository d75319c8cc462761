//! Opening and closing of streams.

use agenthub_proto::{a2a::TaskStatus, agenthub::TaskStatusUpdateEvent};

use super::*;
use crate::mailboxes::Observed;

#[test]
fn the_goodbye_of_a_replaced_stream_changes_nothing() {
    let mut b = Bench::new(Settings::default());
    let first = b.connect("echo", "i", of_instance("own"));
    let second = b.connect("echo", "i", of_instance("own"));
    b.close(first.id, true);
    assert!(b.core.presence.has_instance(&"echo".into()));
    b.work("t", "asker", "echo").expect("good");
    assert!(!b.take(second.id).deliveries.is_empty());
}

#[test]
fn an_instance_that_lost_mail_can_come_back() {
    let mut b = Bench::new(Settings {
        mailbox_events: 4,
        ..Settings::default()
    });
    let session = b.connect("echo", "i", of_instance("own"));
    for n in 0..9 {
        b.work(&format!("t{n}"), "asker", "echo").expect("good");
    }
    assert_eq!(b.take(session.id).end, Some(End::Overflow));
    b.close(session.id, false);
    let again = b.connect("echo", "i", of_instance("own"));
    let outgoing = b.take(again.id);
    assert_eq!((outgoing.end, outgoing.deliveries.len()), (None, 4));
}

#[test]
fn a_busy_subscription_does_not_hold_up_another() {
    let mut b = Bench::new(Settings::default());
    let only = |name, kind: EventKind| Subscription {
        filter: Some(agenthub::Filter {
            kinds: vec![kind.into()],
            ..Default::default()
        }),
        ..durable(name)
    };
    let hello = Hello {
        protocol_version: 1,
        agent_id: "worker".into(),
        instance_id: "i".into(),
        subscription: vec![
            only("messages", EventKind::Message),
            only("tasks", EventKind::Task),
        ],
        ..Default::default()
    };
    let caller = Caller::anonymous();
    let opened = b
        .core
        .connect(&caller, Kind::Connect, hello, Vec::new(), b.now)
        .expect("good");
    for n in 0..200 {
        b.work(&n.to_string(), "asker", "worker").expect("good");
    }
    let mut seen = [0, 0];
    for _ in 0..2 {
        let outgoing = b.core.take(opened.id, &[1000, 1000], 64, b.now);
        for (index, _) in outgoing.deliveries {
            seen[index] += 1;
        }
    }
    assert_eq!(seen, [64, 64]);
}

#[test]
fn nothing_is_left_of_streams_that_are_over() {
    let settings = Settings::default();
    let lease = settings.presence_lease;
    let mut b = Bench::new(settings);
    let all = [EventKind::Message, EventKind::AgentCard];
    let sessions = [
        b.stream("a", &all),
        b.stream("b", &all),
        b.connect("b", "i", of_instance("own")),
        b.connect("c", "i", of_instance("own")),
    ];
    for session in &sessions[..3] {
        b.close(session.id, false);
    }
    b.close(sessions[3].id, true);
    b.wait(lease);
    assert_eq!(b.core.sessions.len(), 0);
    assert_eq!(b.core.state.mailboxes.len(), 0);
    for agent in ["a", "b", "c"] {
        assert!(!b.core.presence.is_online(&agent.into()));
    }
}

/// The late end of a stream of an unregistered agent does not affect the presence of its next one.
#[test]
fn a_stream_of_an_unregistered_agent_takes_no_presence_from_its_next() {
    let mut b = Bench::new(Settings::default());
    let old = b.connect("echo", "i", durable("work"));
    let caller = Caller::anonymous();
    let unregistered = b.core.unregister(&caller, &"echo".into(), "", b.now);
    assert_eq!(unregistered, Ok(true));
    b.connect("echo", "i", durable("work"));
    b.close(old.id, false);
    b.wait(Settings::default().presence_lease);
    assert!(b.core.presence.has_instance(&"echo".into()));
}

/// An observer works on nothing, so that what it sees does not depend on how fast it reads.
#[test]
fn an_observer_sees_work_on_tasks_that_have_ended_by_then() {
    let mut b = Bench::new(Settings::default());
    let request = StreamRequest {
        call: Call::SubscribeToAgentEvents,
        agent: "observer".into(),
        filter: Filter::kinds(&[EventKind::Message]),
        after: String::new(),
        observes: Some(Observed::All),
        recent: 0,
    };
    let opened = b
        .core
        .open_stream(&Caller::anonymous(), request, b.now)
        .expect("a good request");
    let worker = b.stream("worker", &[EventKind::Message]);
    b.work("t", "asker", "worker").expect("good");
    let ended = TaskStatusUpdateEvent {
        task_id: "t".into(),
        status: Some(TaskStatus {
            state: TaskState::Completed.into(),
            ..Default::default()
        }),
        ..Default::default()
    };
    b.publish(Body::Status(ended), "worker", "").expect("good");
    assert_eq!(b.take(opened.id).events(), 1);
    assert_eq!(b.take(worker.id).events(), 0, "it would work on it");
}
