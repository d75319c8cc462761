//! An event as it is kept and sent: it does not change any more, so its bytes are made once for all streams that send it, and read only
//! where somebody looks into it.

use std::{ops::Deref, sync::OnceLock};

use agenthub_proto::agenthub::AgentEvent;
use bytes::Bytes;
use prost::Message;

/// An event, its encoding, or both.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sealed {
    // Large: what is only passed on needs no room for it, and what is put somewhere else is not copied.
    event: OnceLock<Box<AgentEvent>>,
    /// How many bytes it is on the wire.
    size: usize,
    bytes: OnceLock<Bytes>,
}

impl Sealed {
    /// An event that is known to be well-formed, and is decoded when somebody looks into it.
    pub(crate) fn encoded(bytes: Bytes) -> Self {
        Self {
            event: OnceLock::new(),
            size: bytes.len(),
            bytes: bytes.into(),
        }
    }

    /// How many [`bytes`](Self::bytes) there are. Mail that waits is not encoded for that.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// The event, if somebody has looked into it.
    pub(crate) fn looked_into(&self) -> Option<&AgentEvent> {
        self.event.get().map(|event| &**event)
    }

    /// The event as it travels. Encoded when it is first sent or written.
    pub(crate) fn bytes(&self) -> &Bytes {
        self.bytes.get_or_init(|| self.encode_to_vec().into())
    }
}

impl From<AgentEvent> for Sealed {
    fn from(event: AgentEvent) -> Self {
        Box::new(event).into()
    }
}

impl From<Box<AgentEvent>> for Sealed {
    fn from(event: Box<AgentEvent>) -> Self {
        Self {
            size: event.encoded_len(),
            event: event.into(),
            bytes: OnceLock::new(),
        }
    }
}

impl Deref for Sealed {
    type Target = AgentEvent;

    fn deref(&self) -> &AgentEvent {
        self.event.get_or_init(|| {
            let bytes = self.bytes.get().map_or(&[][..], |bytes| bytes);
            Box::new(AgentEvent::decode(bytes).unwrap_or_default())
        })
    }
}

impl PartialEq for Sealed {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}
