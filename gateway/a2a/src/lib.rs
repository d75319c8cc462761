//! A2A 1.0 at the edge: every agent of the hub is a standard agent, whatever language it is in and though it only dialled out.
//!
//! A [`Gateway`] is a peer of the hub like any other. What its three bindings (`grpc`, `http/jsonrpc`, `http/rest`) read goes to the eleven
//! operations (`operations`); which messages an agent takes is decided in `admission`, what a stream shows of a task in `story`. [`v1`] are
//! the types, [`json`] their JSON, and `convert` is where they meet the hub's. `old` is A2A 0.3. [`client`] is the other side: calls of agents
//! that are elsewhere, which [`outside`] makes agents of the hub.

mod admission;
mod answer;
mod card;
pub mod cli;
pub mod client;
pub mod convert;
pub mod error;
mod extended;
mod extensions;
mod feed;
mod gateway;
mod grpc;
mod hops;
mod http;
mod hub;
mod identity;
pub mod json;
mod listeners;
mod old;
mod operations;
pub mod outside;
pub mod push;
mod replies;
mod rights;
mod security;
mod shared;
mod signing;
mod story;
mod version;

pub use extended::{ExtendedCards, NoExtendedCards};
pub use gateway::{Gateway, OpenError, Settings};
pub use grpc::Service;
pub use security::Accepted;
pub use signing::{CardKey, InvalidCardKey};
pub use version::{EXTENSIONS_HEADER, VERSION_HEADER};

/// The encoded `FileDescriptorSet` of both services, for reflection.
pub const FILE_DESCRIPTOR_SET: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));

/// A2A 1.0, package `lf.a2a.v1`.
#[allow(missing_docs, unreachable_pub, clippy::all)]
pub mod v1 {
    tonic::include_proto!("lf.a2a.v1");
}
