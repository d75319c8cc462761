//! An event as it is kept and sent: it does not change any more, so its bytes are made once for all who get it.

use std::{ops::Deref, sync::OnceLock};

use agenthub_proto::agenthub::AgentEvent;
use bytes::Bytes;
use prost::Message;

/// An event with its encoding.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sealed {
    event: AgentEvent,
    bytes: OnceLock<Bytes>,
}

impl Sealed {
    /// The event as it travels. Encoded when it is first asked for.
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
