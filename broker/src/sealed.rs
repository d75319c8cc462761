//! An event as it is kept and sent: it does not change any more, so its bytes are made once for all streams that send it.

use std::{ops::Deref, sync::OnceLock};

use agenthub_proto::agenthub::AgentEvent;
use bytes::Bytes;
use prost::Message;

/// An event with its encoding.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sealed {
    event: AgentEvent,
    /// How many bytes it is on the wire.
    size: usize,
    bytes: OnceLock<Bytes>,
}

impl Sealed {
    /// How many [`bytes`](Self::bytes) there are. Mail that waits is not encoded for that.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// The event as it travels. Encoded when it is first sent.
    pub(crate) fn bytes(&self) -> &Bytes {
        self.bytes.get_or_init(|| self.event.encode_to_vec().into())
    }

    /// The event, to be changed.
    pub(crate) fn open(self) -> AgentEvent {
        self.event
    }
}

impl From<AgentEvent> for Sealed {
    fn from(event: AgentEvent) -> Self {
        Self {
            size: event.encoded_len(),
            event,
            bytes: OnceLock::new(),
        }
    }
}

impl Deref for Sealed {
    type Target = AgentEvent;

    fn deref(&self) -> &AgentEvent {
        &self.event
    }
}

impl PartialEq for Sealed {
    fn eq(&self, other: &Self) -> bool {
        self.event == other.event
    }
}
