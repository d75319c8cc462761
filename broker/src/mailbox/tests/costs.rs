//! Cost of operations on many events, in steps, at two sizes.

use super::*;
use crate::steps;

/// Twice as many events cost less than three times as much.
fn is_linear(cost: impl Fn(u64) -> usize) {
    let (some, twice) = (cost(1_000), cost(2_000));
    assert!(some > 0 && twice < 3 * some, "{some} steps, then {twice}");
}

/// A full mailbox of one context, or of one per event.
fn full(pieces: u64, is_one_context: bool) -> Box {
    let mut b = Box::new();
    b.mailbox.bounds.events = usize::MAX;
    for n in 0..pieces {
        match is_one_context {
            true => b.push("a"),
            false => b.push(&n.to_string()),
        };
    }
    b
}

/// Half of the events are leased to an instance, one by one.
fn half_out(pieces: u64, is_one_context: bool) -> Box {
    let mut b = full(2 * pieces, is_one_context);
    for _ in 0..pieces {
        b.take("i").expect("it waits");
    }
    b
}

#[tokio::test]
async fn an_instance_leaves_at_a_cost_that_is_linear_in_what_it_has() {
    for is_one_context in [true, false] {
        is_linear(|pieces| {
            let mut b = half_out(pieces, is_one_context);
            let (steps, ()) = steps::count(|| {
                b.mailbox.release(&"i".into(), b.now);
                while b.mailbox.next_tick().is_some_and(|at| at <= b.now) {
                    b.wait(0);
                }
            });
            assert_eq!(b.mailbox.leased(), 0);
            steps
        });
    }
}

/// Other events of leased contexts wait until all leased ones have returned.
#[tokio::test]
async fn what_an_instance_had_comes_back_in_portions_and_in_order() {
    let pieces = 10_000;
    let mut b = half_out(pieces, true);
    b.mailbox.release(&"i".into(), b.now);
    let left = b.mailbox.leased();
    assert!(
        (1..10_000).contains(&left),
        "{left} of {pieces} in one portion"
    );
    assert_eq!(b.take("j"), None);
    // It takes returned events again, and does not lose them with the rest.
    let again = b.take("i");
    assert_eq!(again, Some((1, 2)));
    while b.mailbox.next_tick().is_some_and(|at| at <= b.now) {
        b.wait(0);
    }
    assert_eq!(b.mailbox.leased(), 1);
    assert!(b.acknowledge(1));
    for position in 2..=2 * pieces {
        let attempt = if position <= pieces { 2 } else { 1 };
        assert_eq!(b.take("j"), Some((position, attempt)));
    }
}

#[tokio::test]
async fn a_log_with_mail_out_is_folded_at_a_cost_that_is_linear_in_that() {
    for is_one_context in [true, false] {
        is_linear(|pieces| {
            let mut b = full(2 * pieces, is_one_context);
            let (steps, ()) = steps::count(|| {
                for position in (1..=pieces).rev() {
                    b.mailbox.set_tried(&tried(position, 1, "i", true));
                }
                b.mailbox.resume(b.now + Duration::from_secs(10));
            });
            assert_eq!(b.mailbox.leased() as u64, pieces);
            steps
        });
    }
}

#[tokio::test]
async fn mail_is_acknowledged_in_any_order_at_a_linear_cost() {
    for is_out in [true, false] {
        is_linear(|pieces| {
            let mut b = match is_out {
                true => half_out(pieces, true),
                false => full(pieces, true),
            };
            let (steps, ()) = steps::count(|| {
                let (odd, even): (Vec<u64>, Vec<u64>) = (1..=pieces).partition(|n| n % 2 == 1);
                for position in odd.into_iter().chain(even.into_iter().rev()) {
                    assert!(b.acknowledge(position));
                }
            });
            steps
        });
    }
}

/// One push and one pop, however long the batch, and the same for the acknowledgement of all its events.
#[tokio::test]
async fn a_batch_passes_at_the_cost_of_one_event() {
    let cost = |events: u64| {
        let mut b = Box::new();
        let mail: Vec<Mail> = (0..events).map(|_| b.mail("a", Priority::Medium)).collect();
        let logged = mail
            .iter()
            .map(|m| (m.position.expect("it has one"), m.event.clone()));
        let segment = Arc::new(Segment::logged(logged.collect()));
        let (steps, ()) = steps::count(|| {
            b.mailbox.push_segment(&mail[0], &segment, b.now);
            let taken = b.mailbox.take(&"i".into(), None, usize::MAX, b.now);
            let batch = taken.expect("it waits").batch;
            assert_eq!(batch.len() as u64, events);
            let acknowledged = b.mailbox.acknowledge(batch.positions(), None);
            assert_eq!(acknowledged, batch.positions());
        });
        assert_eq!(b.mailbox.events, 0);
        steps
    };
    assert_eq!(cost(1), cost(64));
}
