//! Tests of a single mailbox: deliveries, recipients, and redeliveries.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use agenthub_proto::agenthub::{AgentEvent, AgentEventMetadata, Concern, Priority};
use proptest::prelude::*;

use super::*;
use crate::log::Try;

mod costs;
mod together;
mod unlogged;

const BOUNDS: Bounds = Bounds {
    events: 100,
    bytes: usize::MAX,
    ack_deadline: Duration::from_secs(30),
    max_attempts: 3,
};

const LONGEST: Duration = Duration::from_secs(100_000);

struct Box {
    mailbox: Mailbox,
    now: Instant,
    next: u64,
}

impl Box {
    fn new() -> Self {
        let now = Instant::now();
        Self {
            mailbox: Mailbox::new(BOUNDS, now),
            now,
            next: 0,
        }
    }

    fn mail(&mut self, order: &str, priority: Priority) -> Mail {
        self.next += 1;
        Mail {
            event: Arc::new(
                AgentEvent {
                    event_id: self.next.to_string(),
                    routing: Some(AgentEventMetadata {
                        priority: priority.into(),
                        ..Default::default()
                    }),
                    ..Default::default()
                }
                .into(),
            ),
            recipient: "worker".into(),
            position: Some(Position(self.next)),
            order: order.into(),
            concern: Concern::Work,
            version: None,
            is_directed: true,
            is_copy: false,
            timing: Timing {
                since: self.now,
                due: None,
                expires: self.now + LONGEST,
            },
        }
    }

    fn push(&mut self, order: &str) -> u64 {
        self.push_at(order, Priority::Medium)
    }

    fn push_at(&mut self, order: &str, priority: Priority) -> u64 {
        let mail = self.mail(order, priority);
        self.mailbox.push(&mail, self.now);
        self.next
    }

    fn take(&mut self, instance: &str) -> Option<(u64, u32)> {
        let Delivery { batch, .. } = self.mailbox.take(&instance.into(), None, 1, self.now)?;
        Some((batch.positions()[0].0, batch.attempt()))
    }

    fn refuse(&mut self, position: u64, instance: &str, delay: u64) -> Option<Undelivered> {
        let (position, delay) = (Position(position), Duration::from_secs(delay));
        let instance = instance.into();
        let refused = self
            .mailbox
            .refuse(position, &instance, delay, "no", self.now);
        refused.into_iter().next()
    }

    fn acknowledge(&mut self, position: u64) -> bool {
        !self
            .mailbox
            .acknowledge(&[Position(position)], None)
            .is_empty()
    }

    fn wait(&mut self, seconds: u64) -> Vec<Undelivered> {
        self.now += Duration::from_secs(seconds);
        self.mailbox.tick(&mut Portion::new(), self.now)
    }
}

#[tokio::test]
async fn first_deliveries_come_in_log_order_and_wait_for_no_acknowledgement() {
    let mut b = Box::new();
    for order in ["a", "b", "a"] {
        b.push(order);
    }
    let got: Vec<_> = std::iter::from_fn(|| b.take("i")).collect();
    assert_eq!(got, [(1, 1), (2, 1), (3, 1)]);
}

#[tokio::test]
async fn a_context_stays_with_the_instance_that_has_deliveries_of_it() {
    let mut b = Box::new();
    for order in ["a", "a", "b"] {
        b.push(order);
    }
    assert_eq!(b.take("one"), Some((1, 1)));
    assert_eq!(
        b.take("two"),
        Some((3, 1)),
        "context a is with instance one"
    );
    assert_eq!(b.take("two"), None);
    b.acknowledge(1);
    assert_eq!(b.take("two"), Some((2, 1)), "context a is free again");
}

#[tokio::test]
async fn priority_chooses_between_contexts_and_waiting_makes_up_for_it() {
    let mut b = Box::new();
    let low = b.push_at("low", Priority::Low);
    let medium = b.push_at("medium", Priority::Medium);
    let critical = b.push_at("critical", Priority::Critical);
    let behind = b.push_at("medium", Priority::Critical);
    let got: Vec<_> = std::iter::from_fn(|| b.take("i")).map(|(p, _)| p).collect();
    assert_eq!(got, [critical, medium, behind, low]);

    let mut b = Box::new();
    let old = b.push_at("old", Priority::Low);
    b.wait(21);
    let high = b.push_at("late", Priority::High);
    assert_eq!(
        b.take("i").map(|(p, _)| p),
        Some(old),
        "it has waited longer than a priority is worth"
    );
    assert_eq!(b.take("i").map(|(p, _)| p), Some(high));
}

#[tokio::test]
async fn what_nobody_acknowledges_comes_again_in_its_order() {
    let mut b = Box::new();
    b.push("a");
    b.push("a");
    assert_eq!(b.take("i"), Some((1, 1)));
    assert_eq!(b.mailbox.next_tick(), Some(b.now + BOUNDS.ack_deadline));
    b.wait(29);
    assert_eq!(b.take("i"), Some((2, 1)));
    b.wait(1);
    assert_eq!(b.take("i"), Some((1, 2)));
    assert_eq!(b.take("i"), None);
}

#[tokio::test]
async fn extending_a_lease_keeps_the_delivery() {
    let mut b = Box::new();
    b.push("a");
    b.take("i");
    b.wait(20);
    b.mailbox.extend(&[Position(1)], &"other".into(), b.now);
    b.mailbox.extend(&[Position(1)], &"i".into(), b.now);
    b.wait(20);
    assert_eq!(b.take("i"), None);
    assert!(b.acknowledge(1));
    assert!(!b.acknowledge(1));
    assert_eq!(b.mailbox.next_tick(), None);
}

#[tokio::test]
async fn a_late_acknowledgement_still_counts() {
    let mut b = Box::new();
    b.push("a");
    b.take("i");
    b.wait(31);
    assert!(b.acknowledge(1));
    assert_eq!(b.take("i"), None);
}

#[tokio::test]
async fn refused_mail_comes_after_its_delay_and_not_for_ever() {
    let mut b = Box::new();
    b.push("a");
    for attempt in 1..=3 {
        assert_eq!(b.take("i"), Some((1, attempt)));
        let out = b.refuse(1, "other", 5);
        assert!(out.is_none(), "it is not that one's");
        let out = b.refuse(1, "i", 5);
        assert_eq!(out.is_some(), attempt == 3, "given up after three");
        assert_eq!(b.take("i"), None);
        b.wait(5);
    }
    assert_eq!((b.mailbox.events, b.mailbox.bytes), (0, 0));
}

#[tokio::test]
async fn an_instance_that_is_gone_gives_back_what_it_had() {
    let mut b = Box::new();
    for order in ["a", "a", "b"] {
        b.push(order);
    }
    while b.take("one").is_some() {}
    b.push("a");
    assert_eq!(b.take("two"), None);
    assert!(b.mailbox.release(&"one".into(), b.now).is_empty());
    let got: Vec<_> = std::iter::from_fn(|| b.take("two")).collect();
    assert_eq!(got, [(1, 2), (2, 2), (3, 2), (4, 1)]);
}

/// spec: HUB-8
#[tokio::test]
async fn mail_for_a_version_waits_for_an_instance_of_it() {
    let mut b = Box::new();
    let mail = Mail {
        version: Some("2".into()),
        ..b.mail("a", Priority::Medium)
    };
    b.mailbox.push(&mail, b.now);
    assert_eq!(b.take("any"), None);
    let (one, two) = (Version::from("1"), Version::from("2"));
    assert!(b.mailbox.take(&"i".into(), Some(&one), 1, b.now).is_none());
    assert!(b.mailbox.take(&"i".into(), Some(&two), 1, b.now).is_some());
}

#[tokio::test]
async fn a_full_mailbox_loses_its_oldest_and_says_so() {
    let mut b = Box::new();
    b.push_at("calm", Priority::Low);
    for n in 1..BOUNDS.events {
        b.push_at(&n.to_string(), Priority::Critical);
    }
    let mail = b.mail("one more", Priority::Medium);
    b.mailbox.push(&mail, b.now);
    let out = b.mailbox.surplus();
    assert_eq!(out.len(), 1);
    assert_eq!(out[0].mail.position, Some(Position(1)));
    assert!(out[0].reason.contains("full"), "{}", out[0].reason);
}

#[tokio::test]
async fn one_large_event_makes_room_for_itself() {
    let mut b = Box::new();
    b.mailbox.bounds.bytes = 1000;
    for _ in 0..50 {
        b.push("small");
    }
    let mut mail = b.mail("large", Priority::Medium);
    let mut event = AgentEvent::clone(&mail.event);
    event.trace_id = "x".repeat(900);
    mail.event = Arc::new(event.into());
    b.mailbox.push(&mail, b.now);
    let out = b.mailbox.surplus();
    assert!(out.len() > 10, "{}", out.len());
    assert!(b.mailbox.bytes <= 1000);
}

fn tried(position: u64, attempts: u32, instance: &str, is_out: bool) -> Try {
    Try {
        position: Position(position),
        attempts,
        instance: instance.into(),
        is_out,
    }
}

#[tokio::test]
async fn the_log_is_told_of_what_is_not_handled_at_once() {
    let mut b = Box::new();
    for order in ["a", "b", "c"] {
        b.push(order);
        b.take("i");
    }
    b.acknowledge(1);
    b.refuse(2, "i", 5);
    let told = [tried(2, 1, "i", false), tried(3, 1, "i", true)];
    assert_eq!(b.mailbox.take_unlogged_attempts(usize::MAX), told);
    assert_eq!(b.mailbox.take_unlogged_attempts(usize::MAX), [], "once");
    assert_eq!(b.mailbox.tries(), told);
    b.wait(5);
    b.take("j");
    assert_eq!(
        b.mailbox.take_unlogged_attempts(usize::MAX),
        [tried(2, 2, "j", true)]
    );
}

/// promise 5
#[tokio::test]
async fn what_was_out_is_with_its_instance_again_and_was_tried_as_often() {
    let mut b = Box::new();
    for order in ["a", "a", "b"] {
        b.push(order);
    }
    b.mailbox.set_tried(&tried(1, 2, "i", true));
    b.mailbox.set_tried(&tried(3, 1, "i", false));
    b.mailbox.resume(b.now + Duration::from_secs(10));
    assert_eq!(
        b.mailbox.take_unlogged_attempts(usize::MAX),
        [],
        "the log knows"
    );
    assert_eq!(b.take("other"), Some((3, 2)), "the context of 1 is with i");
    assert_eq!(b.take("other"), None);
    let mut claims = Reclaiming::new(vec![Position(1)]);
    let reclaimed = b.mailbox.reclaim(&"i".into(), &mut claims, b.now);
    assert!(reclaimed.handed_over.is_empty() && reclaimed.given_up.is_empty());
    b.wait(29);
    assert_eq!(b.take("other"), None, "it has come back for it");
    b.wait(1);
    assert_eq!(b.take("other"), Some((1, 3)));
    assert!(b.refuse(1, "other", 0).is_some(), "tried three times");
}

/// promise 5
#[tokio::test]
async fn a_claim_on_what_another_had_when_the_log_ended_is_superseded() {
    let mut b = Box::new();
    b.push("a");
    b.mailbox.set_tried(&tried(1, 2, "j", true));
    b.mailbox.resume(b.now + Duration::from_secs(10));
    let mut claims = Reclaiming::new(vec![Position(1)]);
    let lost = b
        .mailbox
        .reclaim(&"i".into(), &mut claims, b.now)
        .handed_over;
    let lost: Vec<(&str, &str)> = lost.iter().map(|h| (&*h.from, &*h.to)).collect();
    assert_eq!(lost, [("i", "j")]);
}

#[derive(Clone, Debug)]
enum Step {
    Push(u8),
    Take(u8),
    Ack(u8),
    Refuse(u8, u8),
    Release(u8),
    Wait(u8),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0u8..4).prop_map(Step::Push),
        4 => (0u8..3).prop_map(Step::Take),
        3 => any::<u8>().prop_map(Step::Ack),
        1 => (any::<u8>(), 0u8..3).prop_map(|(p, d)| Step::Refuse(p, d)),
        1 => (0u8..3).prop_map(Step::Release),
        1 => (0u8..40).prop_map(Step::Wait),
    ];
    prop::collection::vec(step, 0..80)
}

proptest! {
    /// Nothing is lost, nothing is redelivered after its acknowledgement, and first deliveries keep the order of their
    /// context.
    #[test]
    fn at_least_once_in_order(steps in steps()) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let _guard = runtime.enter();
        let mut b = Box::new();
        b.mailbox.bounds.max_attempts = u32::MAX;
        let mut open: BTreeMap<u64, u8> = BTreeMap::new();
        let mut first: HashMap<u8, u64> = HashMap::new();
        let mut taken: Vec<u64> = Vec::new();
        for step in steps {
            match step {
                Step::Push(order) => {
                    let position = b.push(&order.to_string());
                    open.insert(position, order);
                }
                Step::Take(instance) => {
                    if let Some((position, attempt)) = b.take(&instance.to_string()) {
                        let order = open.get(&position).copied();
                        prop_assert!(order.is_some(), "{position} was handled");
                        if attempt == 1 {
                            let last = first.insert(order.expect("checked"), position);
                            prop_assert!(last.is_none_or(|l| l < position));
                        }
                        taken.push(position);
                    }
                }
                Step::Ack(n) if !taken.is_empty() => {
                    let position = taken.remove(usize::from(n) % taken.len());
                    if b.acknowledge(position) {
                        open.remove(&position);
                    }
                }
                Step::Refuse(n, delay) if !taken.is_empty() => {
                    let position = taken[usize::from(n) % taken.len()];
                    for instance in ["0", "1", "2"] {
                        b.refuse(position, instance, delay.into());
                    }
                }
                Step::Release(instance) => {
                    b.mailbox.release(&instance.to_string().into(), b.now);
                }
                Step::Wait(seconds) => {
                    b.wait(seconds.into());
                }
                Step::Ack(_) | Step::Refuse(..) => {}
            }
        }
        // After all leases have expired, everything is redelivered, to any instance.
        b.wait(100);
        let mut rest: Vec<u64> = std::iter::from_fn(|| b.take("last")).map(|(p, _)| p).collect();
        rest.sort_unstable();
        prop_assert_eq!(rest, open.keys().copied().collect::<Vec<_>>());
        prop_assert_eq!(b.mailbox.events, open.len());
    }
}
