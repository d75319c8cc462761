//! The wire: types generated from the `.proto` files beside this crate, and small methods on them.
//!
//! Packages [`a2a`] and [`agenthub`] are wire-compatible with existing agents of the hub; additional fields and calls
//! use other numbers and names. [`json`] converts any message to its canonical JSON.

pub mod bearer;
pub mod browser;
mod card;
pub mod direction;
pub mod event;
pub mod extent;
pub mod files;
pub mod grpc;
pub mod http2;
pub mod json;
pub mod local;
mod message;
mod peer_certificate;
pub mod private;
pub mod reason;
pub mod retry_after;
pub mod slug;
pub mod socket;
mod task;
pub mod tls;
pub mod trace;
pub mod weight;

pub use peer_certificate::{NoIdentity, PeerCertificate};

/// Response header of a subscription: the position after which its events begin. Subscribing after it misses nothing.
pub const BEGINS_AFTER: &str = "agenthub-begins-after";

/// Header of the answer of `GetTask`: the position as of which the task is. Subscribing after it misses nothing.
pub const AS_OF: &str = "agenthub-as-of";

/// Metadata of an INVALID_ARGUMENT status: the path of the invalid field, such as `constraints.acceptanceCriteria[1]`.
pub const INVALID_FIELD: &str = "agenthub-invalid-field";

/// Key of a message's metadata: the principal who asked over A2A, as the gateway writes it.
pub const PRINCIPAL_KEY: &str = "agenthub.principal";

/// The id of something that is the principal's own, such as a client without a card: no other principal has ids that begin like it, as there is no
/// `~` in the name of one.
pub fn own_id(principal: &str, id: &str) -> String {
    format!("{principal}~{id}")
}

/// The encoded `FileDescriptorSet` of every `.proto` file, for reflection.
pub const FILE_DESCRIPTOR_SET: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));

/// Cards, messages, tasks and artifacts.
#[allow(missing_docs, unreachable_pub, clippy::all)]
pub mod a2a {
    tonic::include_proto!("a2a");
}

/// Events, frames and the hub's service.
#[allow(missing_docs, unreachable_pub, deprecated, clippy::all)]
pub mod agenthub {
    tonic::include_proto!("agenthub");
}

/// The orchestrator's service.
#[allow(missing_docs, unreachable_pub, clippy::all)]
pub mod cortex {
    tonic::include_proto!("cortex");
}

/// `google.protobuf.Struct`, `Value` and `Timestamp`.
pub mod wkt {
    pub use prost_types::{Duration, ListValue, Struct, Timestamp, Value, value::Kind};
}
