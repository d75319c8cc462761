//! Publishes of a frame, grouped into those that can be processed together.

use std::sync::Arc;

use agenthub_proto::{agenthub::Publish, weight::MemoryBudget};
use bytes::Bytes;
use prost::Message;

use super::notes::PER_HOLD;
use crate::{
    Caller,
    fields::{Fields, Value},
    hub::{Envelope, Passing, Run},
    limits::METADATA_BYTES,
    plain::Plain,
};

/// A unit of publishing.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)]
pub(super) enum Item {
    One(Publish),
    Passing(Passing),
    Logged(Run),
    /// A publish that was too large to decode, by its sequence.
    TooHeavy(u64),
}

/// The envelopes of an agent's publishes. Caches the last one, because most publishes repeat it.
#[derive(Debug, Default)]
pub(super) struct Envelopes {
    last: Option<Last>,
}

#[derive(Debug)]
struct Last {
    came: Box<[u8]>,
    envelope: Option<Arc<Envelope>>,
}

impl Envelopes {
    /// The envelope of plain messages; `None` also if it exceeds a limit.
    fn plain(&mut self, caller: &Caller, agent: &str, came: &[u8]) -> Option<&Arc<Envelope>> {
        if came.len() > METADATA_BYTES {
            return None;
        }
        let last = self.last.take().filter(|last| *last.came == *came);
        let new = || Last {
            came: came.into(),
            envelope: Envelope::plain(caller, agent, came).map(Arc::new),
        };
        let last = self.last.insert(last.unwrap_or_else(new));
        last.envelope.as_ref()
    }

    /// Groups the publishes of a frame in order, up to the first malformed one, and returns its error.
    pub(super) fn gather(
        &mut self,
        caller: &Caller,
        agent: &str,
        publishes: Vec<Bytes>,
    ) -> (Vec<Item>, Result<(), prost::DecodeError>) {
        let mut items = Vec::new();
        let mut together = Vec::with_capacity(publishes.len());
        let mut with: Option<Arc<Envelope>> = None;
        let mut acknowledged = 0;
        let mut room = MemoryBudget::for_bytes(publishes.iter().map(Bytes::len).sum());
        for bytes in publishes {
            let plain = Plain::read(&bytes);
            let envelope = plain
                .as_ref()
                .and_then(|plain| self.plain(caller, agent, plain.routing()));
            if envelope.map(Arc::as_ptr) != with.as_ref().map(Arc::as_ptr) {
                items.extend(runs(with, &mut together));
                with = envelope.cloned();
            }
            match plain.filter(|_| with.is_some()) {
                Some(plain) => together.push(plain),
                None if !room.takes::<Publish>(&bytes) => {
                    items.push(Item::TooHeavy(sequence(&bytes)));
                }
                None => match Publish::decode(bytes) {
                    Ok(publish) => {
                        acknowledged += publish.ack.as_ref().map_or(0, |a| a.position.len());
                        items.push(match acknowledged > PER_HOLD {
                            true => Item::TooHeavy(publish.sequence),
                            false => Item::One(publish),
                        });
                    }
                    Err(error) => {
                        items.extend(runs(with, &mut together));
                        return (items, Err(error));
                    }
                },
            }
        }
        items.extend(runs(with, &mut together));
        (items, Ok(()))
    }
}

/// Sequence of a publish.
pub(super) fn sequence(publish: &[u8]) -> u64 {
    let sequence = |field| match field {
        Ok((1, Value::Number(number))) => Some(number),
        _ => None,
    };
    Fields::of(publish).filter_map(sequence).last().unwrap_or(0)
}

/// Groups publishes with one envelope into runs; without an envelope there are none.
fn runs(envelope: Option<Arc<Envelope>>, together: &mut Vec<Plain>) -> Vec<Item> {
    debug_assert!(envelope.is_some() || together.is_empty());
    let mut together = together.drain(..).peekable();
    let first = || Run::first(envelope.as_ref()?, &mut together);
    let item = |run: Run| match run.is_memory() {
        true => Item::Passing(run.into()),
        false => Item::Logged(run),
    };
    std::iter::from_fn(first).map(item).collect()
}

#[cfg(test)]
mod tests {
    use agenthub_proto::{
        a2a::{Message as Said, Role},
        agenthub::{AgentEventMetadata, Durability, publish::Payload},
    };

    use super::*;

    fn routing() -> AgentEventMetadata {
        AgentEventMetadata {
            event_type: "t".to_owned(),
            durability: Durability::Memory.into(),
            ..AgentEventMetadata::default()
        }
    }

    fn publish(id: &str, context: &str, routing: &AgentEventMetadata) -> Publish {
        Publish {
            sequence: 1,
            payload: Some(Payload::Message(Said {
                message_id: id.to_owned(),
                context_id: context.to_owned(),
                ..Said::new(Role::User, "text")
            })),
            routing: Some(routing.clone()),
            ..Publish::default()
        }
    }

    /// Ids of each group, and its kind.
    fn gathered(publishes: &[Publish]) -> Vec<Vec<String>> {
        let bytes = publishes.iter().map(|p| p.encode_to_vec().into());
        let (items, all) = Envelopes::default().gather(&Caller::anonymous(), "a", bytes.collect());
        all.expect("well-formed");
        ids(items)
    }

    fn ids(items: Vec<Item>) -> Vec<Vec<String>> {
        let id = |publish: Publish| match publish.payload {
            Some(Payload::Message(said)) => said.message_id,
            _ => String::new(),
        };
        let ids = items.into_iter().map(|item| match item {
            Item::One(publish) => vec![format!("{} alone", id(publish))],
            Item::TooHeavy(sequence) => vec![format!("{sequence} refused")],
            Item::Passing(passing) => passing.run.one_by_one().map(id).collect(),
            Item::Logged(run) => {
                let logged = |publish| format!("{} logged", id(publish));
                run.one_by_one().map(logged).collect()
            }
        });
        ids.collect()
    }

    #[test]
    fn what_is_alike_goes_on_together() {
        let with = |change: fn(&mut AgentEventMetadata)| {
            let mut routing = routing();
            change(&mut routing);
            routing
        };
        let same = routing();
        let other = with(|r| r.event_type = "u".to_owned());
        let safe = with(|r| r.durability = 0);
        let anothers = with(|r| r.from_agent_id = "b".to_owned());
        let keyed = with(|r| r.idempotency_key = "k".to_owned());
        let timed = with(|r| r.deadline = Some(agenthub_proto::wkt::Timestamp::default()));
        let publishes = [
            publish("1", "c", &same),
            publish("2", "c", &same),
            publish("3", "d", &same),
            publish("4", "d", &other),
            publish("5", "d", &safe),
            publish("6", "d", &other),
            publish("7", "d", &anothers),
            publish("8", "d", &keyed),
            publish("9", "d", &other),
            publish("10", "d", &other),
            publish("11", "d", &safe),
            publish("12", "d", &safe),
            publish("13", "e", &safe),
            publish("14", "e", &timed),
        ];
        let expected: [&[&str]; 11] = [
            &["1", "2"],
            &["3"],
            &["4"],
            &["5 logged"],
            &["6"],
            &["7 alone"],
            &["8 alone"],
            &["9", "10"],
            &["11 logged", "12 logged"],
            &["13 logged"],
            &["14 alone"],
        ];
        assert_eq!(gathered(&publishes), expected);
    }

    /// promise 10
    #[test]
    fn what_would_take_too_much_memory_is_refused_by_its_sequence() {
        let heavy = Publish {
            sequence: 7,
            payload: Some(Payload::Message(Said {
                task_id: "t".to_owned(),
                content: vec![Default::default(); 100_000],
                ..Said::default()
            })),
            ..Publish::default()
        };
        let good = publish("1", "c", &routing());
        let acknowledging = |sequence, count| Publish {
            sequence,
            ack: Some(agenthub_proto::agenthub::Ack {
                subscription: 0,
                position: vec![String::new(); count],
            }),
            ..publish("2", "c", &routing())
        };
        let found = gathered(&[
            good.clone(),
            heavy,
            good,
            acknowledging(8, PER_HOLD),
            acknowledging(9, 1),
        ]);
        let expected = [["1"], ["7 refused"], ["1"], ["2 alone"], ["9 refused"]];
        assert_eq!(found, expected);
    }

    #[test]
    fn what_is_no_publish_ends_what_goes_on() {
        let good = |id: &str| publish(id, "c", &routing()).encode_to_vec().into();
        let bad = Bytes::from_static(b"\x12\xff");
        let publishes = vec![good("1"), good("2"), bad, good("3")];
        let (items, all) = Envelopes::default().gather(&Caller::anonymous(), "a", publishes);
        assert!(all.is_err());
        assert_eq!(ids(items), [["1", "2"]]);
    }
}
