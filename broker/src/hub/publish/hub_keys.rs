//! Metadata keys of messages that only parts of the hub may write: recipients trust them.

use agenthub_proto::{PRINCIPAL_KEY, a2a::Message};

/// Keys that are taken out: the principal who asked over A2A.
const RESERVED_KEYS: [&str; 1] = [PRINCIPAL_KEY];

/// Takes them out of a message of anybody else. The rest is its sender's.
pub(super) fn remove_reserved(message: &mut Message) {
    if let Some(metadata) = &mut message.metadata {
        for key in RESERVED_KEYS {
            metadata.fields.remove(key);
        }
    }
}
