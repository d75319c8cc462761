//! The hub's gRPC service.

mod body;
mod connect;
mod frames;
mod front;
mod once;
mod publishes;
mod service;
mod status;
mod stream;
mod subscriptions;

pub(crate) use front::Front;
