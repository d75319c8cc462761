//! Decides whether a piece of an answer that its peer has not taken in time is given up.
//!
//! A peer that does not read an answer is given up. Behind a slow link, a piece only waits for its turn: other bytes are sent before it.

use agenthub_proto::socket::{DEAD, is_progress};

use super::{SEND_BUFFER, calls::PIECE};

/// Bytes that the system and the network hold on the way to a slow peer, at most.
const ON_ITS_WAY: u64 = 1024 * 1024;

/// State of a connection at one look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Standing {
    /// The bytes that the peer has taken so far.
    pub(super) taken: u64,
    /// Something is on its way, or waits to be.
    pub(super) has_backlog: bool,
    /// The number of calls that are under way, roughly.
    pub(super) calls: usize,
}

impl Standing {
    /// The bytes that can be sent before a piece of an answer has its turn.
    fn turn(self) -> u64 {
        let each = SEND_BUFFER + PIECE;
        ON_ITS_WAY + self.calls as u64 * each as u64
    }
}

/// Wait for one piece of an answer: the bytes that the peer had taken when it began, and at the last look.
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

    /// Returns `true` if the piece gets its time once more, because other bytes are before it and move.
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

    /// How often a piece is waited for again whose peer takes so many bytes meanwhile.
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

    /// Its network has room, so it does not want this one.
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
