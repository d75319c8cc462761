use super::*;

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

impl Box {
    /// Delivers as the acts say, then the rest: the ids of the events, in their order. Which of them are in the log is asked for each.
    fn delivered(acts: &[Act], is_logged: impl Fn(u64) -> bool) -> Vec<String> {
        let mut b = Self::new();
        let mut got = Vec::new();
        let mut take = |b: &mut Self| {
            let delivery = b.mailbox.take(&"i".into(), None, b.now)?;
            got.push(delivery.mail.event.event_id.clone());
            Some(())
        };
        for act in acts {
            match act {
                Act::Push(order, priority) => {
                    let mut mail = b.mail(&order.to_string(), *priority);
                    mail.position = mail.position.filter(|at| is_logged(at.0));
                    b.mailbox.push(mail, b.now);
                }
                Act::Take => _ = take(&mut b),
                Act::Wait(seconds) => b.now += Duration::from_secs((*seconds).into()),
            }
        }
        while take(&mut b).is_some() {}
        got
    }
}

proptest! {
    /// promise 3
    #[test]
    fn what_may_be_lost_comes_in_the_same_order_as_what_may_not(acts in acts()) {
        let logged = Box::delivered(&acts, |_| true);
        prop_assert_eq!(&Box::delivered(&acts, |_| false), &logged);
        prop_assert_eq!(&Box::delivered(&acts, |at| at % 3 == 0), &logged);
        prop_assert_eq!(&Box::delivered(&acts, |at| at > 5), &logged);
    }
}

#[tokio::test]
async fn a_full_mailbox_loses_the_oldest_of_what_passes() {
    let mut b = Box::new();
    for _ in 0..BOUNDS.events + 2 {
        let mut mail = b.mail("a", Priority::Medium);
        mail.position = None;
        b.mailbox.push(mail, b.now);
    }
    let lost = b.mailbox.surplus();
    let ids: Vec<&str> = lost
        .iter()
        .map(|u| u.mail.event.event_id.as_str())
        .collect();
    assert_eq!(ids, ["1", "2"]);
    let next = b
        .mailbox
        .take(&"i".into(), None, b.now)
        .expect("there is more");
    assert_eq!(next.mail.event.event_id, "3");
}
