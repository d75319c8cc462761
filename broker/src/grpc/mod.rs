//! The hub's gRPC service.

mod connect;
mod service;
mod status;
mod stream;

pub(crate) use service::HubService;
