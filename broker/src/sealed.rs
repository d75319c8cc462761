//! Immutable events: encoded once for all streams that send them, and decoded only on demand.

use std::{
    ops::Deref,
    sync::{Arc, OnceLock},
};

use agenthub_proto::agenthub::AgentEvent;
use bytes::Bytes;
use prost::Message;

use crate::{bodies::Share, head};

/// Approximate memory of an event besides its bytes.
const OVERHEAD: usize = 256;
/// The same for a decoded event, besides its content.
const LOOKED_INTO: usize = 1024;

/// An event: decoded, encoded, or both; or its [head], if only the log has the whole event.
#[derive(Debug, Default)]
pub(crate) struct Sealed {
    // Boxed: many events are never decoded, and moving one must not copy it.
    event: OnceLock<Box<AgentEvent>>,
    /// Encoded size.
    size: usize,
    bytes: OnceLock<Bytes>,
    is_head: bool,
    /// Set while the event counts among the [bodies](crate::bodies::Bodies) in memory.
    pub(crate) share: OnceLock<Share>,
}

impl Sealed {
    /// A well-formed event, decoded on demand.
    pub(crate) fn encoded(bytes: Bytes) -> Self {
        Self {
            size: bytes.len(),
            bytes: bytes.into(),
            ..Self::default()
        }
    }

    /// The head of an event of this size in the log.
    pub(crate) fn of_head(head: Bytes, size: usize) -> Self {
        Self {
            size,
            bytes: head.into(),
            is_head: true,
            ..Self::default()
        }
    }

    /// Its head, encoded.
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

    /// True if it is only the head of an event. Decisions about mail use the head; sending or recording needs the whole
    /// event.
    pub(crate) fn is_head(&self) -> bool {
        self.is_head
    }

    /// The event for a single read: the decoded form of a stored head is not cached.
    pub(crate) fn look(self: &Arc<Self>) -> Arc<Self> {
        match self.is_head {
            true => Arc::new(self.head()),
            false => self.clone(),
        }
    }

    /// Approximate memory.
    pub(crate) fn weight(&self) -> usize {
        let looked_into = self.looked_into().map_or(0, |_| self.size + LOOKED_INTO);
        OVERHEAD + self.size + looked_into
    }

    /// The same, if it is not counted elsewhere.
    pub(crate) fn uncounted(&self) -> usize {
        match self.share.get() {
            Some(_) => 0,
            None => self.weight(),
        }
    }

    /// Number of [`bytes`](Self::bytes). Does not encode waiting mail.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// The decoded event, if it was decoded.
    pub(crate) fn looked_into(&self) -> Option<&AgentEvent> {
        self.event.get().map(|event| &**event)
    }

    /// The encoded event. Encoded when first sent or written.
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
