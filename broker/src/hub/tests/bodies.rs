//! Mail whose bodies only the log has.

use proptest::prelude::*;

use super::{
    fold::{bodies, ops, run, tight},
    *,
};
use crate::log::Entry;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Deliveries are the same whatever is in memory, and as they are in the log.
    #[test]
    fn what_is_delivered_does_not_depend_on_what_is_in_memory(ops in ops(), bodies in bodies()) {
        let mut all = Bench::new(tight());
        let mut few = Bench::new(tight());
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
        // Copies are in no record that is kept.
        let is_copy = |r: &Record| matches!(r.entry, Entry::Reread { .. } | Entry::Settled { again: true, .. });
        if !records.iter().any(is_copy) {
            let bytes = few.core.state.mailboxes.bodies.bytes();
            prop_assert!(bytes <= bodies, "{bytes} bytes are in memory");
        }
    }
}
