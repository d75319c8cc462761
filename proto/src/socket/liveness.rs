//! Detection of dead peers.
//!
//! A peer is alive if it sends something, or takes what it is sent: on a slow link, a ping waits behind other data, and
//! so does its answer.

use std::{collections::VecDeque, time::Duration};

/// Time without a sign of life after which a peer is dead.
pub const DEAD: Duration = Duration::from_secs(10);
/// Time after which a silent peer is sent a ping.
pub const PING: Duration = Duration::from_secs(5);
/// Minimum bytes per [`DEAD`] that a slow peer must take.
pub const SLOWEST: u64 = 16 * 1024;
/// Interval of checks while a peer has data to take.
const CHECK_INTERVAL: Duration = Duration::from_millis(2_500);

/// True if this many bytes within that time are a sign of life. Half of [`SLOWEST`] is enough, as networks deliver in
/// bursts.
pub fn is_progress(bytes: u64, within: Duration) -> bool {
    let least = u128::from(SLOWEST / 2) * within.as_millis();
    u128::from(bytes) * DEAD.as_millis() >= least.max(1)
}

/// State of a connection at one check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sample {
    /// Time of the check, since the connection began.
    pub(super) now: Duration,
    /// Time of the last received bytes.
    pub(super) heard: Duration,
    /// Bytes that the peer has taken so far.
    pub(super) taken: u64,
    /// True if bytes wait to be taken.
    pub(super) has_backlog: bool,
}

/// Result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Time of the next check.
    CheckAt(Duration),
    Dead,
}

/// The checks within the last [`DEAD`]: their time, and the bytes taken until then.
#[derive(Debug, Default)]
pub(super) struct Liveness {
    looks: VecDeque<(Duration, u64)>,
}

impl Liveness {
    /// Time of the first check.
    pub(super) const FIRST: Duration = PING;

    /// Processes a check of the connection.
    pub(super) fn look(&mut self, seen: Sample) -> Verdict {
        let Sample {
            now,
            heard,
            taken,
            has_backlog,
        } = seen;
        let silent = now.saturating_sub(heard);
        self.looks.retain(|(at, _)| now.saturating_sub(*at) < DEAD);
        let oldest = *self.looks.front().unwrap_or(&(now, taken));
        self.looks.push_back((now, taken));
        let looked_for = now.saturating_sub(oldest.0);
        let is_taking = is_progress(taken.saturating_sub(oldest.1), looked_for);
        if silent >= DEAD && looked_for >= PING && !is_taking {
            return Verdict::Dead;
        }
        let next = match silent {
            _ if has_backlog => now + CHECK_INTERVAL,
            s if s < PING => heard + PING,
            _ => now + PING,
        };
        // The next check is due no later than the time when a silent peer counts as dead.
        let deadline = Some(heard + DEAD).filter(|at| *at > now);
        Verdict::CheckAt(deadline.map_or(next, |at| at.min(next)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Time at which a peer is found dead, in milliseconds. It sends at these times, and takes this many bytes of a
    /// large backlog in each second, until it stops.
    fn dead_at(says: &[u64], rate: u64, stops_at: u64) -> Option<u64> {
        const END: u64 = 3_600_000;
        let mut liveness = Liveness::default();
        let mut now = Liveness::FIRST;
        while now.as_millis() < END.into() {
            let at = u64::try_from(now.as_millis()).expect("less than an hour");
            let heard = says.iter().copied().filter(|s| *s <= at).max().unwrap_or(0);
            let seen = Sample {
                now,
                heard: Duration::from_millis(heard),
                taken: rate * at.min(stops_at) / 1000,
                has_backlog: rate > 0,
            };
            match liveness.look(seen) {
                Verdict::Dead => return Some(at),
                Verdict::CheckAt(next) => {
                    assert!(next > now, "it would look without end");
                    now = next;
                }
            }
        }
        None
    }

    #[test]
    fn a_peer_that_says_and_takes_nothing_is_dead_after_ten_seconds() {
        assert_eq!(dead_at(&[], 0, 0), Some(10_000));
        assert_eq!(dead_at(&[1_234], 0, 0), Some(11_234));
        assert_eq!(dead_at(&[3_000, 6_100, 9_999], 0, 0), Some(19_999));
    }

    #[test]
    fn a_peer_that_answers_is_alive() {
        let answers: Vec<u64> = (0..400).map(|n| n * 9_000).collect();
        assert_eq!(dead_at(&answers, 0, 0), None);
    }

    #[test]
    fn a_peer_that_takes_is_alive_though_it_says_nothing() {
        let slowest = SLOWEST / DEAD.as_secs();
        assert_eq!(dead_at(&[], slowest, u64::MAX), None);
        assert_eq!(dead_at(&[], 300_000, u64::MAX), None);
        assert_eq!(dead_at(&[], slowest / 4, u64::MAX), Some(10_000));
    }

    /// Earlier progress no longer counts.
    #[test]
    fn a_peer_that_stops_taking_is_dead_too() {
        let died = dead_at(&[], SLOWEST, 60_000).expect("it is dead");
        assert!((65_000..=70_000).contains(&died), "{died}");
        let died = dead_at(&[59_900], 10_000_000, 60_000).expect("it is dead");
        assert!((69_900..=72_500).contains(&died), "{died}");
    }

    #[test]
    fn progress_is_half_of_what_the_slowest_peer_takes() {
        let (half, second) = (SLOWEST / 2, Duration::from_secs(1));
        assert!(is_progress(half, DEAD));
        assert!(!is_progress(half - 1, DEAD));
        assert!(is_progress(half, second));
        assert!(!is_progress(0, Duration::ZERO), "nothing is none");
    }
}
