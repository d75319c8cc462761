//! A full disk: calls that add to the log are refused before they change anything; calls that free space go on.
//!
//! promise 11

use agenthub_proto::{
    a2a::TaskStatus,
    agenthub::{TaskStatusUpdateEvent, seek_mailbox_request::To},
};

use super::*;
use crate::id::TaskId;

fn hello(card: Option<&str>, kinds: &[EventKind]) -> Hello {
    Hello {
        protocol_version: 1,
        agent_id: "worker".into(),
        instance_id: "i".into(),
        agent_card: card.map(|description| AgentCard {
            name: "worker".into(),
            description: description.into(),
            ..Default::default()
        }),
        subscription: vec![Subscription {
            filter: Some(agenthub::Filter {
                kinds: kinds.iter().map(|k| (*k).into()).collect(),
                ..Default::default()
            }),
            ..durable("work")
        }],
        ..Default::default()
    }
}

impl Bench {
    fn greet(&mut self, hello: Hello) -> Result<Opened, Error> {
        let caller = Caller::anonymous();
        self.core
            .connect(&caller, Kind::Connect, hello, Vec::new(), self.now)
    }

    fn records(&self) -> usize {
        self.records.lock().expect("one thread").len()
    }
}

fn is_full<T>(result: &Result<T, Error>) -> bool {
    matches!(result, Err(Error::ResourceExhausted(reason)) if reason.contains("disk"))
}

#[test]
fn a_hello_that_adds_to_the_log_is_refused_whole_and_another_is_not() {
    const KINDS: [EventKind; 2] = [EventKind::Message, EventKind::Task];
    let mut b = Bench::new(Settings::default());
    let first = b.greet(hello(Some("one"), &KINDS)).expect("good");
    b.fill_disk();
    let records = b.records();
    for n in 0..100 {
        let filter = &KINDS[..1 + n % 2];
        let other = hello(Some(["two", "one"][n % 2]), &filter[..1]);
        assert!(is_full(&b.greet(other)), "hello {n}");
    }
    assert_eq!(b.records(), records, "nothing was written");
    assert_eq!(b.take(first.id).end, None, "its stream goes on");
    let again = b.greet(hello(Some("one"), &KINDS));
    let again = again.expect("nothing is to be written for it");
    assert_eq!(b.take(again.id).end, None);
    assert_eq!(b.records(), records);
}

#[test]
fn unregistering_and_going_back_are_refused_whole() {
    let mut b = Bench::new(Settings::default());
    let session = b.greet(hello(Some("one"), &[])).expect("good");
    b.work("t", "asker", "worker").expect("good");
    let delivered = b.take(session.id);
    assert!(!delivered.deliveries.is_empty());
    b.fill_disk();
    let records = b.records();
    let caller = Caller::anonymous();
    let gone = b.core.unregister(&caller, &"worker".into(), "", b.now);
    assert!(is_full(&gone), "{gone:?}");
    assert!(b.core.state.registry.get(&"worker".into()).is_some());
    assert_eq!(b.state("t"), TaskState::Submitted);
    let sought = b.seek(&SeekMailboxRequest {
        agent_id: "worker".into(),
        name: "work".into(),
        to: Some(To::After(b.core.log.id().token(b.core.safe()))),
    });
    assert!(is_full(&sought), "{sought:?}");
    assert_eq!(b.records(), records);
}

#[test]
fn acknowledgements_and_ends_go_on() {
    let mut b = Bench::new(Settings::default());
    let session = b.greet(hello(None, &[EventKind::Message])).expect("good");
    for task in ["t", "u"] {
        b.work(task, "asker", "worker").expect("good");
    }
    let now = b.now;
    let taken = b.core().take(session.id, &[1], 1, now);
    let events = taken.deliveries.iter().flat_map(|(_, h)| h.events());
    let events: Vec<_> = events.map(|(e, at)| (e.task_id().to_owned(), at)).collect();
    let [(task, Some(position))] = &events[..] else {
        panic!("{events:?}");
    };
    b.fill_disk();
    let (caller, records) = (Caller::anonymous(), b.records());
    let handled = vec![*position];
    let done = b.core.acknowledge_at(&caller, session.id, 0, &handled, now);
    assert_eq!((done, b.records()), (Ok(()), records + 1));
    let ended = TaskId::from(task.as_str());
    b.core
        .end_task(&ended, TaskState::Failed, "its time is up", now);
    assert_eq!(b.states(TaskState::Failed), 1);
    let purged = b.seek(&SeekMailboxRequest {
        agent_id: "worker".into(),
        name: "work".into(),
        to: Some(To::Latest(true)),
    });
    assert_eq!(purged, Ok(()));
    assert_eq!(b.states(TaskState::Failed), 2, "the other one was purged");
}

/// A status of the task `t`.
fn say(b: &mut Bench, from: &str, state: TaskState) -> Result<Receipt, Error> {
    let update = TaskStatusUpdateEvent {
        task_id: "t".into(),
        status: Some(TaskStatus {
            state: state.into(),
            ..TaskStatus::default()
        }),
        r#final: state.is_terminal(),
        ..TaskStatusUpdateEvent::default()
    };
    b.publish(Body::Status(update), from, "asker")
}

/// Accepted work can finish on the reserve; nothing new begins.
#[test]
fn an_agent_ends_the_tasks_that_it_has() {
    let mut b = Bench::new(Settings::default());
    let _session = b.greet(hello(None, &[EventKind::Message])).expect("good");
    b.work("t", "asker", "worker").expect("good");
    b.core();
    b.fill_disk();
    let stranger = say(&mut b, "stranger", TaskState::Completed);
    assert!(is_full(&stranger), "{stranger:?}");
    assert!(is_full(&b.work("u", "asker", "worker")));
    for state in [TaskState::Working, TaskState::Completed] {
        let said = say(&mut b, "worker", state);
        assert!(said.is_ok(), "{state:?}: {said:?}");
    }
    assert_eq!(b.state("t"), TaskState::Completed);
    let again = say(&mut b, "worker", TaskState::Working);
    assert!(is_full(&again), "it is over: {again:?}");
}
