//! The gateway in front of a hub, as clients of A2A see it. Each test of a requirement cites its section of the specification.

mod capabilities;
mod cards;
mod client;
mod elsewhere;
mod equivalence;
mod errors;
mod grpc;
mod harness;
mod listing;
mod old;
mod outside;
mod push;
mod receiver;
mod sending;
mod streaming;
