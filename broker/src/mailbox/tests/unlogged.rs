use super::*;
use crate::segment;

#[derive(Clone, Copy, Debug)]
enum Act {
    Push(u8, Priority),
    Take,
    Wait(u8),
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let priority = prop_oneof![
        Just(Priority::Low),
        Just(Priority::Medium),
        Just(Priority::High)
    ];
    let act = prop_oneof![
        6 => (0..3u8, priority).prop_map(|(order, priority)| Act::Push(order, priority)),
        2 => Just(Act::Take),
        1 => (0..20u8).prop_map(Act::Wait),
    ];
    prop::collection::vec(act, 0..60)
}

fn ids(batch: &Batch) -> Vec<String> {
    batch.events().map(|(e, _)| e.event_id.clone()).collect()
}

impl Box {
    /// Unlogged mail.
    fn pass(&mut self, mail: &[Mail]) {
        let mut segment = segment::Builder::new(0, 0);
        mail.iter()
            .for_each(|m| segment.push_encoded(m.event.bytes()));
        let mut first = mail[0].clone();
        first.position = None;
        self.mailbox
            .push_segment(&first, &Arc::new(segment.build()), self.now);
    }

    /// Ids in order of delivery, for the acts and then the rest. `is_logged` decides for each event; at most
    /// `at_a_time` unlogged ones pass in a batch, or are taken at once.
    fn delivered(acts: &[Act], is_logged: impl Fn(u64) -> bool, at_a_time: usize) -> Vec<String> {
        let mut b = Self::new();
        let mut got = Vec::new();
        let mut take = |b: &mut Self| {
            let Delivery { batch, .. } = b.mailbox.take(&"i".into(), None, at_a_time, b.now)?;
            got.extend(ids(&batch));
            Some(())
        };
        let mut passing: Vec<Mail> = Vec::new();
        for act in acts {
            let next = match act {
                Act::Push(order, priority) => Some(b.mail(&order.to_string(), *priority)),
                Act::Take | Act::Wait(_) => None,
            };
            let fits = next.as_ref().is_some_and(|next| {
                let alike =
                    |m: &Mail| m.order == next.order && m.event.priority() == next.event.priority();
                !next.position.is_some_and(|at| is_logged(at.0))
                    && passing.len() < at_a_time
                    && passing.iter().all(alike)
            });
            if !fits && !passing.is_empty() {
                b.pass(&std::mem::take(&mut passing));
            }
            match (act, next) {
                (_, Some(mail)) if mail.position.is_some_and(|at| is_logged(at.0)) => {
                    b.mailbox.push(&mail, b.now);
                }
                (_, Some(mail)) => passing.push(mail),
                (Act::Wait(seconds), _) => b.now += Duration::from_secs((*seconds).into()),
                (_, None) => _ = take(&mut b),
            }
        }
        if !passing.is_empty() {
            b.pass(&passing);
        }
        while take(&mut b).is_some() {}
        assert_eq!(
            (b.mailbox.events(), b.mailbox.bytes() > 0),
            (b.mailbox.leased(), b.mailbox.leased() > 0)
        );
        got
    }
}

proptest! {
    /// promise 3
    #[test]
    fn what_may_be_lost_comes_in_the_same_order_as_what_may_not(acts in acts()) {
        let logged = Box::delivered(&acts, |_| true, 1);
        for is_logged in [|_| false, |at| at % 3 == 0, |at| at > 5] {
            prop_assert_eq!(&Box::delivered(&acts, is_logged, 1), &logged);
        }
    }

    /// promise 3
    #[test]
    fn no_event_of_a_batch_is_lost_or_doubled(acts in acts(), at_a_time in 1..9usize) {
        for is_logged in [|_| false, |at| at % 3 == 0, |at| at > 5] {
            let mut got = Box::delivered(&acts, is_logged, at_a_time);
            let mut all = Box::delivered(&acts, |_| true, 1);
            got.sort();
            all.sort();
            prop_assert_eq!(got, all);
        }
    }
}

#[tokio::test]
async fn a_full_mailbox_loses_the_oldest_of_what_passes() {
    let mut b = Box::new();
    let mut mail = || b.mail("a", Priority::Medium);
    let first: Vec<Mail> = (0..4).map(|_| mail()).collect();
    let others: Vec<Mail> = (4..BOUNDS.events + 2).map(|_| mail()).collect();
    b.pass(&first);
    b.pass(&others);
    let lost = b.mailbox.surplus();
    let lost: Vec<&str> = lost
        .iter()
        .map(|u| u.mail.event.event_id.as_str())
        .collect();
    assert_eq!(lost, ["1", "2"]);
    let left = b.mailbox.take(&"i".into(), None, 100, b.now);
    let left = left.expect("there is more");
    assert_eq!(ids(&left.batch), ["3", "4"]);
}
