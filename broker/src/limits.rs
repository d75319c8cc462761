//! Limits on publishes, checked before anything else.

use std::time::Duration;

use agenthub_proto::{
    a2a::{AgentCard, Artifact, DataPart, Message, Part, part::Part as Content},
    agenthub::{AgentEventMetadata, Durability},
    event::system_time,
    wkt::{Kind, Struct, Value},
};
use prost::Message as _;

use crate::Error;

/// Maximum encoded size of a message, status or artifact update, in bytes.
pub const MESSAGE_BYTES: usize = 1024 * 1024;
/// Maximum encoded size of a card, in bytes.
pub const CARD_BYTES: usize = 64 * 1024;
/// Maximum encoded size of one metadata object, in bytes.
pub const METADATA_BYTES: usize = 16 * 1024;
/// Maximum bytes of one page of a listing, unless its first item alone is larger: a gRPC client accepts 4 MiB by
/// default.
pub const PAGE_BYTES: usize = 3 * 1024 * 1024;
/// Maximum bytes of an id.
pub const ID_BYTES: usize = 256;
/// Maximum bytes of an agent id.
pub const AGENT_ID_BYTES: usize = 128;
/// Maximum nesting of structured content. Protobuf decoders stop at 100 nested messages: a level of `Struct` takes
/// three of them, and an event in a frame up to seven more.
pub const NESTING: usize = 30;
/// Maximum values of one list in a filter, and maximum topics of one agent.
pub const VALUES: usize = 1000;
/// Maximum delay of a delivery.
pub const DELIVERY_AHEAD: Duration = Duration::from_secs(366 * 24 * 3600);
/// Maximum number of delegations in a chain.
pub const HOPS: u32 = 16;

/// Checks the limits of a message.
pub(crate) fn message(message: &Message) -> Result<(), Error> {
    size("message", message.encoded_len())?;
    required("message.message_id", &message.message_id)?;
    id("message.message_id", &message.message_id)?;
    id("message.context_id", &message.context_id)?;
    id("message.task_id", &message.task_id)?;
    metadata("message.metadata", message.metadata.as_ref())?;
    parts("message.content", &message.content)
}

/// Checks the limits of an artifact.
pub(crate) fn artifact(artifact: &Artifact) -> Result<(), Error> {
    size("artifact", artifact.encoded_len())?;
    id("artifact.artifact_id", &artifact.artifact_id)?;
    metadata("artifact.metadata", artifact.metadata.as_ref())?;
    parts("artifact.parts", &artifact.parts)
}

/// Checks the limits of an envelope.
pub(crate) fn routing(routing: &AgentEventMetadata) -> Result<(), Error> {
    if routing.encoded_len() > METADATA_BYTES {
        return Err(invalid(format!(
            "routing is {} bytes; at most {METADATA_BYTES}",
            routing.encoded_len()
        )));
    }
    if routing.hops > HOPS {
        return Err(Error::FailedPrecondition(format!(
            "routing.hops is {}; work is handed on at most {HOPS} times, to keep agents from calling each other in circles",
            routing.hops
        )));
    }
    if let Some(deliver_at) = &routing.deliver_at {
        if routing.durability() == Durability::Memory {
            return Err(invalid(
                "routing.deliver_at: an event that is kept in memory only cannot wait".to_owned(),
            ));
        }
        if system_time(deliver_at).is_none() {
            return Err(invalid(
                "routing.deliver_at is no time after 1970".to_owned(),
            ));
        }
    }
    id("routing.idempotency_key", &routing.idempotency_key)?;
    agent_id("routing.from_agent_id", &routing.from_agent_id)?;
    // Longer, for `@version`.
    id("routing.to_agent_id", &routing.to_agent_id)
}

/// Checks the limits of a card.
pub(crate) fn card(card: &AgentCard) -> Result<(), Error> {
    let size = card.encoded_len();
    if size > CARD_BYTES {
        return Err(invalid(format!(
            "the card is {size} bytes; at most {CARD_BYTES}"
        )));
    }
    required("agent_card.name", &card.name)?;
    agent_id("agent_card.name", &card.name)?;
    let extensions = card.capabilities.iter().flat_map(|c| &c.extensions);
    for params in extensions.filter_map(|e| e.params.as_ref()) {
        nesting("agent_card.capabilities.extensions.params", params)?;
    }
    Ok(())
}

/// Checks an agent's id: printable, at most 128 bytes. Empty ones are left to the caller.
pub(crate) fn agent_id(what: &str, id: &str) -> Result<(), Error> {
    printable(what, id, AGENT_ID_BYTES)
}

/// Checks another id: printable, at most 256 bytes. Empty ones are left to the caller.
pub(crate) fn id(what: &str, id: &str) -> Result<(), Error> {
    printable(what, id, ID_BYTES)
}

/// Checks a list of ids in a filter or a registration.
pub(crate) fn ids<'a>(
    what: &str,
    ids: impl ExactSizeIterator<Item = &'a str>,
) -> Result<(), Error> {
    if ids.len() > VALUES {
        return Err(invalid(format!(
            "{what} has {} values; at most {VALUES}",
            ids.len()
        )));
    }
    for one in ids {
        id(what, one)?;
    }
    Ok(())
}

/// Checks the limits of a metadata object.
pub(crate) fn metadata(what: &str, metadata: Option<&Struct>) -> Result<(), Error> {
    let Some(metadata) = metadata else {
        return Ok(());
    };
    let size = metadata.encoded_len();
    if size > METADATA_BYTES {
        return Err(invalid(format!(
            "{what} is {size} bytes; at most {METADATA_BYTES} (large values belong into parts)"
        )));
    }
    nesting(what, metadata)
}

/// Checks a required field.
pub(crate) fn required(what: &str, value: &str) -> Result<(), Error> {
    if value.is_empty() {
        return Err(invalid(format!("{what} is required")));
    }
    Ok(())
}

fn invalid(message: String) -> Error {
    Error::InvalidArgument(message)
}

/// Checks an encoded size against that of a message.
pub(crate) fn size(what: &str, bytes: usize) -> Result<(), Error> {
    if bytes > MESSAGE_BYTES {
        return Err(invalid(format!(
            "the {what} is {bytes} bytes; at most {MESSAGE_BYTES} (send large content as a file part with a URI)"
        )));
    }
    Ok(())
}

fn printable(what: &str, id: &str, max: usize) -> Result<(), Error> {
    if id.len() > max {
        return Err(invalid(format!(
            "{what} is {} bytes; at most {max}",
            id.len()
        )));
    }
    if id.chars().any(char::is_control) {
        return Err(invalid(format!(
            "{what} holds a control character; ids are printable text"
        )));
    }
    Ok(())
}

/// Checks the limits of parts: their metadata and content.
pub(crate) fn parts(what: &str, parts: &[Part]) -> Result<(), Error> {
    for part in parts {
        metadata(what, part.metadata.as_ref())?;
        if let Some(Content::Data(DataPart {
            data: Some(data), ..
        })) = &part.part
        {
            nesting(what, data)?;
        }
    }
    Ok(())
}

fn nesting(what: &str, root: &Struct) -> Result<(), Error> {
    let mut todo: Vec<(usize, &Value)> = root.fields.values().map(|v| (1, v)).collect();
    while let Some((depth, value)) = todo.pop() {
        if depth > NESTING {
            return Err(invalid(format!(
                "{what} is nested deeper than {NESTING} levels"
            )));
        }
        match &value.kind {
            Some(Kind::StructValue(s)) => todo.extend(s.fields.values().map(|v| (depth + 1, v))),
            Some(Kind::ListValue(l)) => todo.extend(l.values.iter().map(|v| (depth + 1, v))),
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use agenthub_proto::{a2a::Role, json};
    use serde_json::json;

    fn nested(levels: usize) -> serde_json::Value {
        (1..levels).fold(json!({"a": 1}), |inner, _| json!({ "a": inner }))
    }

    #[test]
    fn each_bound_is_the_last_value_that_passes() {
        let ok = Message::new(Role::User, "hello");
        assert_eq!(message(&ok), Ok(()));

        let room = MESSAGE_BYTES
            - Message {
                content: vec![Part::text("")],
                ..ok.clone()
            }
            .encoded_len();
        let sized = |n: usize| Message {
            content: vec![Part::text("x".repeat(n))],
            ..ok.clone()
        };
        // Two lengths grow from one byte to three or four.
        assert_eq!(message(&sized(room - 6)), Ok(()));
        assert!(message(&sized(room + 1)).is_err());

        let depth = |n| Message {
            content: vec![Part::data(&nested(n))],
            ..ok.clone()
        };
        assert_eq!(message(&depth(NESTING)), Ok(()));
        assert!(message(&depth(NESTING + 1)).is_err());

        let big = ok.clone().with_metadata("k", "x".repeat(METADATA_BYTES));
        assert!(message(&big).is_err());

        let hops = |hops| AgentEventMetadata {
            hops,
            ..Default::default()
        };
        assert_eq!(routing(&hops(HOPS)), Ok(()));
        assert!(routing(&hops(HOPS + 1)).is_err());
    }

    #[test]
    fn ids_are_printable() {
        assert!(
            message(&Message {
                message_id: String::new(),
                ..Default::default()
            })
            .is_err()
        );
        assert!(
            message(&Message {
                message_id: "a\nb".into(),
                ..Default::default()
            })
            .is_err()
        );
        let named = |name: String| AgentCard {
            name,
            ..Default::default()
        };
        assert_eq!(card(&named("Ünïcode is fine".into())), Ok(()));
        assert!(card(&named("x".repeat(AGENT_ID_BYTES + 1))).is_err());
        assert!(card(&named(String::new())).is_err());
    }

    #[test]
    fn a_card_is_bounded() {
        let with = |n| AgentCard {
            name: "a".into(),
            description: "x".repeat(n),
            capabilities: Some(agenthub_proto::a2a::AgentCapabilities {
                extensions: vec![agenthub_proto::a2a::AgentExtension {
                    params: Some(json::to_struct(&json!({"a": 1}))),
                    ..Default::default()
                }],
                ..Default::default()
            }),
            ..Default::default()
        };
        assert_eq!(card(&with(CARD_BYTES - 100)), Ok(()));
        assert!(card(&with(CARD_BYTES)).is_err());
    }
}
