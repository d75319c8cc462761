//! Faults and their times: a schedule derived from the seed alone.

use std::{fmt, time::Duration};

use fastrand::Rng;

/// Time of the first fault, and time by which every fault is mended.
const BEGIN: Duration = Duration::from_millis(800);
pub(crate) const CALM: Duration = Duration::from_secs(16);

/// Maximum faults of a schedule.
const MOST: u32 = 12;

/// A fault or its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// Crashes a host.
    Crash(&'static str),
    /// Starts a host again.
    Start(&'static str),
    /// Drops messages between two hosts.
    Part(&'static str, &'static str),
    /// Drops messages from the first to the second.
    Mute(&'static str, &'static str),
    /// Delays messages between two hosts indefinitely.
    Hold(&'static str, &'static str),
    /// Reconnects two hosts.
    Mend(&'static str, &'static str),
    /// Drops each message between two hosts with this probability, in percent, and some after it.
    Lose(&'static str, &'static str, u32),
    /// Maximum latency between two hosts, in milliseconds.
    Slow(&'static str, &'static str, u64),
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// The faults in order of time. Everything is mended by [`CALM`], except for a visitor that has left.
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
