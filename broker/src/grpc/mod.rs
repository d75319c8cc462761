//! The hub's gRPC service.

mod access;
mod answers;
mod body;
mod connect;
mod frames;
mod front;
mod incoming;
mod notes;
mod once;
mod publishes;
mod request;
mod service;
mod status;
mod stream;
mod subscriptions;
mod timely;
mod waited;

pub(crate) use access::AccessService;
pub(crate) use front::Front;
pub(crate) use status::quota_exceeded;
