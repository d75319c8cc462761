//! The hub's gRPC service.

mod answers;
mod body;
mod connect;
mod frames;
mod front;
mod incoming;
mod messages;
mod once;
mod pieces;
mod publishes;
mod service;
mod status;
mod stream;
mod subscriptions;

pub(crate) use front::Front;
