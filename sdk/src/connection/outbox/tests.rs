use super::*;
use agenthub_proto::{
    a2a::{Message, Role},
    agenthub::AgentFrame,
};
use proptest::prelude::*;
use tokio::sync::oneshot;

type Waiter = oneshot::Receiver<super::super::link::Answer>;

fn batch(publishes: usize, acked: bool, epoch: Option<u64>) -> (Batch, Waiter) {
    let (done, answer) = oneshot::channel();
    let message = || publish::Payload::Message(Message::new(Role::User, "hi"));
    let batch = Batch {
        publishes: (0..publishes)
            .map(|_| publish(message(), AgentEventMetadata::default()))
            .collect(),
        ack: acked.then(|| Lease {
            subscription: 1,
            position: "p".into(),
            epoch: 0,
        }),
        epoch,
        done: Some(done),
    };
    (batch, answer)
}

/// The publishes of the next frame.
fn next_publishes(outbox: &mut Outbox) -> Vec<Publish> {
    let mut frame = BytesMut::new();
    outbox.fill(&mut frame);
    AgentFrame::decode(frame).expect("a frame").publish
}

fn sequences(publishes: &[Publish]) -> Vec<u64> {
    publishes.iter().map(|p| p.sequence).collect()
}

fn accepted(sequence: u64) -> PublishResult {
    PublishResult {
        sequence,
        event_id: format!("e{sequence}"),
        ..Default::default()
    }
}

#[test]
fn what_was_not_answered_is_sent_again_in_order_byte_for_byte() {
    let mut outbox = Outbox::default();
    outbox.restart(10);
    let mut answers = Vec::new();
    for n in 1..=3 {
        let (batch, answer) = batch(n, false, None);
        outbox.push(batch);
        answers.push(answer);
    }
    let first = next_publishes(&mut outbox);
    assert_eq!(sequences(&first), [1, 2, 3, 4, 5, 6]);
    outbox.result(accepted(1));
    assert!(
        answers[0]
            .try_recv()
            .is_ok_and(|r| r.is_ok_and(|r| r[0].is_ok()))
    );

    outbox.restart(10);
    let again = next_publishes(&mut outbox);
    assert_eq!(again, first[1..]);
}

#[test]
fn the_hub_knows_every_publish_again() {
    let key_of = |payload| {
        let routing = publish(payload, AgentEventMetadata::default()).routing;
        routing.expect("it has one").idempotency_key
    };
    let said = Message::new(Role::User, "text");
    let nameless = Message {
        message_id: String::new(),
        ..said.clone()
    };
    assert!(!said.message_id.is_empty());
    assert_eq!(
        key_of(publish::Payload::Message(said)),
        "",
        "its id is enough"
    );
    assert!(!key_of(publish::Payload::Message(nameless)).is_empty());
    let update = publish::Payload::StatusUpdate(Default::default());
    assert!(!key_of(update).is_empty());
}

#[test]
fn an_acknowledgement_depends_on_its_own_publishes_only() {
    let mut outbox = Outbox::default();
    outbox.restart(10);
    for (publishes, acked) in [(1, false), (2, true), (1, false)] {
        outbox.push(batch(publishes, acked, None).0);
    }
    let publishes = next_publishes(&mut outbox);
    assert_eq!(sequences(&publishes), [1, 2, 3, 4]);
    let acks: Vec<_> = publishes.iter().map(|p| p.ack.is_some()).collect();
    assert_eq!(acks, [false, false, true, false]);
    assert_eq!(publishes[2].ack_since, 2);
    assert!(!outbox.is_ready());
}

#[test]
fn a_delivery_is_settled_when_all_publishes_that_settle_it_were_taken() {
    let mut outbox = Outbox::default();
    outbox.restart(10);
    for (publishes, acked) in [(2, true), (2, true), (1, false)] {
        outbox.push(batch(publishes, acked, None).0);
    }
    next_publishes(&mut outbox);
    let refused = PublishResult {
        code: Code::FailedPrecondition.into(),
        ..accepted(3)
    };
    let results = [accepted(1), accepted(2), refused, accepted(4), accepted(5)];
    let settled = results.map(|result| outbox.result(result).is_some());
    assert_eq!(settled, [false, true, false, false, false]);
    assert!(outbox.is_empty());
}

fn of_task(task_id: &str) -> Batch {
    let mut batch = batch(1, false, None).0;
    if let Some(publish::Payload::Message(message)) = &mut batch.publishes[0].payload {
        task_id.clone_into(&mut message.task_id);
    }
    batch
}

#[test]
fn what_lingers_goes_with_the_next_batch_of_its_task_or_alone() {
    let mut outbox = Outbox::default();
    outbox.restart(10);
    let now = Instant::now();
    for task in ["a", "b"] {
        outbox.linger(task.to_owned(), of_task(task), now);
    }
    outbox.push(of_task("c"));
    let tasks = |publishes: &[Publish]| -> Vec<String> {
        let tasks = publishes.iter().filter_map(task_id);
        tasks.map(str::to_owned).collect()
    };
    assert_eq!(tasks(&next_publishes(&mut outbox)), ["c"]);
    outbox.push(of_task("b"));
    assert_eq!(tasks(&next_publishes(&mut outbox)), ["b", "b"]);
    assert!(!outbox.is_empty(), "one lingers");
    let due = outbox.next_release().expect("one lingers");
    outbox.release(due);
    assert_eq!(tasks(&next_publishes(&mut outbox)), ["a"]);
    assert_eq!(outbox.next_release(), None);
}

#[test]
fn a_hub_without_memory_gets_nothing_of_its_last_lifes_tasks() {
    let mut outbox = Outbox::default();
    outbox.restart(10);
    let (old, mut old_answer) = batch(1, true, Some(1));
    let (new, mut new_answer) = batch(1, false, None);
    outbox.push(old);
    outbox.push(new);
    next_publishes(&mut outbox);
    outbox.restart(10);
    outbox.forget(2);
    assert!(old_answer.try_recv().is_ok_and(|r| r.is_err()));
    assert!(new_answer.try_recv().is_err());
    assert_eq!(sequences(&next_publishes(&mut outbox)), [2]);
}

proptest! {
    #[test]
    fn never_more_unanswered_than_the_hub_allows(
        window in 1u32..20,
        steps in prop::collection::vec(0u8..4, 1..200),
    ) {
        let mut outbox = Outbox::default();
        outbox.restart(window);
        let mut unanswered: Vec<u64> = Vec::new();
        for step in steps {
            match step {
                0 => outbox.push(batch(1, false, None).0),
                1 => unanswered.extend(sequences(&next_publishes(&mut outbox))),
                2 if !unanswered.is_empty() => {
                    outbox.result(accepted(unanswered.remove(0)));
                }
                2 => {}
                _ => {
                    outbox.restart(window);
                    unanswered.clear();
                }
            }
            prop_assert!(unanswered.len() <= window as usize);
        }
    }
}
