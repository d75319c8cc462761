//! The record of an event, spliced without decoding the event: nearly all records are of this kind.

use std::sync::Arc;

use agenthub_proto::agenthub::AgentEvent;
use bytes::Bytes;
use prost::{
    Message,
    encoding::{WireType, encode_key, encode_varint, encoded_len_varint},
};
use uuid::Uuid;

use super::{FORMAT, Unreadable, omitted::Omitted};
use crate::{
    dedupe::Key,
    fields::{self, Field},
    id::{Address, AgentId, Version},
    log::Published,
    routing::Route,
    sealed::Sealed,
};

/// Fields of an `EntryRecord` before its event.
const FORMAT_FIELD: u32 = 1;
const PUBLISHED_FIELD: u32 = 2;
/// Maximum bytes of a field's tag and length.
const HEAD: usize = 11;

#[derive(Clone, PartialEq, Message)]
pub(super) struct PublishedRecord {
    /// An encoded `AgentEvent`.
    #[prost(bytes = "bytes", optional, tag = "1")]
    event: Option<Bytes>,
    #[prost(bool, tag = "2")]
    to_everyone: bool,
    #[prost(message, repeated, tag = "3")]
    to: Vec<AddressRecord>,
    #[prost(string, tag = "4")]
    assignee: String,
    #[prost(bool, tag = "5")]
    passes_by: bool,
    #[prost(message, optional, tag = "6")]
    key: Option<KeyRecord>,
    /// See [`Omitted`].
    #[prost(uint32, tag = "7")]
    omitted: u32,
}

#[derive(Clone, PartialEq, Message)]
struct AddressRecord {
    #[prost(string, tag = "1")]
    agent: String,
    #[prost(string, tag = "2")]
    version: String,
}

#[derive(Clone, PartialEq, Message)]
struct KeyRecord {
    #[prost(string, tag = "1")]
    sender: String,
    #[prost(string, tag = "2")]
    order: String,
    #[prost(string, tag = "3")]
    id: String,
    #[prost(bytes = "vec", tag = "4")]
    digest: Vec<u8>,
}

/// An `EntryRecord` with a [`PublishedRecord`].
pub(super) fn encode(published: &Published) -> Vec<u8> {
    let mut rest = Vec::with_capacity(128);
    match &published.route {
        Route::Everyone => flag(2, true, &mut rest),
        Route::To(to) => {
            for Address { agent, version } in to {
                let version = version.as_deref().unwrap_or_default();
                nested(
                    3,
                    &[(1, agent.as_bytes()), (2, version.as_bytes())],
                    &mut rest,
                );
            }
        }
    }
    let assignee = published.assignee.as_deref().unwrap_or_default();
    fields::put(&[(4, assignee.as_bytes())], &mut rest);
    flag(5, published.passes_by, &mut rest);
    let omitted = Omitted::of(published);
    if let Some((key, digest)) = &published.key {
        let key: [Field<'_>; 4] = match omitted.key {
            true => [(1, &[]), (2, &[]), (3, &[]), (4, digest.as_bytes())],
            false => [
                (1, key.sender.as_bytes()),
                (2, key.order.as_bytes()),
                (3, key.id.as_bytes()),
                (4, digest.as_bytes()),
            ],
        };
        nested(6, &key, &mut rest);
    }
    number(7, omitted.bits(), &mut rest);

    let bytes = published.event.bytes();
    let event = match published.event.looked_into() {
        Some(event) => omitted.strip(event, bytes),
        None => [&**bytes, &[]],
    };
    let event_len = event.iter().map(|piece| piece.len()).sum::<usize>();
    let length = 1 + encoded_len_varint(event_len as u64) + event_len + rest.len();
    let mut record = Vec::with_capacity(2 * HEAD + length);
    encode_key(FORMAT_FIELD, WireType::Varint, &mut record);
    encode_varint(FORMAT.into(), &mut record);
    fields::head(PUBLISHED_FIELD, length, &mut record);
    fields::head(1, event_len, &mut record);
    event
        .iter()
        .for_each(|piece| record.extend_from_slice(piece));
    record.extend_from_slice(&rest);
    record
}

fn flag(field: u32, is_set: bool, record: &mut Vec<u8>) {
    number(field, u32::from(is_set), record);
}

/// Writes a number as a field; omitted if it is 0.
fn number(field: u32, number: u32, record: &mut Vec<u8>) {
    if number != 0 {
        encode_key(field, WireType::Varint, record);
        encode_varint(number.into(), record);
    }
}

/// Writes a message as a field.
fn nested(field: u32, message: &[Field<'_>], record: &mut Vec<u8>) {
    fields::head(field, fields::len(message), record);
    fields::put(message, record);
}

/// Decodes the event in these bytes, so that damage is reported with its place.
pub(super) fn sealed(bytes: Bytes) -> Result<Arc<Sealed>, Unreadable> {
    Ok(Arc::new(event(bytes)?.into()))
}

fn event(bytes: Bytes) -> Result<AgentEvent, Unreadable> {
    AgentEvent::decode(bytes).map_err(|e| Unreadable::Malformed(e.to_string()))
}

impl PublishedRecord {
    pub(super) fn read(self) -> Result<Published, Unreadable> {
        let malformed = |what: &str| Unreadable::Malformed(what.to_owned());
        let address = |a: AddressRecord| Address {
            agent: a.agent.into(),
            version: Some(a.version).filter(|v| !v.is_empty()).map(Version::from),
        };
        let omitted = Omitted::from_bits(self.omitted);
        let mut event = event(self.event.ok_or_else(|| malformed("it has no event"))?)?;
        omitted.restore(&mut event);
        let key = self.key.map(|k| {
            let digest = Uuid::from_slice(&k.digest)
                .map_err(|_| malformed("its digest has not 16 bytes"))?;
            if omitted.key {
                return Ok(Omitted::known(&event, digest));
            }
            let key = Key {
                sender: k.sender.into(),
                order: k.order.into(),
                id: k.id,
            };
            Ok((Arc::new(key), digest))
        });
        let key = key.transpose()?;
        Ok(Published {
            event: Arc::new(event.into()),
            route: match self.to_everyone {
                true => Route::Everyone,
                false => Route::To(self.to.into_iter().map(address).collect()),
            },
            assignee: Some(self.assignee)
                .filter(|a| !a.is_empty())
                .map(AgentId::from),
            passes_by: self.passes_by,
            key,
        })
    }
}

#[cfg(test)]
mod tests {
    use agenthub_proto::{
        a2a::{Message as Said, Role},
        agenthub::{AgentEventMetadata, TaskStatusUpdateEvent, agent_event::Payload},
        trace::TraceContext,
        wkt::Timestamp,
    };
    use proptest::prelude::*;

    use super::{super::EntryRecord, *};
    use crate::{event_id, id::OrderKey};

    fn published() -> impl Strategy<Value = Published> {
        let text = || "[a-z]{0,3}|x{200}";
        let address =
            (text(), prop::option::of("[a-z]{1,3}")).prop_map(|(agent, version)| Address {
                agent: agent.into(),
                version: version.map(Version::from),
            });
        let route = prop_oneof![
            Just(Route::Everyone),
            prop::collection::vec(address, 0..3).prop_map(Route::To)
        ];
        let key =
            (text(), text(), text(), any::<u128>()).prop_map(|(sender, order, id, digest)| {
                let (sender, order) = (sender.into(), order.into());
                (Arc::new(Key { sender, order, id }), Uuid::from_u128(digest))
            });
        let rest = (
            prop::option::of("[a-z]{1,3}"),
            any::<bool>(),
            prop::option::of(key),
        );
        (text(), route, rest).prop_map(|(said, route, (assignee, passes_by, key))| {
            let event = AgentEvent {
                payload: Some(Payload::Message(Said::new(Role::User, said))),
                ..AgentEvent::default()
            };
            Published {
                event: Arc::new(event.into()),
                route,
                assignee: assignee.map(AgentId::from),
                passes_by,
                key,
            }
        })
    }

    /// An event as the hub makes it, possibly with a changed part, and its key.
    fn made() -> impl Strategy<Value = Published> {
        let text = || "[a-z]{0,3}";
        let ids = (text(), text(), text(), text());
        let traceparent = prop_oneof![
            Just(String::new()),
            Just("not one".to_owned()),
            any::<u128>().prop_map(|id| TraceContext::of(id, 7).to_string()),
        ];
        let changed = prop::option::of(0..6);
        (ids, traceparent, changed, any::<u64>(), any::<bool>()).prop_map(
            |((id, context, task, key), traceparent, changed, nanos, is_status)| {
                let payload = match is_status {
                    true => Payload::StatusUpdate(TaskStatusUpdateEvent {
                        task_id: task.clone(),
                        context_id: context.clone(),
                        ..TaskStatusUpdateEvent::default()
                    }),
                    false => Payload::Message(Said {
                        message_id: id.clone(),
                        context_id: context.clone(),
                        task_id: task.clone(),
                        ..Said::new(Role::User, "text")
                    }),
                };
                let time = Timestamp {
                    seconds: i64::try_from(nanos / 1_000_000_000).unwrap_or_default(),
                    nanos: i32::try_from(nanos % 1_000_000_000).unwrap_or_default(),
                };
                let trace = TraceContext::parse_or_start(&traceparent);
                let mut event = AgentEvent {
                    event_id: event_id::of(&payload, &time),
                    timestamp: Some(time),
                    payload: Some(payload),
                    trace_id: trace.trace_id(),
                    span_id: trace.span_id(),
                    tracestate: context.clone(),
                    routing: Some(AgentEventMetadata {
                        from_agent_id: "a".to_owned(),
                        idempotency_key: key.clone(),
                        traceparent,
                        ..AgentEventMetadata::default()
                    }),
                    position: task.clone(),
                };
                let mut named = Key {
                    sender: "a".into(),
                    order: OrderKey::of(&context, &task, "a"),
                    id: if key.is_empty() { id } else { key },
                };
                match changed {
                    Some(0) => event.event_id.clear(),
                    Some(1) => event.event_id.push('x'),
                    Some(2) => event.span_id.push('x'),
                    Some(3) => event.routing = None,
                    Some(4) => named.order = "x".into(),
                    Some(5) => named.id.push('x'),
                    _ => {}
                }
                Published {
                    event: Arc::new(event.into()),
                    route: Route::Everyone,
                    assignee: None,
                    passes_by: false,
                    key: Some((Arc::new(named), Uuid::nil())),
                }
            },
        )
    }

    #[test]
    fn a_record_leaves_out_what_follows_from_the_rest() {
        let event = AgentEvent {
            event_id: "evt_m_7".to_owned(),
            timestamp: Some(Timestamp {
                seconds: 7,
                nanos: 0,
            }),
            payload: Some(Payload::Message(Said {
                message_id: "m".to_owned(),
                ..Said::default()
            })),
            trace_id: format!("{:032x}", 1),
            span_id: format!("{:016x}", 2),
            routing: Some(AgentEventMetadata {
                from_agent_id: "a".to_owned(),
                traceparent: TraceContext::of(1, 2).to_string(),
                ..AgentEventMetadata::default()
            }),
            ..AgentEvent::default()
        };
        let published = Published {
            event: Arc::new(event.into()),
            route: Route::Everyone,
            assignee: None,
            passes_by: false,
            key: Some((
                Arc::new(Key {
                    sender: "a".into(),
                    order: "a".into(),
                    id: "m".to_owned(),
                }),
                Uuid::nil(),
            )),
        };
        let record = encode(&published);
        let has = |text: &str| record.windows(text.len()).any(|w| w == text.as_bytes());
        assert!(!has("evt_m_7"));
        // Only the traceparent has its digits.
        let digits = format!("{:032x}", 1);
        let found = record.windows(32).filter(|w| *w == digits.as_bytes());
        assert_eq!(found.count(), 1);
        assert_eq!(Omitted::of(&published).bits(), 7);
    }

    proptest! {
        /// Omitted parts are restored, even of events that the hub would make differently.
        #[test]
        fn what_is_left_out_is_there_again(published in made()) {
            let read = super::super::decode(&encode(&published));
            prop_assert_eq!(read, Ok(crate::log::Entry::Published(published)));
        }

        /// Equal to the generated encoding: same fields, same bytes.
        #[test]
        fn it_is_written_as_its_fields_say(published in published()) {
            let bytes = encode(&published);
            let record = EntryRecord::decode(&*bytes).expect("a record");
            prop_assert_eq!(record.encode_to_vec(), &*bytes);
            let read = super::super::decode(&bytes);
            prop_assert_eq!(read, Ok(crate::log::Entry::Published(published)));
        }
    }
}
