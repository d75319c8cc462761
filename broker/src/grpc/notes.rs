//! Notes of a frame: acknowledgements, refusals and extensions, parsed while they are processed. A peer controls their
//! number, but not how much memory they take nor how long they hold the hub's lock.

use std::time::Duration;

use agenthub_proto::{agenthub::Refusal, wkt};
use bytes::Bytes;
use prost::Message as _;

use super::incoming::tag;
use crate::{
    Error,
    fields::{Fields, Malformed},
    limits::METADATA_BYTES,
    log::{LogId, Position},
};

/// Positions processed per acquisition of the hub's lock.
pub(super) const PER_HOLD: usize = 4096;
/// Maximum deliveries that a reconnecting peer may claim: the maximum credit of one subscription.
const MAX_CLAIMS: usize = 65_536;

/// A note on deliveries of one subscription.
#[derive(Debug, PartialEq)]
pub(super) enum Note {
    /// Acknowledged.
    Ack {
        subscription: u32,
        positions: Vec<Position>,
    },
    /// One delivery refused.
    Refusal {
        subscription: u32,
        position: Position,
        delay: Duration,
        reason: String,
    },
    /// Leases extended.
    Extension {
        subscription: u32,
        positions: Vec<Position>,
    },
}

impl Note {
    /// Number of its positions.
    fn len(&self) -> usize {
        match self {
            Self::Ack { positions, .. } | Self::Extension { positions, .. } => positions.len(),
            Self::Refusal { .. } => 1,
        }
    }
}

/// Notes of a frame, in the order in which they take effect.
#[derive(Debug)]
pub(super) struct Notes {
    log: LogId,
    frame: Bytes,
    extends: bool,
    /// The kind of notes being read; the kinds are read in this order.
    kind: Kind,
    /// Bytes of the frame read for that kind.
    read: usize,
    /// Rest of the note being read.
    rest: Option<Rest>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Ack,
    Refusal,
    Extension,
    Over,
}

/// Unread positions of an acknowledgement or extension.
#[derive(Debug)]
struct Rest {
    subscription: u32,
    note: Bytes,
}

impl Notes {
    /// The notes of a frame, with positions in this log; extensions only if `extends`.
    pub(super) fn of(frame: Bytes, log: LogId, extends: bool) -> Self {
        Self {
            log,
            extends,
            kind: match frame.is_empty() {
                true => Kind::Over,
                false => Kind::Ack,
            },
            frame,
            read: 0,
            rest: None,
        }
    }

    /// True if all were read.
    pub(super) fn is_over(&self) -> bool {
        self.kind == Kind::Over
    }

    /// The notes for the next acquisition of the lock, and the error after them.
    pub(super) fn next_hold(&mut self) -> (Vec<Note>, Result<(), Error>) {
        let mut notes = Vec::new();
        let mut positions = 0;
        while positions < PER_HOLD {
            match self.next(PER_HOLD - positions) {
                Ok(Some(note)) => {
                    positions += note.len();
                    notes.push(note);
                }
                Ok(None) => break,
                Err(error) => return (notes, Err(error)),
            }
        }
        (notes, Ok(()))
    }

    /// The next note, with at most `most` positions.
    fn next(&mut self, most: usize) -> Result<Option<Note>, Error> {
        loop {
            if let Some(rest) = self.rest.take() {
                let (subscription, positions) = self.positions(rest, most)?;
                if positions.is_empty() {
                    continue;
                }
                return Ok(Some(match self.kind {
                    Kind::Ack => Note::Ack {
                        subscription,
                        positions,
                    },
                    _ => Note::Extension {
                        subscription,
                        positions,
                    },
                }));
            }
            let (tag, after) = match self.kind {
                Kind::Ack => (tag::ACK, Kind::Refusal),
                Kind::Refusal if self.extends => (tag::REFUSE, Kind::Extension),
                Kind::Refusal => (tag::REFUSE, Kind::Over),
                Kind::Extension => (tag::EXTEND, Kind::Over),
                Kind::Over => return Ok(None),
            };
            let mut fields = Fields::of(&self.frame[self.read..]);
            let found = fields.find_map(|field| match field {
                Ok((number, value)) if number == tag => Some(value.bytes()),
                Ok(_) => None,
                Err(error) => Some(Err(error)),
            });
            let Some(note) = found.transpose().map_err(malformed)? else {
                (self.kind, self.read) = (after, 0);
                continue;
            };
            let note = self.frame.slice_ref(note);
            self.read = self.frame.len() - fields.rest().len();
            if self.kind == Kind::Refusal {
                match tolerated(refusal(note, self.log))? {
                    Some(note) => return Ok(Some(note)),
                    None => continue,
                }
            }
            self.rest = Some(Rest {
                subscription: subscription(&note).map_err(malformed)?,
                note,
            });
        }
    }

    /// Reads at most `most` positions of a note. A note with a position of another log is ignored.
    fn positions(&mut self, rest: Rest, most: usize) -> Result<(u32, Vec<Position>), Error> {
        let Rest { subscription, note } = rest;
        let mut fields = Fields::of(&note);
        let mut positions = Vec::new();
        while positions.len() < most
            && let Some(field) = fields.next()
        {
            let (tag::POSITION, token) = field.map_err(malformed)? else {
                continue;
            };
            let token = token.bytes().map_err(malformed)?;
            let Some(position) = tolerated(position(token, self.log))? else {
                return Ok((subscription, Vec::new()));
            };
            positions.push(position);
        }
        let left = note.slice_ref(fields.rest());
        self.rest = (!left.is_empty()).then_some(Rest {
            subscription,
            note: left,
        });
        Ok((subscription, positions))
    }
}

/// Deliveries claimed by a frame, with their subscriptions. Positions of another log, and invalid ones, are ignored.
///
/// # Errors
///
/// There are too many, or the frame is malformed.
pub(super) fn claims(frame: &[u8], log: LogId) -> Result<Vec<(u32, Position)>, Error> {
    let mut claims = Vec::new();
    for field in Fields::of(frame) {
        let (tag::EXTEND, note) = field.map_err(malformed)? else {
            continue;
        };
        let note = note.bytes().map_err(malformed)?;
        let subscription = subscription(note).map_err(malformed)?;
        for field in Fields::of(note) {
            let (tag::POSITION, token) = field.map_err(malformed)? else {
                continue;
            };
            let token = token.bytes().map_err(malformed)?;
            claims.extend(position(token, log).ok().map(|at| (subscription, at)));
            if claims.len() > MAX_CLAIMS {
                return Err(Error::InvalidArgument(format!(
                    "the first frame claims more than {MAX_CLAIMS} deliveries"
                )));
            }
        }
    }
    Ok(claims)
}

/// Subscription index of a note.
fn subscription(note: &[u8]) -> Result<u32, Malformed> {
    let mut subscription = 0;
    for field in Fields::of(note) {
        if let (tag::SUBSCRIPTION, value) = field? {
            subscription = value.number()?;
        }
    }
    Ok(subscription)
}

fn position(token: &[u8], log: LogId) -> Result<Position, Error> {
    let token = std::str::from_utf8(token).map_err(|_| malformed(Malformed))?;
    log.position(token)
}

fn refusal(note: Bytes, log: LogId) -> Result<Note, Error> {
    let refusal = Refusal::decode(note).map_err(|_| malformed(Malformed))?;
    let mut reason = refusal.reason;
    reason.truncate(reason.floor_char_boundary(METADATA_BYTES));
    Ok(Note::Refusal {
        subscription: refusal.subscription,
        position: log.position(&refusal.position)?,
        delay: refusal.delay.as_ref().map(wait).unwrap_or_default(),
        reason,
    })
}

/// Delay from the wire, limited to between zero and one hour.
fn wait(delay: &wkt::Duration) -> Duration {
    const LONGEST: Duration = Duration::from_secs(3600);
    agenthub_proto::event::duration(delay)
        .unwrap_or_default()
        .min(LONGEST)
}

/// Ignores positions of an earlier log, which a peer may still have after a restart of the hub.
fn tolerated<T>(read: Result<T, Error>) -> Result<Option<T>, Error> {
    match read {
        Ok(read) => Ok(Some(read)),
        Err(Error::OutOfRange(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

fn malformed(error: Malformed) -> Error {
    Error::InvalidArgument(format!("a frame is malformed: {error}"))
}

#[cfg(test)]
mod tests {
    use agenthub_proto::agenthub::{Ack, AgentFrame, Extension};

    use super::*;

    const LOG: LogId = LogId::from_number(7);

    fn tokens(positions: impl IntoIterator<Item = u64>) -> Vec<String> {
        let token = |p| LOG.token(Position(p));
        positions.into_iter().map(token).collect()
    }

    fn notes(frame: &AgentFrame) -> Notes {
        Notes::of(frame.encode_to_vec().into(), LOG, true)
    }

    fn ack(subscription: u32, position: Vec<String>) -> Ack {
        Ack {
            subscription,
            position,
        }
    }

    fn acked(subscription: u32, positions: impl IntoIterator<Item = u64>) -> Note {
        let positions = positions.into_iter().map(Position).collect();
        Note::Ack {
            subscription,
            positions,
        }
    }

    #[test]
    fn notes_come_in_the_order_in_which_they_take_effect() {
        let mut notes = notes(&AgentFrame {
            ack: vec![ack(1, tokens([1, 2])), ack(0, tokens([3]))],
            refuse: vec![Refusal {
                subscription: 2,
                position: tokens([4]).remove(0),
                delay: Some(wkt::Duration {
                    seconds: 100_000,
                    nanos: 0,
                }),
                reason: "é".repeat(METADATA_BYTES),
            }],
            extend: vec![Extension {
                subscription: 3,
                position: tokens([5]),
            }],
            ..AgentFrame::default()
        });
        let (found, rest) = notes.next_hold();
        let expected = [
            acked(1, [1, 2]),
            acked(0, [3]),
            Note::Refusal {
                subscription: 2,
                position: Position(4),
                delay: Duration::from_secs(3600),
                reason: "é".repeat(METADATA_BYTES / 2),
            },
            Note::Extension {
                subscription: 3,
                positions: vec![Position(5)],
            },
        ];
        assert_eq!(found, expected);
        assert_eq!(rest, Ok(()));
        assert_eq!(notes.next_hold(), (Vec::new(), Ok(())));
    }

    #[test]
    fn claims_are_bounded_and_extend_nothing() {
        let claiming = |position| AgentFrame {
            extend: vec![Extension {
                subscription: 1,
                position,
            }],
            ..AgentFrame::default()
        };
        let other = LogId::from_number(8).token(Position(1));
        let frame = claiming([vec![other, String::new()], tokens([2])].concat()).encode_to_vec();
        assert_eq!(claims(&frame, LOG), Ok(vec![(1, Position(2))]));
        let mut claimed = Notes::of(frame.into(), LOG, false);
        assert_eq!(claimed.next_hold(), (Vec::new(), Ok(())));
        let many = claiming(tokens(0..=MAX_CLAIMS as u64)).encode_to_vec();
        assert!(matches!(claims(&many, LOG), Err(Error::InvalidArgument(_))));
    }

    /// promise 10
    #[test]
    fn no_hold_of_the_lock_handles_more_than_its_share() {
        let many = PER_HOLD as u64 + 10;
        let mut notes = notes(&AgentFrame {
            ack: vec![ack(0, tokens([0])), ack(1, tokens(1..=2 * many))],
            ..AgentFrame::default()
        });
        let mut all = Vec::new();
        loop {
            let (found, rest) = notes.next_hold();
            assert_eq!(rest, Ok(()));
            if found.is_empty() {
                break;
            }
            assert!(found.iter().map(Note::len).sum::<usize>() <= PER_HOLD);
            for note in found {
                let Note::Ack {
                    subscription,
                    positions,
                } = note
                else {
                    panic!("it is no acknowledgement: {note:?}");
                };
                let of = |p: Position| (subscription, p.0);
                all.extend(positions.into_iter().map(of));
            }
        }
        let expected = (1..=2 * many).map(|p| (1, p));
        assert!(all.into_iter().eq([(0, 0)].into_iter().chain(expected)));
    }

    #[test]
    fn positions_of_another_log_are_not_heeded_and_those_of_none_are_an_error() {
        let other = LogId::from_number(8).token(Position(1));
        let mut tolerant = notes(&AgentFrame {
            ack: vec![
                ack(0, [tokens([1]), vec![other.clone()]].concat()),
                ack(0, tokens([2])),
            ],
            refuse: vec![Refusal {
                position: other,
                ..Refusal::default()
            }],
            ..AgentFrame::default()
        });
        assert_eq!(tolerant.next_hold(), (vec![acked(0, [2])], Ok(())));
        let mut bad = notes(&AgentFrame {
            ack: vec![ack(0, tokens([1])), ack(0, vec![String::new()])],
            ..AgentFrame::default()
        });
        let (found, rest) = bad.next_hold();
        assert_eq!(found, [acked(0, [1])]);
        assert!(matches!(rest, Err(Error::InvalidArgument(_))));
    }
}
