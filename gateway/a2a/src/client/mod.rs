//! A2A's other side: calls of agents elsewhere, over the binding that their card prefers.
//!
//! [`fetch`] reads a card, of A2A 1.0 or 0.3; [`Remote`] is the agent behind it. `choice` picks the interface, `credentials` says
//! who asks, `wire` writes requests for each binding, `following` keeps a stream whole over breaks, `retry` says when to try again, and
//! `verifying` what the signatures of a card are worth, by the bytes of `signed_payloads` and the `keys`.

pub mod auth;
mod card;
mod catch_up;
mod choice;
mod credentials;
mod failure;
mod following;
mod grpc;
mod http;
mod jsonrpc;
mod keys;
mod old_card;
mod remote;
mod rest;
mod retry;
mod signed_payloads;
mod sse;
mod verifying;

pub use auth::Auth;
pub use card::{CardUrl, Fetched, fetch, fetch_as};
pub use choice::{Binding, Interface};
pub use failure::Failure;
pub use following::Following;
pub use remote::{Options, Remote};
pub use verifying::{Signed, verify};
