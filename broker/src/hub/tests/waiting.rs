//! Cost of mail that waits for offline agents, in visited events.

use super::*;
use crate::{hub::giving_up::AT_ONCE, log::Entry, steps};

/// Messages to an offline agent.
fn bench_with(waiting: usize, settings: Settings) -> Bench {
    let mut b = Bench::new(settings);
    for n in 0..waiting {
        publish(&mut b, n);
    }
    b
}

fn publish(b: &mut Bench, n: usize) {
    let body = Body::Message(Message::new(Role::User, format!("word {n}")));
    b.publish(body, "asker", "absent").expect("good");
}

/// Checks that the steps of `act` grow by less than `times` when twice as many events wait.
fn check(times: usize, settings: Settings, act: impl Fn(&mut Bench)) {
    const WAITING: usize = 1000;
    let cost = |waiting: usize| {
        let settings = Settings {
            mailbox_events: settings.mailbox_events.min(waiting),
            ..settings.clone()
        };
        let mut b = bench_with(waiting, settings);
        steps::count(|| act(&mut b)).0
    };
    let (once, twice) = (cost(WAITING), cost(2 * WAITING));
    assert!(once > 0, "nothing was counted");
    assert!(
        twice < times * once,
        "{once} steps, and {twice} with twice as many waiting"
    );
}

/// promise 10
#[test]
fn a_first_subscription_takes_as_long_as_what_waits_for_it() {
    for subscription in [durable("work"), of_instance("own")] {
        check(3, Settings::default(), |b| {
            b.connect("absent", "i", subscription.clone());
        });
    }
}

#[test]
fn a_refusal_for_want_of_room_takes_as_long_whatever_waits() {
    check(2, Settings::default(), |b| {
        for n in 0..50 {
            publish(b, n);
        }
        assert_eq!(letters(b), 50);
    });
}

/// Each event expires in its own tick.
#[test]
fn expiring_takes_as_long_as_what_expires() {
    let settings = Settings {
        mailbox_age: Duration::from_secs(1),
        unknown_recipient: Duration::from_secs(3600),
        ..Settings::default()
    };
    let cost = |waiting: usize| {
        let mut b = Bench::new(settings.clone());
        for n in 0..waiting {
            publish(&mut b, n);
            b.now.instant += Duration::from_millis(1);
        }
        let (steps, ()) = steps::count(|| {
            b.wait(Duration::from_secs(1).saturating_sub(Duration::from_millis(waiting as u64)));
            for _ in 0..waiting {
                b.wait(Duration::from_millis(1));
            }
        });
        assert_eq!(letters(&b), waiting);
        steps
    };
    let (once, twice) = (cost(400), cost(800));
    assert!(once > 0 && twice < 3 * once, "{once} steps, then {twice}");
}

#[test]
fn registering_does_not_look_at_what_waits() {
    let mut b = bench_with(1000, Settings::default());
    let registration = Registration {
        card: AgentCard {
            name: "absent".into(),
            ..Default::default()
        },
        topics: Vec::new(),
        health_check_url: String::new(),
    };
    let caller = Caller::anonymous();
    let now = b.now;
    let register = || b.core.register(&caller, registration, None, now);
    let (steps, registered) = steps::count(register);
    assert_eq!((steps, registered), (0, Ok(true)));
}

/// One acquisition of the lock gives up a bounded number of events, in order, and each becomes one dead letter in the
/// end.
#[test]
fn what_is_given_up_together_is_buried_in_portions() {
    let mut b = bench_with(4 * AT_ONCE, Settings::default());
    b.now.instant += Settings::default().unknown_recipient;
    let now = b.now;
    let mut before = 0;
    loop {
        let is_left = b.core().tick(now);
        let buried = letters(&b);
        assert!(buried - before <= 2 * AT_ONCE, "{}", buried - before);
        before = buried;
        if !is_left {
            break;
        }
    }
    assert_eq!(before, 4 * AT_ONCE);
    let records = b.records.lock().expect("one thread");
    let buried = records.iter().filter_map(|record| match &record.entry {
        Entry::GivenUp(given_up) => Some(given_up.mail.position),
        _ => None,
    });
    assert!(buried.is_sorted());
}

fn letters(b: &Bench) -> usize {
    b.core.state.dead_letters.iter().count()
}

/// The operator's log has their number, not each of them.
#[test]
fn undelivered_events_are_counted_for_one_line_of_the_log() {
    let settings = Settings {
        mailbox_events: 10,
        ..Settings::default()
    };
    let mut b = bench_with(10 + 50, settings);
    let summary = b.core.giving_up.take_summary().expect("50 were refused");
    assert_eq!(summary.count(), 50);
    assert!(b.core.giving_up.take_summary().is_none());
}
