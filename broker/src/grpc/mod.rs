//! The hub's gRPC service.

mod connect;
mod frames;
mod service;
mod status;
mod stream;

pub(crate) use service::HubService;
