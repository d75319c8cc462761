//! An event as it is kept and sent: it does not change any more, so its bytes are made once for all streams that send it, and read only
//! where somebody looks into it.

use std::{
    ops::Deref,
    sync::{Arc, OnceLock},
};

use agenthub_proto::agenthub::AgentEvent;
use bytes::Bytes;
use prost::Message;

use crate::{bodies::Share, head};

/// What an event takes in memory beside its bytes, about.
const OVERHEAD: usize = 256;
/// The same of one that somebody has looked into, beside its contents.
const LOOKED_INTO: usize = 1024;

/// An event, its encoding, or both; or its [head], while only the log has all of it.
#[derive(Debug, Default)]
pub(crate) struct Sealed {
    // Large: what is only passed on needs no room for it, and what is put somewhere else is not copied.
    event: OnceLock<Box<AgentEvent>>,
    /// How many bytes it is on the wire.
    size: usize,
    bytes: OnceLock<Bytes>,
    is_head: bool,
    /// There once it counts among the [bodies](crate::bodies::Bodies) in memory.
    pub(crate) share: OnceLock<Share>,
}

impl Sealed {
    /// An event that is known to be well-formed, and is decoded when somebody looks into it.
    pub(crate) fn encoded(bytes: Bytes) -> Self {
        Self {
            size: bytes.len(),
            bytes: bytes.into(),
            ..Self::default()
        }
    }

    /// The head of an event that has so many bytes in the log.
    pub(crate) fn of_head(head: Bytes, size: usize) -> Self {
        Self {
            size,
            bytes: head.into(),
            is_head: true,
            ..Self::default()
        }
    }

    /// Its head, not decoded.
    pub(crate) fn head(&self) -> Self {
        let head = match self.is_head {
            true => self.bytes.get().cloned().unwrap_or_default(),
            false => head::of(self).encode_to_vec().into(),
        };
        Self::of_head(head, self.size)
    }

    /// The encoding of a head.
    pub(crate) fn into_head(self) -> Bytes {
        self.bytes.into_inner().unwrap_or_default()
    }

    /// Whether it is only the head of an event. What decides about mail goes by that; what sends or records an event needs all of it.
    pub(crate) fn is_head(&self) -> bool {
        self.is_head
    }

    /// The event for one look: of a head that is kept, the decoded form is not.
    pub(crate) fn look(self: &Arc<Self>) -> Arc<Self> {
        match self.is_head {
            true => Arc::new(self.head()),
            false => self.clone(),
        }
    }

    /// What it takes in memory, about.
    pub(crate) fn weight(&self) -> usize {
        let looked_into = self.looked_into().map_or(0, |_| self.size + LOOKED_INTO);
        OVERHEAD + self.size + looked_into
    }

    /// The same while that counts nowhere.
    pub(crate) fn uncounted(&self) -> usize {
        match self.share.get() {
            Some(_) => 0,
            None => self.weight(),
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
        debug_assert!(!self.is_head, "only the log has it");
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
            ..Self::default()
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
