//! Bodies that are only in the log.

use proptest::prelude::*;

use super::{
    fold::{bodies, ops, run},
    *,
};
use crate::log::Entry;

/// Settings under which nothing is given up: a dead letter is recorded once its body was read, after events that
/// happened meanwhile.
fn patient() -> Settings {
    const LONG: Duration = Duration::from_secs(1_000_000);
    Settings {
        max_attempts: 1_000,
        mailbox_age: LONG,
        unknown_recipient: LONG,
        ..Settings::default()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Deliveries do not depend on the bodies in memory, and equal the log.
    #[test]
    fn what_is_delivered_does_not_depend_on_what_is_in_memory(ops in ops(), bodies in bodies()) {
        let mut all = Bench::new(patient());
        let mut few = Bench::new(patient());
        few.bound_bodies(bodies);
        let places = |delivered: &[(Position, u32, Arc<Sealed>)]| -> Vec<_> {
            delivered.iter().map(|(at, attempt, _)| (*at, *attempt)).collect()
        };
        let expected = run(&mut all, ops.clone());
        let delivered = run(&mut few, ops);
        prop_assert_eq!(places(&delivered), places(&expected));
        let records = few.records.lock().expect("one thread");
        for (at, _, event) in delivered {
            prop_assert!(!event.is_head());
            let record = records.iter().find(|r| r.position == at).expect("it is in the log");
            let Entry::Published(published) = &record.entry else {
                unreachable!("it is an event");
            };
            prop_assert_eq!(&event, &published.event);
        }
        // Records of copies are not kept.
        let is_copy = |r: &Record| matches!(r.entry, Entry::Reread { .. } | Entry::Settled { again: true, .. });
        if !records.iter().any(is_copy) {
            let bytes = few.core.state.mailboxes.bodies.bytes();
            prop_assert!(bytes <= bodies, "{bytes} bytes are in memory");
        }
    }
}

/// Mail of a closed stream frees its memory for others.
#[test]
fn what_waits_is_left_to_the_log_when_its_stream_goes() {
    const BODIES: usize = 200_000;
    let mut bench = Bench::new(Settings::default());
    bench.bound_bodies(BODIES);
    let opened = bench.connect("worker", "i", durable("work"));
    let send = |bench: &mut Bench| {
        let text = "x".repeat(2000);
        let message = Message::new(Role::User, text);
        bench
            .publish(Body::Message(message), "asker", "worker")
            .expect("taken");
    };
    let bytes = |bench: &Bench| bench.core.state.mailboxes.bodies.bytes();
    for _ in 0..100 {
        send(&mut bench);
    }
    assert!(bytes(&bench) > BODIES / 2, "it is delivered soon");
    bench.close(opened.id, false);
    // Removes the bodies from the test's log, which is in memory.
    bench.records.lock().expect("one thread").clear();
    assert_eq!(bytes(&bench), 0);
    send(&mut bench);
    assert!(bytes(&bench) > 0);
    assert!(!bench.core.state.mailboxes.bodies.is_half_used());
}
