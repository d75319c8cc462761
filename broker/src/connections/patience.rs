//! Decision to give up a piece of an answer that the peer has not taken in time.
//!
//! A peer that does not read an answer is given up. On a slow link, a piece only waits for its turn: other bytes are
//! sent before it.

use agenthub_proto::socket::{DEAD, is_progress};

use super::{SEND_BUFFER, calls::PIECE};

/// Maximum bytes in flight to a slow peer, in the system and the network.
const ON_ITS_WAY: u64 = 1024 * 1024;

/// State of a connection at one check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Standing {
    /// Bytes that the peer has taken so far.
    pub(super) taken: u64,
    /// True if bytes are in flight or queued.
    pub(super) has_backlog: bool,
    /// Approximate number of calls in progress.
    pub(super) calls: usize,
}

impl Standing {
    /// Bytes that can be sent before it is the piece's turn.
    fn turn(self) -> u64 {
        let each = SEND_BUFFER + PIECE;
        ON_ITS_WAY + self.calls as u64 * each as u64
    }
}

/// Wait for one piece of an answer: the bytes that the peer had taken when it began, and at the last check.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    began: u64,
    looked: u64,
}

impl Patience {
    pub(super) fn begin(taken: u64) -> Self {
        Self {
            began: taken,
            looked: taken,
        }
    }

    /// Returns `true` if the piece gets another period, because other bytes are ahead of it and move.
    pub(super) fn lasts(&mut self, standing: Standing) -> bool {
        let taken = standing.taken.saturating_sub(self.looked);
        self.looked = standing.taken;
        standing.has_backlog
            && is_progress(taken, DEAD)
            && standing.taken.saturating_sub(self.began) < standing.turn()
    }
}

#[cfg(test)]
mod tests {
    use agenthub_proto::socket::SLOWEST;

    use super::*;

    const START: u64 = 123_456_789;

    /// Number of further periods for a piece whose peer takes this many bytes in each.
    fn waits(each: u64, has_backlog: bool, calls: usize) -> usize {
        let mut patience = Patience::begin(START);
        let standings = (1..100_000).map(|n| Standing {
            taken: START + n * each,
            has_backlog,
            calls,
        });
        standings.take_while(|s| patience.lasts(*s)).count()
    }

    #[test]
    fn a_peer_that_takes_nothing_is_not_waited_for() {
        assert_eq!(waits(0, true, 1), 0);
        assert_eq!(waits(SLOWEST / 4, true, 1), 0);
    }

    /// The network has room, so the peer does not want this piece.
    #[test]
    fn a_peer_that_has_taken_all_else_is_not_waited_for() {
        assert_eq!(waits(SLOWEST, false, 1), 0);
    }

    #[test]
    fn a_peer_behind_a_slow_link_is_waited_for_until_the_piece_has_its_turn() {
        let turn = |calls: u64| ON_ITS_WAY + calls * 192 * 1024;
        assert_eq!(waits(SLOWEST, true, 1) as u64, turn(1) / SLOWEST - 1);
        assert_eq!(waits(SLOWEST, true, 100) as u64, turn(100) / SLOWEST - 1);
        assert_eq!(waits(turn(1), true, 1), 0);
    }
}
