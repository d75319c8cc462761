//! The record of an event, which is written without taking it apart: nearly every record is one.

use std::sync::Arc;

use agenthub_proto::agenthub::AgentEvent;
use bytes::Bytes;
use prost::{
    Message,
    encoding::{WireType, encode_key, encode_varint, encoded_len_varint},
};
use uuid::Uuid;

use super::{FORMAT, Unreadable};
use crate::{
    dedupe::Key,
    fields::{self, Field},
    id::{Address, AgentId, Version},
    log::Published,
    routing::Route,
    sealed::Sealed,
};

/// The fields of an `EntryRecord` before its event.
const FORMAT_FIELD: u32 = 1;
const PUBLISHED_FIELD: u32 = 2;
/// The bytes of a field's number and length, at most.
const HEAD: usize = 11;

#[derive(Clone, PartialEq, Message)]
pub(super) struct PublishedRecord {
    /// An `AgentEvent`, as it travels.
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
    if let Some((key, digest)) = &published.key {
        let key: [Field<'_>; 4] = [
            (1, key.sender.as_bytes()),
            (2, key.order.as_bytes()),
            (3, key.id.as_bytes()),
            (4, digest.as_bytes()),
        ];
        nested(6, &key, &mut rest);
    }

    let event = published.event.bytes();
    let length = 1 + encoded_len_varint(event.len() as u64) + event.len() + rest.len();
    let mut record = Vec::with_capacity(2 * HEAD + length);
    encode_key(FORMAT_FIELD, WireType::Varint, &mut record);
    encode_varint(FORMAT.into(), &mut record);
    fields::head(PUBLISHED_FIELD, length, &mut record);
    fields::head(1, event.len(), &mut record);
    record.extend_from_slice(event);
    record.extend_from_slice(&rest);
    record
}

fn flag(field: u32, is_set: bool, record: &mut Vec<u8>) {
    if is_set {
        encode_key(field, WireType::Varint, record);
        encode_varint(1, record);
    }
}

/// A message as a field.
fn nested(field: u32, message: &[Field<'_>], record: &mut Vec<u8>) {
    fields::head(field, fields::len(message), record);
    fields::put(message, record);
}

/// The event that these bytes are, which are read here, so that damage is found where it is.
pub(super) fn sealed(bytes: Bytes) -> Result<Arc<Sealed>, Unreadable> {
    let event = AgentEvent::decode(bytes).map_err(|e| Unreadable::Malformed(e.to_string()))?;
    Ok(Arc::new(event.into()))
}

impl PublishedRecord {
    pub(super) fn read(self) -> Result<Published, Unreadable> {
        let malformed = |what: &str| Unreadable::Malformed(what.to_owned());
        let address = |a: AddressRecord| Address {
            agent: a.agent.into(),
            version: Some(a.version).filter(|v| !v.is_empty()).map(Version::from),
        };
        let key = self.key.map(|k| {
            let digest = Uuid::from_slice(&k.digest)
                .map_err(|_| malformed("its digest has not 16 bytes"))?;
            let key = Key {
                sender: k.sender.into(),
                order: k.order.into(),
                id: k.id,
            };
            Ok((Arc::new(key), digest))
        });
        Ok(Published {
            event: sealed(self.event.ok_or_else(|| malformed("it has no event"))?)?,
            route: match self.to_everyone {
                true => Route::Everyone,
                false => Route::To(self.to.into_iter().map(address).collect()),
            },
            assignee: Some(self.assignee)
                .filter(|a| !a.is_empty())
                .map(AgentId::from),
            passes_by: self.passes_by,
            key: key.transpose()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use agenthub_proto::{
        a2a::{Message as Said, Role},
        agenthub::agent_event::Payload,
    };
    use proptest::prelude::*;

    use super::{super::EntryRecord, *};

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

    proptest! {
        /// Whoever reads it by the fields of the record finds what was published, and would write the same bytes.
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
