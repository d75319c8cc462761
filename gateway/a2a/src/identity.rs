//! Identity of a message (specification §3.3.1): decides whether a message that comes again is the same one.
//!
//! Message ids are each client's own, and the hub knows no clients apart: an id alone says nothing. A message that names
//! its context or its task, and comes again with the same id and the same content, is the same message, as when its
//! client did not get the answer. One that names neither is always another one.

use agenthub_sdk::proto::a2a;
use prost::Message as _;
use prost_types::Struct;
use uuid::Uuid;

use crate::v1::Message;

/// Namespace of identities.
const IDENTITIES: Uuid = Uuid::from_u128(0x6d1f_6a3c_58a1_4f0e_9b0f_7d2c_41a2_a001);

/// Identity of a message to this agent; `None` if it can only be another one than those before.
pub(crate) fn identity(agent: &str, message: &Message, metadata: Option<&Struct>) -> Option<Uuid> {
    if message.context_id.is_empty() && message.task_id.is_empty() {
        return None;
    }
    let mut bytes = Vec::new();
    for part in [
        agent.as_bytes().to_vec(),
        message.encode_to_vec(),
        metadata.map(Struct::encode_to_vec).unwrap_or_default(),
    ] {
        bytes.extend((part.len() as u64).to_be_bytes());
        bytes.extend(part);
    }
    Some(Uuid::new_v5(&IDENTITIES, &bytes))
}

/// True if a task has this message in its history already.
pub(crate) fn is_in(history: &[a2a::Message], message: &a2a::Message) -> bool {
    let is_same = |said: &a2a::Message| {
        said.message_id == message.message_id
            && said.role == message.role
            && said.content == message.content
    };
    history.iter().any(is_same)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::v1::{Part, part::Content};

    fn message(context: &str, task: &str, text: &str) -> Message {
        Message {
            message_id: "m1".to_owned(),
            context_id: context.to_owned(),
            task_id: task.to_owned(),
            parts: vec![Part {
                content: Some(Content::Text(text.to_owned())),
                ..Default::default()
            }],
            ..Default::default()
        }
    }

    /// spec: A2A 1.0.1 §3.3.1
    #[test]
    fn the_same_message_is_known_by_all_that_it_says() {
        let of = |agent: &str, message: &Message| identity(agent, message, None);
        let first = message("c1", "", "hi");
        let known = of("painter", &first);
        assert!(known.is_some());
        assert_eq!(of("painter", &first.clone()), known);
        let mut renamed = first.clone();
        renamed.message_id = "m2".to_owned();
        for other in [
            message("c2", "", "hi"),
            message("c1", "t1", "hi"),
            message("c1", "", "hi!"),
            renamed,
        ] {
            assert_ne!(of("painter", &other), known, "{other:?}");
        }
        assert_ne!(of("other", &first), known);
        assert_ne!(identity("painter", &first, Some(&Struct::default())), None);
        assert!(of("painter", &message("", "t1", "hi")).is_some());
        assert_eq!(of("painter", &message("", "", "hi")), None);
    }
}
