//! The one stream between this process and the hub, and its coming back.

pub(crate) mod backoff;
mod connector;
mod dial;
mod inbound;
mod leases;
mod lingering;
mod link;
#[cfg(feature = "testing")]
pub(crate) mod nowhere;
mod outbox;
mod peer;
mod session;

pub(crate) use connector::{Connector, transport};
pub(crate) use dial::{Dialed, dial, endpoint, no_connection, refusal};
pub(crate) use inbound::{Delivered, Inbound, OnReply};
pub(crate) use leases::Lease;
pub(crate) use link::{Introduction, Link, Scope};
pub(crate) use outbox::publish;
pub(crate) use peer::{Peer, Work, start};

/// The largest message that is taken from a hub, in bytes. A hub sends several MiB at most: a page of a listing, a task with all that
/// belongs to it, or a frame.
pub(crate) const MAX_RECEIVED_BYTES: usize = 16 * 1024 * 1024;

/// State of the connection to the hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Connection {
    /// The hub knows this peer.
    Connected {
        /// Differs after a restart in which the hub lost what it knew.
        incarnation: String,
    },
    /// The connection broke, and is tried again until it is back.
    Reconnecting {
        /// The cause.
        reason: String,
    },
    /// Closed for good.
    Closed {
        /// The one who closed it, and the reason.
        reason: String,
    },
}

/// The hub's receipt of a publish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Published {
    /// The event's id.
    pub event_id: String,
    /// Its place in the log; empty if it is not in the log.
    pub position: String,
}
