//! The hub's gRPC service.

mod connect;
mod frames;
mod front;
mod service;
mod status;
mod stream;

pub(crate) use front::Front;
