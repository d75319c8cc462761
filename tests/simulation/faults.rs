//! What goes wrong, and when: a schedule that follows from a seed alone.

use std::{fmt, time::Duration};

use fastrand::Rng;

/// The first fault, and the time until which every fault is mended again.
const BEGIN: Duration = Duration::from_millis(800);
pub(crate) const CALM: Duration = Duration::from_secs(16);

/// The most faults of one schedule.
const MOST: u32 = 12;

/// Something that happens to the world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// A host stops at once, with all that it knew.
    Crash(&'static str),
    /// A host starts again.
    Start(&'static str),
    /// What two hosts send to each other is lost.
    Part(&'static str, &'static str),
    /// What the first sends to the second is lost.
    Mute(&'static str, &'static str),
    /// What two hosts send to each other stays under way.
    Hold(&'static str, &'static str),
    /// Two hosts reach each other again.
    Mend(&'static str, &'static str),
    /// Each message between two hosts is lost with this probability, in percent, and some after it.
    Lose(&'static str, &'static str, u32),
    /// The longest that messages between two hosts take, in milliseconds.
    Slow(&'static str, &'static str, u64),
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// What happens when, in order. Everything is mended by [`CALM`], but for a visitor that has gone.
pub(crate) fn schedule(
    seed: u64,
    hub: &'static str,
    workers: &[&'static str],
    others: &[&'static str],
    visitor: &'static str,
) -> Vec<(Duration, Change)> {
    let mut rng = Rng::with_seed(seed);
    let peers: Vec<&'static str> = workers.iter().chain(others).copied().collect();
    let mut changes = Vec::new();
    for _ in 0..rng.u32(2..=MOST) {
        let at = within(&mut rng, BEGIN, CALM - Duration::from_secs(1));
        let until =
            (at + within(&mut rng, Duration::from_millis(100), Duration::from_secs(7))).min(CALM);
        let peer = peers[rng.usize(..peers.len())];
        let (first, second) = match rng.u32(..8) {
            0 => (Change::Crash(hub), Change::Start(hub)),
            1 => {
                let worker = workers[rng.usize(..workers.len())];
                (Change::Crash(worker), Change::Start(worker))
            }
            2 => (Change::Part(hub, peer), Change::Mend(hub, peer)),
            3 => (Change::Mute(hub, peer), Change::Mend(hub, peer)),
            4 => (Change::Mute(peer, hub), Change::Mend(hub, peer)),
            5 => (Change::Hold(hub, peer), Change::Mend(hub, peer)),
            6 => (
                Change::Lose(hub, peer, rng.u32(1..=20)),
                Change::Lose(hub, peer, 0),
            ),
            _ => (
                Change::Slow(hub, peer, rng.u64(200..=1500)),
                Change::Slow(hub, peer, 50),
            ),
        };
        changes.push((at, first));
        changes.push((until, second));
    }
    let leaves = within(&mut rng, BEGIN, CALM - Duration::from_secs(1));
    changes.push((leaves, Change::Crash(visitor)));
    changes.sort_by_key(|(at, _)| *at);
    for worker in workers {
        changes.push((CALM, Change::Start(worker)));
    }
    changes.push((CALM, Change::Start(hub)));
    for peer in peers {
        changes.push((CALM, Change::Mend(hub, peer)));
        changes.push((CALM, Change::Lose(hub, peer, 0)));
        changes.push((CALM, Change::Slow(hub, peer, 50)));
    }
    changes
}

fn within(rng: &mut Rng, from: Duration, to: Duration) -> Duration {
    from + (to - from).mul_f64(rng.f64())
}
